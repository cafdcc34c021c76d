"""Instruments outside the reward. They import nothing from the critics and share no list with them; a test holds both.

Every measure scores single answers, so that before and after can be paired by prompt. `all_measures()` gives those
that this installation can run, with a sentence for each that it cannot.
"""

from collections.abc import Callable, Sequence
from typing import Final

from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.evaluate.measures.base import Measure, Sample
from rubric_anchors.evaluate.measures.diversity import Distinctness, OpeningVariety, WordVariety
from rubric_anchors.evaluate.measures.language import Language
from rubric_anchors.evaluate.measures.relevance import VectorRelevance, WordOverlap
from rubric_anchors.evaluate.measures.style import Length, Particulars, SentenceLength
from rubric_anchors.evaluate.measures.tone import AiTone

__all__ = ["MEASURES", "Measure", "Sample", "all_measures", "measures_named"]

MEASURES: Final[dict[str, Callable[[], Measure]]] = {
    "ai_tone": AiTone,
    "word_overlap": WordOverlap,
    "vector_relevance": VectorRelevance,
    "distinctness": Distinctness,
    "language": Language,
    "particulars": Particulars,
    "opening_variety": OpeningVariety,
    "word_variety": WordVariety,
    "length": Length,
    "sentence_length": SentenceLength,
}
"""Name to maker, in the order of the report. A maker raises SetupError where a package is missing."""


def all_measures() -> tuple[tuple[Measure, ...], tuple[str, ...]]:
    """The measures that can run here, and a note for each that cannot: it is left out, and the evaluation says so."""
    made: list[Measure] = []
    notes: list[str] = []
    for name, make in MEASURES.items():
        try:
            made.append(make())
        except SetupError as missing:
            notes.append(f"measure {name} left out: {missing}")
    return tuple(made), tuple(notes)


def measures_named(names: Sequence[str]) -> tuple[Measure, ...]:
    """The measures asked for by name. Raises InputError on an unknown name, SetupError where one cannot run here."""
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise InputError(f"no measure is called {unknown[0]!r}; there are: {', '.join(MEASURES)}")
    return tuple(MEASURES[name]() for name in names)
