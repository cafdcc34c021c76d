"""What a recipe says about measuring."""

from pathlib import Path

from pydantic import Field

from rubric_anchors.core.frozen import Frozen


class PreservationConfig(Frozen):
    """What the model could do before and must still do."""

    text: Path | None = None
    """Held text (`id`, `text`): its perplexity, which must stay under 1.05 times what it was."""
    choices: Path | None = None
    """Multiple choice (`id`, `context`, `choices`, `answer`): accuracy, which must not fall by 0.03."""
    tasks: tuple[str, ...] = ()
    """Tasks of lm-eval, or paths of local task files, run through its own harness (extra `eval`)."""


class Family(Frozen):
    """A second kind of task, measured beside the first: one rising while the other falls is the seesaw."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$")
    rubrics: tuple[str, ...] = Field(min_length=1)
    data: tuple[str, ...] = Field(min_length=1)


class EvaluateConfig(Frozen):
    """Before against after, on held-out prompts."""

    rubrics: tuple[str, ...] = Field(min_length=1)
    """Ids of the frozen rubrics whose reward is the measure named `reward`, on both sides alike."""
    data: tuple[str, ...] = Field(min_length=1)
    """Names under the recipe's `data.held_out`."""
    others: tuple[Family, ...] = ()
    """Other kinds of task, each with rubrics of its own; its reward is the measure named `reward_NAME`."""
    answers: int = Field(default=4, ge=1)
    """Answers for each held-out prompt on each side."""
    max_tokens: int = Field(default=80, ge=1)
    temperature: float = Field(default=0.7, gt=0, allow_inf_nan=False)
    measures: tuple[str, ...] = ()
    """Measures outside the reward, by name; empty: all that are installed."""
    samples: int = Field(default=12, ge=0)
    """Prompts shown side by side in the report."""
    preservation: PreservationConfig = PreservationConfig()
