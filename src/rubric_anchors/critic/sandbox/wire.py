"""Frames and plain data between the tests and the program. Standard library only: its source runs inside the sandbox.

A value crosses as data or not at all: an object with methods of its own, such as one that calls itself equal to
everything, cannot get to where verdicts are made.
"""

import json
import socket
from collections import deque
from collections.abc import ItemsView, KeysView, ValuesView
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

MOST_ITEMS = 200_000
KINDS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
ITERATORS: tuple[Any, ...] = (type(iter([0])), type(_ for _ in (0,)), map, filter, zip, enumerate, reversed)


class CannotCross(Exception):
    """A value that is no plain data, or too much of it."""


class Thing:
    """Stands for an object that is no plain data: true or false as that was, and equal to itself alone."""

    def __init__(self, truth: bool) -> None:
        self._truth = truth is True

    def __bool__(self) -> bool:
        return self._truth


class Encoder:
    """Values to JSON-able lists, `[kind, content]`, at most MOST_ITEMS in all."""

    def __init__(self, things: bool = False) -> None:
        self.left = MOST_ITEMS
        self.things = things
        """Whether what is no plain data is sent as a bare `Thing`."""

    def encode(self, value: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise CannotCross("it holds too many items")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return ["int", int.__format__(value, "x")]
        if isinstance(value, float):
            return ["float", float.__repr__(value)]
        if isinstance(value, complex):
            return ["complex", [repr(value.real), repr(value.imag)]]
        if isinstance(value, bytes | bytearray):
            return ["bytes", bytes(value).hex()]
        if isinstance(value, Fraction | Decimal):
            return [type(value).__name__, str(value)]
        for kind in KINDS:
            if isinstance(value, kind):
                return [kind.__name__, [self.encode(item) for item in kind.__iter__(value)]]
        if isinstance(value, dict):
            return ["dict", [[self.encode(key), self.encode(item)] for key, item in dict.items(value)]]
        if isinstance(value, range):
            return ["range", [hex(part) for part in (value.start, value.stop, value.step)]]
        if isinstance(value, KeysView | ValuesView | ItemsView):
            return ["list", [self.encode(item) for item in value]]
        if isinstance(value, ITERATORS):
            return ["iterator", [self.encode(item) for item in islice(value, self.left + 1)]]
        if self.things:
            return ["thing", bool(value)]
        raise CannotCross(f"an object of type {type(value).__name__} is no plain data")


def decode(value: Any) -> Any:
    """The value of an encoded one. Raises an ordinary exception on anything that the encoder does not write."""
    if value is None or isinstance(value, bool | str):
        return value
    kind, content = value
    match kind:
        case "int":
            return int(content, 16)
        case "float":
            return float(content)
        case "complex":
            return complex(float(content[0]), float(content[1]))
        case "bytes":
            return bytes.fromhex(content)
        case "Fraction":
            return Fraction(content)
        case "Decimal":
            return Decimal(content)
        case "dict":
            return {decode(key): decode(item) for key, item in content}
        case "range":
            return range(*(int(part, 16) for part in content))
        case "iterator":
            return iter([decode(item) for item in content])
        case "thing":
            return Thing(content)
    return {kind.__name__: kind for kind in KINDS}[kind](decode(item) for item in content)


def send(channel: socket.socket, message: Any, most: int) -> None:
    """A frame: eight digits of hex for the length, then JSON. Raises CannotCross above `most` bytes."""
    body = json.dumps(message).encode("ascii")
    if len(body) > most:
        raise CannotCross(f"it is larger than {most} bytes")
    channel.sendall(b"%08x" % len(body) + body)


def receive(channel: socket.socket, most: int) -> Any:
    """The next frame. Raises ConnectionError at the end or above `most` bytes."""
    length = int(_exactly(channel, 8), 16)
    if not 0 <= length <= most:
        raise ConnectionError(f"a frame of {length} bytes")
    return json.loads(_exactly(channel, length))


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = channel.recv(min(size, 1 << 16))
        if not part:
            raise ConnectionError("the program ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
