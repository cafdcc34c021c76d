"""Where sentences end. Rules for scripts with and without spaces, abbreviations and initials of English, quotations."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rubric_anchors.critic.layout import Line

# German closes with “, ‘ and «. Closing marks may stand between the end of a sentence and the space after it.
CLOSERS: Final = "\"'”’»“‘«)\\]}*_」』）】"
QUOTE_CLOSERS: Final = "\"”’'»“‘«"
WIDE_ENDS: Final = "。！？｡।॥؟۔።։။"
NARROW_ENDS: Final = ".!?…‽"
# One character first, which a search jumps to; then that it begins its run.
_END = re.compile(
    rf"[{NARROW_ENDS}{WIDE_ENDS}](?:"
    rf"(?<=[{NARROW_ENDS}])(?<![{NARROW_ENDS}]{{2}})[{NARROW_ENDS}]*+[{CLOSERS}]*+(?=\s|\Z)"
    rf"|(?<=[{WIDE_ENDS}])(?<![{WIDE_ENDS}]{{2}})[{WIDE_ENDS}]*+[{CLOSERS}]*+)"
)
_FINISHED = re.compile(rf"[{NARROW_ENDS}{WIDE_ENDS}][{CLOSERS}]*+\Z")
_TITLES: Final = frozenset(
    "mr mrs ms mx dr prof st rev hon gen col lt sgt capt messrs mt ft vs fig eq cf ca nr bzw str "
    "hr sr sra srta dra ud uds mme mlle".split()
)
_SOFT: Final = frozenset(
    "chr usw etc inc ltd co corp approx al dept est no vol ed eds pp jan feb aug sept oct nov dec".split()
)
_TIMES: Final = ("a.m", "p.m")
_WORD_BEGINS = re.compile(r"[\s(\[\"“]")
_QUOTE_ENDS: Final = "”」』’》〉"
_PAIR = re.compile(r"(?<![^\W\d_])[a-zäöü]\.\s?[A-ZÄÖÜ]\Z")
_NO_BEGINNING = re.compile(r"\s{0,3}(?:[A-ZÄÖÜ]\.|[IVXLC]{2,6}\b|\d|Chr\b)")
# German ordinals: am 3. Oktober, im 19. Jahrhundert.
_AFTER_ORDINAL = re.compile(
    r"\s{1,3}(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|Jahrhundert|Jahrtausend|Jh|Lebensjahr|Klasse|Stock|Geburtstag)\b"
)
_COUNTED: Final = frozenset(("No", "Nos", "Vol", "Ch", "Art", "Sec"))
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")


def split_sentences(text: str, lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """(start, end) of each sentence of `text`, blanks trimmed; a stretch without letter or digit joins the one
    before."""
    for start, end in _units(text, lines):
        open_span: tuple[int, int] | None = None
        at = start
        for stop in (*_stops(text, start, end), end):
            left, right = _trimmed(text, at, stop)
            at = stop
            if left >= right:
                continue
            if open_span and not any(character.isalnum() for character in text[left:right]):
                open_span = (open_span[0], right)
                continue
            if open_span:
                yield open_span
            open_span = (left, right)
        if open_span and any(character.isalnum() for character in text[open_span[0] : open_span[1]]):
            yield open_span


def finished(sentence: str) -> bool:
    """Whether a sentence ends with a terminal mark, closing quotation marks and brackets aside."""
    return _FINISHED.search(sentence[-64:].rstrip()) is not None


def _units(text: str, lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Stretches that no sentence crosses: runs of prose lines, and each heading, list item and table row by itself."""
    run: tuple[int, int] | None = None
    for line in lines:
        if line.kind in ("prose", "quote"):
            run = (run[0] if run else line.body, line.end)
            continue
        if run:
            yield run
            run = None
        if line.kind in ("heading", "bullet", "number", "table"):
            yield line.body, line.end
    if run:
        yield run


def _stops(text: str, start: int, end: int) -> Iterator[int]:
    for found in _END.finditer(text, start, end):
        mark, after = found.span()
        if text[mark] in WIDE_ENDS:
            # 「元気？」と彼は言った。: a quotation with the sentence going on right behind it.
            goes_on = text[after - 1] in _QUOTE_ENDS and after < end and text[after].isalpha()
        else:
            goes_on = _goes_on(text, mark, after, end)
        if not goes_on:
            yield after


def _goes_on(text: str, mark: int, after: int, end: int) -> bool:
    """Whether the sentence goes on after the mark at `mark`: abbreviations, initials, speech inside a sentence."""
    following = text[after : min(after + 16, end)].lstrip()[:1]
    marks = text[mark:after]
    if following.islower() and (marks.startswith(("…", "...")) or (len(marks) > 1 and marks[-1] in QUOTE_CLOSERS)):
        return True
    if marks != ".":
        return False
    word = _WORD_BEGINS.split(text[max(mark - 16, 0) : mark])[-1]
    if "." in word and _INITIALS.search(word):
        return following.islower() or word.lower() not in _TIMES
    # z. B. 3,50; im 4. Jh. v. Chr.; s. XX; p. 12
    before = text[max(mark - 6, 0) : mark]
    if ("." in before and _PAIR.search(before)) or (
        len(word) == 1 and word.islower() and _NO_BEGINNING.match(text, after, end)
    ):
        return True
    if len(word) == 1 and word.isupper() and word != "I":
        return following.isupper()
    if word.isdecimal() and len(word) <= 2:
        return _AFTER_ORDINAL.match(text, after, end) is not None
    if word in _COUNTED and following.isdecimal():
        return True
    lower = word.lower()
    return (lower in _TITLES and not following.islower()) or (lower in _SOFT and following.islower())


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
