"""Batches of answers judged while others wait for their judge, their rows given back in order.

Batches are small, and each runs in a thread of its own; but only one thread computes at a time, and it lets another in
while it waits for its judge. So no critic need know of threads, the first calls go out when the first few prompts are
made, and the endpoint is kept busy from the first call to the last, whatever single answers take.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from rubric_anchors.app.sharing import Asked, Written, judge_rows
from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.base import Tools
from rubric_anchors.models.chat import ChatModel, Follow, Request, Said
from rubric_anchors.reward.scorer import Scorer

AHEAD: Final = 4
"""Answers at work for each call in flight: so much may a single slow one hold up the writing of rows."""
SMALLEST: Final = 16
"""Answers of a batch. While prompts are made nobody looks after the calls: 16 take about as long as Python lets a
thread run anyhow."""
THREADS: Final = 64


@dataclass
class Turns:
    """Who computes: one thread at a time, none while it waits for a judge."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: bool = False

    def over(self, tools: Tools) -> Tools:
        """`tools` with judges that let others compute while they are asked."""

        def polite(make: Callable[[], ChatModel]) -> Callable[[], ChatModel]:
            return lambda: _Polite(make(), self)

        ours = None if tools.judge is None else polite(tools.judge)
        return replace(tools, judge=ours, judges={name: polite(make) for name, make in tools.judges.items()})

    def end(self) -> None:
        """Nobody is asked any more."""
        self._over = True

    @contextmanager
    def mine(self) -> Iterator[None]:
        """This thread's turn to compute."""
        with self._lock:
            yield

    @contextmanager
    def others(self) -> Iterator[None]:
        """Inside of `mine`: it is the others' turn. Raises SetupError where nobody is to be asked any more."""
        if self._over:
            raise SetupError("the work was given up")
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()


@dataclass(frozen=True)
class _Polite:
    """A chat model that is asked in the others' turn."""

    model: ChatModel
    turns: Turns

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        with self.turns.others():
            return self.model.ask(requests, follow)


def judge_overlapping(
    scorer: Scorer,
    asked: Sequence[Asked],
    judge_reasoning: bool,
    turns: Turns,
    at_once: int,
    give_up: Callable[[], None],
) -> Iterator[list[Written]]:
    """The rows of `asked` as they are written, some at a time, in order, so that `at_once` calls are in flight.

    `scorer` has its judges from `turns.over`; `give_up` ends their calls. Raises what `judge_rows` raises.
    """
    wanted = AHEAD * at_once
    size = max(SMALLEST, math.ceil(wanted / THREADS))
    threads = max(2, math.ceil(wanted / size))

    def judged(part: Sequence[Asked]) -> list[Written]:
        with turns.mine():
            return judge_rows(scorer, part, judge_reasoning)

    waiting: deque[Future[list[Written]]] = deque()
    with ThreadPoolExecutor(threads, "judging") as pool:
        try:
            for start in range(0, len(asked), size):
                if len(waiting) == threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(judged, asked[start : start + size]))
            while waiting:
                yield waiting.popleft().result()
        except BaseException:  # Ctrl-C, a full disk, a dead endpoint: what is in flight is not waited for
            turns.end()
            for one in waiting:
                one.cancel()
            give_up()
            raise
