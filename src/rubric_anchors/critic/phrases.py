"""Finding words and phrases as a reader would: whole words, whatever their case, width, markup or line breaks.

How a phrase is written:

    testament to        these words in a row; spaces and hyphens between words match each other
    as an * model       `*` by itself is any one word
    tapestr*            `*` at the end of a word is any ending
    ^certainly          only at the start of the answer
    let me know$        only at its end
    Sure!   10/10   C++ punctuation that is written must be there
    —                   an entry without letters or digits is found as it stands

The work is linear in the text: phrases are looked up by their first word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress, pairwise
from typing import Final, Literal, NamedTuple

from rubric_anchors.critic.text import TextView
from rubric_anchors.critic.wordlists import word_list

ANY: Final = "zqanywordqz"
_ANY_MARK = re.compile(r"(?<!\S)\*(?!\S)")
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "‘": "'"})
_OPEN_GAP = re.compile(r"(?:_|[^\w.!?。！？]){1,8}")
_CLITICS: Final = frozenset({"s", "m", "re", "ve", "ll", "d"})
# Korean particles are written onto the noun: a noun with one of them is still that word.
_PARTICLES: Final = frozenset(
    "은 는 이 가 을 를 의 에 로 와 과 도 만 나 께 랑 야 아 이나 으로 에서 에게 한테 까지 "
    "부터 처럼 보다 마다 조차 이랑 라도 이라도 에는 에도 에서는 에게는 으로는 로는 이라는 라는 이다 "
    "입니다".split()
)
_PARTICLE_LENGTHS: Final = tuple(sorted({len(particle) for particle in _PARTICLES}))


MEMORY: Final = 50_000
"""Atoms of which a set remembers what phrases they are forms of."""


def only_at(end: Literal["^", "$"], phrases: Sequence[str]) -> "PhraseSet":
    """`phrases`, each only at the start (`^`) or the end (`$`) of a text. Raises ValueError as `PhraseSet`, and for a
    phrase that is nothing but such a mark."""
    bare = [phrase.strip().removeprefix("^") if end == "^" else phrase.strip().removesuffix("$") for phrase in phrases]
    if any(one in ("", "^") for one in bare):
        raise ValueError("an empty word or phrase, or `^` or `$` alone, marks an end of nothing: remove it")
    return PhraseSet([f"^{one}" if end == "^" else f"{one}$" for one in bare])


class Hit(NamedTuple):
    """Entry `phrase` (its index) stands at characters start..end of the view's normal text."""

    phrase: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Phrase:
    atoms: tuple[str, ...]
    endings: tuple[bool, ...]
    """For each atom, whether any ending may follow."""
    gaps: tuple[str | None, ...]
    """Between atoms: None where any blank or hyphen will do, else the text that must stand there."""
    lead: str
    trail: str
    at_start: bool
    at_end: bool

    @classmethod
    def read(cls, text: str) -> "_Phrase":
        body = text.strip()
        at_start = body.startswith("^") and len(body) > 1
        at_end = body.endswith("$") and len(body) > 1 + at_start
        body = body[at_start : len(body) - at_end].strip()
        view = TextView(_ANY_MARK.sub(ANY, body) if body != "*" else body)
        folded, between = view.atoms.folded, view.atoms.between[1:]
        if not folded:
            return cls((), (), (), _plain(view.norm), "", at_start, at_end)
        if folded[0] == ANY:
            raise ValueError(f"a phrase cannot begin with `*`: {text!r}")
        endings = tuple(gap.startswith("*") for gap in between)
        rest = [gap.removeprefix("*") for gap in between]
        gaps = tuple(None if gap.strip(" -\t\n") == "" and gap else _plain(gap) for gap in rest[:-1])
        return cls(tuple(folded), endings, gaps, _plain(view.atoms.between[0]), _plain(rest[-1]), at_start, at_end)

    @property
    def first_two(self) -> tuple[str, str] | None:
        """The first two atoms, where nothing else can begin it."""
        first, second = self.exactly(0), self.exactly(1)
        return None if first is None or second is None else (first, second)

    def exactly(self, at: int) -> str | None:
        """Atom `at`, where nothing else can stand there: None for an open place, a free ending, the Korean word at the
        end, which may carry a particle."""
        if at >= len(self.atoms) or self.endings[at] or self.atoms[at] == ANY:
            return None
        return None if at == len(self.atoms) - 1 and _is_korean(self.atoms[at]) else self.atoms[at]


