"""Checks on how a text reads: syllables, reading ease, variety of words, passive voice, Korean levels of speech."""

from collections import Counter
from functools import lru_cache
from math import exp, lgamma
from typing import Final, Literal

import regex

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Place, PositiveShare, Ranged, Share, falling, finding
from rubric_anchors.critic.checks.prose import NOT_PAST
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.text import TextView
from rubric_anchors.critic.wordlists import grammar_words

Spoken = Literal["en", "de", "es", "ko"]
Level = Literal["hapsyo", "haeyo", "hae", "haera"]

_VOWELS: Final[dict[str, "regex.Pattern[str]"]] = {
    "de": regex.compile("ie|ei|ai|au|eu|äu|aa|ee|oo|[aeiouyäöü]"),
    "es": regex.compile("[íú]|[iuü]?[aeoáéó](?:[iuy](?![aeoáéóíú]))?|[iuü]++|y$"),
}
_HANGUL = regex.compile("[가-힣]")
_ENGLISH_GROUP = regex.compile("[aeiouy]++")
# Two vowels that are two syllables.
_HIATUS = regex.compile(
    r"(?<=[dnlrvp])ia(?!g)|(?<=[drv])io|eo(?![up])|[aeiouy]ing|(?<!q)ua(?=[lt])|iet|cien|oe[mt]|riou|uou|lion|crea|idea$"
)


def syllables(word: str, language: Spoken) -> int:
    """The syllables of a folded word, at least 1 for one with letters. English by rules: vowel groups, silent e, the
    commonest hiatuses; wrong for many words with a silent e inside (`something`, `homework`)."""
    if language == "ko":
        return len(_HANGUL.findall(word))
    if not any(map(str.isalpha, word)):
        return 0
    if language != "en":
        return max(len(_VOWELS[language].findall(word)), 1)
    bare = word.partition("'")[0] or word
    spoken = word.endswith("n't") and bare[-2:-1] not in set("aeiouy")  # did-n't, but don't
    return max(len(_ENGLISH_GROUP.findall(_without_silent(bare))) + len(_HIATUS.findall(bare)) + spoken, 1)


def _without_silent(word: str) -> str:
    """`word` without an e that is written and not said."""
    vowels = "aeiouy"
    if len(word) < 3:
        return word
    if word.endswith("e") and word[-2] not in vowels and not (word.endswith("le") and word[-3] not in vowels):
        return word[:-1]
    if word.endswith("ed") and len(word) > 3 and word[-3] not in f"{vowels}td":
        return word[:-2]
    hissing = word.endswith(("ses", "xes", "zes", "ches", "shes", "ces", "ges"))
    if word.endswith("es") and len(word) > 3 and word[-3] not in vowels and not hissing:
        return word if word.endswith("les") and word[-4] not in vowels else word[:-2]
    return word


def syllables_of(view: TextView, language: Spoken) -> int:
    return sum(_cached(word, language) for word in view.folded)


@lru_cache(maxsize=65_536)
def _cached(word: str, language: Spoken) -> int:
    return syllables(word, language)


@check("syllable_count")
class SyllableCount(Ranged):
    """1 where the number of syllables lies in min..max. Korean by its syllable letters, digits and Latin left
    out; English, German and Spanish by rules for vowels: right for most common words, wrong for many with a silent e
    inside (`something`, `homework`) or a hiatus (`Familie`)."""

    unit = "syllables"

    language: Spoken = "en"
    """Whose rules."""

    def measure(self, view: TextView) -> float:
        return float(syllables_of(view, self.language))


@check("readability")
class Readability(Ranged):
    """1 where the reading ease lies in min..max: about 100 for very easy, 60 to 70 for plain, 0 to 30 for hard prose.

    English: Flesch (1948), 206.835 - 1.015 W/S - 84.6 Y/W. German: Amstad (1978), 180 - W/S - 58.5 Y/W. Spanish:
    Fernandez Huerta (1959), 206.84 - 1.02 W/S - 60 Y/W. W words, S sentences, Y syllables. They count lengths and know
    nothing of sense; below some 50 words they jump. 0 for an answer without words.
    """

    unit = "reading ease"

    language: Literal["en", "de", "es"] = "en"
    """Whose formula."""

    def measure(self, view: TextView) -> float:
        words, sentences = len(view.words), len(view.sentences)
        if not words or not sentences:
            return 0.0
        base, by_sentence, by_word = _EASE[self.language]
        ease = base - by_sentence * words / sentences - by_word * syllables_of(view, self.language) / words
        return max(ease, 0.0)

    def decide(self, answer: Answer) -> Finding:
        return super().decide(answer) if answer.view.sentences else finding(0.0, "no words")


_EASE: Final = {"en": (206.835, 1.015, 84.6), "de": (180.0, 1.0, 58.5), "es": (206.84, 1.02, 60.0)}


@check("diversity_of_words")
class DiversityOfWords(Ranged):
    """1 where the variety of words lies in min..max, by a measure that length does not move.

    `mtld` (McCarthy and Jarvis 2010): mean length, in words, of stretches whose share of different words stays above
    0.72, read forwards and backwards; English prose has some 60 to 120. `hdd` (the same authors, 2007): the mean share
    of different words in all samples of 42 words, 0..1; prose has some 0.75 to 0.9. Texts under 50 words say little; of
    one without words the value is 0.
    """

    unit = "variety of words"

    measure_by: Literal["mtld", "hdd"] = "mtld"
    """Which measure."""

    def measure(self, view: TextView) -> float:
        if self.measure_by == "hdd":
            return hdd(view.folded)
        return (_mtld(view.folded) + _mtld(view.folded[::-1])) / 2 if view.folded else 0.0

    def decide(self, answer: Answer) -> Finding:
        return super().decide(answer) if answer.view.words else finding(0.0, "no words")


