"""YAML to a tree with places: no tags, no merge keys, no second document, no word that two readers take differently.

PyYAML supplies the events; what a plain word means is decided here, by the part that YAML 1.1 and 1.2 agree on. Where
they differ (`no`, `1_000`, `0777`, `12:30`) the file is refused with what to write instead. `2e-5` is a number, as in
1.2 and everywhere else, and a date is text.
"""

import re
from collections.abc import Iterator
from typing import Final, Protocol

import yaml

from rubric_anchors.core.nodes import DocumentProblem, Node, Place, Trail, check_depth, too_deep, twice
from rubric_anchors.core.words import kind_of

# The C parser is several times faster; both give the same events.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_SWITCH: Final = frozenset(
    form for word in ("yes", "no", "on", "off") for form in (word, word.capitalize(), word.upper())
)
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_ODD_NUMBER: Final = re.compile(
    r"[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"
    r"|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)"
)
_INT_DIGITS: Final = 19
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_HINTS: Final = (
    ("mapping values are not allowed", "text with ': ' in it needs quotes"),
    ("'\\t'", "indent with spaces, not tabs"),
    ("cannot start any token", "text that begins with this character needs quotes"),
    ("could not find expected ':'", "look for a missing colon, or text that needs quotes"),
    ("expected ',' or", "look for a missing comma or bracket"),
    ("unexpected end of stream", "look for a quote that is never closed"),
    ("unknown escape", "use single quotes for text with backslashes"),
)
_HINT: Final = "look at the indentation and quotes of this line and the one before"


class _Mark(Protocol):
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


def read_yaml(text: str) -> Node | None:
    """The document in `text`, None where there is none. Raises DocumentProblem."""
    odd = _UNPRINTABLE.search(text)
    if odd:
        seen = f"the character U+{ord(odd.group()):04X} cannot stand in YAML"
        raise DocumentProblem(f"{seen}; remove it", _place_of(text, odd.start()))
    reader = _Reader(yaml.parse(text, Loader=_LOADER))
    try:
        return reader.document()
    except DocumentProblem as problem:
        raise DocumentProblem(f"{reader.trail.label()}{problem}", problem.place) from None
    except yaml.MarkedYAMLError as error:
        seen = " ".join((error.problem or error.context or "unreadable").split())
        # An open quote is noticed at the end of the file; what helps is where it was opened.
        begun = "end of stream" in seen and error.context_mark
        mark = begun or error.problem_mark or error.context_mark
        if "nesting depth" in seen:
            # The C parser looks ahead of its events, and gives up at a depth of its own.
            raise DocumentProblem(f"{reader.trail.label()}{too_deep()}", _place(mark)) from None
        hint = next((hint for part, hint in _HINTS if part in seen), _HINT)
        place = _place(mark)
        if mark and "".join(text.split("\n")[mark.line : mark.line + 1]).lstrip(" ").startswith("\t"):
            seen, hint = "a tab stands in the indentation", "indent with spaces, not tabs"
        raise DocumentProblem(f"{reader.trail.label()}not valid YAML: {seen}; {hint}", place) from error
    except yaml.YAMLError as error:
        raise DocumentProblem(f"not valid YAML: {' '.join(str(error).split())}", None) from error


class _Reader:
    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._open: set[str] = set()
        self.trail = Trail()

    def document(self) -> Node | None:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        root = self._node(next(self._events), 1)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise DocumentProblem("a second document begins; expected one a file", _place(after.start_mark))
        return root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        place = _place(event.start_mark)
        check_depth(depth, place)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, place)
        if not isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent):
            raise DocumentProblem("not valid YAML: expected a value", place)
        if event.tag is not None:
            raise DocumentProblem(f"the tag {event.tag!r} is not allowed; write the value without it", place)
        if event.anchor is not None:
            self._open.add(event.anchor)
        if isinstance(event, yaml.ScalarEvent):
            node = Node(_scalar(event, place), place)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._list(place, depth)
        else:
            node = self._mapping(place, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
            self._open.discard(event.anchor)
        return node

    def _alias(self, anchor: str | None, place: Place | None) -> Node:
        if anchor in self._open:
            raise DocumentProblem(f"the alias *{anchor} stands inside what it repeats; it would never end", place)
        if anchor is None or anchor not in self._anchors:
            raise DocumentProblem(f"the alias *{anchor} has no anchor &{anchor} before it", place)
        # The place of the alias for the value itself, so that an error names the line where it is used.
        return Node(self._anchors[anchor].value, place, self._anchors[anchor].keys)

    def _list(self, place: Place | None, depth: int) -> Node:
        items: list[Node] = []
        node = Node(items, place)
        self.trail.begin(node)
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            self.trail.at(len(items))
            items.append(self._node(event, depth + 1))
            self.trail.at(None)
        self.trail.end()
        return node

    def _mapping(self, place: Place | None, depth: int) -> Node:
        values: dict[str, Node] = {}
        node = Node(values, place)
        self.trail.begin(node)
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            at = _place(event.start_mark)
            key = _key(event, at)
            if key in values:
                raise DocumentProblem(twice(key, node.keys[key]), at)
            node.keys[key] = at
            self.trail.at(key)
            values[key] = self._node(next(self._events), depth + 1)
            self.trail.at(None)
        self.trail.end()
        return node


def _key(event: yaml.Event, place: Place | None) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        seen = "an alias" if isinstance(event, yaml.AliasEvent) else "a list or mapping"
        raise DocumentProblem(f"a key must be text, seen {seen}; text that begins with *, [ or {{ needs quotes", place)
    if event.implicit[0] and event.value == "<<":
        raise DocumentProblem("merge keys (<<) are not read; write the fields out", place)
    key = _scalar(event, place)
    if not isinstance(key, str):
        raise DocumentProblem(f'a key must be text, seen {kind_of(key)}; put it in quotes: "{event.value}"', place)
    return key


def _scalar(event: yaml.ScalarEvent, place: Place | None) -> bool | int | float | str | None:
    if event.tag is not None:
        raise DocumentProblem(f"the tag {event.tag!r} is not allowed; write the value without it", place)
    if not event.implicit[0]:
        return str(event.value)
    return resolve(event.value, place)


def resolve(word: str, place: Place | None = None) -> bool | int | float | str | None:
    """What an unquoted word means. Raises DocumentProblem for a word that YAML 1.1 and 1.2 take differently."""
    if word in _NULL:
        return None
    if word in _BOOL:
        return _BOOL[word]
    if word in _SWITCH:
        truth = "true" if word.lower() in ("yes", "on") else "false"
        raise DocumentProblem(
            f'{word} is text to some YAML readers and {truth} to others; write "{word}" or {truth}', place
        )
    if _NOT_FINITE.fullmatch(word):
        raise DocumentProblem(f"{word} is no number that can be used; write a finite one", place)
    if _INT.fullmatch(word):
        if len(word) > _INT_DIGITS:
            raise DocumentProblem(f'{word[:40]} is too long for a number; if it is text, write "{word[:40]}"', place)
        return int(word)
    if _FLOAT.fullmatch(word):
        number = float(word)
        if number in (float("inf"), float("-inf")):
            raise DocumentProblem(f"{word[:40]} is beyond the largest number; write a finite one", place)
        return number
    if _ODD_NUMBER.fullmatch(word):
        message = f"{word[:40]} is read differently by YAML readers; write a plain decimal number, or quote it as text"
        raise DocumentProblem(message, place)
    return word


def _place(mark: _Mark | None) -> Place | None:
    return Place(mark.line + 1, mark.column + 1) if mark else None


def _place_of(text: str, index: int) -> Place:
    return Place(text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1)
