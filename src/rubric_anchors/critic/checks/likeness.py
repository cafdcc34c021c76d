"""Checks that hold an answer against other texts: a reference, given points, texts known already, its source."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import Field

from rubric_anchors.core.errors import CriticError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.options import Place, PositiveShare, Ranged, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.edges import rise
from rubric_anchors.critic.text import Span, TextView, view_of
from rubric_anchors.critic.wordlists import grammar_words

Texts = Annotated[tuple[str, ...], Field(min_length=1)]
RUN: Final = 6
"""The longest runs of characters compared, as in chrF."""
COMPARED: Final = 20_000
"""Characters of a text that are compared by runs, and words that are compared in sequence."""


@check("similar_to_reference")
class SimilarToReference(Check):
    """How like the row's reference the answer is, 0..1. `characters`: chrF (Popovic 2015), the mean F2 of runs of 1 to
    6 characters, blanks aside; `words`: F1 of the words, each as often as it stands; `sequence`: F1 of the longest run
    of words that stand in both in the same order, gaps allowed (ROUGE-L; Lin 2004), of the first 20,000 words;
    `meaning`: the cosine of vectors between `low` and `high`. None of them sees a contradiction: "is" and "is not" are
    nearly the same to all."""

    by: Literal["characters", "words", "sequence", "meaning"] = "words"
    """What is compared. `meaning` needs the extra `local`."""
    low: Share = 0.3
    """Under `meaning`: the cosine at and below which the value is 0."""
    high: Share = 0.9
    """Under `meaning`: the cosine from which the value is 1."""

    @property
    def light(self) -> bool:
        return self.by != "meaning"

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        """Raises CriticError where a row has no reference."""
        references = [_reference(answer) for answer in answers]
        if self.by != "meaning":
            return [self._like(answer.view, view_of(text)) for answer, text in zip(answers, references, strict=True)]
        texts = list(dict.fromkeys([*references, *(answer.view.norm for answer in answers)]))
        vectors = dict(zip(texts, tools.encoder().encode(texts), strict=True))
        cosines = [float(vectors[a.view.norm] @ vectors[r]) for a, r in zip(answers, references, strict=True)]
        return [finding(rise(cosine, self.low, self.high), f"cosine {number(cosine)}") for cosine in cosines]

    def decide(self, answer: Answer) -> Finding:
        if self.by == "meaning":
            raise CriticError("meaning is compared in batches, with an encoder")
        return self._like(answer.view, view_of(_reference(answer)))

    def _like(self, view: TextView, reference: TextView) -> Finding:
        if self.by == "words":
            value = _f(Counter(view.folded), Counter(reference.folded), 1.0)
            return finding(value, f"word F1 {number(value)}")
        if self.by == "sequence":
            value = _rouge_l(view.folded[:COMPARED], reference.folded[:COMPARED])
            return finding(value, f"ROUGE-L {number(value)}")
        values = []
        for size in range(1, RUN + 1):
            wanted = _runs(reference.norm, size)
            if wanted:
                values.append(_f(_runs(view.norm, size), wanted, 2.0))
        value = sum(values) / len(values) if values else 0.0
        return finding(value, f"chrF {number(value)}")


def _rouge_l(seen: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of the longest common subsequence; 1 where both are empty."""
    if not seen or not wanted:
        return float(not seen and not wanted)
    return 2.0 * longest_common(seen, wanted) / (len(seen) + len(wanted))


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence: a bit for each word of `one`, all of them moved on at once for each
    word of `other` (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    full = (1 << len(one)) - 1
    row = full
    for word in other:
        held = row & places.get(word, 0)
        row = ((row + held) | (row - held)) & full
    return len(one) - row.bit_count()


def _reference(answer: Answer) -> str:
    if answer.reference is None or not answer.reference.strip():
        raise CriticError("similar_to_reference needs a reference, and the row has none")
    return answer.reference


def _runs(text: str, size: int) -> Counter[str]:
    bare = "".join(text[:COMPARED].casefold().split())
    return Counter(bare[at : at + size] for at in range(len(bare) - size + 1))


def _f(seen: Counter[str], wanted: Counter[str], beta: float) -> float:
    """The F measure of two bags; 1 where both are empty."""
    shared = (seen & wanted).total()
    if not seen or not wanted:
        return float(not seen and not wanted)
    precision, recall = shared / seen.total(), shared / wanted.total()
    weight = beta * beta
    return (1 + weight) * precision * recall / (weight * precision + recall) if shared else 0.0


@check("covers_points")
class CoversPoints(Check):
    """The share of the given points that some sentence of the answer makes: one that holds at least `share` of the
    point's content words, whatever their order (`words`; English endings make no difference), or one whose vector's
    cosine with the point's is at least `near` (`meaning`). It sees subjects, not claims: that a point is denied, it
    cannot see."""

    points: Texts
    """What the answer should say, a sentence or phrase each."""
    share: PositiveShare = 0.6
    """The share of a point's content words that have to stand in one sentence, or in two neighbouring ones."""
    by: Literal["words", "meaning"] = "words"
    """How a sentence is held against a point. `meaning` needs the extra `local`."""
    near: PositiveShare = 0.6
    """Under `meaning`: the cosine from which a sentence, or two neighbouring ones, make the point."""

    @property
    def light(self) -> bool:
        return self.by == "words"

    @cached_property
    def _wanted(self) -> list[frozenset[str]]:
        return [_content(TextView(point), None) for point in self.points]

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        """The findings; under `meaning` all sentences are embedded in one batch."""
        if self.by == "words":
            return [self.decide(answer) for answer in answers]
        passages = [_passages(answer.view) for answer in answers]
        texts = [a.view.slice(span) for a, spans in zip(answers, passages, strict=True) for span in spans]
        texts = list(dict.fromkeys([*self.points, *texts]))
        vectors = dict(zip(texts, tools.encoder().encode(texts), strict=True))

        def nearness(view: TextView, span: Span, point: int) -> float:
            return float(vectors[view.slice(span)] @ vectors[self.points[point]])

        return [
            self._covered(
                answer.view,
                [[nearness(answer.view, s, at) for s in spans] for at in range(len(self.points))],
                spans,
                self.near,
            )
            for answer, spans in zip(answers, passages, strict=True)
        ]

    def decide(self, answer: Answer) -> Finding:
        if self.by == "meaning":
            raise CriticError("meaning is compared in batches, with an encoder")
        view = answer.view
        spans = _passages(view)
        held = [_content(view, span) for span in spans]
        shares = [[len(wanted & words) / max(len(wanted), 1) for words in held] for wanted in self._wanted]
        return self._covered(view, shares, spans, self.share)

    def _covered(self, view: TextView, held: list[list[float]], spans: list[Span], least: float) -> Finding:
        """`held`: for each point how far each passage makes it."""
        covered, places = 0.0, []
        missing: list[str] = []
        for point, row in zip(self.points, held, strict=True):
            best = max(range(len(row)), key=row.__getitem__, default=None)
            if best is not None and row[best] >= least:
                covered += 1
                places.append((f"covers {point[:60]!r}", spans[best].start, spans[best].end))
            else:
                missing.append(point)
        note = f"{number(covered)} of {len(self.points)} points"
        if missing:
            note += f"; missing: {'; '.join(point[:60] for point in missing[:4])}"
        return finding(covered / len(self.points), note, view, places)


def _passages(view: TextView) -> list[Span]:
    """The sentences, and each two neighbouring ones."""
    return [*view.sentences, *(Span(a.start, b.end) for a, b in pairwise(view.sentences))]


def _content(view: TextView, span: Span | None) -> frozenset[str]:
    """The words of a stretch that carry content, English endings taken off."""
    words = view.folded if span is None else [view.folded[at] for at in view.words_in(span)]
    grammar = grammar_words("function_words")
    return frozenset(_stem(word) for word in words if word not in grammar and word.partition("'")[0] not in grammar)


def _stem(word: str) -> str:
    """A light stem: plural, past and -ing endings of words long enough to have them."""
    word = word.removesuffix("'s")
    for ending, left in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return (word.removesuffix(ending) + left).rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


@check("novelty")
class Novelty(Check):
    """1 where the answer is not made of the given texts. Falls with the share of its word n-grams that they hold."""

    texts: Texts
    """Texts whose wordings are known already: earlier answers, stock pieces, anchors."""
    n: Annotated[int, Field(ge=1, le=20)] = 4
    """Words in an n-gram."""
    free: Share = 0.1
    """The share that may stand there by chance."""
    soft: PositiveShare = 0.5
    """How far above `free` the value reaches 0."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        known = _grams(self.texts, self.n)
        grams = list(zip(*(view.folded[start:] for start in range(self.n)), strict=False))
        at = [index for index, gram in enumerate(grams) if gram in known]
        share = len(at) / len(grams) if grams else 0.0
        places: list[Place] = [
            ("known wording", view.words[index].start, view.words[index + self.n - 1].end) for index in at[:: self.n]
        ]
        return finding(falling(share - self.free, self.soft), f"{share:.0%} of its wordings are known", view, places)


@lru_cache(maxsize=64)
def _grams(texts: tuple[str, ...], n: int) -> frozenset[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for text in texts:
        folded = TextView(text).folded
        found.update(zip(*(folded[start:] for start in range(n)), strict=False))
    return frozenset(found)


@check("compression")
class Compression(Ranged):
    """1 where the answer has min..max times as many words as what it is made from: the row's reference, or the prompt's
    last user turn where there is none. For summaries and expansions."""

    unit = "times the words of its source"

    def decide(self, answer: Answer) -> Finding:
        source = view_of(answer.reference or answer.question)
        if not source.words:
            return finding(0.0, "there is no source to compare with")
        ratio = len(answer.view.words) / len(source.words)
        return finding(self.closeness(ratio), f"{self.unit}: {number(ratio)}, wanted {self.wanted()}")


@check("opening_variety")
class OpeningVariety(Check):
    """1 where sentences begin differently. Falls with the share that begin with the same `words` words as one before
    them."""

    words: Annotated[int, Field(ge=1, le=8)] = 2
    """How many words of a beginning are compared."""
    free: Share = 0.15
    """The share that any text begins alike."""
    soft: PositiveShare = 0.6
    """How far above `free` the value reaches 0."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        seen: set[tuple[str, ...]] = set()
        again: list[Place] = []
        count = 0
        for span in view.sentences:
            words = view.words_in(span)
            if len(words) < self.words:
                continue
            count += 1
            start = tuple(view.folded[words.start : words.start + self.words])
            if start in seen:
                again.append((f"begins again: {' '.join(start)[:60]}", span.start, min(span.end, span.start + 60)))
            seen.add(start)
        share = len(again) / count if count else 0.0
        return finding(falling(share - self.free, self.soft), f"{len(again)} of {count} sentences", view, again)
