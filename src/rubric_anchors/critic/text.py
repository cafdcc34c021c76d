"""A text as checks see it: words, sentences, paragraphs, lines, each worked out once, when first asked for.

All places (`Span`) are in `TextView.norm`, the normal form of the text; `TextView.evidence` maps them back to the text
as it came. Every pattern here takes linear time on any text: runs are possessive, and none can start inside its own
run.

What counts as a word: a run of letters, marks and digits, joined by inner apostrophes, hyphens, underscores and
ampersands (`don't`, `well-known`), by points and commas inside numbers (`3.14`), or by points in initials (`U.S.`); a
web address; each Chinese or Japanese character. Thai, Lao, Khmer and Burmese, which are written without spaces, count
by runs between spaces.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import regex

from rubric_anchors.critic.fold import fold, normal
from rubric_anchors.critic.layout import Line, read_lines
from rubric_anchors.critic.sentences import split_sentences
from rubric_anchors.rubric.outcome import Evidence

EVIDENCE_LIMIT: Final = 8

_SINGLE = r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々"
_UNSPACED = r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}"
_CORE = r"[\p{L}\p{N}--[%s]]"
_RUN = rf"{_CORE}[\p{{L}}\p{{M}}\p{{N}}\u200c\u200d--[%s]]*+"
_NUMBER_JOIN = r"(?<=\d)[.,:](?=\d)"

_ASCII_WORD = re.compile(
    r"https?://\S*[A-Za-z0-9/]|(?<![A-Za-z])(?:[A-Za-z]\.){2,}"
    rf"|[A-Za-z0-9]++(?:(?:['_&-]|{_NUMBER_JOIN})[A-Za-z0-9]++)*+"
)
_ANY_WORD = regex.compile(
    r"https?://\S*[\p{L}\p{N}/]|(?<!\p{L})(?:[\p{Lu}\p{Ll}]\.){2,}"
    rf"|[{_SINGLE}]\p{{M}}*+"
    rf"|{_RUN}(?:(?:['’ʼ_&‐‑-]|{_NUMBER_JOIN}){_RUN})*+" % ((_SINGLE,) * 4),
    regex.V1,
)
_ASCII_ATOM = re.compile(r"[A-Za-z0-9]++")
_ANY_ATOM = regex.compile(
    rf"[{_SINGLE}{_UNSPACED}]\p{{M}}*+|{_RUN}" % ((_SINGLE + _UNSPACED,) * 2),
    regex.V1,
)
_GRAPHEME = regex.compile(r"\X")
_QUOTED = re.compile(r'"[^"\n]*+"|“[^“”\n]*+”|«[^«»\n]*+»|「[^「」\n]*+」|『[^『』\n]*+』')


class Span(NamedTuple):
    """Characters start..end of a view's normal text."""

    start: int
    end: int


class Atoms(NamedTuple):
    """The smallest units that phrases are matched by: words without their joints, folded, with where they stand."""

    folded: list[str]
    starts: list[int]
    ends: list[int]


