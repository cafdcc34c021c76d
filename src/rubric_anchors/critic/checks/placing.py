"""Checks on where words stand, in which order, and on patterns."""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

import regex
from pydantic import Field, field_validator, model_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.lexical import Phrases
from rubric_anchors.critic.checks.options import Amount, Found, Listed, Place, falling, finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.patterns import SECONDS, compiled, matches
from rubric_anchors.critic.phrases import Hit, PhraseSet, only_at
from rubric_anchors.critic.text import Span, TextView

Piece = Literal["word", "sentence", "line", "paragraph"]
Where = Literal["contains", "starts", "ends"]


def pieces_of(view: TextView, piece: Piece) -> Sequence[Span]:
    """The words, sentences, paragraphs, or lines that are not blank."""
    if piece == "word":
        return view.words
    if piece == "sentence":
        return view.sentences
    if piece == "paragraph":
        return view.paragraphs
    return [Span(line.start, line.end) for line in view.lines if line.kind != "blank"]


class _Phrased(Check):
    """A check on phrases in one or each piece of the answer."""

    phrases: Phrases
    """Any of these will do."""
    where: Where = "contains"
    """Whether the piece has to contain the phrase, or to start or end with it."""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        _ = self.entries
        return self

    @cached_property
    def entries(self) -> PhraseSet:
        if self.where == "contains":
            return PhraseSet(self.phrases)
        return only_at("^" if self.where == "starts" else "$", self.phrases)

    def holds(self, view: TextView, span: Span) -> bool:
        return bool(self.entries.find(TextView(view.slice(span))))


@check("at_position")
class AtPosition(_Phrased):
    """1 where the nth word, sentence, line or paragraph contains, starts with or ends with one of the phrases; 0 too
    where there are not so many."""

    nth: int = 1
    """Which one, from 1; from the end where negative: -1 is the last."""
    piece: Piece = "sentence"
    """What is counted."""

    @field_validator("nth")
    @classmethod
    def _counted_from_1(cls, nth: int) -> int:
        if nth == 0:
            raise ValueError("nth counts from 1, or from -1 at the end; seen 0")
        return nth

    def decide(self, answer: Answer) -> Finding:
        spans = pieces_of(answer.view, self.piece)
        if abs(self.nth) > len(spans):
            return finding(0.0, f"there are {len(spans)} {self.piece}s, no number {self.nth}")
        span = spans[self.nth - 1 if self.nth > 0 else self.nth]
        found = self.holds(answer.view, span)
        note = f"{self.piece} {self.nth} {'has' if found else 'lacks'} it"
        return finding(float(found), note, answer.view, [(note, span.start, min(span.end, span.start + 80))])


@check("every")
class Every(_Phrased):
    """The share of sentences, lines or paragraphs that contain, start with or end with one of the phrases; 0 where
    there is none."""

    piece: Literal["sentence", "line", "paragraph"] = "sentence"
    """What is looked at."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        spans = pieces_of(view, self.piece)
        missing = [span for span in spans if not self.holds(view, span)]
        share = 1 - len(missing) / len(spans) if spans else 0.0
        places: list[Place] = [("lacks it", span.start, min(span.end, span.start + 80)) for span in missing]
        return finding(share, f"{len(spans) - len(missing)} of {len(spans)} {self.piece}s have it", view, places)


@check("in_order")
class InOrder(Check):
    """The share of the phrases that stand in the answer in the order given, each after the one before it."""

    phrases: Annotated[tuple[str, ...], Field(min_length=2)]
    """The phrases, first to last."""

    @field_validator("phrases")
    @classmethod
    def _readable(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        PhraseSet(phrases)
        return phrases

    @cached_property
    def entries(self) -> PhraseSet:
        return PhraseSet(self.phrases)

    def decide(self, answer: Answer) -> Finding:
        # For each phrase the longest chain that ends with it, as hits; of chains as long the one that ends first.
        chains: dict[int, tuple[Hit, ...]] = {}
        for hit in self.entries.find(answer.view):
            before = [chain for phrase, chain in chains.items() if phrase < hit.phrase and chain[-1].end <= hit.start]
            chain = (*max(before, key=len, default=()), hit)
            if len(chain) > len(chains.get(hit.phrase, ())):
                chains[hit.phrase] = chain
        found = max(chains.values(), key=len, default=())
        kept = {hit.phrase for hit in found}
        missing = [phrase for at, phrase in enumerate(self.phrases) if at not in kept]
        note = f"missing or out of order: {', '.join(map(repr, missing[:8]))}" if missing else "all in order"
        places: list[Place] = [(f"found {self.phrases[hit.phrase]!r}", hit.start, hit.end) for hit in found]
        return finding(len(kept) / len(self.phrases), note, answer.view, places)


@check("only_words")
class OnlyWords(Listed):
    """1 where the answer has no other words than those given. Falls with the share of others; 0 for an answer without
    words."""

    soft: Annotated[float, Field(gt=0.0, le=1.0)] = 0.2
    """The share of other words at which the value is 0."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        held = [(hit.start, hit.end) for hit in self.entries.passages(view)]
        others: list[Place] = []
        at = 0
        for start, end in view.words:
            while at < len(held) and held[at][1] <= start:
                at += 1
            if not (at < len(held) and held[at][0] <= start and end <= held[at][1]):
                others.append((f"other: {view.norm[start:end][:40]}", start, end))
        share = len(others) / len(view.words) if view.words else 1.0
        return finding(falling(share, self.soft), f"{len(others)} of {len(view.words)} words are others", view, others)


@check("pattern")
class Pattern(Found):
    """1 where the number of places that match a regular expression lies in min..max. `^` and `$` are the ends of lines.
    On an answer that takes the pattern more than a second the criterion is unjudged."""

    unit = "matches"

    pattern: str
    """As the `regex` package for Python writes them; at most 2000 characters, and 50,000 parts with counted repeats
    such as `{1,9}` written out."""
    ignore_case: bool = True
    """Whether case makes no difference."""
    min: Amount | None = 1.0
    """The least that is right."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            empty = compiled(pattern, regex.MULTILINE).fullmatch("", timeout=SECONDS)
        except TimeoutError:
            raise ValueError(f"it takes more than {SECONDS:g} s on an empty text: {pattern[:60]!r}") from None
        if empty:
            raise ValueError(f"it matches an empty text, and so everywhere: {pattern[:60]!r}")
        return pattern

    @cached_property
    def _compiled(self) -> "regex.Pattern[str]":
        return compiled(self.pattern, regex.MULTILINE | (regex.IGNORECASE if self.ignore_case else 0))

    def find(self, view: TextView) -> list[Place]:
        """Raises CriticError past the time limit."""
        return [("match", *hit.span()) for hit in matches(self._compiled, view.norm) if hit.end() > hit.start()]