@lru_cache(maxsize=32)
def listed(*names: str) -> "PhraseSet":
    """The entries of the shipped lists `names`, ready to be found; made once."""
    return PhraseSet([entry for name in names for entry in word_list(name)])


class PhraseSet:
    """Words or phrases, ready to be found. Raises ValueError for an empty entry or one that begins with `*`."""

    def __init__(self, entries: Sequence[str]) -> None:
        self.entries = tuple(entries)
        self._phrases = [_Phrase.read(entry) for entry in entries]
        # An entry of invisible characters is empty too, and would be found at every place, again and again.
        if any(not phrase.atoms and not phrase.lead.strip() for phrase in self._phrases):
            raise ValueError("an empty word or phrase matches everything: remove it")
        self._literals = tuple(index for index, phrase in enumerate(self._phrases) if not phrase.atoms)
        self._varied: dict[str, Sequence[int]] = {}
        self._varied_none: set[str] = set()

    @cached_property
    def _singles(self) -> dict[str, list[int]]:
        """Phrases that their first atom makes worth a look, by it; those with a free ending under the atom and `*`."""
        table: dict[str, list[int]] = {}
        for index, phrase in enumerate(self._phrases):
            if phrase.atoms and phrase.first_two is None:
                table.setdefault(phrase.atoms[0] + "*" * phrase.endings[0], []).append(index)
        return table

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], list[tuple[str | None, int]]]:
        """All others, by their first two: many lists begin half their phrases alike. Each with its third, where nothing
        else can stand there."""
        table: dict[tuple[str, str], list[tuple[str | None, int]]] = {}
        for index, phrase in enumerate(self._phrases):
            if phrase.first_two is not None:
                table.setdefault(phrase.first_two, []).append((phrase.exactly(2), index))
        return table

    @cached_property
    def _prefix_lengths(self) -> tuple[int, ...]:
        return tuple(sorted({len(key) - 1 for key in self._singles if key.endswith("*")}))

    def find(self, view: TextView) -> list[Hit]:
        """Every place of every entry, by place; hits of different entries may overlap, of one entry they do not."""
        free_from: dict[int, int] = {}
        hits = []
        for hit in sorted(self._all(view), key=_by_place):
            if hit.start >= free_from.get(hit.phrase, 0):
                hits.append(hit)
                free_from[hit.phrase] = hit.end
        return hits

    def passages(self, view: TextView) -> list[Hit]:
        """The places found, overlaps joined: what a reader would count."""
        return joined(self.find(view))

    def _all(self, view: TextView) -> Iterator[Hit]:
        for index in self._literals:
            yield from _literal(index, self._phrases[index], view.norm)
        for at, candidate in self._worth_a_look(view):
            if (place := _match(self._phrases[candidate], view, at)) is not None:
                yield Hit(candidate, *place)

    def _worth_a_look(self, view: TextView) -> Iterator[tuple[int, int]]:
        """Places in the view's atoms where a phrase could begin, and the phrase. What runs over the whole text runs in
        C: a loop here would take most of the time of most checks."""
        folded, places = view.atoms.folded, range(len(view.atoms.folded))
        if self._singles:
            for at in compress(places, map(self._singles.__contains__, folded)):
                for candidate in self._singles[folded[at]]:
                    yield at, candidate
        # A word of any script may carry a Korean particle.
        vary = self._prefix_lengths or not view.norm.isascii()
        if vary and (asked := view.different_atoms - self._varied_none):
            found = {atom: begun for atom in asked if (begun := self._varied.get(atom) or self._variants(atom))}
            for at in compress(places, map(found.__contains__, folded)):
                for candidate in found[folded[at]]:
                    yield at, candidate
        if self._pairs:
            for at in compress(places, map(self._pairs.__contains__, pairwise(folded))):
                for third, candidate in self._pairs[folded[at], folded[at + 1]]:
                    if third is None or third == (folded[at + 2] if at + 2 < len(folded) else ""):
                        yield at, candidate

    def _variants(self, atom: str) -> Sequence[int]:
        """The phrases that an atom could begin as a form of another; remembered for the next answer."""
        keys = [atom[:length] + "*" for length in self._prefix_lengths if length <= len(atom)]
        begun = [index for key in (*keys, *_stems(atom)) for index in self._singles.get(key, ())]
        if len(self._varied_none) + len(self._varied) >= MEMORY:
            self._varied_none.clear()
            self._varied.clear()
        if begun:
            self._varied[atom] = begun
        else:
            self._varied_none.add(atom)
        return begun


