"""Checks on how a reader is spoken to: orders, connecting words, register, familiar or polite address."""

import re
from typing import Annotated, Final, Literal

from pydantic import Field

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.characters import emoji_in
from rubric_anchors.critic.checks.options import Found, Place, PositiveShare, Ranged, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.phrases import listed
from rubric_anchors.critic.text import Span, TextView
from rubric_anchors.critic.wordlists import grammar_words

_BEFORE_ORDERS: Final = frozenset(
    "please then now so just first next finally and but or also always once again instead therefore".split()
)
_NOT_TO: Final = frozenset("don't dont never".split())
_NO_ORDERS: Final = frozenset("let's lets thank thanks welcome bless".split())
# Behind a word that is a noun as often, these show that it was a verb.
_OBJECTS: Final = frozenset(
    "a an the this that these those my your his her its our their it them him me us every all any both one "
    "two three yourself in on at with until for to from into over up down out off by around through carefully slowly "
    "gently well aside together as".split()
)
_NO_OBJECTS: Final = frozenset(
    "is are was were has have had can could will would may might must should does did of and's s".split()
)


@check("imperatives")
class Imperatives(Found):
    """1 where the number of sentences that tell the reader to do something lies in min..max: those that begin with the
    plain form of a verb (`Add the salt.`, `Please wait.`, `Don't stir.`). English, by a list of some 300 verbs. No
    orders are `Let's go`, `Thank you`, questions, and quoted speech."""

    unit = "orders"

    def find(self, view: TextView) -> list[Place]:
        places: list[Place] = []
        quoted = {span.start for span in view.quoted}
        for span in view.sentences:
            words = view.words_in(span)
            if not words or span.start in quoted or view.slice(span).rstrip("\"'”’)*_ ").endswith("?"):
                continue
            at = _order_at(view.folded[words.start : words.stop])
            if at is not None:
                word = view.words[words.start + at]
                places.append((f"order: {view.slice(word)}", *word))
        return places


def _order_at(words: list[str]) -> int | None:
    """Which of a sentence's words is the verb of an order; None: it gives none."""
    at = 0
    while at < len(words) - 1 and words[at] in _BEFORE_ORDERS:
        at += 1
    negated = False
    if words[at : at + 2] == ["do", "not"]:
        at, negated = at + 2, True
    elif words[at] in _NOT_TO:
        at, negated = at + 1, True
    if at >= len(words) or words[at] in _NO_ORDERS or words[at : at + 2] == ["let", "us"]:
        return None
    verb, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    if verb in grammar_words("order_verbs_en"):
        return at if negated or after not in _NO_OBJECTS else None
    return at if verb in grammar_words("order_nouns_en") and (negated or after in _OBJECTS) else None


@check("transitions")
class Transitions(Ranged):
    """1 where the share of sentences that hold a connecting word (`however`, `for example`; list `transitions`) lies in
    min..max. English, German, Spanish, French, Korean, Chinese, Japanese."""

    unit = "share of sentences with a connecting word"

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        entries = listed("transitions")
        places = [(f"connects: {entries.entries[hit.phrase]}", hit.start, hit.end) for hit in entries.passages(view)]
        joined = len(_sentences_of(places, view))
        share = joined / max(len(view.sentences), 1)
        note = f"{joined} of {len(view.sentences)} sentences hold a connecting word, wanted a share of {self.wanted()}"
        return finding(self.closeness(share), note, view, places)


def _sentences_of(places: list[Place], view: TextView) -> list[Span]:
    """The sentences that some place starts in, each once; `places` in order."""
    found: list[Span] = []
    at = 0
    spans = view.sentences
    for _, start, _ in places:
        while at < len(spans) and spans[at].end <= start:
            at += 1
        if at < len(spans) and spans[at].start <= start and (not found or found[-1] != spans[at]):
            found.append(spans[at])
    return found


_CONTRACTION = re.compile(
    r"[a-z]+n't|(?:i|you|he|she|it|we|they|that|there|what|who|where|here)'(?:m|re|s|ve|ll|d)", re.IGNORECASE
)
_EXCLAIMED = re.compile(r"!+")


