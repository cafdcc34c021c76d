"""Checks on script and language, without a model: by the letters' script, and by a language's commonest words."""

from functools import lru_cache
from typing import Annotated, Final, Literal

import regex
from pydantic import Field, field_validator

from rubric_anchors.core.words import near
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import PositiveShare, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.text import TextView
from rubric_anchors.critic.wordlists import grammar_words

Language = Literal["en", "de", "fr", "es", "it", "pt", "nl", "ko", "ja", "zh", "ru", "ar", "hi", "th", "el", "he"]

_LETTERS = regex.compile(r"\p{L}++")
_BY_SCRIPT: Final[dict[str, tuple[str, ...]]] = {
    "ko": ("Hangul",),
    "ja": ("Hiragana", "Katakana", "Han"),
    "zh": ("Han",),
    "ru": ("Cyrillic",),
    "ar": ("Arabic",),
    "hi": ("Devanagari",),
    "th": ("Thai",),
    "el": ("Greek",),
    "he": ("Hebrew",),
}
_LATIN: Final = ("en", "de", "fr", "es", "it", "pt", "nl")
# Running text of a language has about this share of its commonest words, or more.
_EXPECTED: Final = 0.25


@lru_cache(maxsize=64)
def _letters_of(scripts: tuple[str, ...]) -> "regex.Pattern[str]":
    return regex.compile("(?V1)[\\p{L}&&[" + "".join(f"\\p{{Script={one}}}" for one in scripts) + "]]++")


@check("script")
class ScriptCheck(Check):
    """1 where at least `share` of the letters belong to the scripts; 0 for an answer without letters."""

    scripts: Annotated[tuple[str, ...], Field(min_length=1)] = ("Latin",)
    """Unicode names of scripts, such as Latin, Cyrillic, Han, Hangul."""
    share: PositiveShare = 0.95
    """The share of letters that is enough: names and terms of other scripts may stand among them."""
    soft: Share = 0.5
    """How far below that the value reaches 0."""

    @field_validator("scripts")
    @classmethod
    def _known(cls, scripts: tuple[str, ...]) -> tuple[str, ...]:
        known = sorted({one for group in _BY_SCRIPT.values() for one in group} | {"Latin"})
        for script in scripts:
            try:
                if not script.replace("_", "").isalpha():
                    raise regex.error("no script's name")
                _letters_of((script,))
            except regex.error as error:
                raise ValueError(
                    f"no script {script!r}{near(script.capitalize(), known)}; for instance {known}"
                ) from error
        return scripts

    def decide(self, answer: Answer) -> Finding:
        share = script_share(answer.view, self.scripts)
        value = falling(self.share - share, self.soft) if share > 0 else 0.0
        return finding(value, f"{number(share)} of the letters are {' or '.join(self.scripts)}")


@check("language")
class LanguageCheck(Check):
    """How far the answer is in one language, at most 1. By script where the language has its own (ko, ja, zh, ru, ar,
    hi, th, el, he: a text in another language of that script looks the same); else by the share of the language's
    commonest words, a quarter being enough, where no other known language has more of its own."""

    language: Language = "en"
    """Its two-letter code."""
    share: PositiveShare = 0.9
    """The share of letters in the language's script that is enough."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        scripts = _BY_SCRIPT.get(self.language, ("Latin",))
        by_script = min(script_share(view, scripts) / self.share, 1.0)
        if self.language == "ja" and not script_share(view, ("Hiragana", "Katakana")):
            return finding(0.0, "no kana")
        if self.language not in _LATIN:
            return finding(by_script, f"{number(by_script)} of the letters wanted are {' or '.join(scripts)}")
        shares = {language: _common_share(view.folded, grammar_words(f"common_{language}")) for language in _LATIN}
        own, best = shares[self.language], max(shares.values())
        value = by_script * min(own / _EXPECTED, 1.0) * (own / best if best else 0.0)
        note = f"{number(own)} of the words are common ones of {self.language!r}; at best {number(best)} of another"
        return finding(value, note if own < best else note.partition(";")[0])


def script_share(view: TextView, scripts: tuple[str, ...]) -> float:
    """The share of letters that belong to `scripts`; 0 where there is none."""
    letters = sum(map(len, _LETTERS.findall(view.norm)))
    return sum(map(len, _letters_of(scripts).findall(view.norm))) / letters if letters else 0.0


def _common_share(folded: list[str], common: frozenset[str]) -> float:
    return sum(1 for word in folded if word in common) / len(folded) if folded else 0.0
