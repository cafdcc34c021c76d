"""The tries of one request: so many at once, at the endpoint's pace, within the budget, in a form that it takes."""

import asyncio
from dataclasses import replace
from typing import Final

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.breaker import Breaker
from rubric_anchors.models.chat import NoReply, Reply, Request, Said
from rubric_anchors.models.endpoint_config import EndpointConfig, redacted
from rubric_anchors.models.ledger import Ledger
from rubric_anchors.models.pace import Clock, Pace
from rubric_anchors.models.wire import (
    WAYS,
    Again,
    Came,
    Hopeless,
    Unstructured,
    Way,
    body_of,
    estimated_tokens,
    read_response,
)

BODY_LIMIT: Final = 16 << 20
"""Bytes of a response that are read; no verdict is longer."""
CONNECTING: Final = 15.0
"""Seconds for a connection to stand."""
OVER_BUDGET: Final = NoReply("over_budget", "asking could have passed the most that may be spent")


class Tries:
    """Of one endpoint. Made, used and closed in one event loop."""

    def __init__(self, config: EndpointConfig, key: str, ledger: Ledger, clock: Clock) -> None:
        import aiohttp

        self._config = config
        self._key = key
        self._ledger = ledger
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=config.timeout, sock_connect=min(CONNECTING, config.timeout)),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._url = f"{config.url}/chat/completions"
        self._slots = asyncio.Semaphore(config.concurrency)
        self._pace = Pace(config.requests_per_minute, config.tokens_per_minute, clock)
        self._breaker = Breaker(redacted(config.url), config.patience, clock)
        self._way: Way = "schema" if config.structured == "auto" else config.structured
        """The best that the endpoint has not refused."""
        self._hopeless: Hopeless | None = None

    def begin(self) -> None:
        """A batch begins: what was hopeless may have been mended."""
        self._hopeless = None

    async def close(self) -> None:
        """Closes the connections."""
        await self._session.close()

    async def said(self, request: Request) -> Said:
        """The reply, after as many tries as are allowed. Raises SetupError where no request can succeed."""
        number = 1
        while True:
            came = await self._try(request, last=number >= self._config.attempts)
            if isinstance(came, Reply):
                return came
            if isinstance(came, Hopeless):
                self._hopeless = came
                shown = f"{redacted(self._config.url)}, model {self._config.model!r}"
                raise SetupError(f"{shown}: {self._without_key(came.why)}")
            if isinstance(came, Unstructured):
                self._refused(came.way)
                continue
            if isinstance(came, NoReply):
                return replace(came, detail=self._without_key(came.detail))
            if came.after is not None:
                self._pace.pause(came.after)
            if not (came.nobody and self._breaker.open):  # a request is not to blame for whom it does not reach
                if number >= self._config.attempts:
                    return replace(came.failure, detail=self._without_key(came.failure.detail))
                number += 1
            self._ledger.retried()
            if not self._breaker.open:
                await self._pace.before_try(max(number, 2))

    def _way_of(self, request: Request) -> Way:
        # The arguments of a function come without log-probabilities.
        return "text" if not request.schema or (self._way == "tools" and request.alternatives) else self._way

    def _refused(self, way: Way) -> None:
        """The endpoint does not hold replies to a schema in that way: the next one from now on."""
        if self._config.structured != "auto":
            raise SetupError(
                f"{redacted(self._config.url)}: does not hold replies to a JSON Schema by `structured: {way}`; set"
                " `structured: auto`, or `text`"
            )
        if way == self._way:  # else another request has found it out meanwhile
            self._way = WAYS[WAYS.index(way) + 1]

    async def _try(self, request: Request, *, last: bool) -> Came:
        async with self._slots:
            way = self._way_of(request)
            tokens = estimated_tokens(request, way)
            body = body_of(self._config, request, way)
            await self._pace.turn(tokens + self._config.max_tokens)
            if self._hopeless is not None:  # nothing more goes out, whoever waited to
                return self._hopeless
            reserved = self._ledger.reserve(tokens)
            if reserved is None:
                return OVER_BUDGET

            sent = False

            async def send() -> Came:
                nonlocal sent
                await self._pace.quiet()
                sent = True
                # Whatever ends it in the middle, the request may be on its way.
                came: Came = Again(NoReply("broken_connection"), maybe_billed=True)
                try:
                    came = await self._post(body, way)
                finally:
                    self._settle(reserved, came)
                return came

            try:
                return await self._breaker.through(send, last=last)
            finally:
                if not sent:
                    self._ledger.release(reserved)

    def _settle(self, reserved: float, came: Came) -> None:
        if isinstance(came, Reply):
            self._ledger.settle(reserved, came.usage)
        elif isinstance(came, Again) and came.maybe_billed:
            self._ledger.assume(reserved)
        else:
            self._ledger.release(reserved)

    async def _post(self, body: bytes, way: Way) -> Came:
        import aiohttp

        try:
            async with self._session.post(self._url, data=body) as response:
                read = bytearray()
                async for chunk in response.content.iter_any():
                    read += chunk
                    if len(read) > BODY_LIMIT:
                        failure = NoReply("malformed_body", f"more than {BODY_LIMIT >> 20} MiB")
                        return Again(failure, maybe_billed=True)
                return read_response(response.status, response.headers, bytes(read), way)
        except aiohttp.ConnectionTimeoutError:
            return Again(NoReply("refused_connection", "no connection in time"), nobody=True)
        except TimeoutError:
            return Again(NoReply("timeout", f"no answer within {self._config.timeout:g} s"), maybe_billed=True)
        except aiohttp.ClientConnectorError as error:
            return Again(NoReply("refused_connection", type(error).__name__), nobody=True)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Only the type: a message may hold the URL as it was given.
            return Again(NoReply("broken_connection", type(error).__name__), maybe_billed=True)

    def _without_key(self, detail: str) -> str:
        """The same, should a server have repeated the key."""
        return detail.replace(self._key, "***") if self._key else detail
