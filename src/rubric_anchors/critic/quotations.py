"""Where a judge's quotation stands in an answer: case, width, blanks, invisible characters, Unicode form and kinds of
quotation marks and dashes aside."""

import re
import unicodedata
from functools import cached_property, lru_cache
from typing import Final

from rubric_anchors.critic.fold import INVISIBLE
from rubric_anchors.rubric.outcome import Evidence

NOT_THERE: Final = "not in the answer: "
"""How the note of a quotation without a place begins."""
_BLANKS = re.compile(r"\s+")
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)\s*")
_GONE = re.compile(f"[{INVISIBLE}\u200c\u200d\ufe0e\ufe0f\ufffd\ud800-\udfff\U000e0000-\U000e007f]")
_MARKS: Final = str.maketrans(
    dict.fromkeys("“”„‟«»「」『』＂", '"')
    | dict.fromkeys("‘’‚‛`´ʼ＇", "'")
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    # As a judge was shown it (`critic.shown`).
    | dict(zip("‹›⟦⟧¦◃▹␀", "<>[]|◁▷\0", strict=True))
)


class Quotable:
    """A text in which quotations are looked for; folded at the first that does not stand there as it is quoted."""

    def __init__(self, text: str) -> None:
        self._text = text

    def evidence(self, quote: str) -> tuple[Evidence, ...]:
        """Where the parts of `quote` (cut at ellipses, in their order) stand; one note without a place where any of
        them does not; nothing for a quotation of nothing."""
        # Nearly always it stands there as it is quoted.
        start = self._text.find(quote) if quote.strip() else -1
        if start >= 0:
            return (Evidence(quote, start, start + len(quote)),)
        wanted = [part for part in map(_folded_quote, _ELLIPSIS.split(quote)) if part]
        if not wanted:
            return (Evidence(f"{NOT_THERE}{quote}"),) if quote.strip() else ()
        text, origins = self._folded
        places: list[Evidence] = []
        at = 0
        for part in wanted:
            start = text.find(part, at)
            if start < 0:
                return (Evidence(f"{NOT_THERE}{quote}"),)
            at = start + len(part)
            first, last = origins[start], origins[at - 1] + 1
            # The marks that follow the last letter belong to it.
            while last < len(self._text) and unicodedata.combining(self._text[last]):
                last += 1
            places.append(Evidence(self._text[first:last], first, last))
        return tuple(places)

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The folded text and, for each of its characters, where it comes from."""
        folded: list[str] = []
        origins: list[int] = []
        for at, character in enumerate(self._text):
            for piece in _fold_character(character):
                if piece == " " and folded and folded[-1] == " ":
                    continue
                folded.append(piece)
                origins.append(at)
        return "".join(folded), origins


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character.isspace():
        return " "
    if _GONE.match(character):
        return ""
    # Decomposed, so that what is one character here and a letter with its mark there is the same, one by one.
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold()).translate(_MARKS)


def _folded_quote(text: str) -> str:
    return _BLANKS.sub(" ", "".join(map(_fold_character, text))).strip().strip('"').strip()
