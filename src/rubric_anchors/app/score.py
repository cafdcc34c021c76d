"""Scoring a file of answers by rubric files, and by the rubrics that its rows carry: a row an answer.

Every rubric given judges every answer; the rubrics that a row names or carries judge it too. Needs no torch unless a
criterion does.
"""

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from rubric_anchors.app.batches import batches
from rubric_anchors.app.overlap import Turns, judge_overlapping
from rubric_anchors.app.progress import Progress, Silent
from rubric_anchors.app.scored_table import write_as
from rubric_anchors.app.sharing import Asked, Work, Written, judge_rows, judge_shared
from rubric_anchors.app.unfinished import Unfinished, refuse_out
from rubric_anchors.core.errors import DataError, RubricError
from rubric_anchors.core.ids import content_id
from rubric_anchors.critic.base import Tools
from rubric_anchors.data.rows import Answers, Rejected, read_answers
from rubric_anchors.models.ledger import Account
from rubric_anchors.reward.judging import (
    BATCH,
    Estimate,
    Judge,
    JudgeConfig,
    account_line,
    asking,
    with_judge,
)
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.load import load_rubric
from rubric_anchors.rubric.model import Rubric

SHARED_BATCH: Final = 512
"""Answers judged together by each of several processes."""
MANY: Final = 2000
"""Answers from which other processes are worth their start."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with what it was taken over."""

    value: float
    sd: float | None
    """Sample standard deviation; None for a single number."""
    n: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a file of answers."""

    out: Path
    scored: int
    unscored: Mapping[str, int]
    """Cause to the number of answers left unscored by it."""
    unreadable: tuple[Rejected, ...]
    """Rows that are no answer to score; they have no row in `out`."""
    reward: Mean | None
    """Over the scored answers; None where there is none."""
    criteria: Mapping[str, Mean]
    """Criterion key to its mean value over the answers that it was judged on."""
    account: Account | None = None
    """What the judge was asked and cost; None without one."""


def score_file(
    data: str | Path,
    rubrics: Sequence[str | Path],
    out: str | Path,
    *,
    judge_reasoning: bool = False,
    allow_code: bool = False,
    resume: bool = False,
    force: bool = False,
    workers: int | None = 1,
    judge: JudgeConfig | None = None,
    tools: Tools | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Score the answers in `data` and write `out`, whole or not at all, in the order of the rows: as JSON lines,
    Parquet or CSV, by its ending (`app.scored_table`).

    Finished rows stand as JSON lines in `OUT.partial` until all are done; `resume` goes on with them, `force` starts
    anew and replaces `out`. `allow_code`: whether `rubrics` may name functions to be run; a change in such a function,
    or in the file of a fitted critic, is not seen by `resume`. `workers`: processes that judge beside each other, where
    the rubrics need no model; None: one for each core, where there are many answers (see `app.sharing` on calling this
    from a script). `judge`: the language model that decides judge criteria; what it has said stays in its cache,
    whatever happens here.

    Raises RubricError and DataError for files that cannot be used, InputError for both `resume` and `force` and for
    another ending of `out`, SetupError where `out` cannot be written, is there already or is read. A single row that
    cannot be read is listed in the tally instead, unless no row can.
    """
    progress = progress or Silent()
    out = Path(out)
    refuse_out(out, resume=resume, force=force, sources=(data, *rubrics))
    book = _book(rubrics)
    tools = replace(tools or default_tools(), allow_code=allow_code)
    with asking(judge, tools) as (tools, opened):
        return _score(data, book, out, tools, judge_reasoning, resume, force, workers, opened, progress)


def estimate_file(
    data: str | Path,
    rubrics: Sequence[str | Path],
    judge: JudgeConfig,
    *,
    judge_reasoning: bool = False,
    allow_code: bool = False,
    tools: Tools | None = None,
) -> Estimate:
    """What `score_file` would ask `judge` about, with an empty cache: checks run, nobody is asked, nothing is written.
    Raises RubricError and DataError for files that cannot be used."""
    estimate = Estimate(judge)
    book = _book(rubrics)
    scorer = Scorer(book, with_judge(replace(tools or default_tools(), allow_code=allow_code), estimate))
    asked, _ = _asked(read_answers(data, tuple(book)), book, scorer)
    for part in batches(_prompts(asked), BATCH, whole=scorer.relative):
        judge_rows(scorer, [asked[at] for at in part], judge_reasoning)
    return estimate


