"""The final answer in a text: where it stands and what it is. Linear time on any text."""

import re
from collections import deque
from typing import Final, Literal, NamedTuple

From = Literal["auto", "boxed", "hashes", "says", "last", "whole"]

_HASHES = re.compile(r"####[ \t]*+([^\n]*+)")
_SAYS = re.compile(
    r"\b(?:final answer|correct answer|right answer|answer|correct option|correct choice|답|정답|答案)"
    r"[ \t]*+(?:\*\*)?(?:is|are|=|:|：|은|는|是|为)[ \t]*+:?[ \t]*+(?:\*\*)?(?=([^\n]{0,400}+))",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,])[-−+]?(?:\\?[$€£¥])?\d++(?:,\d{3}(?!\d))*+(?:\.\d++)?+(?:/\d++(?![\w/]))?+(?:\s?\\?%)?"
)
# 12입니다: what a Korean sentence writes onto the answer that it ends with.
_IS = re.compile(r"(?<=\S)(?:입니다|이에요|예요|이다)[.!]?\s*\Z")
LONGEST: Final = 400
"""Characters of a line that `hashes` looks at; `says` looks at as many."""


class Found(NamedTuple):
    """`text`, which stands at start..end of the text it was found in; `how` it was found."""

    text: str
    start: int
    end: int
    how: str


def final_answer(text: str, how: From) -> Found | None:
    """The last final answer that `text` states in the way `how`; None where it states none.

    Always one: a text that gives several has given the last.
    """
    ways = {"boxed": _boxed, "hashes": _hashes, "says": _says, "last": _last, "whole": _whole}
    for way in ("boxed", "hashes", "says", "last") if how == "auto" else (how,):
        found = ways[way](text)
        if found is not None:
            return found
    return None


def _cut(text: str, start: int, end: int, how: str) -> Found | None:
    """The part without what surrounds an answer in prose: spaces, emphasis, a full stop, a formula's delimiters."""
    edges = (" ", "\t", "\n", "*", "$", "`", "。", "!")
    while start < end and text[start] in edges:
        start += 1
    while start < end and (text[end - 1] in edges or (text[end - 1] == "." and end - 1 > start)):
        end -= 1
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if text.startswith(opening, start, end) and text.endswith(closing, start, end) and end - start > 4:
            return _cut(text, start + 2, end - 2, how)
    return Found(text[start:end], start, end, how) if start < end else None


def _boxed(text: str) -> Found | None:
    at = max(text.rfind("\\boxed{"), text.rfind("\\fbox{"))
    if at < 0:
        return None
    start = text.index("{", at) + 1
    depth = 1
    for place in range(start, len(text)):
        # An escaped brace, as in \{1, 2\}, counts on both sides alike.
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return _cut(text, start, place, "boxed")
    return None


def _hashes(text: str) -> Found | None:
    at = text.rfind("####")
    found = _HASHES.match(text, at) if at >= 0 else None
    return _cut(text, found.start(1), min(found.end(1), found.start(1) + LONGEST), "hashes") if found else None


def _last_of(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = deque(pattern.finditer(text), maxlen=1)
    return found[0] if found else None


def _says(text: str) -> Found | None:
    last = _last_of(_SAYS, text)
    if last is None:
        return None
    start, end = last.span(1)
    sentence = re.compile(r"[.!?。](?:\s|$)").search(text, start, end)
    end = sentence.start() if sentence else end
    ending = _IS.search(text[start:end])
    return _cut(text, start, start + ending.start() if ending else end, "says")


def _last(text: str) -> Found | None:
    last = _last_of(_NUMBER, text)
    return _cut(text, last.start(), last.end(), "last") if last else None


def _whole(text: str) -> Found | None:
    return _cut(text, 0, len(text), "whole")
