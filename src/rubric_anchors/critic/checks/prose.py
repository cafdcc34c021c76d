"""Checks on how prose is written: whose voice, which tense, how full of content, whether it comes to an end."""

import re
from bisect import bisect_left
from typing import Final, Literal

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Place, PositiveShare, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.phrases import listed
from rubric_anchors.critic.sentences import NARROW_ENDS, WIDE_ENDS
from rubric_anchors.critic.text import Span, TextView
from rubric_anchors.critic.wordlists import grammar_words

Person = Literal["first", "second", "third"]
Number = Literal["singular", "plural", "any"]

_PRONOUNS: Final[dict[tuple[Person, str], frozenset[str]]] = {
    ("first", "singular"): frozenset("i me my mine myself".split()),
    ("first", "plural"): frozenset("we us our ours ourselves".split()),
    ("second", "singular"): frozenset("you your yours yourself".split()),
    ("second", "plural"): frozenset("you your yours yourselves".split()),
    ("third", "singular"): frozenset("he him his himself she her hers herself".split()),
    ("third", "plural"): frozenset("they them their theirs themselves".split()),
}
# A sentence that is mostly pronouns, or hardly a sentence, narrates nothing.
_MOST_PRONOUNS: Final = 1 / 3
_FEWEST_WORDS: Final = 3


_ASSISTANT_TALK: Final = ("assistant_boilerplate", "stock_openers", "stock_closers", "summing_up", "refusals")


@check("person")
class PersonCheck(Check):
    """How far the answer is told in one grammatical person: the share of its sentences that have such a pronoun, over
    the share that is wanted, at most 1. English.

    Pronouns in quoted speech do not count, nor do sentences of assistant talk (`I hope this helps`), sentences said
    before, or strings of pronouns: those are ways to look like a narrator without being one.
    """

    person: Person = "first"
    """Whose voice."""
    number: Number = "any"
    """`singular` (I), `plural` (we) or `any`."""
    share: PositiveShare = 0.5
    """The share of sentences that gives 1. Good narration leaves many sentences without a pronoun."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        numbers = ("singular", "plural") if self.number == "any" else (self.number,)
        pronouns = frozenset[str]().union(*(_PRONOUNS[self.person, one] for one in numbers))
        quoted, talk = view.quoted, [Span(hit.start, hit.end) for hit in listed(*_ASSISTANT_TALK).passages(view)]
        found = [
            at
            for at, word in enumerate(view.folded)
            if word in pronouns or ("'" in word and word.partition("'")[0] in pronouns)
        ]
        own = [at for at in found if not _covered(view.words[at], quoted)]
        seen: set[tuple[str, ...]] = set()
        places: list[Place] = []
        for span, words in zip(view.sentences, view.sentence_words, strict=True):
            if bisect_left(found, words.start) == bisect_left(found, words.stop):
                continue
            key = tuple(view.folded[words.start : words.stop])
            first = bisect_left(own, words.start)
            hits = bisect_left(own, words.stop) - first
            narrates = len(words) >= _FEWEST_WORDS and 0 < hits <= len(words) * _MOST_PRONOUNS
            if narrates and key not in seen and not _touched(span, talk):
                places.append((view.norm[slice(*view.words[own[first]])], *view.words[own[first]]))
            seen.add(key)
        share = len(places) / max(len(view.sentences), 1)
        note = f"{len(places)} of {len(view.sentences)} sentences in the {self.person} person"
        return finding(min(share / self.share, 1.0), note, view, places)


def _covered(word: Span, spans: list[Span]) -> bool:
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle].end <= word.start:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low].start <= word.start


def _touched(sentence: Span, spans: list[Span]) -> bool:
    """Whether any of `spans` (in order, apart) overlaps the sentence."""
    if _covered(sentence, spans):
        return True
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle].start < sentence.start:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low].start < sentence.end


_PRESENT: Final = frozenset(
    "am is are isn't aren't has have haven't hasn't do does don't doesn't can can't cannot will won't may must "
    "says goes i'm you're we're they're he's she's it's i've you've we've they've i'll you'll we'll they'll he'll "
    "she'll it'll".split()
)
_PERFECT: Final = frozenset(
    "have has haven't hasn't i've you've we've they've am is are be being been isn't aren't".split()
)
NOT_PAST: Final = frozenset(
    "need feed seed speed indeed bed red shed breed bleed exceed succeed proceed weed greed creed deed reed heed "
    "hundred sacred naked wicked rugged ragged wretched aged beloved kindred hatred biped sled embed tired "
    "excited interested bored worried scared supposed united advanced detailed limited complicated crowded "
    "talented gifted".split()
)
_SUBJECTS: Final = frozenset("i you we they".split())
_SINGULARS: Final = frozenset("he she it".split())
_NO_VERB: Final = frozenset(
    "a an the and or but of in on at to for with by from as if so that this these those my your our their his her "
    "its all both too then there here now just also never always often only even still who which when where while "
    "because not".split()
)
_S_ENDING = re.compile(r"[^\W\d_]{2,}[^su]s")


@check("tense")
class Tense(Check):
    """How far the answer keeps to one tense: the share of its words that show a tense and show this one, over the share
    that is wanted, at most 1. 0 where no word shows a tense. English.

    A heuristic: irregular past forms from a list, words in -ed that no `have` or `is` stands before, and for the
    present its auxiliaries and the word after a pronoun. Quoted speech does not count.
    """

    tense: Literal["past", "present"] = "past"
    """Which tense."""
    share: PositiveShare = 0.7
    """The share that gives 1."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        places: dict[str, list[Place]] = {"past": [], "present": []}
        for at, word in enumerate(view.folded):
            tense = _tense_of(word, view.folded[at - 1] if at else "")
            if tense and not _covered(view.words[at], view.quoted):
                places[tense].append((tense, *view.words[at]))
        own, all_places = places[self.tense], places["past"] + places["present"]
        share = len(own) / max(len(all_places), 1)
        note = f"{len(own)} of {len(all_places)} tense-bearing words are {self.tense}"
        return finding(min(share / self.share, 1.0), note, view, own)