@check("register")
class Register(Check):
    """How formal or how casual the answer is, by marks of casual English in 100 words: contractions, words of the list
    `casual_words`, exclamation marks, emoji. `formal` is 1 where there are none and 0 from `per` on; `casual` is the
    opposite. Answers under 100 words count as 100. What makes a text formal beyond the lack of such marks it cannot
    see."""

    wanted: Literal["formal", "casual"] = "formal"
    """Which register."""
    per: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 4.0
    """How many marks in 100 words make an answer wholly casual."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        entries = listed("casual_words")
        places: list[Place] = [
            (entries.entries[hit.phrase].strip(), hit.start, hit.end) for hit in entries.passages(view)
        ]
        taken = {start for _, start, _ in places}
        for word, span in zip(view.folded, view.words, strict=True):
            if "'" in word and span.start not in taken and _CONTRACTION.fullmatch(word):
                places.append(("contraction", *span))
        places += [("exclamation", *found.span()) for found in _EXCLAIMED.finditer(view.norm)]
        places += emoji_in(view)
        rate = len(places) / view.hundreds
        formal = falling(rate, self.per)
        note = f"{number(rate)} marks of casual English in 100 words"
        value = formal if self.wanted == "formal" else 1.0 - formal
        return finding(value, note, view, sorted(places, key=lambda place: place[1]))


_FAMILIAR: Final[dict[str, frozenset[str]]] = {
    "de": frozenset(
        "du dich dir dein deine deinen deinem deiner deines euch euer eure euren eurem eurer eures bist hast kannst "
        "willst musst sollst darfst wirst weißt möchtest könntest solltest würdest hättest".split()
    ),
    "es": frozenset(
        "tú ti contigo tu tus tuyo tuya tuyos tuyas vosotros vosotras os vuestro vuestra vuestros vuestras eres tienes "
        "puedes quieres haces debes estás vas sabes necesitas".split()
    ),
    "fr": frozenset("tu toi te t ton ta tes".split()),
}
_POLITE: Final[dict[str, frozenset[str]]] = {
    "de": frozenset(),
    "es": frozenset("usted ustedes".split()),
    "fr": frozenset("vous votre vos".split()),
}
_POLITE_DE: Final = frozenset("Sie Ihnen Ihr Ihre Ihren Ihrem Ihrer Ihres".split())
_STARTS_DE: Final = ".!?:…\"“„»«'‚‘()[]–—-•*#>\n"


@check("address")
class Address(Check):
    """How far the answer addresses its reader in one way, of the words that show one: German du/ihr or Sie, Spanish tú
    or usted, French tu or vous. Counted is what is clear: German `Sie`, `Ihr` and `Ihnen` only inside a sentence, where
    their capital tells them from `they` and `her`; no Spanish verbs of usted and no `su`. French `vous` to several
    people counts as polite. For Korean see `korean_politeness`."""

    language: Literal["de", "es", "fr"]
    """Of the answer."""
    wanted: Literal["familiar", "polite"] = "polite"
    """du, tú, tu; or Sie, usted, vous."""
    share: PositiveShare = 1.0
    """The share that gives 1."""
    none: Share = 1.0
    """The value of an answer that addresses nobody."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        found: dict[str, list[Place]] = {"familiar": [], "polite": []}
        for word, span in zip(view.folded, view.words, strict=True):
            way = self._way(word, span, view)
            if way:
                found[way].append((f"{way}: {view.slice(span)}", *span))
        own, total = found[self.wanted], len(found["familiar"]) + len(found["polite"])
        if not total:
            return finding(self.none, "nobody is addressed")
        other = found["polite" if self.wanted == "familiar" else "familiar"]
        note = f"{len(own)} of {total} words of address are {self.wanted}"
        return finding(min(len(own) / total / self.share, 1.0), note, view, other or own)

    def _way(self, word: str, span: Span, view: TextView) -> Literal["familiar", "polite", ""]:
        head = word.partition("'")[0]
        if word in _FAMILIAR[self.language] or (self.language == "fr" and head == "t" and head != word):
            return "familiar"
        if self.language == "de":
            inside = view.slice(span) in _POLITE_DE and _inside_sentence(view.norm, span.start)
            return "polite" if inside else ""
        return "polite" if word in _POLITE[self.language] else ""


def _inside_sentence(text: str, at: int) -> bool:
    """Whether a word and a blank, and no mark that a sentence may begin after, stand before `at`."""
    before = text[max(at - 40, 0) : at].rstrip(" \t")
    return bool(before) and before[-1] not in _STARTS_DE
