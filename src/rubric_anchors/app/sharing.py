"""Batches of answers judged in other processes beside each other, their rows given back in order.

Only for rubrics whose critics are all light (`Check.light`): a model would be loaded once a process, and an endpoint is
asked many things at once from one.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.base import Tools
from rubric_anchors.data.rows import AnswerRow
from rubric_anchors.reward.marks import row_json
from rubric_anchors.reward.record import answer_to
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.model import Rubric

Asked = tuple[AnswerRow, tuple[str, ...]]
"""An answer with the names of the rubrics that judge it."""
Written = dict[str, JsonValue]
AHEAD: Final = 2
"""Batches that wait for each process, so that none is ever without work."""


@dataclass(frozen=True)
class Work:
    """All that a process needs to judge answers."""

    rubrics: Mapping[str, Rubric]
    tools: Tools
    judge_reasoning: bool

    def scorer(self) -> Scorer:
        return Scorer(self.rubrics, self.tools)


def judge_rows(scorer: Scorer, part: Sequence[Asked], judge_reasoning: bool) -> list[Written]:
    """The rows of `part` as they are written."""
    answers = [answer_to(row.prompt, row.response, judge_reasoning=judge_reasoning) for row, _ in part]
    marks = scorer.score(answers, [applied for _, applied in part])
    return [row_json(row.id, "+".join(applied), mark) for (row, applied), mark in zip(part, marks, strict=True)]


def judge_shared(work: Work, parts: Iterable[Sequence[Asked]], workers: int) -> Iterator[list[Written]]:
    """`judge_rows` of each part in order, by `workers` processes. Raises SetupError where one of them is killed.

    The processes end with this one, however it ends, and leave Ctrl-C to it. They are started by importing anew: a
    script that calls this needs the usual `if __name__ == "__main__"`.
    """
    waiting: deque[Future[list[Written]]] = deque()
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (work,))
    try:
        for part in parts:
            waiting.append(_submit(pool, part))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise SetupError(
            "a process that was judging answers has been killed, perhaps for want of memory; finished rows are kept:"
            " go on with --resume, and with fewer --workers"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, part: Sequence[Asked]) -> Future[list[Written]]:
    # A process may be started here: it is to ignore Ctrl-C from its first instruction, before `_begin` can say so.
    with _ignoring_interrupts():
        return pool.submit(_judge, part)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_judge_here: Callable[[Sequence[Asked]], list[Written]]
"""Set once in each process that judges."""


def _begin(work: Work) -> None:
    global _judge_here
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    scorer = work.scorer()

    def judge(part: Sequence[Asked]) -> list[Written]:
        return judge_rows(scorer, part, work.judge_reasoning)

    _judge_here = judge


def _judge(part: Sequence[Asked]) -> list[Written]:
    return _judge_here(part)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