def _score(
    data: str | Path,
    book: Mapping[str, Rubric],
    out: Path,
    tools: Tools,
    judge_reasoning: bool,
    resume: bool,
    force: bool,
    workers: int | None,
    judge: Judge | None,
    progress: Progress,
) -> Tally:
    turns = Turns(1 if judge is None else judge.config.concurrency)
    scorer = Scorer(book, tools if judge is None else turns.over(tools))
    answers = read_answers(data, tuple(book))
    asked, unreadable = _asked(answers, book, scorer)
    count = _Count()
    rubrics_there = {**answers.rubrics, **book}
    write = write_as(out, asked, rubrics_there)
    known = {name: one for name, one in rubrics_there.items() if name in scorer}
    work = Work(known, replace(tools, judge=None) if scorer.light else tools, judge_reasoning)
    asks = any(one.critic.kind == "judge" for rubric in known.values() for one in rubric.criteria)
    minds = _minds(tools, judge) if asks else None
    begun: dict[str, JsonValue] = {"work": _work_id(asked, rubrics_there, judge_reasoning, minds)}
    with Unfinished(out, begun, resume=resume, force=force) as unfinished:
        done = len(unfinished.found)
        for row in unfinished.found:
            count.add(row)
        if done:
            progress.say(f"going on after {done} of {len(asked)} answers")
        with progress.task("scoring", len(asked), "answers") as task:
            task.advance(done)
            if judge is None:
                judged = _judged(asked, done, work, scorer, workers)
            else:
                parts, there = _left(asked, done, turns.size, scorer.relative)
                judged = _without(judge_overlapping(scorer, parts, judge_reasoning, turns, judge.close), there)
            for written in judged:
                unfinished.append(written)
                for line in written:
                    count.add(line)
                task.advance(len(written), account_line(judge.ledger.account()) if judge else "")
        unfinished.finish(write, _places(asked) if scorer.relative else None)
    return count.tally(out, unreadable, judge.ledger.account() if judge else None)


def _judged(
    asked: Sequence[Asked], done: int, work: Work, scorer: Scorer, workers: int | None
) -> Iterator[list[Written]]:
    """The rows as they are written, without the first `done`."""
    if workers is None:
        workers = (os.cpu_count() or 1) if len(asked) - done >= MANY else 1
    shared = workers > 1 and scorer.light
    parts, there = _left(asked, done, SHARED_BATCH if shared else BATCH, scorer.relative)
    if shared:
        return judge_shared(work, parts, min(workers, len(parts)))
    return _without((judge_rows(scorer, part, work.judge_reasoning) for part in parts), there)


def _left(asked: Sequence[Asked], done: int, size: int, relative: bool) -> tuple[list[Sequence[Asked]], int]:
    """What is left when `done` rows are written, in parts, and of how many of the first part the rows are there.

    In order, or prompt by prompt where a critic judges the answers to a prompt against each other (`relative`): an
    answer whose row is there still belongs to its group.
    """
    if not relative:
        return [asked[start : start + size] for start in range(done, len(asked), size)], 0
    parts = batches(_prompts(asked), size, whole=True)
    while parts and len(parts[0]) <= done:
        done -= len(parts.pop(0))
    return [[asked[at] for at in part] for part in parts], done


def _without(judged: Iterable[list[Written]], first: int) -> Iterator[list[Written]]:
    """All rows but the first."""
    for written in judged:
        yield written[first:]
        first = 0


def _prompts(asked: Sequence[Asked]) -> list[object]:
    return [row.prompt.messages for row, _ in asked]