def _tense_of(word: str, before: str) -> Literal["past", "present"] | None:
    if word in _PRESENT:
        return "present"
    if before in _PERFECT:
        return None
    if word in grammar_words("irregular_past_en") or word.endswith("'d"):
        return "past"
    if word.endswith("ed") and len(word) > 3 and word not in NOT_PAST:
        return "past"
    if before in _SUBJECTS and word.isalpha() and word not in _NO_VERB and not word.endswith("ly") and len(word) > 1:
        return "present"
    if before in _SINGULARS and _S_ENDING.fullmatch(word):
        return "present"
    return None


_OPEN_ENDS: Final = ",;:-–—(/&+،、"


@check("ends_properly")
class EndsProperly(Check):
    """1 where the answer comes to an end: a terminal mark (closing marks and emoji may follow), the end of a code fence
    or table, or a list whose items have no terminal marks. An empty answer does not."""

    credit: Share = 0.0
    """An answer that breaks off gets this times the share of its words that stand in finished sentences."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        if _ends(view):
            return finding(1.0, "it comes to an end")
        spans = view.sentences
        words = sum(len(view.words_in(span)) for span in spans[:-1])
        share = words / max(len(view.words), 1)
        last = [("breaks off", spans[-1].start, spans[-1].end)] if spans else []
        return finding(
            self.credit * share, f"it breaks off; {number(share)} of the words are in finished sentences", view, last
        )


def _ends(view: TextView) -> bool:
    lines = [line for line in view.lines if line.kind != "blank"]
    if not lines:
        return False
    last = lines[-1]
    if last.kind == "fence":
        return sum(1 for line in lines if line.kind == "fence") % 2 == 0
    if last.kind in ("code", "heading"):
        return False
    if last.kind in ("table", "rule") or _closed(view.norm, last.end):
        return True
    others = [item for item in view.items if item.start != last.start]
    return (
        last.kind in ("bullet", "number") and bool(others) and not any(_closed(view.norm, item.end) for item in others)
    )


def _closed(text: str, end: int) -> bool:
    """Whether the last letter, digit or telling mark before `end` is a terminal mark."""
    for at in range(end - 1, max(end - 200, -1), -1):
        character = text[at]
        if character in NARROW_ENDS or character in WIDE_ENDS:
            return True
        if character.isalnum() or character in _OPEN_ENDS or character == "\n":
            return False
    return False


@check("lexical_density")
class LexicalDensity(Check):
    """How much of the answer is content rather than grammar: the share of its words that are no articles, pronouns,
    auxiliaries, prepositions, conjunctions or the like (Ure 1971). English. Speech lies near 0.4, plain narrative
    somewhat above, reference prose above 0.5; a list of nouns has 1, so hold it together with fluency.
    """

    min: PositiveShare = 0.5
    """The share at which the value is 1."""
    soft: PositiveShare = 0.2
    """How far below `min` the value reaches 0, falling in a straight line."""

    def decide(self, answer: Answer) -> Finding:
        words = answer.view.folded
        grammar = grammar_words("function_words")
        content = sum(word not in grammar and word.partition("'")[0] not in grammar for word in words)
        share = content / len(words) if words else 0.0
        note = f"content words: {share:.0%} of {len(words)}, wanted at least {self.min:.0%}"
        return finding(falling(self.min - share, self.soft) if words else 0.0, note)
