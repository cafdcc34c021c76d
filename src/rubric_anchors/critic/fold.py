"""One spelling for texts that readers cannot tell apart, with the way back to where each character stood.

`normal` makes line endings, Unicode normal form and invisible characters not matter; `fold` makes case, width and
typographic variants of a word not matter. Both take linear time on any text: runs of combining marks are normalised in
pieces, since `unicodedata` sorts a run of marks in quadratic time (Unicode's stream-safe format, UAX #15 D4, cuts the
same runs for the same reason).
"""

import unicodedata
from array import array
from collections.abc import Sequence
from typing import Final, Literal

import regex

MARKS_AT_ONCE: Final = 30
PIECE: Final = 256

# Zero-width and direction characters: invisible, so a text with them reads as one without. ZWJ and ZWNJ are left, since
# they change what is seen in emoji, Persian and Indic scripts.
INVISIBLE: Final = "\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_NEEDS_WORK = regex.compile(rf"[\r\x85\u2028\u2029{INVISIBLE}]")
_MANY_MARKS = regex.compile(rf"\p{{M}}{{{MARKS_AT_ONCE + 1}}}")
_CHUNK = regex.compile(
    rf"(?P<line>\r\n?|[\x85\u2028\u2029])|(?P<gone>[{INVISIBLE}]+)|(?P<same>[\x00-\x0c\x0e-\x7f]+(?![^\x00-\x7f]))|\X"
)
_JOINERS = {0x200C: None, 0x200D: None}
_SPELLINGS = {0x2019: "'", 0x02BC: "'", 0x2018: "'", 0x2010: "-", 0x2011: "-"}

Form = Literal["NFC", "NFKC"]


def normal(text: str) -> tuple[str, Sequence[int] | None]:
    """`text` in NFC with `\\n` line endings and without invisible characters, and where its characters came from.

    The second value has len(normal) + 1 entries: entry i is the place in `text` of the normal text's character i. None
    stands for the identity, which is the usual case.
    """
    if text.isascii() and "\r" not in text:
        return text, None
    many_marks = _MANY_MARKS.search(text) is not None
    if not many_marks and not _NEEDS_WORK.search(text) and unicodedata.is_normalized("NFC", text):
        return text, None
    pieces: list[str] = []
    origins = array("q")
    for chunk in _CHUNK.finditer(text):
        start, kind = chunk.start(), chunk.lastgroup
        seen = chunk[0]
        piece = (
            "\n" if kind == "line" else "" if kind == "gone" else seen if kind == "same" else normalised("NFC", seen)
        )
        pieces.append(piece)
        if len(piece) == len(seen):
            origins.extend(range(start, start + len(seen)))
        else:
            origins.extend([start] * len(piece))
    origins.append(len(text))
    return "".join(pieces), origins


def normalised(form: Form, text: str) -> str:
    """`unicodedata.normalize` in linear time: texts that hold long runs of marks are normalised in pieces."""
    if len(text) <= PIECE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, text[at : at + PIECE]) for at in range(0, len(text), PIECE))


def fold(word: str) -> str:
    """`word` as it is compared: no case, no width or style variants, straight apostrophes, no joiners."""
    if word.isascii():
        return word.lower()
    return normalised("NFKC", normalised("NFKC", word.translate(_SPELLINGS)).casefold()).translate(_JOINERS)