class TextView:
    """A text read once for all checks. Takes any string: empty, with NUL, lone surrogates or a megabyte in one line."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The text as it came."""
        self.norm, self._origins = normal(text)
        """The text that everything here is about: NFC, LF, nothing invisible."""

    @cached_property
    def words(self) -> list[Span]:
        pattern = _ASCII_WORD if self.norm.isascii() else _ANY_WORD
        return [Span(*found.span()) for found in pattern.finditer(self.norm)]

    @cached_property
    def folded(self) -> list[str]:
        """The words as they are compared, in the order of `words`."""
        if "words" not in self.__dict__ and self.norm.isascii():
            return [word.lower() for word in _ASCII_WORD.findall(self.norm)]  # the same, without their places
        return _folded(self.norm, self.words)

    @cached_property
    def atoms(self) -> Atoms:
        pattern = _ASCII_ATOM if self.norm.isascii() else _ANY_ATOM
        spans = [found.span() for found in pattern.finditer(self.norm)]
        return Atoms(_folded(self.norm, spans), [start for start, _ in spans], [end for _, end in spans])

    @cached_property
    def atom_pairs(self) -> frozenset[tuple[str, str]] | None:
        """Each atom with the next, the last one with an empty one; None where only `atoms` can tell."""
        if not self.norm.isascii():
            return None
        folded = _ASCII_ATOM.findall(self.norm.lower())
        return frozenset(zip(folded, [*folded[1:], ""], strict=False))

    @cached_property
    def atom_places(self) -> dict[str, list[int]]:
        """Each different atom, and its places in `atoms`."""
        places: dict[str, list[int]] = {}
        for at, atom in enumerate(self.atoms.folded):
            places.setdefault(atom, []).append(at)
        return places

    @cached_property
    def lines(self) -> list[Line]:
        """All lines with what each is: heading, bullet, prose, blank..."""
        return read_lines(self.norm)

    @cached_property
    def paragraphs(self) -> list[Span]:
        """Blocks of lines between blank lines and rules."""
        blocks: list[Span] = []
        open_at: int | None = None
        for line in self.lines:
            if line.kind in ("blank", "rule"):
                open_at = None
            elif open_at is None:
                open_at = line.start
                blocks.append(Span(line.start, line.end))
            else:
                blocks[-1] = Span(open_at, line.end)
        return blocks

    @cached_property
    def sentences(self) -> list[Span]:
        """Sentences of prose, list items, headings and table rows; code has none. Each holds a letter or digit."""
        return [Span(start, end) for start, end in split_sentences(self.norm, self.lines)]

    @cached_property
    def items(self) -> list[Line]:
        """Bulleted and numbered list items."""
        return [line for line in self.lines if line.kind in ("bullet", "number")]

    @cached_property
    def quoted(self) -> list[Span]:
        """Passages in double quotation marks, marks included, each within one line."""
        return [Span(*found.span()) for found in _QUOTED.finditer(self.norm)]

    @cached_property
    def graphemes(self) -> int:
        """How many characters a reader sees: an emoji with its modifiers is one, and so is a letter with its marks."""
        return len(self.norm) if self.norm.isascii() else sum(1 for _ in _GRAPHEME.finditer(self.norm))

    @cached_property
    def hundreds(self) -> float:
        """Hundreds of words, at least 1, so that one hit in a short answer does not count as a flood."""
        return max(len(self.words) / 100.0, 1.0)

    @cached_property
    def _word_starts(self) -> list[int]:
        return [start for start, _ in self.words]

    def words_in(self, span: Span) -> range:
        """Indices of the words that start inside `span`."""
        return range(bisect_left(self._word_starts, span.start), bisect_left(self._word_starts, span.end))

    def slice(self, span: Span | Line) -> str:
        return self.norm[span.start : span.end]

    def evidence(self, note: str, start: int, end: int) -> Evidence:
        """Evidence at start..end of the normal text, mapped to the text as it came."""
        if self._origins is None:
            return Evidence(note, start, end)
        return Evidence(note, self._origins[start], self._origins[end])

    def evidences(self, found: Sequence[tuple[str, int, int]]) -> tuple[Evidence, ...]:
        """Evidence for each (note, start, end), at most EVIDENCE_LIMIT of them and then how many more there are."""
        shown = tuple(self.evidence(*item) for item in found[:EVIDENCE_LIMIT])
        more = len(found) - len(shown)
        return (*shown, Evidence(f"and {more} more")) if more else shown


def _folded(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """The pieces of `text` at `spans`, folded; of ASCII text at once, as its case is all there is to fold."""
    if text.isascii():
        lower = text.lower()
        return [lower[start:end] for start, end in spans]
    return [fold(text[start:end]) for start, end in spans]


@lru_cache(maxsize=256)
def view_of(text: str) -> TextView:
    """A shared view, for texts that many answers are held against: prompts, references, anchors."""
    return TextView(text)
