"""An endpoint that answers nothing any more: paused, looked at again by one request at a time, then given up.

What says that nobody is there (`Again.nobody`) counts at once. Any other failure may be the request's own, and counts
when the request has failed on all its tries: a prompt that a server cannot digest is no dead server.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.chat import NoReply
from rubric_anchors.models.pace import Clock
from rubric_anchors.models.wire import Again, Came, Hopeless

OPENS_AFTER: Final = 20
"""Failures in a row, without one answer between them."""
REFUSED_AFTER: Final = 3
"""The same where nothing ever listened there."""
RATHER_THAN_LOSE: Final = 5
"""The same where a request would otherwise be given up although nobody was there to take it."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0
NEVER_SEEN: Final = 5.0
"""The most seconds that an endpoint is waited for that has never answered: rather its address is wrong."""


class Breaker:
    """Of one endpoint, used from one event loop. Closed: all goes through. Open: one request at a time, with growing
    pauses, until one is answered or the patience is over."""

    def __init__(self, shown: str, patience: float, clock: Clock) -> None:
        self._shown = shown
        self._patience = patience
        self._clock = clock
        self._in_a_row = 0
        self._answered = False
        self._until: float | None = None
        self._pause = FIRST_PAUSE
        self._one = asyncio.Lock()

    @property
    def open(self) -> bool:
        """Whether requests are held back."""
        return self._until is not None

    async def through(self, send: Callable[[], Awaitable[Came]], *, last: bool) -> Came:
        """What came of `send`, when it may go out. `last`: whether it is the last try of its request. Raises SetupError
        where the patience is over."""
        while self.open:
            # In the order of their coming: the next to look is another request, should this one be at fault.
            async with self._one:
                if self._until is not None:
                    await self._clock.sleep(min(self._pause, max(self._until - self._clock.now(), 0.0)))
                    self._pause = min(2 * self._pause, LONGEST_PAUSE)
                    return self._seen(await send(), last)
        return self._seen(await send(), last)

    def _seen(self, came: Came, last: bool) -> Came:
        if isinstance(came, Again):
            if came.nobody or last or self.open:
                self._failed(came.failure, lost=last and came.nobody)
        elif not isinstance(came, Hopeless):
            self._in_a_row, self._answered = 0, True
            self._until, self._pause = None, FIRST_PAUSE
        return came

    def _failed(self, failure: NoReply, *, lost: bool) -> None:
        self._in_a_row += 1
        patience = self._patience if self._answered else min(self._patience, NEVER_SEEN)
        if self._until is None:
            never = failure.code == "refused_connection" and not self._answered
            if self._in_a_row < (REFUSED_AFTER if never else RATHER_THAN_LOSE if lost else OPENS_AFTER):
                return
            self._until = self._clock.now() + patience
        if self._clock.now() >= self._until:
            raise SetupError(
                f"{self._shown}: the last {self._in_a_row} requests failed, at last with {failure.code}"
                f" ({failure.detail}), and waiting for {patience:g} s did not help; is the server up? What was answered"
                " is kept: run the same again when it is"
            )
