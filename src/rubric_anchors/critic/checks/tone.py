"""Checks on tone: concrete or abstract (English), a person's or an assistant's (English, Korean, Chinese)."""

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, field_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.characters import emoji_in
from rubric_anchors.critic.checks.options import Amount, Place, Positive, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.phrases import listed
from rubric_anchors.critic.text import TextView
from rubric_anchors.critic.wordlists import word_list

TONE_LISTS: Final = (
    "assistant_boilerplate",
    "stock_openers",
    "stock_closers",
    "summing_up",
    "stock_metaphors",
    "hedges",
    "flattery",
    "self_praise",
    "tone_ko",
    "tone_zh",
)
# Distances are bounded, so that the time is linear.
_NOT_BUT = re.compile(
    r"\b(?:is|are|was|were|it['’]s|that['’]s|this is|[a-z]{2,12}n['’]t|not)\s(?:not\s)?(?:just|only|merely|simply)\s"
    r"[^.!?\n;]{1,80}?"
    r"(?:[,;—–-]\s?|\.\s)(?:but|it['’]s|it is|they['’]re|they are|that['’]s|we['’]re)\b",
    re.IGNORECASE,
)
# Mere addition (뿐만 아니라; 不是…而是) is everybody's; belittling the first half is the mannerism.
_NOT_BUT_CJK = re.compile(
    r"단순(?:한|히)\s[^.!?\n]{1,60}?(?:아니라|넘어|아닌)"
    r"|그저\s[^.!?\n]{1,60}?(?:것이|게)\s아니라"
    r"|(?:不(?:仅仅|僅僅|只|单单|單單|单|單|仅|僅)是|不仅|不僅)[^。！？!?\n；;]{1,40}?[，,]\s?(?:更是|而是|更能|更让|更讓|还是|還是|也是)"
)
_BELITTLING: Final = frozenset(("just", "only", "merely", "simply"))
_NOT_BUTS: Final[dict[str, tuple[re.Pattern[str], Callable[[TextView], bool]]]] = {
    "not this but that": (_NOT_BUT, lambda view: not _BELITTLING.isdisjoint(view.different_atoms)),
    "not merely this (Korean, Chinese)": (_NOT_BUT_CJK, lambda view: not view.norm.isascii()),
}
"""Each with what is quicker to see, and without which there is none."""
_DASHES = re.compile(r"—|–(?<=\s–)(?=\s)|--(?<=\w--)(?=\w)")
_DASHES_FREE: Final = 1.0
"""Dashes in 100 words that people use too."""


@lru_cache(maxsize=1)
def _concrete() -> frozenset[str]:
    return frozenset(word_list("concrete_words"))


@lru_cache(maxsize=1)
def _abstract() -> frozenset[str]:
    return frozenset(word_list("abstract_words"))


@lru_cache(maxsize=65536)
def _known_as(word: str, abstract: bool) -> str:
    """The entry of the concrete or the abstract list that `word` is a form of, or an empty string."""
    known = _abstract() if abstract else _concrete()
    return next((form for form in _forms(word.partition("'")[0]) if form in known), "")


def _forms(word: str) -> list[str]:
    """`word`, and what it may be a plural, past or -ing form of."""
    forms = [word]
    if word.endswith(("ies", "ied")):
        forms.append(word[:-3] + "y")
    if word.endswith("ves"):
        forms += [word[:-3] + "f", word[:-3] + "fe"]
    if word.endswith("s") and len(word) > 3:
        forms += [word[:-1], word[:-2]] if word.endswith("es") else [word[:-1]]
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            forms += [stem, stem + "e"]
            if stem[-1] == stem[-2]:
                forms.append(stem[:-1])
    return forms


