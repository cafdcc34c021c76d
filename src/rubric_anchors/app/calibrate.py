"""A critic against people: a table of scored answers or of preferences in, a `Calibration` out.

Answers are judged by the rubric's own critics through `Tools`, as anywhere else; nothing here knows what kind they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.app.progress import Progress, Silent, Task
from rubric_anchors.core.errors import InputError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.data.labelled import parse_labels, read_labelled
from rubric_anchors.data.preferences import parse_pairs, read_pairs
from rubric_anchors.data.rows import Rejected
from rubric_anchors.data.scales import EVERYTHING, parse_scales
from rubric_anchors.evaluate.against_pairs import pair_figures, people_on_pairs
from rubric_anchors.evaluate.against_scores import Rows, people_on_scores, score_figures
from rubric_anchors.evaluate.calibration import Calibration, Target, again, bins, tallied
from rubric_anchors.evaluate.resample import Array
from rubric_anchors.reward.marks import Marks
from rubric_anchors.reward.record import answer_to
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.load import load_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Unscored

REWARD: Final = "reward"
"""The label of the whole reward."""
BATCH: Final = 128
AGAIN: Final = 100
"""Answers or pairs judged a second time where nobody says otherwise: enough to see one change in a hundred more often
than not, and no more than a judge's bill can bear."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was found, with the rubric it is about."""

    rubric: Rubric
    calibration: Calibration
    rejected: tuple[Rejected, ...]
    """Rows that could not be read."""
    unlabelled: tuple[str, ...]
    """Criteria that nobody labelled."""


@dataclass(frozen=True, slots=True)
class How:
    """How answers are judged and figures are drawn."""

    group: str = ""
    """Column whose rows are resampled together; empty: the answers to one prompt are."""
    again: int = AGAIN
    """How many answers or pairs are judged a second time, in the opposite order and by critics made anew."""
    judge_reasoning: bool = False
    allow_code: bool = False
    seed: int = 0
    """Of the resamples."""


def calibrate_scores(
    data: str | Path,
    rubric: str | Path,
    labels: Sequence[str],
    scales: Sequence[str] = (),
    how: How | None = None,
    *,
    tools: Tools | None = None,
    progress: Progress | None = None,
) -> Calibrated:
    """The critics of `rubric` against people's scores in `data`. labels, scales: as `--labels` and `--scale` take them.

    Raises InputError for labels that cannot be, RubricError, DataError and SetupError for what cannot be used.
    """
    how, judged_by = how or How(), load_rubric(rubric)
    columns = parse_labels(labels, _labelled_keys(judged_by))
    if not columns:
        raise InputError("nothing to hold the critic against: give --labels CRITERION=COLUMN, or --pairs FIRST,SECOND")
    given = parse_scales(scales)
    strange = next((name for name in given if name != EVERYTHING and name not in columns), None)
    if strange is not None:
        raise InputError(f"--scale {strange}=...: there are no labels for {strange!r}; there are: {', '.join(columns)}")
    table = read_labelled(data, columns, given, how.group)
    kept = [row for row in table.rows if any(score is not None for each in row.scores.values() for score in each)]
    bench = _Bench(judged_by, how, tools, progress)
    answers = [answer_to(row.prompt, row.response, judge_reasoning=how.judge_reasoning) for row in kept]
    marks = bench.judge("judging", answers)
    second = bench.again(answers)
    rows = Rows(tuple(row.group for row in kept), tuple(row.prompt.id for row in kept), _log_lengths(answers), how.seed)
    targets = []
    for name in columns:
        values, causes = _values(marks, name)
        ratings = _matrix([row.scores[name] for row in kept], len(columns[name]))
        labelled: NDArray[np.bool_] = np.asarray((~np.isnan(ratings)).any(axis=0))
        used = labelled & ~np.isnan(values)
        twice = np.full(len(kept), np.nan)
        twice[: len(second)] = _values(second, name)[0]
        targets.append(
            Target(
                key=name,
                kind="reward" if name == REWARD else "criterion",
                used=int(used.sum()),
                unlabelled=len(table.rows) - int(labelled.sum()),
                unjudged=tallied([cause for cause, there in zip(causes, labelled, strict=True) if there]),
                raters=len(ratings),
                scale=str(table.scales[name]),
                figures=score_figures(values, ratings, rows),
                people=people_on_scores(ratings, rows),
                bins=bins(values, ratings),
                again=again(values, twice),
            )
        )
    return bench.result(data, "scores", len(table.rows), table.rejected, targets)