def _places(asked: Sequence[Asked]) -> list[int]:
    """Of each answer, the number of its row where they are written prompt by prompt."""
    [written] = batches(_prompts(asked), len(asked), whole=True)
    return sorted(range(len(written)), key=written.__getitem__)


def _book(paths: Sequence[str | Path]) -> dict[str, Rubric]:
    book: dict[str, Rubric] = {}
    for path in paths:
        rubric = load_rubric(path)
        if book.get(rubric.id, rubric) != rubric:
            raise RubricError(f"{path}: another rubric given is called {rubric.id!r} too; give one of them another id")
        book[rubric.id] = rubric
    return book


def _asked(answers: Answers, book: Mapping[str, Rubric], scorer: Scorer) -> tuple[list[Asked], tuple[Rejected, ...]]:
    """What can be scored, and every row that cannot."""
    broken: dict[str, str] = {}
    for name, rubric in answers.rubrics.items():
        if book.get(name, rubric) != rubric:
            broken[name] = f"the row carries another rubric called {name!r} than the one given; rename one"
            continue
        try:
            scorer.add(name, rubric)
        except RubricError as error:
            broken[name] = str(error)
    asked: list[Asked] = []
    rejected = list(answers.rejected)
    for row in answers.rows:
        applied = row.prompt.judged_by(book)
        causes = [broken[name] for name in applied if name in broken and name in row.prompt.rubrics]
        if not applied:
            causes = ["no rubric judges the row: give one with --rubric, or a column `rubric`"]
        if causes:
            rejected.append(Rejected(row.line, f"{row.where}: {causes[0]}"))
        else:
            asked.append((row, applied))
    if not asked:
        more = f" (and {len(rejected) - 1} more rows)" if len(rejected) > 1 else ""
        raise DataError(f"{rejected[0].cause}{more}; no row can be scored")
    return asked, tuple(sorted(rejected, key=lambda one: one.line))


def _minds(tools: Tools, judge: Judge | None) -> JsonValue:
    """Who judges: the same judge at another address is still the same."""
    ours = judge.config.mind if judge is not None else tools.judge and tools.judge().fingerprint
    return [ours, {name: model().fingerprint for name, model in tools.judges.items()}]


def _work_id(
    asked: Sequence[Asked], rubrics: Mapping[str, Rubric], judge_reasoning: bool, judges: JsonValue = None
) -> str:
    """The same for the same answers in the same order, rubrics, options and judges: what finished rows may be kept
    for."""
    answers: list[JsonValue] = [
        [row.id, [list(turn) for turn in row.prompt.messages], row.response, row.prompt.reference, list(applied)]
        for row, applied in asked
    ]
    known: dict[str, JsonValue] = {name: rubric.content_id for name, rubric in rubrics.items()}
    return content_id([answers, known, judge_reasoning, judges])


@dataclass
class _Count:
    """The figures of the tally, from the rows as they are written."""

    rewards: list[float] = field(default_factory=list)
    unscored: dict[str, int] = field(default_factory=dict)
    criteria: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: Mapping[str, JsonValue]) -> None:
        reward, cause, criteria = row["reward"], row["cause"], row["criteria"]
        if isinstance(reward, int | float):
            self.rewards.append(float(reward))
        elif isinstance(cause, dict):
            name = f"{cause['code']} ({cause['kind']})"
            self.unscored[name] = self.unscored.get(name, 0) + 1
        for key, verdict in criteria.items() if isinstance(criteria, dict) else ():
            value = verdict["value"] if isinstance(verdict, dict) else None
            if isinstance(value, int | float):
                self.criteria.setdefault(key, []).append(float(value))

    def tally(self, out: Path, unreadable: tuple[Rejected, ...], account: Account | None) -> Tally:
        return Tally(
            out=out,
            scored=len(self.rewards),
            unscored=dict(sorted(self.unscored.items(), key=lambda item: (-item[1], item[0]))),
            unreadable=unreadable,
            reward=_mean(self.rewards) if self.rewards else None,
            criteria={key: _mean(values) for key, values in self.criteria.items()},
            account=account,
        )


def _mean(values: Sequence[float]) -> Mean:
    return Mean(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))
