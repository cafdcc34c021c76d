"""Checks on single characters: which there are, how many, in which case."""

import unicodedata
from functools import cached_property
from typing import Annotated, Final

import regex
from pydantic import Field, field_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Amount, Found, Place, PositiveShare, Ranged, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.fold import normal
from rubric_anchors.critic.text import TextView

COMMAS: Final = ",，、،﹐､"
_EMOJI = regex.compile(r"\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|[0-9#*]\ufe0f\u20e3")
_WHOLE = regex.compile(r"\X")
_DASH = regex.compile(r"[—―]|(?<=\s)–(?=\s)|(?<=\w) -- (?=\w)|(?<=\w)--(?=\w)")
# Pictographs that are ordinary typography, not decoration.
_PLAIN_SIGNS: Final = frozenset("©®™‼⁉↔↕↖↗↘↙↩↪Ⓜ㊗㊙〰〽")


def _rate(places: list[Place], per: float, view: TextView, what: str) -> Finding:
    rate = len(places) / view.hundreds
    note = f"{len(places)} {what}, {number(rate)} in 100 words" if places else f"no {what}"
    return finding(falling(rate, per), note, view, places)


@check("forbidden_characters")
class ForbiddenCharacters(Check):
    """1 where none of the characters is there. Invisible characters can be forbidden too."""

    characters: Annotated[str, Field(min_length=1)]
    """The characters, in a row; capital and small letters differ."""
    per: Amount = 0.0
    """How many hits in 100 words give 0; answers under 100 words count as 100. 0: one hit is enough."""

    @cached_property
    def _any(self) -> "regex.Pattern[str] | None":
        """Any of the characters as a reader counts them: ❤️ is two to a computer, one of which is in ☀️ too."""
        seen = sorted(set(_WHOLE.findall(normal(self.characters)[0])), key=len, reverse=True)
        return regex.compile("|".join(map(regex.escape, seen))) if seen else None

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        places = [(f"found {hit[0]!r}", *hit.span()) for hit in self._any.finditer(view.norm)] if self._any else []
        # What the normal form drops can only be seen in the text as it came.
        hidden = sum(answer.text.count(one) for one in set(self.characters) if not normal(one)[0])
        total = len(places) + hidden
        note = f"{total} forbidden characters{', some of them invisible' if hidden else ''}" if total else "none found"
        return finding(falling(total / view.hundreds, self.per), note, view, places)


@check("no_commas")
class NoCommas(Check):
    """1 where there is no comma, in any script."""

    per: Amount = 0.0
    """How many commas in 100 words give 0; answers under 100 words count as 100. 0: one is enough."""

    def decide(self, answer: Answer) -> Finding:
        places = [("comma", at, at + 1) for at, one in enumerate(answer.view.norm) if one in COMMAS]
        return _rate(places, self.per, answer.view, "commas")


@check("letter_frequency")
class LetterFrequency(Ranged):
    """1 where the number of times that `letter` stands in the answer, in either case, lies in min..max."""

    unit = "times that the letter stands there"

    letter: Annotated[str, Field(min_length=1)]
    """The letter (or other single character)."""

    @field_validator("letter")
    @classmethod
    def _one_character(cls, letter: str) -> str:
        if TextView(letter).graphemes != 1:
            raise ValueError(f"one character is wanted; seen {letter!r}")
        return letter

    def measure(self, view: TextView) -> float:
        return _either_case(view.norm).count(_either_case(normal(self.letter)[0]))


def _either_case(text: str) -> str:
    """`text` without case, width or style, one character for one: ß stays a letter of its own, … is no three points."""
    if text.isascii():
        return text.lower()
    return text.translate({ord(one): _small(one) for one in set(text)})


def _small(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    plain = plain if len(plain) == 1 else character
    return next((one for one in (plain.casefold(), plain.lower()) if len(one) == 1), plain)


class _Cased(Check):
    """A check on the case of words."""

    def wrong(self, word: str) -> bool:
        raise NotImplementedError

    def share(self, view: TextView) -> tuple[float, list[Place]]:
        """The share of words with letters in the wrong case, among words with letters that have a case."""
        cased = [(view.norm[start:end], start, end) for start, end in view.words]
        cased = [place for place in cased if place[0].lower() != place[0].upper()]
        wrong = [place for place in cased if self.wrong(place[0])]
        return len(wrong) / len(cased) if cased else 0.0, wrong


@check("all_lowercase")
class AllLowercase(_Cased):
    """1 where no word has a capital letter. An answer without letters has none either."""

    soft: PositiveShare = 0.2
    """The share of words with capitals at which the value is 0."""

    def wrong(self, word: str) -> bool:
        return word != word.lower()

    def decide(self, answer: Answer) -> Finding:
        share, places = self.share(answer.view)
        return finding(falling(share, self.soft), f"{number(share)} of the words have capitals", answer.view, places)


@check("all_uppercase")
class AllUppercase(_Cased):
    """1 where no word has a small letter; 0 for an answer without letters."""

    soft: PositiveShare = 1.0
    """The share of words with small letters at which the value is 0."""

    def wrong(self, word: str) -> bool:
        return word != word.upper()

    def decide(self, answer: Answer) -> Finding:
        share, places = self.share(answer.view)
        if not any(character.isupper() for character in answer.view.norm):
            return finding(0.0, "no capital letters")
        return finding(
            falling(share, self.soft), f"{number(share)} of the words have small letters", answer.view, places
        )


class _PerHundred(Found):
    """A count in 100 words; answers under 100 words count as 100."""

    max: Amount | None = 0.0
    """The most in 100 words that is right."""
    soft: Amount = 2.0
    """How far above that the value reaches 0."""

    def decide(self, answer: Answer) -> Finding:
        places = self.find(answer.view)
        rate = len(places) / answer.view.hundreds
        note = f"{self.unit} in 100 words: {number(rate)}, wanted {self.wanted()}"
        return finding(self.closeness(rate), note, answer.view, places)


@check("em_dashes")
class EmDashes(_PerHundred):
    """1 where there are no more than `max` dashes between words in 100 words: —, a spaced –, or --."""

    unit = "dashes"

    def find(self, view: TextView) -> list[Place]:
        return [("dash", *found.span()) for found in _DASH.finditer(view.norm)]


@check("emoji")
class Emoji(_PerHundred):
    """1 where there are no more than `max` emoji in 100 words."""

    unit = "emoji"

    def find(self, view: TextView) -> list[Place]:
        return emoji_in(view)


def emoji_in(view: TextView) -> list[Place]:
    """Each emoji, its modifiers included."""
    places: list[Place] = []
    if view.norm.isascii():
        return places
    for found in _EMOJI.finditer(view.norm):
        if found[0] in _PLAIN_SIGNS or (places and found.start() < places[-1][2]):
            continue
        whole = _WHOLE.match(view.norm, found.start())
        places.append(("emoji", found.start(), whole.end() if whole else found.end()))
    return places