def calibrate_pairs(
    data: str | Path,
    rubric: str | Path,
    pairs: str,
    preferences: Sequence[str] = (),
    how: How | None = None,
    *,
    tools: Tools | None = None,
    progress: Progress | None = None,
) -> Calibrated:
    """The same against preferences: every criterion, in goodness, and the reward. pairs, preferences: as `--pairs` and
    `--preference` take them."""
    how, judged_by = how or How(), load_rubric(rubric)
    _labelled_keys(judged_by)
    answers_in, raters = parse_pairs(pairs, preferences)
    table = read_pairs(data, answers_in, raters, how.group)
    kept = [row for row in table.rows if any(side is not None for side in row.preferred)]
    bench = _Bench(judged_by, how, tools, progress)
    both = [
        answer_to(row.prompt, text, judge_reasoning=how.judge_reasoning)
        for row in kept
        for text in (row.first, row.second)
    ]
    marks = bench.judge("judging", both)
    second = bench.again(both, each=2)
    lengths = _log_lengths(both)
    rows = Rows(
        tuple(row.group for row in kept),
        tuple(row.prompt.id for row in kept),
        lengths[0::2] - lengths[1::2],
        how.seed,
    )
    ratings = _matrix([row.preferred for row in kept], max(1, len(raters)))
    people = people_on_pairs(ratings, rows)
    signs = {criterion.key: -1.0 if criterion.weight < 0 else 1.0 for criterion in judged_by.criteria} | {REWARD: 1.0}
    targets = []
    for name, sign in signs.items():
        values, causes = _values(marks, name)
        apart = sign * (values[0::2] - values[1::2])
        once_more = sign * _values(second, name)[0]
        twice = np.full(len(kept), np.nan)
        twice[: len(second) // 2] = once_more[0::2] - once_more[1::2]
        targets.append(
            Target(
                key=name,
                kind="reward" if name == REWARD else "criterion",
                used=int((~np.isnan(apart)).sum()),
                unlabelled=len(table.rows) - len(kept),
                unjudged=tallied([one or other for one, other in zip(causes[0::2], causes[1::2], strict=True)]),
                raters=len(ratings),
                figures=pair_figures(apart, ratings, rows),
                people=people,
                again=again(apart, twice, pairs=True),
            )
        )
    return bench.result(data, "pairs", len(table.rows), table.rejected, targets)


class _Bench:
    """Judges answers with one rubric, and wraps up what was found."""

    def __init__(self, rubric: Rubric, how: How, tools: Tools | None, progress: Progress | None) -> None:
        self._rubric, self._how = rubric, how
        self._tools = replace(tools or default_tools(), allow_code=how.allow_code)
        self._progress = progress or Silent()
        self._scorer = self._new_scorer()

    def judge(self, title: str, answers: Sequence[Answer]) -> list[Marks]:
        with self._progress.task(title, len(answers), "answers") as task:
            return self._judge(self._scorer, answers, task)

    def again(self, answers: Sequence[Answer], each: int = 1) -> list[Marks]:
        """The marks of the first of `answers`, judged once more from the last to the first; `each` make a row."""
        part = list(answers[: self._how.again * each])
        if not part:
            return []
        with self._progress.task("judging again", len(part), "answers") as task:
            return self._judge(self._new_scorer(), part[::-1], task)[::-1]

    def result(
        self,
        data: str | Path,
        kind: str,
        rows: int,
        rejected: tuple[Rejected, ...],
        targets: Sequence[Target],
    ) -> Calibrated:
        calibration = Calibration.model_validate(
            {
                "data": Path(data).name,
                "rubric": self._rubric.id,
                "rubric_content_id": self._rubric.content_id,
                "kind": kind,
                "rows": rows,
                "left_out": len(rejected),
                "clusters": self._how.group or "prompt",
                "seed": self._how.seed,
                "targets": tuple(targets),
            }
        )
        labelled = {target.key for target in targets}
        unlabelled = tuple(key for key in self._rubric.keys if key not in labelled)
        return Calibrated(self._rubric, calibration, rejected, unlabelled)

    def _new_scorer(self) -> Scorer:
        return Scorer({self._rubric.id: self._rubric}, self._tools)

    def _judge(self, scorer: Scorer, answers: Sequence[Answer], task: Task) -> list[Marks]:
        marks: list[Marks] = []
        for start in range(0, len(answers), BATCH):
            part = answers[start : start + BATCH]
            marks += scorer.score(part, [(self._rubric.id,)] * len(part))
            task.advance(len(part))
        return marks


def _labelled_keys(rubric: Rubric) -> tuple[str, ...]:
    if REWARD in rubric.keys:
        raise InputError(
            f"rubric {rubric.id!r} has a criterion called {REWARD!r}, which here names the whole reward; rename it"
        )
    return (*rubric.keys, REWARD)


def _values(marks: Sequence[Marks], name: str) -> tuple[Array, list[str]]:
    """The values of a criterion or the rewards, shape [n], NaN where there is none; and why, or an empty text."""
    values, causes = [], []
    for mark in marks:
        value, cause = _value(mark, name)
        values.append(np.nan if value is None else value)
        causes.append(f"{cause.code} ({cause.kind})" if cause else "")
    return np.array(values, dtype=np.float64), causes


def _value(mark: Marks, name: str) -> tuple[float | None, Cause | None]:
    if name == REWARD:
        return mark.reward, mark.outcome.cause if isinstance(mark.outcome, Unscored) else None
    verdict = mark.verdicts[name]
    return (verdict.value, None) if isinstance(verdict, Judged) else (None, verdict.cause)


def _matrix(rows: Sequence[Sequence[float | None]], raters: int) -> Array:
    """Shape [raters, n], NaN where a rater gave nothing."""
    return np.array([[np.nan if one is None else one for one in row] for row in rows]).reshape(len(rows), raters).T


def _log_lengths(answers: Sequence[Answer]) -> Array:
    """log2 of the characters; characters and not words, which not every script marks."""
    return np.log2(np.array([max(1, len(answer.text)) for answer in answers], dtype=np.float64))
