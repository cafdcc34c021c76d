"""A critic against people: a table of scored answers or of preferences in, a `Calibration` out.

Answers are judged by the rubric's own critics through `Tools`, as anywhere else; nothing here knows what kind they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.app.bench import Bench
from rubric_anchors.app.progress import Progress, Silent
from rubric_anchors.core.errors import InputError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.data.labelled import Columns, Labelled, LabelledRow, parse_labels, read_labelled
from rubric_anchors.data.preferences import PairRow, Pairs, parse_pairs, read_pairs
from rubric_anchors.data.rows import Rejected
from rubric_anchors.data.scales import EVERYTHING, parse_scales
from rubric_anchors.evaluate.against_pairs import pair_figures, people_on_pairs
from rubric_anchors.evaluate.against_scores import Rows, people_on_scores, score_figures
from rubric_anchors.evaluate.calibration import Calibration, Target, again, bins, tallied
from rubric_anchors.evaluate.resample import Array
from rubric_anchors.models.ledger import Account
from rubric_anchors.reward.judging import Estimate, Judge, JudgeConfig, asking, with_judge
from rubric_anchors.reward.marks import Marks
from rubric_anchors.reward.record import answer_to
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.load import load_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Unscored

REWARD: Final = "reward"
"""The label of the whole reward."""
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
    account: Account | None = None
    """What the judge was asked and cost, both times; None without one."""


@dataclass(frozen=True, slots=True)
class How:
    """How answers are judged and figures are drawn."""

    group: str = ""
    """Column whose rows are resampled together; empty: the answers to one prompt are."""
    again: int = AGAIN
    """How many answers or pairs are judged a second time, in the opposite order and by critics made anew; a judge is
    asked anew, with other seeds and the criteria in another order."""
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
    judge: JudgeConfig | None = None,
    tools: Tools | None = None,
    progress: Progress | None = None,
) -> Calibrated:
    """The critics of `rubric` against people's scores in `data`. labels, scales: as `--labels` and `--scale` take them;
    judge: the language model that decides judge criteria, asked twice about what is judged again.

    Raises InputError for labels that cannot be, RubricError, DataError and SetupError for what cannot be used.
    """
    how = how or How()
    read = _read_scores(data, rubric, labels, scales, how)
    kept, table, columns = read.kept, read.table, read.columns
    with asking(judge, _tools(tools, how)) as (ready, opened):
        bench = Bench(read.rubric, ready, opened, progress or Silent())
        marks = bench.judge(read.answers)
        places, second = bench.again(read.answers, how.again)
    rows = Rows(
        tuple(row.group for row in kept), tuple(row.prompt.id for row in kept), _log_lengths(read.answers), how.seed
    )
    targets = []
    for name in columns:
        values, causes = _values(marks, name)
        ratings = _matrix([row.scores[name] for row in kept], len(columns[name]))
        labelled: NDArray[np.bool_] = np.asarray((~np.isnan(ratings)).any(axis=0))
        used = labelled & ~np.isnan(values)
        twice = np.full(len(kept), np.nan)
        twice[places] = _values(second, name)[0]
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
    return _result(data, read.rubric, "scores", how, table, targets, opened)


def calibrate_pairs(
    data: str | Path,
    rubric: str | Path,
    pairs: str,
    preferences: Sequence[str] = (),
    how: How | None = None,
    *,
    judge: JudgeConfig | None = None,
    tools: Tools | None = None,
    progress: Progress | None = None,
) -> Calibrated:
    """The same against preferences: every criterion, in goodness, and the reward. pairs, preferences: as `--pairs` and
    `--preference` take them."""
    how = how or How()
    read = _read_pairs(data, rubric, pairs, preferences, how)
    kept = read.kept
    with asking(judge, _tools(tools, how)) as (ready, opened):
        bench = Bench(read.rubric, ready, opened, progress or Silent())
        marks = bench.judge(read.answers)
        places, second = bench.again(read.answers, how.again, each=2)
    lengths = _log_lengths(read.answers)
    rows = Rows(
        tuple(row.group for row in kept),
        tuple(row.prompt.id for row in kept),
        lengths[0::2] - lengths[1::2],
        how.seed,
    )
    ratings = _matrix([row.preferred for row in kept], read.raters)
    people = people_on_pairs(ratings, rows)
    signs = {one.key: -1.0 if one.weight < 0 else 1.0 for one in read.rubric.criteria} | {REWARD: 1.0}
    targets = []
    for name, sign in signs.items():
        values, causes = _values(marks, name)
        apart = sign * (values[0::2] - values[1::2])
        once_more = sign * _values(second, name)[0]
        twice = np.full(len(kept), np.nan)
        twice[places] = once_more[0::2] - once_more[1::2]
        targets.append(
            Target(
                key=name,
                kind="reward" if name == REWARD else "criterion",
                used=int((~np.isnan(apart)).sum()),
                unlabelled=len(read.table.rows) - len(kept),
                unjudged=tallied([one or other for one, other in zip(causes[0::2], causes[1::2], strict=True)]),
                raters=len(ratings),
                figures=pair_figures(apart, ratings, rows),
                people=people,
                again=again(apart, twice, pairs=True),
            )
        )
    return _result(data, read.rubric, "pairs", how, read.table, targets, opened)


def estimate_scores(
    data: str | Path,
    rubric: str | Path,
    labels: Sequence[str],
    scales: Sequence[str],
    how: How,
    judge: JudgeConfig,
    *,
    tools: Tools | None = None,
) -> Estimate:
    """What `calibrate_scores` would ask `judge`, with an empty cache: nobody is asked, nothing is written."""
    read = _read_scores(data, rubric, labels, scales, how)
    return _estimate(read.rubric, read.answers, 1, how, judge, tools)


def estimate_pairs(
    data: str | Path,
    rubric: str | Path,
    pairs: str,
    preferences: Sequence[str],
    how: How,
    judge: JudgeConfig,
    *,
    tools: Tools | None = None,
) -> Estimate:
    """The same of `calibrate_pairs`."""
    read = _read_pairs(data, rubric, pairs, preferences, how)
    return _estimate(read.rubric, read.answers, 2, how, judge, tools)


def _estimate(
    rubric: Rubric, answers: Sequence[Answer], each: int, how: How, judge: JudgeConfig, tools: Tools | None
) -> Estimate:
    estimate = Estimate(judge)
    bench = Bench(rubric, with_judge(_tools(tools, how), estimate), None, Silent())
    bench.judge(answers)
    bench.again(answers, how.again, each)
    return estimate


@dataclass(frozen=True, slots=True)
class _Scores:
    """Answers with people's scores, as they are judged."""

    rubric: Rubric
    columns: Columns
    table: Labelled
    kept: list[LabelledRow]
    """The rows that have a label."""
    answers: list[Answer]
    """To each of them."""


