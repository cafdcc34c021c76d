"""Which language a text is in, by py3langid (Lui and Baldwin 2012, "langid.py"): 140 languages, no download, some 50
microseconds for a sentence.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

import regex

from rubric_anchors.critic.text import TextView

PART: Final = 40
"""Letters in a part of a text whose language is asked for: fewer tell little."""
NEARLY: Final = 5.0
"""How much less likely than the likeliest a language may be to count as seen, in natural logarithms: `Yes.` may be
English, and an English sentence may be full of French names. Of two languages the wrong one is less likely by some 1 to
3 for each letter."""
ENOUGH: Final = 2000
"""Characters of a part that are looked at: more tell nothing new, and sorting long runs of marks takes square time."""
NONE: Final = "zxx"
"""What the identifier calls a text without language."""

_LETTERS = regex.compile(r"\p{L}++")
_LATIN = regex.compile(r"\p{Script=Latin}++")
# What is one language in writing, or cannot be told apart in a sentence.
_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "ar": frozenset({"ary", "arz"}),
    "en": frozenset({"pcm"}),
    "fa": frozenset({"ps"}),
    "id": frozenset({"ms"}),
    "ms": frozenset({"id"}),
    "no": frozenset({"nn", "da"}),
    "zh": frozenset({"yue", "wuu"}),
    **{one: frozenset({"bs", "hr", "sr"}) - {one} for one in ("bs", "hr", "sr")},
}


@cache
def known_languages() -> tuple[str, ...]:
    """The codes of the languages that can be told, sorted."""
    return tuple(sorted(name for name, _ in _ranked("a text") if name != NONE))


def language_shares(view: TextView) -> dict[str, int]:
    """Letters by the language of the part that they stand in, a part being a sentence or several short ones; code is
    left out. Empty where there are no letters."""
    found: dict[str, int] = {}
    for part, letters in _parts(view):
        language = _ranked(part)[0][0]
        found[language] = found.get(language, 0) + letters
    return found


def share_in(view: TextView, language: str) -> float:
    """The share of letters that stand in parts of `language`, 0..1; 0 where there are no letters."""
    right = total = 0
    accepted = {language} | _MEMBERS.get(language, frozenset())
    for part, letters in _parts(view):
        ranked = _ranked(part)
        least = ranked[0][1] - NEARLY
        total += letters
        right += letters * any(name in accepted for name, score in ranked if score >= least)
    return right / total if total else 0.0


def letters_in(text: str) -> int:
    return sum(map(len, _LETTERS.findall(text)))


def _parts(view: TextView) -> Iterator[tuple[str, int]]:
    """Pieces of a sentence or more with at least PART letters each, and the rest; each with its letters. Pieces of
    different scripts stay apart."""
    whole: list[tuple[str, int]] = []
    open_piece, letters, latin = "", 0, False
    for piece in [view.slice(span) for span in view.sentences] or [view.norm]:
        count = letters_in(piece)
        in_latin = _is_latin(piece)
        if letters and in_latin != latin:
            whole.append((open_piece, letters))
            open_piece, letters = "", 0
        open_piece, letters, latin = f"{open_piece} {piece}", letters + count, in_latin
        if letters >= PART:
            whole.append((open_piece, letters))
            open_piece, letters = "", 0
    if letters and whole and _is_latin(whole[-1][0]) == latin:  # too short to be asked alone
        text, count = whole.pop()
        whole.append((f"{text} {open_piece}", count + letters))
    elif letters:
        whole.append((open_piece, letters))
    yield from whole


def _is_latin(text: str) -> bool:
    return 2 * sum(map(len, _LATIN.findall(text))) > letters_in(text)


def _ranked(text: str) -> list[tuple[str, float]]:
    from py3langid.langid import rank  # here: it reads its model, which takes a tenth of a second

    ranked: list[tuple[str, float]] = rank(text[:ENOUGH])
    return ranked
