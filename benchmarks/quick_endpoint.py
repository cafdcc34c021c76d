"""An OpenAI-compatible endpoint that takes a stated time a call and next to no time of a core: in measurements it must
not be what is measured.

In a process of its own; `tests/support/endpoint.py` is the one with faults.
"""

import asyncio
import json
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final

Say = Callable[[dict[str, Any]], str]
"""A request's body to the text of the reply."""
SPACE: Final = b"\r\n\r\n"


class _Served:
    """What all connections share: places, and what is counted."""

    def __init__(self, say: Say, latency: float, most: int) -> None:
        self.say, self.latency, self.most = say, latency, most
        self.waiting: deque[Callable[[], None]] = deque()
        self.at_once = self.most_at_once = self.answered = self.prompt_tokens = 0

    def begin(self, go: Callable[[], None]) -> None:
        if self.at_once >= self.most:
            self.waiting.append(go)
            return
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        go()

    def end(self) -> None:
        self.answered += 1
        self.at_once -= 1
        if self.waiting:
            self.begin(self.waiting.popleft())

    def reply(self, body: dict[str, Any]) -> bytes:
        text = self.say(body)
        prompt = sum(len(str(turn["content"])) for turn in body["messages"]) // 4
        self.prompt_tokens += prompt
        usage = {"prompt_tokens": prompt, "completion_tokens": len(text) // 4, "total_tokens": prompt + len(text) // 4}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return json.dumps({**whole, "choices": [choice], "usage": usage}).encode()


class _Connection(asyncio.Protocol):
    """One connection, one request after the other."""

    def __init__(self, served: _Served) -> None:
        self._served = served
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        ends = self._read.find(SPACE)
        if ends < 0:
            return
        head = bytes(self._read[:ends]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        start = ends + len(SPACE)
        if len(self._read) < start + length:
            return
        body = bytes(self._read[start : start + length])
        del self._read[: start + length]
        self._served.begin(lambda: self._go(body))

    def _go(self, body: bytes) -> None:
        asyncio.get_running_loop().call_later(self._served.latency, self._answer, body)

    def _answer(self, body: bytes) -> None:
        said = self._served.reply(json.loads(body))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said)
        self._transport.write(head + said)
        self._served.end()


def _serve(pipe: "Connection[Any, Any]", say: Say, latency: float, most: int) -> None:
    async def run() -> None:
        served = _Served(say, latency, most)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(served), "127.0.0.1", 0, backlog=1024)
        pipe.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        await loop.run_in_executor(None, pipe.recv)
        pipe.send({name: getattr(served, name) for name in ("answered", "most_at_once", "prompt_tokens")})

    asyncio.run(run())


class Serving:
    """An endpoint that runs: its URL; afterwards what it counted."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.counted: dict[str, int] = {}


@contextmanager
def serving(say: Say, latency: float, most: int) -> Iterator[Serving]:
    """An endpoint for the length of a `with`; `say` is a function of a module."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, say, latency, most), daemon=True)
    process.start()
    found = Serving(here.recv())
    try:
        yield found
    finally:
        here.send("end")
        found.counted = here.recv()
        process.join()
