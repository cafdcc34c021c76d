"""A document as a tree that remembers where each value stands: what the YAML and the JSON reader both give."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.words import kind_of

Path = tuple[str | int, ...]

DEPTH_LIMIT: Final = 32
"""Mappings and lists inside one another. A rubric needs 6 or 7."""
VALUE_LIMIT: Final = 100_000
"""Values in one document, those that YAML aliases repeat counted each time: no short file can grow into a huge one."""


_ENTRY: Final = {"criteria": "criterion", "stages": "stage"}
"""Lists whose entries have names of their own: a message says `criterion 'length'`, not `criteria[1]`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text; line and column count from 1."""

    line: int
    column: int


class DocumentProblem(Exception):
    """Why a text is no document, in words, and where; for the caller to turn into an error that names the file."""

    def __init__(self, message: str, place: Place | None) -> None:
        super().__init__(message)
        self.place = place


@dataclass(slots=True)
class Node:
    """A value and where it begins; `keys` are the places of a mapping's keys."""

    value: "bool | int | float | str | list[Node] | dict[str, Node] | None"
    place: Place | None
    keys: dict[str, Place | None] = field(default_factory=dict)


def plain(root: Node) -> JsonValue:
    """The values alone. Raises DocumentProblem beyond VALUE_LIMIT or DEPTH_LIMIT (which aliases can exceed)."""
    count = 0

    def walk(node: Node, depth: int) -> JsonValue:
        nonlocal count
        count += 1
        if count > VALUE_LIMIT:
            seen = f"more than {VALUE_LIMIT:,} values, aliases counted each time"
            raise DocumentProblem(f"{seen}; make the file smaller", node.place)
        check_depth(depth, node.place)
        if isinstance(node.value, list):
            return [walk(item, depth + 1) for item in node.value]
        if isinstance(node.value, dict):
            return {key: walk(item, depth + 1) for key, item in node.value.items()}
        return node.value

    return walk(root, 1)


def check_depth(depth: int, place: Place | None) -> None:
    """Raises DocumentProblem where `depth` is beyond DEPTH_LIMIT."""
    if depth > DEPTH_LIMIT:
        raise DocumentProblem(too_deep(), place)


def too_deep() -> str:
    """The message for a document beyond DEPTH_LIMIT."""
    return f"lists and mappings are nested more than {DEPTH_LIMIT} deep; flatten them"


def twice(key: str, first: Place | None) -> str:
    """The message for a key that stands twice in one mapping."""
    stands = f" (first on line {first.line})" if first else ""
    return f"the key {key!r} stands twice in one mapping{stands}; remove one"


def from_value(value: object, depth: int = 1) -> Node:
    """A tree without places of what a program built or a data row holds. Raises DocumentProblem on what is no JSON."""
    check_depth(depth, None)
    if isinstance(value, Mapping):
        bad = next((key for key in value if not isinstance(key, str)), None)
        if bad is not None:
            raise DocumentProblem(f"a field's name must be text, seen {kind_of(bad)}", None)
        return Node({key: from_value(item, depth + 1) for key, item in value.items()}, None)
    if isinstance(value, list | tuple):
        return Node([from_value(item, depth + 1) for item in value], None)
    if isinstance(value, float) and not math.isfinite(value):
        raise DocumentProblem(f"{value} is no number that can be used; write a finite one", None)
    if value is None or isinstance(value, bool | int | float | str):
        return Node(value, None)
    raise DocumentProblem(f"expected text, numbers, lists and mappings, seen a {type(value).__name__}", None)


def find(root: Node, path: Path) -> tuple[Node, Place | None, int]:
    """The node as far along `path` as the document goes, the place to name for it, and how many steps were taken.

    The place of a field is that of its key, which is where a reader looks; of a list's entry, that of the entry.
    """
    node, place = root, root.place
    for taken, step in enumerate(path):
        if isinstance(node.value, dict) and isinstance(step, str) and step in node.value:
            place = node.keys.get(step)
            node = node.value[step]
        elif isinstance(node.value, list) and isinstance(step, int) and 0 <= step < len(node.value):
            node = node.value[step]
            place = node.place
        else:
            return node, place, taken
    return node, place, len(path)


def label(root: Node, path: Path) -> str:
    """`criterion 'length': tiers[1].value: `; empty for the document itself."""
    names: list[str] = []
    rest = ""
    at = 0
    while at < len(path):
        step = path[at]
        follows = path[at + 1] if at + 1 < len(path) else None
        if not rest and step in _ENTRY and isinstance(follows, int):
            entry, _, _ = find(root, path[: at + 2])
            name = _name(entry)
            if name is not None:
                names.append(f"{_ENTRY[str(step)]} {name!r}")
                at += 2
                continue
        rest += f"[{step}]" if isinstance(step, int) else f".{step}" if rest else str(step)
        at += 1
    return "".join(f"{part}: " for part in [*names, rest] if part)


def _name(entry: Node) -> str | None:
    if isinstance(entry.value, dict):
        for field in ("key", "name", "id"):
            node = entry.value.get(field)
            if node is not None and isinstance(node.value, str):
                return node.value[:64]
    return None


class Trail:
    """Where a reader is: the containers it has begun and not ended. So even a syntax error can name its criterion."""

    def __init__(self) -> None:
        self._open: list[Node] = []
        self._steps: list[str | int | None] = []

    def begin(self, container: Node) -> None:
        """The reader enters a list or a mapping, which grows as it reads on."""
        self._open.append(container)
        self._steps.append(None)

    def at(self, step: str | int | None) -> None:
        """The reader is about to read the value at `step` of the innermost container; None: between values."""
        self._steps[-1] = step

    def end(self) -> None:
        """The reader leaves the innermost container."""
        self._open.pop()
        self._steps.pop()

    def label(self) -> str:
        """`label` of the place where the reader is. The reading ends with this: the containers are tied together."""
        for outer, step, inner in zip(self._open, self._steps, self._open[1:], strict=False):
            if isinstance(outer.value, dict) and isinstance(step, str):
                outer.value[step] = inner
            elif isinstance(outer.value, list):
                outer.value.append(inner)
        path = tuple(step for step in self._steps if step is not None)
        return label(self._open[0], path) if self._open else ""
