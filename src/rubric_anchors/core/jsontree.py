"""JSON to a tree with places. The standard reader gives no places and lets a repeated key pass."""

import json
import re
from bisect import bisect_right
from typing import Final

from rubric_anchors.core.nodes import DocumentProblem, Node, Place, Trail, check_depth, twice

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD: Final = re.compile(r"[A-Za-z_]+|[-+]?[A-Za-z0-9_.]+")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_LONE: Final = re.compile("[\ud800-\udfff]")
_INT_DIGITS: Final = 19


def read_json(text: str) -> Node | None:
    """The document in `text`, None where there is none. Raises DocumentProblem."""
    reader = _Reader(text)
    if reader.peek() == "":
        return None
    try:
        root = reader.node(1)
    except DocumentProblem as problem:
        raise DocumentProblem(f"{reader.trail.label()}{problem}", problem.place) from None
    if reader.peek():
        raise reader.problem("expected the end of the file after the closing bracket")
    return root


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.trail = Trail()
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def problem(self, message: str) -> DocumentProblem:
        seen = self._text[self._at : self._at + 1]
        shown = f"seen {seen!r}" if seen else "the file ends here"
        return DocumentProblem(f"not valid JSON: {message}; {shown}", self._place())

    def node(self, depth: int) -> Node:
        first, place = self.peek(), self._place()
        check_depth(depth, place)
        if first == "{":
            return self._mapping(place, depth)
        if first == "[":
            return self._list(place, depth)
        if first == '"':
            return Node(self._string(), place)
        return Node(self._bare(), place)

    def _mapping(self, place: Place, depth: int) -> Node:
        values: dict[str, Node] = {}
        node = Node(values, place)
        self._at += 1
        self.trail.begin(node)
        while values or self.peek() != "}":
            if self.peek() != '"':
                raise self.problem("expected a key in double quotes")
            at = self._place()
            key = self._string()
            if key in values:
                raise DocumentProblem(twice(key, node.keys[key]), at)
            if not self._take(":"):
                raise self.problem("expected ':' after the key")
            node.keys[key] = at
            self.trail.at(key)
            values[key] = self.node(depth + 1)
            self.trail.at(None)
            if self.peek() == "}":
                break
            if not self._take(","):
                raise self.problem("expected ',' or '}'")
        self._at += 1
        self.trail.end()
        return node

    def _list(self, place: Place, depth: int) -> Node:
        items: list[Node] = []
        node = Node(items, place)
        self._at += 1
        self.trail.begin(node)
        while items or self.peek() != "]":
            self.trail.at(len(items))
            items.append(self.node(depth + 1))
            self.trail.at(None)
            if self.peek() == "]":
                break
            if not self._take(","):
                raise self.problem("expected ',' or ']'")
        self._at += 1
        self.trail.end()
        return node

    def _take(self, mark: str) -> bool:
        found = self.peek() == mark
        self._at += found
        return found

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if not match:
            raise self.problem("a text in double quotes is never closed, or holds a line break (write \\n)")
        try:
            value = str(json.loads(match.group()))
        except ValueError:
            raise self.problem("a text holds an escape that is none (write \\\\ for a backslash)") from None
        if _LONE.search(value):
            raise self.problem("a text holds half of a surrogate pair; write the character itself")
        self._at = match.end()
        return value

    def _bare(self) -> bool | int | float | None:
        word = _WORD.match(self._text, self._at)
        if word and word.group() in _WORDS:
            self._at = word.end()
            return _WORDS[word.group()]
        number = _NUMBER.match(self._text, self._at)
        if not number or (word and word.end() > number.end()):
            seen = word.group()[:40] if word else ""
            raise self.problem(f"{seen} is no JSON value" if seen else "expected a value")
        whole = not (number.group(1) or number.group(2))
        if whole and len(number.group()) > _INT_DIGITS:
            raise self.problem("the number is too long")
        value = int(number.group()) if whole else float(number.group())
        if value in (float("inf"), float("-inf")):
            raise self.problem("the number is beyond the largest")
        self._at = number.end()
        return value

    def _place(self) -> Place:
        line = bisect_right(self._starts, self._at)
        return Place(line, self._at - self._starts[line - 1] + 1)
