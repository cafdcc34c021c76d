"""Checks on given words and phrases. How they may be written: `rubric_anchors.critic.phrases`."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Amount, Listed, Place, Ranged, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.fold import fold
from rubric_anchors.critic.phrases import Hit, PhraseSet, joined, only_at
from rubric_anchors.critic.text import Span, TextView

Phrases = Annotated[tuple[str, ...], Field(min_length=1)]


def _places(entries: PhraseSet, hits: Sequence[Hit]) -> list[Place]:
    return [(f"found {entries.entries[hit.phrase].strip('^$')!r}", hit.start, hit.end) for hit in hits]


@check("contains")
class Contains(Listed):
    """How much of the wanted is there. `all`: the mean over the entries of min(count / at_least, 1); `any`: that of the
    total count."""

    mode: Literal["all", "any"] = "all"
    """Whether every entry is wanted, or any of them will do."""
    at_least: Annotated[int, Field(ge=1)] = 1
    """How many times: each entry under `all`, all together under `any`."""

    def decide(self, answer: Answer) -> Finding:
        entries = self.entries.entries
        hits = self.entries.find(answer.view)
        counts = Counter(hit.phrase for hit in hits)
        if self.mode == "any":
            total = len(joined(hits))
            value, note = min(total / self.at_least, 1.0), f"found {total} times, wanted {self.at_least}"
        else:
            value = sum(min(counts[index] / self.at_least, 1.0) for index in range(len(entries))) / len(entries)
            missing = [entry for index, entry in enumerate(entries) if counts[index] < self.at_least]
            note = f"missing: {', '.join(map(repr, missing[:8]))}" if missing else f"all {len(entries)} found"
        return finding(value, note, answer.view, _places(self.entries, hits))


@check("avoids")
class Avoids(Listed):
    """1 where none of the words or phrases is there. Overlapping hits count once."""

    per: Amount = 0.0
    """How many hits in 100 words give 0, with a straight line from 1 at none; answers under 100 words count as 100.
    0: one hit is enough."""

    def decide(self, answer: Answer) -> Finding:
        places = _places(self.entries, self.entries.passages(answer.view))
        rate = len(places) / answer.view.hundreds
        note = f"{len(places)} found, {number(rate)} in 100 words" if places else "none found"
        return finding(falling(rate, self.per), note, answer.view, places)


@check("occurrences")
class Occurrences(Listed, Ranged):
    """1 where the number of times that the words or phrases stand in the answer, all together, lies in min..max.
    Overlapping hits count once."""

    unit = "found"

    def decide(self, answer: Answer) -> Finding:
        places = _places(self.entries, self.entries.passages(answer.view))
        note = f"found {len(places)} times, wanted {self.wanted()}"
        return finding(self.closeness(len(places)), note, answer.view, places)


class _AtAnEnd(Check):
    """A check on how an answer begins or ends."""

    end: ClassVar[Literal["^", "$"]]

    phrases: Phrases
    """Any of these will do."""
    partial: bool = False
    """Whether a phrase of which only some words, from the outside, are right counts by their share."""

    @field_validator("phrases")
    @classmethod
    def _readable(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        only_at(cls.end, phrases)
        return phrases

    @cached_property
    def entries(self) -> PhraseSet:
        return only_at(self.end, self.phrases)

    @cached_property
    def views(self) -> tuple[TextView, ...]:
        return tuple(TextView(phrase) for phrase in self.phrases)


@check("starts_with")
class StartsWith(_AtAnEnd):
    """1 where the answer begins with one of the phrases, opening marks such as quotation marks or `#` aside."""

    end = "^"

    def decide(self, answer: Answer) -> Finding:
        places = _places(self.entries, self.entries.passages(answer.view))
        if places or not self.partial:
            return finding(
                float(bool(places)), "it begins so" if places else "it begins otherwise", answer.view, places
            )
        seen = answer.view.atoms.folded
        share = max(_shared(seen[: len(v.atoms.folded)], v.atoms.folded) for v in self.views)
        return finding(share, f"{number(share)} of the words it should begin with")


@check("ends_with")
class EndsWith(_AtAnEnd):
    """1 where the answer ends with one of the phrases, closing marks aside."""

    end = "$"

    def decide(self, answer: Answer) -> Finding:
        places = _places(self.entries, self.entries.passages(answer.view))
        if places or not self.partial:
            return finding(float(bool(places)), "it ends so" if places else "it ends otherwise", answer.view, places)
        seen = answer.view.atoms.folded[::-1]
        share = max(_shared(seen[: len(v.atoms.folded)], v.atoms.folded[::-1]) for v in self.views)
        return finding(share, f"{number(share)} of the words it should end with")


def _shared(seen: list[str], wanted: list[str]) -> float:
    """The share of `wanted` that `seen` goes along with from its start."""
    same = 0
    for one, other in zip(seen, wanted, strict=False):
        if one != other:
            break
        same += 1
    return same / max(len(wanted), 1)


@check("paragraph_starts")
class ParagraphStarts(Check):
    """1 where paragraph number `paragraph` begins with one of the phrases; 0 too where there is no such paragraph."""

    phrases: Phrases
    """Any of these will do."""
    paragraph: Annotated[int, Field(ge=1)] = 1
    """Which paragraph, from 1."""

    @field_validator("phrases")
    @classmethod
    def _readable(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        only_at("^", phrases)
        return phrases

    @cached_property
    def entries(self) -> PhraseSet:
        return only_at("^", self.phrases)

    def decide(self, answer: Answer) -> Finding:
        paragraphs = answer.view.paragraphs
        if len(paragraphs) < self.paragraph:
            return finding(0.0, f"there are {len(paragraphs)} paragraphs, no number {self.paragraph}")
        span = paragraphs[self.paragraph - 1]
        hits = self.entries.find(TextView(answer.view.slice(span)))
        place = ("begins so" if hits else "begins otherwise", span.start, min(span.start + 80, span.end))
        return finding(float(bool(hits)), f"paragraph {self.paragraph} {place[0]}", answer.view, [place])


@check("one_of")
class OneOf(Check):
    """1 where the whole answer is one of the texts, apart from case, spaces and marks around it."""

    texts: Phrases
    """The allowed answers."""

    def decide(self, answer: Answer) -> Finding:
        seen = _bare(answer.view)
        matches = [text for text in self.texts if _bare(TextView(text)) == seen]
        return finding(float(bool(matches)), f"it is {matches[0]!r}" if matches else f"none of {len(self.texts)} texts")


def _bare(view: TextView) -> str:
    return " ".join(fold(view.norm).split()).strip(" .!?\"'“”*`_")


@check("postscript")
class Postscript(Check):
    """1 where the answer closes with a postscript: the marker at the start of a line or sentence, after other words and
    with words of its own behind it."""

    marker: Annotated[str, Field(pattern=r"\S")] = "P.S."
    """How the postscript begins; its case and the spaces in it make no difference."""

    @cached_property
    def _begins(self) -> re.Pattern[str]:
        letters = r"\s*".join(re.escape(letter) for letter in self.marker if not letter.isspace())
        return re.compile(rf"(?:(?<=\n)[ \t*_#>]*|(?<=[.!?…)\"”'’*]) [*_]*)({letters})", re.IGNORECASE)

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        for found in self._begins.finditer(view.norm):
            start, end = found.start(1), len(view.norm.rstrip())
            before, behind = view.words_in(Span(0, start)), view.words_in(Span(found.end(1), end))
            if before and behind:
                return finding(1.0, "a postscript", view, [("postscript", start, end)])
        return finding(0.0, f"no line or sentence behind others begins with {self.marker!r} and goes on")