def _read_scores(
    data: str | Path, rubric: str | Path, labels: Sequence[str], scales: Sequence[str], how: How
) -> _Scores:
    judged_by = load_rubric(rubric)
    columns = parse_labels(labels, _labelled_keys(judged_by))
    if not columns:
        raise InputError("nothing to hold the critic against: give --labels CRITERION=COLUMN, or --pairs FIRST,SECOND")
    given = parse_scales(scales)
    strange = next((name for name in given if name != EVERYTHING and name not in columns), None)
    if strange is not None:
        raise InputError(f"--scale {strange}=...: there are no labels for {strange!r}; there are: {', '.join(columns)}")
    table = read_labelled(data, columns, given, how.group)
    kept = [row for row in table.rows if any(score is not None for each in row.scores.values() for score in each)]
    answers = [answer_to(row.prompt, row.response, judge_reasoning=how.judge_reasoning) for row in kept]
    return _Scores(judged_by, columns, table, kept, answers)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of answers with people's preferences, as they are judged."""

    rubric: Rubric
    raters: int
    table: Pairs
    kept: list[PairRow]
    """The rows that have a preference."""
    answers: list[Answer]
    """Two to each of them."""


def _read_pairs(data: str | Path, rubric: str | Path, pairs: str, preferences: Sequence[str], how: How) -> _Pairs:
    judged_by = load_rubric(rubric)
    _labelled_keys(judged_by)
    answers_in, raters = parse_pairs(pairs, preferences)
    table = read_pairs(data, answers_in, raters, how.group)
    kept = [row for row in table.rows if any(side is not None for side in row.preferred)]
    answers = [
        answer_to(row.prompt, text, judge_reasoning=how.judge_reasoning)
        for row in kept
        for text in (row.first, row.second)
    ]
    return _Pairs(judged_by, max(1, len(raters)), table, kept, answers)


def _tools(tools: Tools | None, how: How) -> Tools:
    return replace(tools or default_tools(), allow_code=how.allow_code)


def _result(
    data: str | Path,
    rubric: Rubric,
    kind: Literal["scores", "pairs"],
    how: How,
    table: Labelled | Pairs,
    targets: Sequence[Target],
    judge: Judge | None,
) -> Calibrated:
    calibration = Calibration(
        data=Path(data).name,
        rubric=rubric.id,
        rubric_content_id=rubric.content_id,
        kind=kind,
        rows=len(table.rows),
        left_out=len(table.rejected),
        clusters=how.group or "prompt",
        seed=how.seed,
        targets=tuple(targets),
    )
    labelled = {target.key for target in targets}
    unlabelled = tuple(key for key in rubric.keys if key not in labelled)
    return Calibrated(rubric, calibration, table.rejected, unlabelled, judge.ledger.account() if judge else None)


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