@check("concreteness")
class Concreteness(Check):
    """How far the answer speaks of things seen, heard, touched and done: concrete and sensory words in 100 words less
    abstract ones, over `per`, held to 0..1. English, by our own word lists. Answers under 100 words are taken at their
    own length, but for at least 20."""

    per: Positive = 12.0
    """How many concrete words, net of abstract ones, in 100 words give 1."""
    abstract: Amount = 1.0
    """How much an abstract word takes away; 0 ignores them."""
    most: Annotated[int, Field(ge=1)] = 2
    """How many times one word counts at most: saying `stone` twenty times makes nothing more concrete."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        times: Counter[str] = Counter()
        places: list[Place] = []
        abstract = 0
        for word, span in zip(view.folded, view.words, strict=True):
            if form := _known_as(word, False):
                times[form] += 1
                if times[form] <= self.most:
                    places.append((word, *span))
            elif _known_as(word, True):
                abstract += 1
        hundreds = max(len(view.words), 20) / 100.0
        net = (len(places) - self.abstract * abstract) / hundreds
        note = f"{len(places)} concrete and {abstract} abstract words, net {number(net)} in 100"
        return finding(net / self.per, note, view, places)


@check("ai_tone")
class AiTone(Check):
    """1 where nothing sounds like an assistant. Falls with the hits in 100 words: phrases of the tone lists, `not just
    this but that`, each emoji, and each dash beyond one in 100 words. English, weighed by data (`weigh`); Korean and
    Chinese, not validated on data yet. Answers under 100 words count as 100."""

    per: Positive = 3.0
    """How many hits in 100 words give 0."""
    lists: Annotated[tuple[str, ...], Field(min_length=1)] = TONE_LISTS
    """Names of shipped lists."""
    weigh: bool = True
    """Whether an English wording counts by how much more machines use it than people: 1 on average, 0 for what people
    say as often. Wordings of which the data say nothing count 1: boilerplate, flattery, Korean, Chinese."""

    @field_validator("lists")
    @classmethod
    def _known(cls, lists: tuple[str, ...]) -> tuple[str, ...]:
        for name in lists:
            word_list(name)
        return lists

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        marks = marks_of(view, self.lists)
        dashes = [mark for mark in marks if mark.kind == "dash"]
        counted = [mark for mark in marks if mark.kind != "dash"]
        surplus = max(len(dashes) - _DASHES_FREE * view.hundreds, 0.0)
        weighed = sum(_weight(mark) for mark in counted) if self.weigh else len(counted)
        rate = (weighed + surplus) / view.hundreds
        note = f"{number(rate)} hits in 100 words" if rate else "nothing found"
        shown = sorted(counted + (dashes if surplus else []), key=lambda mark: mark.start)
        return finding(falling(rate, self.per), note, view, [(m.wording, m.start, m.end) for m in shown])


class ToneMark(NamedTuple):
    """Something that counts against an answer, at characters start..end of its normal text."""

    kind: Literal["phrase", "not but", "emoji", "dash"]
    wording: str
    """The entry of a list that was found; else what it is."""
    start: int
    end: int


def marks_of(view: TextView, lists: tuple[str, ...]) -> list[ToneMark]:
    """All marks in a text; dashes all of them, people's share too."""
    phrases = listed(*lists)
    found = [ToneMark("phrase", phrases.entries[hit.phrase], hit.start, hit.end) for hit in phrases.passages(view)]
    for name, (pattern, could_be) in _NOT_BUTS.items():
        if could_be(view):
            found += [ToneMark("not but", name, *place.span()) for place in pattern.finditer(view.norm)]
    found += [ToneMark("emoji", *place) for place in emoji_in(view)]
    return found + [ToneMark("dash", "dash", *place.span()) for place in _DASHES.finditer(view.norm)]


def _weight(mark: ToneMark) -> float:
    """How much a mark counts: 1 on average over those in machines' texts."""
    entries, lists = _weights()
    return entries.get(mark.wording, lists.get(_home(mark.wording), 1.0))


@lru_cache(maxsize=1)
def _weights() -> tuple[dict[str, float], dict[str, float]]:
    """By wording, and by list for wordings that no text had; what is in neither counts 1. Made by
    `benchmarks/weigh_tone.py`."""
    table = json.loads((files("rubric_anchors.critic") / "tone_weights.json").read_text(encoding="utf-8"))
    return table["entries"], table["lists"]


@lru_cache(maxsize=4096)
def _home(wording: str) -> str:
    return next((name for name in TONE_LISTS if wording in word_list(name)), "")
