"""What each line of a text is: prose, or one of Markdown's kinds."""

import re
from typing import Final, Literal, NamedTuple

LineKind = Literal["blank", "prose", "heading", "bullet", "number", "table", "fence", "code", "quote", "rule"]

_HEADING = re.compile(r"[ \t]*+#{1,6}[ \t]++(?=\S)")
_BULLET = re.compile(r"[ \t]*+[-*+•‣◦▪●∙][ \t\u3000]++(?=\S)")
_NUMBER = re.compile(r"[ \t]*+(?:\(?(?:\d{1,3}|[A-Za-z])\)[ \t]++|\d{1,3}\.[ \t]++|\d{1,3}[、．][ \t]*+)(?=\S)")
_QUOTE = re.compile(r"[ \t]*+>[ \t>]*+")
FENCES: Final = ("```", "~~~")
# As CommonMark has it: ```x``` within one line is inline code and opens nothing.
_OPENS = re.compile(r"(`{3,})[^`]*|(~{3,}).*")


class Line(NamedTuple):
    """Characters start..end of the normal text, without the line's end; `body` is where the words after a mark
    begin."""

    kind: LineKind
    start: int
    end: int
    body: int


def read_lines(text: str) -> list[Line]:
    """The lines of `text` (LF line ends). A fence is closed by a line of its own marks, as many at least; one that is
    never closed makes all that follows code."""
    lines: list[Line] = []
    start, fence = 0, ""
    for content in text.split("\n"):
        end = start + len(content)
        stripped = content.strip()
        opens = _OPENS.fullmatch(stripped) if stripped and not fence else None
        if not stripped and not fence:
            lines.append(Line("blank", start, end, start))
        elif opens:
            lines.append(Line("fence", start, end, end))
            fence = opens[1] or opens[2]
        elif fence:
            closes = len(stripped) >= len(fence) and not stripped.strip(fence[0])
            lines.append(Line("fence" if closes else "code", start, end, end if closes else start))
            fence = "" if closes else fence
        else:
            kind, body = _kind(content, stripped)
            lines.append(Line(kind, start, end, start + body))
        start = end + 1
    return lines


def _kind(content: str, stripped: str) -> tuple[LineKind, int]:
    """The kind of a line that is not blank, and how far into it its words begin."""
    if stripped[0] in "-*_" and len(stripped) >= 3 and not set(stripped) - {stripped[0], " "}:
        return "rule", len(content)
    if found := _HEADING.match(content):
        return "heading", found.end()
    if found := _BULLET.match(content):
        return "bullet", found.end()
    if found := _NUMBER.match(content):
        return "number", found.end()
    if stripped[0] == "|" and stripped[-1] == "|" and len(stripped) > 1:
        return "table", 0
    if found := _QUOTE.match(content):
        return "quote", found.end()
    return "prose", 0
