"""What of a long answer is judged: all of it, its head and tail with a note of what is missing, or piece by piece."""

from dataclasses import dataclass
from typing import Final, Literal

Long = Literal["head_tail", "chunks", "refuse"]
MOST_PIECES: Final = 32
"""An answer of more pieces is too long to be judged."""
_BREAKS: Final = ("\n\n", "\n", "。", ". ", " ")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of an answer that is judged in one go."""

    text: str
    """As it came; quotations are looked for in it."""
    start: int = 0
    """Where it begins in the answer."""
    left_out: int = 0
    """Characters in its middle that are not shown."""
    longest: int = 0
    """Characters that are shown of it where some are left out."""
    number: int = 1
    of: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """What is shown: the text, or its head (two thirds of what is shown) and tail."""
        if not self.left_out:
            return (self.text,)
        head = self.longest * 2 // 3
        return self.text[:head], self.text[len(self.text) - (self.longest - head) :]


def passages(text: str, long: Long, longest: int) -> tuple[Passage, ...]:
    """The stretches of `text` that are judged, in order. Raises ValueError, which says how long it is, where it is too
    long for that."""
    if len(text) <= longest:
        return (Passage(text),)
    if long == "refuse":
        raise ValueError(f"{len(text)} characters, and at most {longest} are judged")
    if long == "head_tail":
        return (Passage(text, left_out=len(text) - longest, longest=longest),)
    ends = _ends(text, longest)
    if len(ends) > MOST_PIECES:
        raise ValueError(f"{len(text)} characters, and at most {MOST_PIECES} pieces of {longest} are judged")
    starts = [0, *ends[:-1]]
    pieces = zip(starts, ends, strict=True)
    return tuple(Passage(text[a:b], a, number=at, of=len(ends)) for at, (a, b) in enumerate(pieces, 1))


def _ends(text: str, longest: int) -> list[int]:
    """Where pieces of at most `longest` end: in the last third of each, at its last paragraph, line, sentence, word."""
    ends: list[int] = []
    start = 0
    while len(text) - start > longest:
        least, most = start + longest * 2 // 3, start + longest
        breaks = ((text.rfind(mark, least, most), len(mark)) for mark in _BREAKS)
        end = next((at + size for at, size in breaks if at >= 0), most)
        ends.append(end)
        start = end
    return [*ends, len(text)]
