"""Checks on script and language, without a model: by the letters' script, and by a language's commonest words."""

from functools import lru_cache
from typing import Annotated, Final, Literal

import regex
from pydantic import Field, field_validator

from rubric_anchors.core.registry import near
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import PositiveShare, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.text import TextView

Language = Literal["en", "de", "fr", "es", "it", "pt", "nl", "ko", "ja", "zh", "ru", "ar", "hi", "th", "el", "he"]

_LETTER = regex.compile(r"\p{L}")
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
# The commonest words of each language that are written in Latin letters; what a language shares with another is in both.
_COMMON: Final[dict[str, frozenset[str]]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to a in is it i that was he for on are as with his they at be this have from or had by but what some we "
        "can out other were all there when up use your how said an each she which do their if will way about many then them "
        "would so these her him has more could no my than been who its now did down after not me you our just into over like "
        "because where why only very it's don't i'm through before back",
        "de": "der die das und ist in zu den nicht von sie mit sich des auf für ein eine im dem als auch es an werden aus er hat dass "
        "wir ich war wie bei oder aber man noch nach so einen einem einer um am sind vor zur bis mehr durch wenn nur über haben "
        "mein kein ihr uns schon sehr was ja wird zum du mich mir",
        "fr": "le la les de des un une et est en que qui dans pour ce il ne pas sur au avec se par plus son elle je nous vous ils sa ses "
        "du mais ou où comme été sont cette à leur tout fait aux deux même mon ma si être ont c'est d'une qu'il était très bien on "
        "me te lui y",
        "es": "el la los las de que y en un una ser se no por con su para como está es lo pero sus le ya o este sí porque esta entre "
        "cuando muy sin sobre también me hasta hay donde quien desde todo nos durante yo del al más fue mi era tiene había ella qué",
        "it": "il la le lo gli i di che e è un una in per non con si da del della sono come anche più ma ha al nel alla dei questo mi ci "
        "se o dal delle ho era suo sua quando tutto molto nella perché io cosa così dopo lui lei noi loro essere stato",
        "pt": "o a os as de que e em um uma para com não por mais do da dos das no na se foi ao como mas seu sua ou ser quando muito há "
        "nos já está eu também só pelo pela até isso ela ele entre era depois sem mesmo aos ter seus quem nas me esse você minha",
        "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als dan maar bij nog uit door naar heeft hij ze ik je "
        "wij wat over hun haar deze dit was worden werd kan of mijn zich geen we die had veel al toen zo tot",
    }.items()
}
# Running text of a language has about this share of its commonest words, or more.
_EXPECTED: Final = 0.25


@lru_cache(maxsize=64)
def _letters_of(scripts: tuple[str, ...]) -> "regex.Pattern[str]":
    return regex.compile(rf"(?V1)[\p{{L}}&&[{''.join(rf'\p{{Script={one}}}' for one in scripts)}]]")


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
                raise ValueError(f"no script {script!r}{near(script.capitalize(), known)}; for instance {known}") from error
        return scripts

    def decide(self, answer: Answer) -> Finding:
        share = script_share(answer.view, self.scripts)
        value = falling(self.share - share, self.soft) if share > 0 else 0.0
        return finding(value, f"{number(share)} of the letters are {' or '.join(self.scripts)}")


@check("language")
class LanguageCheck(Check):
    """How far the answer is in one language, at most 1. By script where the language has its own (ko, ja, zh, ru, ar, hi, th,
    el, he: a text in another language of that script looks the same); else by the share of the language's commonest words,
    a quarter being enough, where no other known language has more of its own."""

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
        if self.language not in _COMMON:
            return finding(by_script, f"{number(by_script)} of the letters wanted are {' or '.join(scripts)}")
        shares = {language: _common_share(view.folded, common) for language, common in _COMMON.items()}
        own, best = shares[self.language], max(shares.values())
        value = by_script * min(own / _EXPECTED, 1.0) * (own / best if best else 0.0)
        note = f"{number(own)} of the words are common ones of {self.language!r}; at best {number(best)} of another"
        return finding(value, note if own < best else note.partition(";")[0])


def script_share(view: TextView, scripts: tuple[str, ...]) -> float:
    """The share of letters that belong to `scripts`; 0 where there is none."""
    letters = sum(1 for _ in _LETTER.finditer(view.norm))
    return sum(1 for _ in _letters_of(scripts).finditer(view.norm)) / letters if letters else 0.0


def _common_share(folded: list[str], common: frozenset[str]) -> float:
    return sum(1 for word in folded if word in common) / len(folded) if folded else 0.0
