"""Adaptive criterion weights over a stage: less for what all answers have. Nothing outside training sees them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from rubric_anchors.aggregate import AdaptiveState, Contrast, Headroom, Plan
from rubric_anchors.aggregate.adaptive import Adaptive
from rubric_anchors.core.files import atomic_write_text
from rubric_anchors.reward.scorer import Marks, Scorer
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Unjudged

SCHEMES: Final[Mapping[str, type[Headroom] | type[Contrast]]] = {"headroom": Headroom, "contrast": Contrast}
FILE: Final = "adaptive.json"


@dataclass
class AdaptiveWeights:
    """Moves the weights of `rubrics` inside `scorer` after each step, by the answers of that step.

    The state is explicit: `save` puts it into a checkpoint, `restore` takes it from one, and the weights of a step
    follow from the state alone, so a resumed stage goes on with the weights it had.
    """

    scheme: Adaptive
    scorer: Scorer
    rubrics: Mapping[str, Rubric]
    states: dict[str, AdaptiveState] = field(default_factory=dict)

    def observe(self, marks: Sequence[Marks]) -> None:
        """Take in a step's marks. Answers that could not be judged for reasons outside themselves are left out."""
        for name, rubric in self.rubrics.items():
            rows = [row for mark in marks if name in mark.rubrics and (row := _row(mark, name, rubric)) is not None]
            if not rows:
                continue
            plan = Plan.compile(rubric)
            state = self.states.get(name) or self.scheme.start(plan)
            values = np.array(rows)
            judged = ~np.isnan(values)
            adapted, state = self.scheme.adapt(plan, state, np.where(judged, values, 0.0), judged=judged)
            self.states[name] = state
            self.scorer.use_plan(name, adapted)

    def save(self, folder: Path) -> None:
        """Write the state into a checkpoint."""
        atomic_write_text(folder / FILE, json.dumps({name: state.to_json() for name, state in self.states.items()}))

    def restore(self, folder: Path) -> None:
        """Take the state from a checkpoint, and give the scorer the weights that follow from it."""
        for name, content in json.loads((folder / FILE).read_text()).items():
            plan = Plan.compile(self.rubrics[name])
            state = AdaptiveState.from_json(content)
            unseen = np.zeros((1, len(plan.keys)))
            adapted, self.states[name] = self.scheme.adapt(
                plan, state, unseen, judged=np.zeros(unseen.shape, dtype=bool)
            )
            self.scorer.use_plan(name, adapted)


def adaptive_weights(scheme: str, scorer: Scorer, rubrics: Mapping[str, Rubric]) -> AdaptiveWeights | None:
    """The weights that a stage's `adapt` asks for; None for `none`. Rubrics with a formula of their own keep it."""
    if scheme == "none":
        return None
    return AdaptiveWeights(SCHEMES[scheme](), scorer, {n: r for n, r in rubrics.items() if r.reward.formula == "mean"})


def _row(mark: Marks, name: str, rubric: Rubric) -> list[float] | None:
    """The values of one rubric's criteria, NaN where the answer broke its judging; None where something else failed."""
    prefix = f"{name}/" if len(mark.rubrics) > 1 else ""
    verdicts = [mark.verdicts[prefix + key] for key in rubric.keys]
    if any(isinstance(verdict, Unjudged) and verdict.cause.kind == "infrastructure" for verdict in verdicts):
        return None
    return [verdict.value if isinstance(verdict, Judged) else float("nan") for verdict in verdicts]
