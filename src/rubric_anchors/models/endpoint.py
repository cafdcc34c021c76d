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
from rubric_anchors.models.pace import Clock, Pace
from rubric_anchors.models.replies import ReplyStore, reply_key
from rubric_anchors.models.wire import Again, Came, Hopeless, Unstructured, body_of, estimated_tokens, read_response

BODY_LIMIT: Final = 16 << 20
"""Bytes of a response that are read; no verdict is longer."""
DEAD_AFTER: Final = 20
"""Requests in a row, each on its last try, without one reply between them: the endpoint is taken for dead."""
REFUSED_AFTER: Final = 3
"""The same where nothing ever listened there."""
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
        self._structured = config.structured != "text"
        self._failed_in_a_row = 0
        self._ever = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
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
        return self.config.fingerprint

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """See `ChatModel.ask`. Requests go out in order, `config.concurrency` at once; `follow` is called in the
        endpoint's own thread, for one reply at a time.

        Raises SetupError where no request can succeed: the key is refused, the model is not there, the endpoint is
        dead, the cache cannot be written. Replies that came before it are in the cache.
        """
        if not requests:
            return []
        return self._run(self._ask_all(list(requests), follow))

    def close(self) -> None:
        """Closes the connections and ends the thread. A second call does nothing."""
        with self._guard:
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
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:
            # Ctrl-C in the asking thread: what is in flight is given up, and nothing of it is used.
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        """The running loop; a forked child, whose parent's thread it does not have, makes its own."""
        with self._guard:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="endpoint", daemon=True)
                self._thread.start()
                asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
            return self._loop

    async def _open(self) -> None:
        import aiohttp

        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=self.config.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._pace = Pace(self.config.requests_per_minute, self.config.tokens_per_minute, self._clock)
        self._in_flight: dict[str, asyncio.Future[Said]] = {}

    async def _end(self) -> None:
        """What is in flight, after Ctrl-C, is given up before the loop stops."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()

    async def _ask_all(self, requests: list[Request], follow: Follow | None) -> list[Said]:
        said: list[Said] = [NoReply("not_asked")] * len(requests)
        waiting = iter(enumerate(requests))

        async def work() -> None:
            for at, request in waiting:
                now = await self._one(request)
                while follow is not None and (after := follow(at, now)) is not None:
                    now = await self._one(after)
                said[at] = now

        tasks = [asyncio.create_task(work()) for _ in range(min(self.config.concurrency, len(requests)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return said

    async def _one(self, request: Request) -> Said:
        """One request, from the cache, from a sibling that is asking the same, or from the endpoint."""
        key = reply_key(self.fingerprint, request)
        if (kept := self._kept(key)) is not None:
            return kept
        if (asking := self._in_flight.get(key)) is not None:
            try:
                said = await asyncio.shield(asking)
            except asyncio.CancelledError:
                if not asking.cancelled():
                    raise  # this one is to end; the sibling's end would leave the asking to us
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
        """Asks when no other process on the same cache is asking the same."""
        if self._store is None:
            return await self._paid(request, key)
        while not self._store.claim(key):
            await asyncio.sleep(LOOK_AGAIN)
            if (kept := self._kept(key)) is not None:
                return kept
        try:
            # The other one may have ended between the look and the claim.
            return self._kept(key) or await self._paid(request, key)
        finally:
            self._store.release(key)

    async def _paid(self, request: Request, key: str) -> Said:
        tokens = estimated_tokens(request)
        reserved = self.ledger.reserve(tokens)
        if reserved is None:
            self.ledger.failed("over_budget")
            return NoReply("over_budget", "asking could have passed the most that may be spent")
        settled = False
        try:
            said = await self._tried(request, tokens)
            if isinstance(said, Reply):
                self.ledger.settle(reserved, said.usage)
                settled = True
                if self._store is not None:
                    await asyncio.wrap_future(self._store.put(key, said))
            else:
                self.ledger.failed(said.code)
            return said
        finally:
            if not settled:
                self.ledger.release(reserved)

    async def _tried(self, request: Request, tokens: int) -> Said:
        """The reply, after as many tries as are allowed. Raises SetupError where no request can succeed."""
        number = 1
        while True:
            await self._pace.turn(tokens + self.config.max_tokens)
            structured = self._structured and bool(request.schema)
            came = await self._post(body_of(self.config, request, structured), structured)
            if isinstance(came, Reply):
                self._failed_in_a_row, self._ever = 0, True
                return came
            if isinstance(came, Hopeless):
                raise SetupError(f"{redacted(self.config.url)}, model {self.config.model!r}: {came.why}")
            if isinstance(came, Unstructured):
                if self.config.structured == "schema":
                    raise SetupError(
                        f"{redacted(self.config.url)}: does not hold replies to a JSON Schema; set `structured: text`"
                    )
                self._structured = False
                continue
            if isinstance(came, NoReply):
                return came
            if came.after is not None:
                self._pace.pause(came.after)
            if number >= self.config.attempts:
                self._give_up(came.failure)
                return came.failure
            number += 1
            self.ledger.retried()
            await self._pace.before_try(number)

    def _give_up(self, failure: NoReply) -> None:
        """Counts a request that failed on all its tries; raises SetupError where the endpoint is dead."""
        self._failed_in_a_row += 1
        never = failure.code == "refused_connection" and not self._ever
        if self._failed_in_a_row >= (REFUSED_AFTER if never else DEAD_AFTER):
            failed, self._failed_in_a_row = self._failed_in_a_row, 0
            raise SetupError(
                f"{redacted(self.config.url)}: the last {failed} requests failed on every try ({failure.code}:"
                f" {failure.detail}); is the server up? What was answered is kept: run the same again when it is"
            )

    async def _post(self, body: bytes, structured: bool) -> Came:
        import aiohttp

        try:
            async with self._session.post(f"{self.config.url}/chat/completions", data=body) as response:
                read = bytearray()
                async for chunk in response.content.iter_any():
                    read += chunk
                    if len(read) > BODY_LIMIT:
                        return Again(NoReply("malformed_body", f"more than {BODY_LIMIT >> 20} MiB"))
                return read_response(response.status, response.headers, bytes(read), structured)
        except TimeoutError:
            return Again(NoReply("timeout", f"no answer within {self.config.timeout:g} s"))
        except aiohttp.ClientConnectorError as error:
            return Again(NoReply("refused_connection", type(error).__name__))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Only the type: a message may hold the URL as it was given.
            return Again(NoReply("broken_connection", type(error).__name__))


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()
