"""An OpenAI-compatible endpoint that says what it is told to, with the faults of real ones."""

import asyncio
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self

from aiohttp import web

Body = dict[str, Any]
FAULTS: Final = ("429", "500", "503", "504", "hang", "reset", "truncated", "no_json", "no_choices", "empty")


def echo(body: Body) -> str:
    """What was asked last."""
    return str(body["messages"][-1]["content"])


class Simulator:
    """A server on 127.0.0.1, in a thread of its own, for the length of a `with`.

    `reply`: a request's body to what is said; as the arguments of a function where one must be called. `faults`: kind
    to its share of requests, drawn by `seed` and the number of the request. `fails`: the number of a request, from 0,
    to its fault; empty: none. `latency`: seconds a call; `most`: calls served at once, None for any number.
    `refuses_ways`: forms of a reply that it does not know, `schema` or `tools`. `refuses`: what every request gets, a
    status and a message or a whole body.
    """

    def __init__(
        self,
        reply: Callable[[Body], str | Body] = echo,
        faults: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
        latency: float = 0.0,
        most: int | None = None,
        fails: Callable[[int], str] | None = None,
        refuses_ways: Sequence[str] = (),
        refuses: tuple[int, str | Body] | None = None,
        retry_after: str = "0",
    ) -> None:
        self._reply = reply
        self._faults = dict(faults or {})
        self._random = random.Random(seed)
        self._latency = latency
        self._most = most
        self.fails = fails
        self._refuses_ways = tuple(refuses_ways)
        self.refuses = refuses
        self._retry_after = retry_after
        self.bodies: list[Body] = []
        """Every request's body, in order of arrival."""
        self.headers: list[Mapping[str, str]] = []
        self.faulted: Counter[str] = Counter()
        self.answered = 0
        self.at_once = 0
        self.most_at_once = 0
        self._hold: threading.Event | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        async def end() -> None:
            self._ended.set()
            await self._runner.cleanup()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        self._ended = asyncio.Event()
        self._places = asyncio.Semaphore(self._most) if self._most else None
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number = len(self.bodies)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self._places is None:
                return await self._answer(request, body, number)
            async with self._places:
                return await self._answer(request, body, number)
        finally:
            self.at_once -= 1

    async def _answer(self, request: web.Request, body: Body, number: int) -> web.StreamResponse:
        if self._latency:
            await asyncio.sleep(self._latency)
        if self.refuses is not None:
            status, said = self.refuses
            return web.json_response(said if isinstance(said, dict) else {"error": {"message": said}}, status=status)
        if "schema" in self._refuses_ways and "response_format" in body:
            return web.json_response({"error": {"message": "response_format json_schema is unsupported"}}, status=400)
        if "tools" in self._refuses_ways and "tools" in body:
            return web.json_response({"error": {"message": "tools param requires a flag"}}, status=500)
        fault = self._fault() if self.fails is None else self.fails(number)
        if fault:
            self.faulted[fault] += 1
            return await self._failed(fault, request)
        self.answered += 1
        said = self._reply(body)
        whole = said if isinstance(said, dict) else completion(said, body)
        return web.json_response(whole)

    def _fault(self) -> str:
        drawn = self._random.random()
        for name, share in self._faults.items():
            if drawn < share:
                return name
            drawn -= share
        return ""

    async def _failed(self, fault: str, request: web.Request) -> web.StreamResponse:
        if fault == "429":
            return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": self._retry_after})
        if fault == "500":
            return web.Response(status=500, text="<html>oops</html>")
        if fault in ("503", "504"):
            return web.Response(status=int(fault), text="<html>nobody is there</html>")
        if fault == "hang":
            await self._ended.wait()
        if fault in ("reset", "hang"):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if fault == "truncated":
            response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(b'{"choices": [{"mess')
            if request.transport is not None:
                request.transport.close()
            return response
        if fault == "no_json":
            return web.Response(text='{"choices": [{"message": {"content": "half')
        if fault == "no_choices":
            return web.json_response({"choices": []})
        return web.json_response(completion("", {"messages": []}))


def completion(text: str, body: Body) -> Body:
    """`text` as an endpoint's response, tokens counted by fours of characters."""
    prompt = sum(len(str(turn["content"])) for turn in body["messages"]) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": len(text) // 4, "total_tokens": prompt + len(text) // 4}
    message: Body = {"role": "assistant", "content": text}
    if "tools" in body:
        message = {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": text}}]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def as_json(value: object) -> str:
    """`value` as a model would write it."""
    return json.dumps(value, ensure_ascii=False)
