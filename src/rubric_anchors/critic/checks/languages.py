"""Checks on script and language."""

from functools import lru_cache
from typing import Annotated, Final

import regex
from pydantic import Field, field_validator

from rubric_anchors.core.words import near
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import PositiveShare, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.languages import known_languages, language_shares, share_in
from rubric_anchors.critic.text import TextView

_LETTERS = regex.compile(r"\p{L}++")
_COMMON: Final = (
    "Arabic",
    "Cyrillic",
    "Devanagari",
    "Greek",
    "Han",
    "Hangul",
    "Hebrew",
    "Hiragana",
    "Katakana",
    "Latin",
    "Thai",
)


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
        for script in scripts:
            try:
                if not script.replace("_", "").isalpha():
                    raise regex.error("no script's name")
                _letters_of((script,))
            except regex.error as error:
                raise ValueError(
                    f"no script {script!r}{near(script.capitalize(), _COMMON)}; for instance {list(_COMMON)}"
                ) from error
        return scripts

    def decide(self, answer: Answer) -> Finding:
        share = script_share(answer.view, self.scripts)
        value = falling(self.share - share, self.soft) if share > 0 else 0.0
        return finding(value, f"{number(share)} of the letters are {' or '.join(self.scripts)}")


@check("language")
class LanguageCheck(Check):
    """1 where the answer is in a language: where at least `share` of its letters stand in sentences of it. Below that
    the value falls in a straight line. Names and quotations within such sentences do no harm, code is left out. 139
    languages; an answer of a word or two is given the benefit of the doubt."""

    language: str = "en"
    """Its ISO 639 code: `en`, `ko`, `zh`..."""
    share: PositiveShare = 0.9
    """The share of letters that is enough."""

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        known = known_languages()
        if language not in known:
            raise ValueError(
                f"no language {language!r}; codes are such as en, de, ko, zh, and these: {' '.join(known)}"
            )
        return language

    def decide(self, answer: Answer) -> Finding:
        share = share_in(answer.view, self.language)
        seen = language_shares(answer.view)
        most = max(seen, key=lambda name: seen[name], default="")
        note = f"{share:.0%} of the letters stand in {self.language!r}"
        return finding(
            min(share / self.share, 1.0), note if share >= self.share or not most else f"{note}, most in {most!r}"
        )


@check("one_language")
class OneLanguage(Check):
    """1 where the answer keeps to one language, whichever it is: where at least `share` of its letters stand in
    sentences of the language that most of them are in. 0 for an answer without letters."""

    share: PositiveShare = 0.95
    """The share of letters that is enough."""
    soft: Share = 0.3
    """How far below that the value reaches 0."""

    def decide(self, answer: Answer) -> Finding:
        seen = language_shares(answer.view)
        if not seen:
            return finding(0.0, "no letters")
        total = sum(seen.values())
        shares = {name: max(share_in(answer.view, name), letters / total) for name, letters in seen.items()}
        order = sorted(shares, key=lambda name: (-shares[name], name))
        note = ", ".join(f"{shares[name]:.0%} {name}" for name in order[:4])
        return finding(falling(self.share - shares[order[0]], self.soft), note)


def script_share(view: TextView, scripts: tuple[str, ...]) -> float:
    """The share of letters that belong to `scripts`; 0 where there is none."""
    letters = sum(map(len, _LETTERS.findall(view.norm)))
    return sum(map(len, _letters_of(scripts).findall(view.norm))) / letters if letters else 0.0
