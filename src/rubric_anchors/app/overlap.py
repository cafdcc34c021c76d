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
from dataclasses import dataclass, replace
from typing import Final

from rubric_anchors.app.sharing import Asked, Written, judge_rows
from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.base import Tools
from rubric_anchors.models.chat import ChatModel, Follow, Request, Said
from rubric_anchors.reward.scorer import Scorer

AHEAD: Final = 4
"""Answers at work for each call in flight: so much may a single slow one hold up the writing of rows."""
READY: Final = 1.25
"""Undecided answers for each call in flight. More prompts made ahead would only keep the first calls waiting."""
SMALLEST: Final = 16
"""Answers of a batch. While prompts are made nobody looks after the calls: 16 take about as long as Python lets a
thread run anyhow."""
THREADS: Final = 64


class Turns:
    """Who computes: one thread at a time, none while it waits for a judge."""

    def __init__(self, at_once: int = 1) -> None:
        """`at_once`: calls in flight."""
        self._lock = threading.Lock()
        self._begin = threading.Lock()
        self.size = max(SMALLEST, math.ceil(AHEAD * at_once / THREADS))
        """Answers of a batch."""
        self.threads = max(2, math.ceil(AHEAD * at_once / self.size))
        self._most = math.ceil(READY * at_once) + self.size
        self._room = threading.Semaphore(self._most)
        self._batch = threading.local()
        self._over = False

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
    def mine(self, answers: int) -> Iterator[None]:
        """This thread's turn to compute, when there is room for so many more undecided answers, or for no more than
        these."""
        answers = min(answers, self._most)
        with self._begin:
            for _ in range(answers):
                self._room.acquire()
        self._batch.undecided = undecided = _Undecided(answers, self._room)
        try:
            with self._lock:
                yield
        finally:
            while undecided.one_less():
                pass

    def ask(self, model: ChatModel, requests: Sequence[Request], follow: Follow | None) -> list[Said]:
        """Inside of `mine`: asks, in the others' turn. Raises SetupError where nobody is to be asked any more."""
        if self._over:
            raise SetupError("the work was given up")
        undecided: _Undecided = self._batch.undecided

        def counted(at: int, said: Said) -> Request | None:
            after = None if follow is None else follow(at, said)
            if after is None:
                undecided.one_less()
            return after

        self._lock.release()
        try:
            return model.ask(requests, counted)
        finally:
            self._lock.acquire()


@dataclass
class _Undecided:
    """The answers of a batch that take up room."""

    count: int
    room: threading.Semaphore

    def one_less(self) -> bool:
        """False where there is none."""
        if self.count <= 0:
            return False
        self.count -= 1
        self.room.release()
        return True


@dataclass(frozen=True)
class _Polite:
    """A chat model that is asked in the others' turn."""

    model: ChatModel
    turns: Turns

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        return self.turns.ask(self.model, requests, follow)


def judge_overlapping(
    scorer: Scorer, parts: Sequence[Sequence[Asked]], judge_reasoning: bool, turns: Turns, give_up: Callable[[], None]
) -> Iterator[list[Written]]:
    """The rows of `parts`, each of about `turns.size` answers, as they are written, in order.

    `scorer` has its judges from `turns.over`; `give_up` ends their calls. Raises what `judge_rows` raises.
    """

    def judged(part: Sequence[Asked]) -> list[Written]:
        with turns.mine(len(part)):
            return judge_rows(scorer, part, judge_reasoning)

    waiting: deque[Future[list[Written]]] = deque()
    with ThreadPoolExecutor(turns.threads, "judging") as pool:
        try:
            for part in parts:
                if len(waiting) == turns.threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(judged, part))
            while waiting:
                yield waiting.popleft().result()
        except BaseException:  # Ctrl-C, a full disk, a dead endpoint: what is in flight is not waited for
            turns.end()
            for one in waiting:
                one.cancel()
            give_up()
            raise
