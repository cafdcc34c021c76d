"""What many checks share: ranges with soft ends, and words or phrases given as a list or by the name of a shipped
one."""

from functools import cached_property
from typing import Annotated, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.lemmas import LemmaLanguage, LemmaSet, require_lemmas
from rubric_anchors.critic.phrases import PhraseSet
from rubric_anchors.critic.text import TextView
from rubric_anchors.critic.wordlists import word_list
from rubric_anchors.rubric.outcome import Evidence

Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
PositiveShare = Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)]
Place = tuple[str, int, int]
"""A note and the characters start..end of the normal text that it is about."""


def falling(amount: float, zero_at: float) -> float:
    """1 at amount 0, falling in a straight line to 0 at `zero_at`; where `zero_at` is 0, any amount above 0 gives 0."""
    if amount <= 0.0:
        return 1.0
    return max(0.0, 1.0 - amount / zero_at) if zero_at > 0.0 else 0.0


def number(value: float) -> str:
    """A figure as people write it: `3`, `0.25`."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


class Ranged(Check):
    """A check on a figure that should lie in a range."""

    unit: ClassVar[str] = ""

    min: Amount | None = None
    """The least that is right; left out: no lower end."""
    max: Amount | None = None
    """The most that is right; left out: no upper end."""
    soft: Amount = 0.0
    """How far outside the range the value reaches 0, falling in a straight line. 0: any miss gives 0."""

    @model_validator(mode="after")
    def _a_range(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min must not exceed max; seen {number(self.min)} and {number(self.max)}")
        return self

    def closeness(self, figure: float) -> float:
        """1 inside the range, falling to 0 at `soft` outside it."""
        low = self.min - figure if self.min is not None else 0.0
        high = figure - self.max if self.max is not None else 0.0
        return falling(max(low, high), self.soft)

    def wanted(self) -> str:
        """The range in words."""
        if self.min is not None and self.max is not None:
            return number(self.min) if self.min == self.max else f"{number(self.min)} to {number(self.max)}"
        return f"at least {number(self.min)}" if self.min is not None else f"at most {number(self.max or 0.0)}"

    def measure(self, view: TextView) -> float:
        """The figure that is held against the range."""
        raise NotImplementedError

    def decide(self, answer: Answer) -> Finding:
        figure = self.measure(answer.view)
        note = f"{self.unit}: {number(figure)}, wanted {self.wanted()}"
        return Finding(self.closeness(figure), (Evidence(note),))


class Found(Ranged):
    """A check on how many of something there are; the evidence is where they stand."""

    def find(self, view: TextView) -> list[Place]:
        """A note and a place for each."""
        raise NotImplementedError

    def decide(self, answer: Answer) -> Finding:
        places = self.find(answer.view)
        note = f"{self.unit}: {len(places)}, wanted {self.wanted()}"
        return Finding(self.closeness(len(places)), (Evidence(note), *answer.view.evidences(places)))


class Listed(Check):
    """A check on given words or phrases."""

    words: tuple[str, ...] | str | None = None
    """Words: a list, or the name of a shipped list. Give either words or phrases; both are read alike."""
    phrases: tuple[str, ...] | str | None = None
    """Phrases: a list, or the name of a shipped list."""
    lemmas: LemmaLanguage | None = None
    """A language: entries of one word are then found in any of their forms (`run` in ran). Needs the extra
    `languages`; a form that belongs to two words is taken for the likelier."""

    @field_validator("words", "phrases")
    @classmethod
    def _readable(cls, entries: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if entries is not None:
            if not entries:
                raise ValueError("the list is empty")
            PhraseSet(word_list(entries) if isinstance(entries, str) else entries)
        return entries

    @model_validator(mode="after")
    def _one_of_the_two(self) -> Self:
        if (self.words is None) == (self.phrases is None):
            raise ValueError("give either words or phrases")
        return self

    def ready(self) -> None:
        """Raises SetupError where forms of words are asked for and their dictionaries are not installed."""
        if self.lemmas is not None:
            require_lemmas()

    @cached_property
    def entries(self) -> PhraseSet:
        """The words or phrases, ready to be found."""
        given = self.words if self.words is not None else self.phrases
        entries = word_list(given) if isinstance(given, str) else given or ()
        return PhraseSet(entries) if self.lemmas is None else LemmaSet(entries, self.lemmas)


def finding(value: float, note: str, view: TextView | None = None, places: list[Place] | None = None) -> Finding:
    """A finding with a summary and the places that it rests on; the value is held to 0..1 against rounding."""
    shown = view.evidences(places) if view and places else ()
    return Finding(min(max(value, 0.0), 1.0), (Evidence(note), *shown))
