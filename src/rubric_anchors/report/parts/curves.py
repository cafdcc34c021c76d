"""Curves of each stage, and the picture of what was selected before it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rubric_anchors.report.figures import Curve, Histogram, curve, histogram
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import GateCheck, Selection, StageResult, StepRecord

TABLE_ROWS: Final = 50
"""Rows of the table behind the curves; a longer stage is thinned evenly, its first and last step kept."""

_HEALTH: Final[tuple[tuple[str, str, Callable[[StepRecord], float | None], bool], ...]] = (
    ("length", "Answer length, tokens", lambda step: step.length, False),
    ("truncated", "Cut at the length limit, share", lambda step: step.truncated, True),
    ("kl", "KL from the starting policy, nats", lambda step: step.kl, False),
    ("entropy", "Entropy, nats a token", lambda step: step.entropy, False),
    ("diversity", "Word pairs no other answer of the step has, share", lambda step: step.diversity, True),
    ("no_signal", "Groups with no signal, share", lambda step: step.no_signal, True),
    ("unscored", "Answers unscored, share", lambda step: step.unscored, True),
    ("loss", "Loss", lambda step: step.loss, False),
    ("grad_norm", "Gradient norm", lambda step: step.grad_norm, False),
)


@dataclass(frozen=True, slots=True)
class StageCurves:
    result: StageResult
    reward: Curve
    criteria: tuple[Curve, ...]
    health: tuple[Curve, ...]
    smoothed: bool
    columns: tuple[str, ...]
    rows: tuple[tuple[float | None, ...], ...]
    """A row a step: the step, the reward, each criterion, each health figure."""
    thinned: bool
    gates: tuple[GateCheck, ...]
    """The readings that did not pass, or that led to an action."""


def stage_curves(result: StageResult) -> StageCurves:
    records = result.steps
    steps = [record.step for record in records]
    keys = tuple(dict.fromkeys(key for record in records for key in record.criteria))
    reward = curve(
        "Reward",
        steps,
        [record.reward for record in records],
        spread=[record.reward_std for record in records],
        unit_range=True,
    )
    every = len(records) <= TABLE_ROWS
    last = len(records) - 1
    shown = range(len(records)) if every else sorted({round(i * last / (TABLE_ROWS - 1)) for i in range(TABLE_ROWS)})
    return StageCurves(
        result=result,
        reward=reward,
        criteria=tuple(
            curve(key, steps, [record.criteria.get(key) for record in records], unit_range=True) for key in keys
        ),
        health=tuple(
            curve(title, steps, [read(record) for record in records], unit_range=share)
            for _, title, read, share in _HEALTH
        ),
        smoothed=bool(reward.smooth),
        columns=("step", "reward", *keys, *(name for name, *_ in _HEALTH), "seconds"),
        rows=tuple(_row(records[index], keys) for index in shown),
        thinned=not every,
        gates=tuple(check for check in result.gates if not check.passed or check.action != "none"),
    )


def _row(record: StepRecord, keys: tuple[str, ...]) -> tuple[float | None, ...]:
    criteria = (record.criteria.get(key) for key in keys)
    return (record.step, record.reward, *criteria, *(read(record) for _, _, read, _ in _HEALTH), record.seconds)


@dataclass(frozen=True, slots=True)
class SelectionView:
    selection: Selection
    figure: Histogram | None
    candidates: int
    reasons: tuple[tuple[str, int], ...]
    """Why prompts were dropped, and how many, most frequent first."""


def selections(run: RunFolder) -> tuple[SelectionView, ...]:
    return tuple(_selection(selection) for selection in run.selections())


def _selection(selection: Selection) -> SelectionView:
    kept = set(selection.kept)
    counts = Counter(dropped.reason.replace("_", " ") for dropped in selection.dropped)
    means = [(mean, prompt in kept) for prompt, mean in selection.means.items()]
    return SelectionView(
        selection=selection,
        figure=histogram(means, selection.cuts) if means else None,
        candidates=len(selection.kept) + len(selection.dropped),
        reasons=tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    )
