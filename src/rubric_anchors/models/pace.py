"""When the next request may go out: the endpoint's limits, and the pauses that it asks for."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 30.0
LONGEST_PAUSE: Final = 300.0
"""Seconds of a `Retry-After` that are honoured; an endpoint that asks for more is not coming back soon."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, and waiting for it; tests put their own in its place."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass
class Pace:
    """The pace of one endpoint. Used from one event loop."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    clock: Clock = field(default_factory=Clock)
    _requests_free: float = 0.0
    _tokens_free: float = 0.0
    _pause_until: float = 0.0
    draw: random.Random = field(default_factory=random.Random)

    async def turn(self, tokens: int) -> None:
        """Waits until a request of about so many tokens may go out. Requests are spread evenly, none in bursts."""
        while True:
            now = self.clock.now()
            at = max(now, self._pause_until, self._requests_free, self._tokens_free)
            if at <= now:
                break
            await self.clock.sleep(at - now)
        if self.requests_per_minute is not None:
            self._requests_free = max(now, self._requests_free) + 60.0 / self.requests_per_minute
        if self.tokens_per_minute is not None:
            self._tokens_free = max(now, self._tokens_free) + 60.0 * tokens / self.tokens_per_minute

    async def quiet(self) -> None:
        """Waits out the pauses that the endpoint asked for."""
        while (left := self._pause_until - self.clock.now()) > 0:
            await self.clock.sleep(left)

    def pause(self, seconds: float) -> None:
        """Nothing goes out for so long: the endpoint asked for it."""
        self._pause_until = max(self._pause_until, self.clock.now() + min(seconds, LONGEST_PAUSE))

    async def before_try(self, number: int) -> None:
        """Waits before try `number` (2 is the first repeat): at random up to a bound that doubles (full jitter)."""
        await self.clock.sleep(self.draw.uniform(0.0, min(FIRST_WAIT * 2 ** (number - 2), LONGEST_WAIT)))
