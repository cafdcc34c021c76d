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


_Entry = tuple[list[int], dict[str, list[int]]]
"""Phrases that need a look at once, and those that only a certain second atom makes worth one."""
MEMORY: Final = 50_000
"""Atoms of which a set remembers what it has under them."""


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
        folded, starts, ends = view.atoms
        if not folded:
            return cls((), (), (), _plain(view.norm), "", at_start, at_end)
        if folded[0] == ANY:
            raise ValueError(f"a phrase cannot begin with `*`: {text!r}")
        between = [view.norm[end:start] for end, start in zip(ends, [*starts[1:], len(view.norm)], strict=True)]
        endings = tuple(gap.startswith("*") for gap in between)
        rest = [gap.removeprefix("*") for gap in between]
        gaps = tuple(None if gap.strip(" -\t\n") == "" and gap else _plain(gap) for gap in rest[:-1])
        return cls(tuple(folded), endings, gaps, _plain(view.norm[: starts[0]]), _plain(rest[-1]), at_start, at_end)


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
        self._asked: dict[str, Sequence[_Entry]] = {}

    @cached_property
    def _index(self) -> dict[str, _Entry]:
        """Phrases by their first atom (those with a free ending under the atom and `*`): those that need a look at
        once, and those that only a certain second atom makes worth one. Many lists begin half their phrases alike."""
        table: dict[str, _Entry] = {}
        for index, phrase in enumerate(self._phrases):
            if phrase.atoms:
                at_once, by_second = table.setdefault(phrase.atoms[0] + "*" * phrase.endings[0], ([], {}))
                second = phrase.atoms[1] if len(phrase.atoms) > 1 else ANY
                if second == ANY or phrase.endings[1] or "가" <= second[-1] <= "힣":
                    at_once.append(index)
                else:
                    by_second.setdefault(second, []).append(index)
        return table

    @cached_property
    def _prefix_lengths(self) -> tuple[int, ...]:
        return tuple(sorted({len(p.atoms[0]) for p in self._phrases if p.atoms and p.endings[0]}))

    @cached_property
    def _needs(self) -> tuple[list[frozenset[str]], dict[tuple[str, str], list[frozenset[str]]]] | None:
        """The words that an ASCII text must hold for a phrase to stand there: of those that need a look at once, and of
        the others by the two words that they begin with. None where endings are free."""
        if any(any(phrase.endings) for phrase in self._phrases):
            return None
        words = [frozenset(phrase.atoms) - {ANY} for phrase in self._phrases]
        at_once = [words[index] for entry, _ in self._index.values() for index in entry]
        begun = {
            (first, second): [words[index] for index in entry]
            for first, (_, by_second) in self._index.items()
            for second, entry in by_second.items()
        }
        return at_once, begun

    def _cannot_stand_in(self, view: TextView) -> bool:
        """Told without knowing where the atoms are, which takes most of the time."""
        if self._needs is None or "atoms" in view.__dict__ or (pairs := view.atom_pairs) is None:
            return False
        at_once, begun = self._needs
        there = {first for first, _ in pairs}
        worth_a_look = [*at_once, *(words for pair in begun.keys() & pairs for words in begun[pair])]
        return not any(words <= there for words in worth_a_look)

    def find(self, view: TextView) -> list[Hit]:
        """Every place of every entry, by place; hits of different entries may overlap, of one entry they do not."""
        free_from = [0] * len(self._phrases)
        hits = []
        for hit in sorted(self._all(view), key=lambda hit: (hit.start, hit.end)):
            if hit.start >= free_from[hit.phrase]:
                hits.append(hit)
                free_from[hit.phrase] = hit.end
        return hits

    def passages(self, view: TextView) -> list[Hit]:
        """The places found, overlaps joined: what a reader would count."""
        joined: list[Hit] = []
        for hit in self.find(view):
            if joined and hit.start < joined[-1].end:
                last = joined[-1]
                longer = hit if hit.end - hit.start > last.end - last.start else last
                joined[-1] = Hit(longer.phrase, last.start, max(last.end, hit.end))
            else:
                joined.append(hit)
        return joined

    def _all(self, view: TextView) -> Iterator[Hit]:
        for index, phrase in enumerate(self._phrases):
            if not phrase.atoms:
                yield from _literal(index, phrase, view.norm)
        if not self._index or self._cannot_stand_in(view):
            return
        folded, asked = [*view.atoms.folded, ""], self._asked
        for atom, places in view.atom_places.items():
            # Asked of every different word of every answer: most have nothing, and are known to.
            entries = asked.get(atom)
            for at_once, by_second in self._entries(atom) if entries is None else entries:
                for at in places:
                    for candidate in (*at_once, *by_second.get(folded[at + 1], ())):
                        if (place := _match(self._phrases[candidate], view, at)) is not None:
                            yield Hit(candidate, *place)

    def _entries(self, atom: str) -> Sequence[_Entry]:
        """What stands in the index under an atom, remembered for the next answer."""
        known = tuple(self._index[key] for key in self._keys(atom) if key in self._index)
        if len(self._asked) >= MEMORY:
            self._asked.clear()
        self._asked[atom] = known
        return known

    def _keys(self, atom: str) -> Sequence[str]:
        """Under which an atom's phrases stand in the index."""
        if atom.isascii():
            if not self._prefix_lengths:
                return (atom,)
            return [atom, *(atom[:length] + "*" for length in self._prefix_lengths if length <= len(atom))]
        return [atom, *(atom[:length] + "*" for length in self._prefix_lengths if length <= len(atom)), *_stems(atom)]


