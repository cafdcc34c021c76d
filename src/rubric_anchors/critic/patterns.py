"""Users' patterns: regular expressions from strangers, compiled within limits and searched against the clock.

The `regex` package writes counted repeats out when it compiles: `((a|b){2000}){2000}` takes seconds, and a million
groups end the process. Its time limit does not reach into that, nor into the search for one very long word.
"""

import re
from collections.abc import Iterator
from math import prod
from typing import Final

import regex

from rubric_anchors.core.errors import CriticError

SECONDS: Final = 1.0
"""A pattern may take so long on one text."""
LENGTH: Final = 2000
"""Characters in a pattern."""
WRITTEN_OUT: Final = 50_000
"""Parts in a pattern, those that are repeated a counted number of times counted as often."""

_TOKEN = re.compile(
    r"\\.|\(\?#[^)]*\)|(?P<open>\()|(?P<close>\))|\{(?P<least>\d*)(?:,(?P<most>\d*))?\}"
    r"|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.",
    re.DOTALL,
)
# A call within a call: gigabytes in a second.
_CALL = re.compile(r"\(\?(?:R|[+-]?\d+|&|P>)")
# Where these are set, brackets nest or comments stand about, and groups cannot be told without a parser.
_OTHER_SYNTAX = re.compile(r"\(\?[a-zA-Z0-9-]*[xV]")


def compiled(pattern: str, flags: int = 0) -> "regex.Pattern[str]":
    """`pattern` ready for `matches`. Raises ValueError, in words, for what is no pattern or is beyond the limits."""
    shown = repr(pattern[:60])
    if len(pattern) > LENGTH:
        raise ValueError(f"a pattern has at most {LENGTH} characters; seen {len(pattern)}: {shown}")
    if written_out(pattern) > WRITTEN_OUT:
        raise ValueError(f"its counted repeats come to more than {WRITTEN_OUT} parts, make them smaller: {shown}")
    if _CALL.search(pattern):
        raise ValueError(f"a pattern that calls itself or a group is not taken; write the part out: {shown}")
    try:
        return regex.compile(pattern, flags)
    except regex.error as error:
        raise ValueError(f"no regular expression ({error}): {shown}") from error
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(f"groups are nested too deep in it: {shown}") from error


def matches(pattern: "regex.Pattern[str]", text: str) -> Iterator["regex.Match[str]"]:
    """The matches in `text`, in order. Raises CriticError once they have taken more than SECONDS."""
    try:
        yield from pattern.finditer(text, timeout=SECONDS)
    except TimeoutError as error:
        raise CriticError(f"the pattern took more than {SECONDS:g} s on this answer") from error


def written_out(pattern: str) -> int:
    """How many parts `pattern` has with its counted repeats written out; never less than it has."""
    counts = [
        int(token["most"] or token["least"] or 1)
        for token in _TOKEN.finditer(pattern)
        if token["least"] is not None or token["most"] is not None
    ]
    if _OTHER_SYNTAX.search(pattern):
        return len(pattern) * prod(max(count, 1) for count in counts)
    total, last = 0, 0  # of the group that is open; of its last part
    outer: list[int] = []
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            outer.append(total)
            total, last = 0, 0
        elif token["close"]:
            total, last = (outer.pop() if outer else 0) + total + 1, total + 1
        elif token["least"] is not None or token["most"] is not None:
            count = max(int(token["most"] or token["least"] or 1), 1)
            total, last = total + last * (count - 1), last * count
        else:
            total, last = total + 1, 1
    return total + sum(outer)