def joined(hits: Sequence[Hit]) -> list[Hit]:
    """Hits by place, those that overlap as one; the longest names it."""
    whole: list[Hit] = []
    for hit in hits:
        if whole and hit.start < whole[-1].end:
            last = whole[-1]
            longer = hit if hit.end - hit.start > last.end - last.start else last
            whole[-1] = Hit(longer.phrase, last.start, max(last.end, hit.end))
        else:
            whole.append(hit)
    return whole


def _by_place(hit: Hit) -> tuple[int, int, int]:
    return hit.start, hit.end, hit.phrase


def _match(phrase: _Phrase, view: TextView, at: int) -> tuple[int, int] | None:
    """Where the phrase stands whose first atom is the view's atom `at`, or None."""
    folded, between = view.atoms.folded, view.atoms.between
    after = at + len(phrase.atoms)
    if after > len(folded) or (phrase.at_start and at > 0) or (phrase.at_end and after < len(folded)):
        return None
    for step, (wanted, seen) in enumerate(zip(phrase.atoms, folded[at:after], strict=True)):
        if wanted != seen and not _same(wanted, seen, phrase.endings[step], at + step == after - 1):
            return None
    if not all(map(_joined, between[at + 1 : after], phrase.gaps)):
        return None
    norm, start, end = view.norm, view.atoms.starts[at], view.atoms.ends[after - 1]
    if phrase.lead and _plain(norm[max(start - len(phrase.lead), 0) : start]) != phrase.lead:
        return None
    if phrase.trail and _plain(norm[end : end + len(phrase.trail)]) != phrase.trail:
        return None
    if _cut_on_the_right(phrase, view, after) or _cut_on_the_left(phrase, view, at):
        return None
    return start - len(phrase.lead), end + len(phrase.trail)


def _same(wanted: str, seen: str, any_ending: bool, last: bool) -> bool:
    """Whether a word of a phrase may be written as `seen`, which is another."""
    if wanted == ANY or (any_ending and seen.startswith(wanted)):
        return True
    return last and wanted in _stems(seen)


def _joined(gap: str, needed: str | None) -> bool:
    """Whether what stands between two words is what the phrase has there."""
    if needed is None:
        return gap == " " or (_OPEN_GAP.fullmatch(gap) is not None and "\n\n" not in gap)
    return _plain(gap) == needed


def _apostrophe_between(view: TextView, left: int) -> bool:
    """Whether only an apostrophe stands between atom `left` and the next."""
    between = view.atoms.between[left + 1]
    return len(between) == 1 and between in "'’ʼ‘"


def _cut_on_the_right(phrase: _Phrase, view: TextView, after: int) -> bool:
    """`can` is not in `can't`; but `dog` is in `dog's` and `I` in `I'm`, and an elided article (l'été) is a word."""
    folded = view.atoms.folded
    if phrase.trail or after >= len(folded) or folded[after] in _CLITICS or len(folded[after - 1]) <= 2:
        return False
    return _apostrophe_between(view, after - 1)


def _cut_on_the_left(phrase: _Phrase, view: TextView, first: int) -> bool:
    """`s` is not in `it's`, nor `t` in `can't`."""
    folded = view.atoms.folded
    if phrase.lead or first == 0 or not (folded[first] in _CLITICS or folded[first] == "t"):
        return False
    return _apostrophe_between(view, first - 1)


def _literal(index: int, phrase: _Phrase, norm: str) -> Iterator[Hit]:
    needle, text = phrase.lead, norm.translate(_APOSTROPHES)
    if phrase.at_start or phrase.at_end:
        left, right = len(text) - len(text.lstrip()), len(text.rstrip())
        if (not phrase.at_start or text.startswith(needle, left)) and (
            not phrase.at_end or text.endswith(needle, 0, right)
        ):
            start = left if phrase.at_start else right - len(needle)
            yield Hit(index, start, start + len(needle))
        return
    at = text.find(needle)
    while at >= 0:
        yield Hit(index, at, at + len(needle))
        at = text.find(needle, at + len(needle))


def _stems(atom: str) -> list[str]:
    """A Korean word without a particle, in each way it can be cut."""
    if not _is_korean(atom):
        return []
    return [atom[:-n] for n in _PARTICLE_LENGTHS if n < len(atom) and atom[-n:] in _PARTICLES]


def _is_korean(atom: str) -> bool:
    return "가" <= atom[-1:] <= "힣"


def _plain(text: str) -> str:
    """Straight apostrophes, and each run of blanks as one space."""
    return re.sub(r"\s+", " ", text.translate(_APOSTROPHES))