def _match(phrase: _Phrase, view: TextView, at: int) -> tuple[int, int] | None:
    """Where the phrase stands whose first atom is the view's atom `at`, or None."""
    folded, starts, ends = view.atoms
    after = at + len(phrase.atoms)
    if after > len(folded) or (phrase.at_start and at > 0) or (phrase.at_end and after < len(folded)):
        return None
    for step, wanted in enumerate(phrase.atoms):
        last = at + step == after - 1
        if not _same(wanted, folded[at + step], phrase.endings[step], last):
            return None
        if not last and not _joined(view.norm[ends[at + step] : starts[at + step + 1]], phrase.gaps[step]):
            return None
    norm, start, end = view.norm, starts[at], ends[after - 1]
    if phrase.lead and _plain(norm[max(start - len(phrase.lead), 0) : start]) != phrase.lead:
        return None
    if phrase.trail and _plain(norm[end : end + len(phrase.trail)]) != phrase.trail:
        return None
    if _cut_on_the_right(phrase, view, after) or _cut_on_the_left(phrase, view, at):
        return None
    return start - len(phrase.lead), end + len(phrase.trail)


def _same(wanted: str, seen: str, any_ending: bool, last: bool) -> bool:
    if wanted in (seen, ANY) or (any_ending and seen.startswith(wanted)):
        return True
    return last and wanted in _stems(seen)


def _joined(gap: str, needed: str | None) -> bool:
    """Whether what stands between two words is what the phrase has there."""
    if needed is None:
        return _OPEN_GAP.fullmatch(gap) is not None and "\n\n" not in gap
    return _plain(gap) == needed


def _apostrophe_between(view: TextView, left: int) -> bool:
    """Whether only an apostrophe stands between atom `left` and the next."""
    end = view.atoms.ends[left]
    return view.atoms.starts[left + 1] == end + 1 and view.norm[end] in "'’ʼ‘"


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
    if not "가" <= atom[-1:] <= "힣":
        return []
    return [atom[:-n] for n in _PARTICLE_LENGTHS if n < len(atom) and atom[-n:] in _PARTICLES]


def _plain(text: str) -> str:
    """Straight apostrophes, and each run of blanks as one space."""
    return re.sub(r"\s+", " ", text.translate(_APOSTROPHES))
