"""Words, sentences and stems for the measures alone: the critics have their own, and the two share nothing on
purpose.
"""

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_END: Final = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_]*\w)")
_GOES_ON: Final = re.compile(r"(?:\.\.|…|[!?]|[\"'”’)])$")
_SHORT: Final = re.compile(r"\b(?:mr|mrs|ms|dr|st|prof|vs|e\.g|i\.e|etc|no|jr|sr)\.$", re.IGNORECASE)
LIST_LINE: Final = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,3}[.)]|#{1,6})\s+")
_SUFFIXES: Final = (
    ("iness", "y"), ("ingly", ""), ("edly", ""), ("ies", "y"), ("ied", "y"), ("ily", "y"), ("ness", ""), ("ing", ""),
    ("ers", ""), ("est", ""), ("ed", ""), ("er", ""), ("ly", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip


def words(text: str) -> list[str]:
    """Lower-case words with typewriter apostrophes; numbers and signs are left out."""
    return [word.replace("’", "'").lower() for word in _WORD.findall(text)]


def sentences(text: str) -> list[str]:
    """Sentences in order: cut at line ends, and after `.`, `!` or `?`.

    Not after an abbreviation, nor where a small letter goes on behind a quotation, a question or three dots.
    """
    found: list[str] = []
    for line in text.splitlines():
        start = 0
        for match in _END.finditer(line):
            before = line[start : match.end()].strip()
            if not _SHORT.search(before) and not (line[match.end()].islower() and _GOES_ON.search(before)):
                found.append(before)
                start = match.end()
        found.append(line[start:].strip())
    return [sentence for sentence in found if sentence]


def windows(sequence: list[str], size: int) -> list[list[str]]:
    """`sequence` in consecutive runs of about `size`; a rest shorter than half joins the run before it."""
    if len(sequence) <= size:
        return [sequence]
    starts = list(range(0, len(sequence), size))
    if len(sequence) - starts[-1] < size / 2:
        starts.pop()
    return [sequence[start:end] for start, end in zip(starts, [*starts[1:], len(sequence)], strict=True)]


def stem(word: str) -> str:
    """A crude English stem, so that `gardening`, `gardens` and `garden` meet; at least three letters are kept."""
    word = word.split("'")[0]
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) + len(instead) >= 3:
            word = word[: len(word) - len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


def ngrams(sequence: list[str], size: int) -> list[tuple[str, ...]]:
    """Every run of `size` neighbours, in order."""
    return list(zip(*(sequence[shift:] for shift in range(size)), strict=False))
