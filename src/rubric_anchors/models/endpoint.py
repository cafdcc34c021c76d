"""A chat model behind an OpenAI-compatible endpoint: many requests at once, retried where that helps, paid once.

aiohttp and not an SDK: a judge is asked hundreds of thousands of times, and a call through aiohttp costs a third of a
millisecond of CPU here, through httpx and the SDKs on top of it several times that. The client lives in an event loop
of its own, in a thread of its own, so that `ask` is a plain call from anywhere: from a trainer, a notebook's running
loop, several threads.

What a failed request becomes (`NoReply.code`):

    timeout, refused_connection, broken_connection, server_error, rate_limited, malformed_body, empty_reply
                      the same on every try
    context_length    the prompt is too long for the model: the only failure that is the prompt's own
    refused_request   the endpoint would not take the request (HTTP 4xx)
    over_budget       asking could have passed --max-cost
    deadline          the batch's time was over
"""

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Final, Self, TypeVar

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.chat import Follow, NoReply, Reply, Request, Said
from rubric_anchors.models.endpoint_config import EndpointConfig, redacted
from rubric_anchors.models.ledger import Ledger
from rubric_anchors.models.pace import Clock
from rubric_anchors.models.replies import ReplyStore, reply_key
from rubric_anchors.models.tries import Tries

AHEAD: Final = 2
"""For each request in flight so many are at work: the others look into the cache, or wait for the disk."""
LOOK_AGAIN: Final = 0.02
"""Seconds between looks at what another process is asking."""
Made = TypeVar("Made")


class Endpoint:
    """A `ChatModel`. Make one for each endpoint and process; `close` it, or use it in a `with`."""

    def __init__(
        self,
        config: EndpointConfig,
        *,
        store: ReplyStore | None = None,
        ledger: Ledger | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Raises SetupError where the key's variable is not set or aiohttp is not installed."""
        self.config = config
        self.ledger = ledger or Ledger(config)
        self._store = store
        self._key = config.key()
        self._clock = clock or Clock()
        self._fingerprint = config.fingerprint
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._closed = False
        self._guard = threading.Lock()
        try:
            import aiohttp  # noqa: F401  # only to see that it is there
        except ModuleNotFoundError as error:
            raise SetupError(
                "asking an endpoint needs aiohttp, which is not installed; pip install 'rubric-anchors[judge]'"
            ) from error

    def __repr__(self) -> str:
        return f"Endpoint({redacted(self.config.url)!r}, {self.config.model!r})"

    @property
    def fingerprint(self) -> str:
        """Of all in the config that can change a reply."""
        return self._fingerprint

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """See `ChatModel.ask`. Requests go out in order, `config.concurrency` at once; `follow` is called in the
        endpoint's own thread, for one reply at a time.

        Raises SetupError where no request can succeed: the key is refused, the model is not there, the endpoint is
        dead or closed, the cache cannot be written. Replies that came before it are in the cache.
        """
        if not requests:
            return []
        return self._run(self._ask_all(list(requests), follow))

    def close(self) -> None:
        """Closes the connections and ends the thread; nothing can be asked any more. A second call does nothing."""
        with self._guard:
            self._closed = True
            loop, self._loop = self._loop, None
        if loop is not None and self._pid == os.getpid():
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, Made]) -> Made:
        with self._guard:  # what is begun before `close` is ended by it, and nothing is begun after it
            try:
                loop = self._started()
            except SetupError:
                work.close()
                raise
            future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C in the asking thread: what is in flight is given up, and nothing of it is used.
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        """The running loop; a forked child, whose parent's thread it does not have, makes its own."""
        if self._closed:
            raise SetupError("nothing can be asked of an endpoint that was closed")
        if self._loop is None or self._pid != os.getpid():
            self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name="endpoint", daemon=True)
            self._thread.start()
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self._loop

    async def _open(self) -> None:
        self._tries = Tries(self.config, self._key, self.ledger, self._clock)
        self._in_flight: dict[str, asyncio.Future[Said]] = {}

    async def _end(self) -> None:
        """What is in flight, after Ctrl-C, is given up before the loop stops."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._tries.close()

    async def _ask_all(self, requests: list[Request], follow: Follow | None) -> list[Said]:
        self._tries.begin()
        said: list[Said | None] = [None] * len(requests)
        waiting = iter(enumerate(requests))

        async def work() -> None:
            for at, request in waiting:
                now = await self._one(request)
                while follow is not None and (after := follow(at, now)) is not None:
                    now = await self._one(after)
                said[at] = now

        tasks = [asyncio.create_task(work()) for _ in range(min(AHEAD * self.config.concurrency, len(requests)))]
        try:
            await self._in_time(asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [self._too_late() if now is None else now for now in said]

    async def _in_time(self, work: "asyncio.Future[Any]") -> None:
        """Waits for `work`, and gives it up at the batch's deadline."""
        if self.config.batch_deadline is None:
            await work
            return
        alarm = asyncio.ensure_future(self._clock.sleep(self.config.batch_deadline))
        try:
            await asyncio.wait((work, alarm), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            alarm.cancel()
            work.cancel()

    def _too_late(self) -> Said:
        self.ledger.failed("deadline")
        return NoReply("deadline", f"no reply within the {self.config.batch_deadline or 0:g} s of the batch")

    async def _one(self, request: Request) -> Said:
        """One request, from the cache, from a sibling that is asking the same, or from the endpoint."""
        key = reply_key(self._fingerprint, request)
        if (asking := self._in_flight.get(key)) is not None:
            try:
                said = await asyncio.shield(asking)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not asking.cancelled() or (task is not None and task.cancelling()):
                    raise  # this one is to end; the sibling's end alone would leave the asking to us
            else:
                if isinstance(said, Reply):
                    self.ledger.from_cache()
                return said
        mine: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = mine
        try:
            said = await self._claimed(request, key)
            mine.set_result(said)
            return said
        finally:
            del self._in_flight[key]
            mine.cancel()

    def _kept(self, key: str) -> Reply | None:
        kept = None if self._store is None else self._store.get(key)
        if kept is not None:
            self.ledger.from_cache()
        return kept

    async def _claimed(self, request: Request, key: str) -> Said:
        """Looks and asks when no other process on the same cache is asking the same."""
        if self._store is None:
            return await self._asked(request, key)
        while not self._store.claim(key):
            await asyncio.sleep(LOOK_AGAIN)
            if (kept := self._kept(key)) is not None:
                return kept
        try:
            return self._kept(key) or await self._asked(request, key)
        finally:
            self._store.release(key)

    async def _asked(self, request: Request, key: str) -> Said:
        said = await self._tries.said(request)
        if not isinstance(said, Reply):
            self.ledger.failed(said.code)
        elif self._store is not None:
            await asyncio.wrap_future(self._store.put(key, said))
        return said


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()
