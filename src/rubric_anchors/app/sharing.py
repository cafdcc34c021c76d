"""Batches of answers judged in other processes beside each other, their rows given back in order.

Only for rubrics whose critics are all light (`Check.light`): a model would be loaded once a process, and an endpoint is
asked many things at once from one.

Not `ProcessPoolExecutor`: its workers share one pipe for results, and a worker that is killed while it writes leaves
its pool waiting for the rest for ever. Here each has a pipe of its own, which ends with it.
"""

import gc
import queue
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final

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
    with _ignoring_interrupts():  # from their first instruction; until then they have what this process has
        there = [_Worker(work) for _ in range(workers)]
    waiting: deque[_Worker] = deque()
    try:
        for number, part in enumerate(parts):
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().receive()
            worker = there[number % workers]
            worker.send(part)
            waiting.append(worker)
        while waiting:
            yield waiting.popleft().receive()
    finally:
        for worker in there:
            worker.end()


class _Worker:
    """A process that judges the parts it is sent, in order."""

    def __init__(self, work: Work) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe ends with the process
        # Sending waits where a pipe is full, and the process may just then be waiting to send: not in this thread.
        self._unsent: queue.SimpleQueue[Sequence[Asked] | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send_all, daemon=True)
        self._sender.start()

    def send(self, part: Sequence[Asked]) -> None:
        self._unsent.put(part)

    def receive(self) -> list[Written]:
        """The rows of the first part not yet received."""
        try:
            came: Any = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise SetupError(
                "a process that was judging answers has been killed, perhaps for want of memory; finished rows are"
                " kept: go on with --resume, and with fewer --workers"
            ) from error
        if isinstance(came, Exception):
            raise came
        return list(came)

    def end(self) -> None:
        """Ends the process, in the middle of its work if need be."""
        self._process.kill()
        self._process.join()
        self._unsent.put(None)
        self._sender.join()
        self._pipe.close()

    def _send_all(self) -> None:
        with suppress(OSError):  # the process is gone: whoever receives will see it
            while (part := self._unsent.get()) is not None:
                self._pipe.send(part)


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


def _serve(pipe: "Connection[Any, Any]", work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scorer = Scorer(work.rubrics, work.tools)
    gc.freeze()  # what is there by now stays to the end: no collection need go through it
    with suppress(EOFError, OSError):  # the process that asked is gone
        while True:
            part = pipe.recv()
            try:
                pipe.send(judge_rows(scorer, part, work.judge_reasoning))
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001  raised again where it can be told
                pipe.send(error)
