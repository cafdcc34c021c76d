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
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final, NamedTuple, overload

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

# Each is one group, so that `split` gives what is between the pieces and the pieces in turn.
_ASCII_WORD = re.compile(
    # One character first, which a search jumps to.
    r"([A-Za-z0-9](?:t(?<=ht)tps?://\S*[A-Za-z0-9/]|\.(?<=[A-Za-z]\.)(?<![A-Za-z]{2}\.)(?:[A-Za-z]\.)+"
    rf"|[A-Za-z0-9]*+(?:(?:['_&-]|{_NUMBER_JOIN})[A-Za-z0-9]++)*+))"
)
_ANY_WORD = regex.compile(
    r"(https?://\S*[\p{L}\p{N}/]|(?<!\p{L})(?:[\p{Lu}\p{Ll}]\.){2,}"
    rf"|[{_SINGLE}]\p{{M}}*+"
    rf"|{_RUN}(?:(?:['’ʼ_&‐‑-]|{_NUMBER_JOIN}){_RUN})*+)" % ((_SINGLE,) * 4),
    regex.V1,
)
_ASCII_ATOM = re.compile(r"([A-Za-z0-9]++)")
_ANY_ATOM = regex.compile(
    rf"([{_SINGLE}{_UNSPACED}]\p{{M}}*+|{_RUN})" % ((_SINGLE + _UNSPACED,) * 2),
    regex.V1,
)
_GRAPHEME = regex.compile(r"\X")
_QUOTED = re.compile(r'"[^"\n]*+"|“[^“”\n]*+”|«[^«»\n]*+»|「[^「」\n]*+」|『[^『』\n]*+』')


class Span(NamedTuple):
    """Characters start..end of a view's normal text."""

    start: int
    end: int


class Pieces:
    """The words or atoms of a text, in order."""

    def __init__(self, pattern: "re.Pattern[str] | regex.Pattern[str]", text: str) -> None:
        """All that `pattern`, one group, finds. Loops are in C: every word of every answer goes through here."""
        self._parts: list[str] = pattern.split(text)
        self.between = self._parts[::2]
        """What stands before each, and behind the last."""
        found = self._parts[1::2]
        # Of ASCII text case is all there is to fold. No piece holds a line end.
        whole = "\n".join(found).lower().split("\n") if text.isascii() and found else list(map(fold, found))
        self.folded: list[str] = whole
        """As they are compared."""

    @cached_property
    def _edges(self) -> list[int]:
        return list(accumulate(map(len, self._parts)))

    @cached_property
    def starts(self) -> list[int]:
        """Where each begins."""
        return self._edges[:-1:2]

    @cached_property
    def ends(self) -> list[int]:
        """Where each ends."""
        return self._edges[1::2]


class Spans(Sequence[Span]):
    """Spans by where they start and end; each is made when it is asked for. A list of them would be hundreds of objects
    an answer, most of which nobody looks at, and all of which the garbage collector would go through."""

    def __init__(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        self._starts, self._ends = starts, ends

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, at: int) -> Span: ...

    @overload
    def __getitem__(self, at: slice) -> "Spans": ...

    def __getitem__(self, at: int | slice) -> "Span | Spans":
        if isinstance(at, slice):
            return Spans(self._starts[at], self._ends[at])
        return Span(self._starts[at], self._ends[at])

    def __iter__(self) -> Iterator[Span]:
        return map(Span, self._starts, self._ends)


class TextView:
    """A text read once for all checks. Takes any string: empty, with NUL, lone surrogates or a megabyte in one line."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The text as it came."""
        self.norm, self._origins = normal(text)
        """The text that everything here is about: NFC, LF, nothing invisible."""

    @cached_property
    def words(self) -> Spans:
        return Spans(self._words.starts, self._words.ends)

    @cached_property
    def folded(self) -> list[str]:
        """The words as they are compared, in the order of `words`."""
        return self._words.folded

    @cached_property
    def _words(self) -> Pieces:
        return Pieces(_ASCII_WORD if self.norm.isascii() else _ANY_WORD, self.norm)

    @cached_property
    def atoms(self) -> Pieces:
        """The smallest units that phrases are matched by: words without their joints."""
        return Pieces(_ASCII_ATOM if self.norm.isascii() else _ANY_ATOM, self.norm)

    @cached_property
    def different_atoms(self) -> frozenset[str]:
        return frozenset(self.atoms.folded)

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

    def words_in(self, span: Span) -> range:
        """Indices of the words that start inside `span`."""
        starts = self._words.starts
        return range(bisect_left(starts, span.start), bisect_left(starts, span.end))

    @cached_property
    def sentence_words(self) -> list[range]:
        """Indices of the words of each sentence."""
        return [self.words_in(span) for span in self.sentences]

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


@lru_cache(maxsize=256)
def view_of(text: str) -> TextView:
    """A shared view, for texts that many answers are held against: prompts, references, anchors."""
    return TextView(text)