def _mtld(words: list[str], bar: float = 0.72) -> float:
    factors, start, seen = 0.0, 0, set[str]()
    for at, word in enumerate(words):
        seen.add(word)
        if len(seen) / (at + 1 - start) <= bar:
            factors += 1
            start, seen = at + 1, set()
    if start < len(words):
        factors += (1 - len(seen) / (len(words) - start)) / (1 - bar)
    return len(words) / factors if factors else float(len(words))


def hdd(words: list[str], sample: int = 42) -> float:
    """The mean share of different words over all samples of `sample` words, by the hypergeometric distribution; of the
    whole text where it is shorter."""
    total = len(words)
    drawn = min(sample, total)
    if not total:
        return 0.0
    missed = sum(_none_drawn(total, count, drawn) for count in Counter(words).values())
    return (len(set(words)) - missed) / drawn


def _none_drawn(total: int, count: int, drawn: int) -> float:
    """The chance that none of `count` words is among `drawn` of `total`."""
    left = total - count
    if left < drawn:
        return 0.0
    exponent = lgamma(left + 1) - lgamma(left - drawn + 1) - lgamma(total + 1) + lgamma(total - drawn + 1)
    return exp(exponent)


@check("passive_voice")
class PassiveVoice(Check):
    """1 where at most `most` of the sentences have a passive; the value falls over the `soft` above it. English, by a
    form of `be`, at most two adverbs, and a participle that is not mostly an adjective (`was tired`); one
    without its `be` is not seen."""

    most: Share = 0.1
    """The share of sentences that may have one."""
    soft: PositiveShare = 0.4
    """How far above that the value reaches 0."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        places: list[Place] = []
        for span in view.sentences:
            words = view.words_in(span)
            if (at := _passive(view.folded, words)) is not None:
                places.append(("passive", view.words[at[0]].start, view.words[at[1]].end))
        share = len(places) / len(view.sentences) if view.sentences else 0.0
        return finding(falling(share - self.most, self.soft), f"{share:.0%} of the sentences are passive", view, places)


_BE: Final = frozenset("am is are was were be been being isn't aren't wasn't weren't".split())
_LINKED: Final = frozenset("'s 're 'm".split())


def _passive(folded: list[str], words: range) -> tuple[int, int] | None:
    irregular = grammar_words("irregular_participle_en")
    for at in words:
        word = folded[at]
        if word not in _BE and not any(word.endswith(ending) for ending in _LINKED):
            continue
        follow = at + 1
        while follow < min(words.stop, at + 3) and (folded[follow].endswith("ly") or folded[follow] in _ADVERBS):
            follow += 1
        if follow < words.stop:
            one = folded[follow]
            if one in irregular - _BE or (one.endswith("ed") and len(one) > 3 and one not in NOT_PAST):
                return at, follow
    return None


_ADVERBS: Final = frozenset("not never often always already also just still soon then once ever even being".split())
TAIL: Final = 64
"""Characters at the end of a sentence in which its last word is looked for."""
_LEVELS: Final[tuple[tuple[Level, "regex.Pattern[str]"], ...]] = (
    ("hapsyo", regex.compile("시오$")),
    ("haeyo", regex.compile("(?:요|죠)$")),
    ("haera", regex.compile("(?:다|냐|니|라|자|구나|로다|는가|은가|ㄴ가|인가)$")),
    ("hae", regex.compile("(?:어|아|해|야|지|네|군|래|게|걸|돼|줘|와|가|까|여|데|나|서|고|면)$")),
)


@check("korean_politeness")
class KoreanPoliteness(Check):
    """How far a Korean answer keeps to one level of speech, by the endings of its sentences: the share of those that
    show a level and show this one, over `share`, at most 1. 0 where none shows any. By endings alone, not validated on
    data: a noun that ends like a verb is taken for one, but for some 150 common ones (`바다`)."""

    level: Level = "haeyo"
    """`hapsyo` (-습니다), `haeyo` (-요), `hae` (-어, -지) or `haera` (-다, -냐)."""
    share: PositiveShare = 0.9
    """The share that is enough."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        seen: Counter[Level] = Counter()
        others: list[Place] = []
        for span in view.sentences:
            level = politeness(view.slice(span))
            if level is not None:
                seen[level] += 1
                if level != self.level:
                    others.append((level, max(span.start, span.end - 12), span.end))
        total = seen.total()
        note = ", ".join(f"{level} {count}" for level, count in seen.most_common()) or "no Korean sentence ending"
        return finding(min(seen[self.level] / total / self.share, 1.0) if total else 0.0, note, view, others)


def politeness(sentence: str) -> Level | None:
    """The level of speech that a Korean sentence ends in; None where its last word is no Korean predicate ending."""
    bare = sentence[-TAIL:]
    while bare and not bare[-1].isalnum():
        bare = bare[:-1]
    if not _HANGUL.search(bare[-1:]) or bare.rsplit(None, 1)[-1] in grammar_words("nouns_ko"):
        return None
    if bare.endswith(("니다", "니까", "시다")):
        # 갑니다, 만납시다: the syllable before ends in ㅂ, the 17th of the 27 finals; 아니다, 가시다 are plain.
        return "hapsyo" if len(bare) > 2 and (ord(bare[-3]) - ord("가")) % 28 == 17 else "haera"
    return next((level for level, ending in _LEVELS if ending.search(bare)), None)
