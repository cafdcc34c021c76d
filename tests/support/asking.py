"""Asking an endpoint in tests: short requests, and a clock that nobody waits for."""

import asyncio
from typing import Final

from tests.support.endpoint import Simulator

from rubric_anchors.models.chat import ChatTurn, Request, Said
from rubric_anchors.models.endpoint import Endpoint
from rubric_anchors.models.endpoint_config import EndpointConfig
from rubric_anchors.models.pace import Clock
from rubric_anchors.models.replies import ReplyStore

SCHEMA: Final = '{"type":"object"}'


def said(text: str, **more: object) -> Request:
    return Request((ChatTurn("user", text),), **more)  # type: ignore[arg-type]


class Time:
    """A clock that jumps where somebody would sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.sleep)


def asked(
    server: Simulator,
    requests: list[Request],
    time: Time | None = None,
    store: ReplyStore | None = None,
    **config: object,
) -> tuple[list[Said], Endpoint]:
    made = EndpointConfig.model_validate({"url": server.url, "model": "m", **config})
    with Endpoint(made, clock=(time or Time()).clock, store=store) as endpoint:
        return endpoint.ask(requests), endpoint
