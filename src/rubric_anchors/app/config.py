"""The recipe: one YAML file that says what is run. Composed of the rooms' own configs, and held whole to each other
here.
"""

from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from rubric_anchors.core.errors import RecipeError
from rubric_anchors.core.frozen import Frozen
from rubric_anchors.core.yamlfile import read_config
from rubric_anchors.evaluate.config import EvaluateConfig
from rubric_anchors.reward.judging import JudgeConfig
from rubric_anchors.select.config import SelectConfig
from rubric_anchors.train.config import PolicyConfig, StageConfig

TAKEN: Final = ("select-", "held-out-")
"""How the records of selection and evaluation are called, among those of the stages."""


class DataConfig(Frozen):
    """Where prompts come from: a name to a file, a `datasets` folder, or `hub:owner/name[:split]`."""

    train: dict[str, str] = Field(min_length=1)
    held_out: dict[str, str] = Field(default_factory=dict)
    """Never trained or selected on; held to share no prompt with `train`."""


class OutputConfig(Frozen):
    """What is left behind beside the run's own records."""

    report: bool = True
    trackers: tuple[Literal["wandb", "mlflow", "tensorboard", "trackio"], ...] = ()
    """Of TRL's reporting. Off by default."""


class Recipe(Frozen):
    """From rubrics to a trained, measured model."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$")
    seed: int = Field(default=0, ge=0)
    policy: PolicyConfig = PolicyConfig()
    judge: JudgeConfig | None = None
    """Needed only where a rubric has judge criteria; without it such a recipe stops before anything is run."""
    rubrics: tuple[str, ...] = Field(min_length=1)
    """Rubric files, relative to the recipe."""
    data: DataConfig
    select: SelectConfig | None = None
    """Absent: every stage trains on all its prompts."""
    stages: tuple[StageConfig, ...] = Field(min_length=1)
    evaluate: EvaluateConfig | None = None
    """Absent: nothing is measured."""
    output: OutputConfig = OutputConfig()
    allow_code: bool = False
    """Whether the recipe's rubrics may name functions of yours to be run (the check `python`). Rubrics that data rows
    carry never may."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [stage.name for stage in self.stages]
        if len(names) != len(set(names)):
            raise ValueError(f"stages need different names; seen: {', '.join(names)}")
        if self.stages[0].defend:
            raise ValueError(
                f"stage {names[0]!r} has `defend: true` and no stage before it, from which a defence could be drafted;"
                " take it out, or set it on a later stage"
            )
        for stage in self.stages:
            if stage.name.startswith(TAKEN):
                raise ValueError(
                    f"a stage cannot be called {stage.name!r}: records of the run begin with {TAKEN[0]!r} or"
                    f" {TAKEN[1]!r}"
                )
            if any(gate.watch == "perplexity" for gate in stage.gates) and not self._held("text"):
                raise ValueError(
                    f"stage {stage.name!r} has a gate on perplexity, which needs evaluate.preservation.text"
                )
            if any(gate.watch == "choices" for gate in stage.gates) and not self._held("choices"):
                raise ValueError(
                    f"stage {stage.name!r} has a gate on choices, which needs evaluate.preservation.choices"
                )
            _known(stage.data, self.data.train, f"stage {stage.name!r} trains on", "data.train")
        if self.evaluate:
            _known(self.evaluate.data, self.data.held_out, "evaluate measures on", "data.held_out")
            families = ["main", *(family.name for family in self.evaluate.others)]
            if len(families) != len(set(families)):
                raise ValueError(
                    f"families under evaluate.others need different names, and none is `main`; seen: "
                    f"{', '.join(families[1:])}"
                )
            for family in self.evaluate.others:
                _known(family.data, self.data.held_out, f"family {family.name!r} is measured on", "data.held_out")
        return self

    def _held(self, name: str) -> bool:
        return self.evaluate is not None and getattr(self.evaluate.preservation, name) is not None


def _known(names: tuple[str, ...], there: dict[str, str], who: str, where: str) -> None:
    unknown = [name for name in names if name not in there]
    if unknown:
        raise ValueError(f"{who} {unknown[0]!r}, which is not under {where}; there: {', '.join(there) or 'nothing'}")


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe. Raises RecipeError that names file, line and field."""
    return read_config(Path(path), Recipe, RecipeError)
