"""Whether answers to different questions differ, and whether one answer's words do."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.evaluate.measures.base import Sample
from rubric_anchors.evaluate.measures.text import ngrams, windows, words

OPENING: Final = 3
SPAN: Final = 40


class Distinctness:
    """Share of an answer's runs of three words that no answer to another question holds, 0..1. Margin 0.05.

    Distinct-n (Li et al. 2016) turned round so that each answer has its own figure and can be paired. Answers to the
    same question are not compared. It falls as more answers are compared, so both sides must have as many. Figures of
    one side lean on each other, and the interval, which resamples questions, treats them as given.

    Sees: collapse onto one story, stock phrases, boilerplate. Misses: sameness in other words; noise is distinct too:
    read `language` beside it. An answer of fewer than three words scores 0.
    """

    name = "distinctness"
    family = "diversity"
    higher_is_better = True
    margin: float | None = 0.05

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return _own_share(samples, [sorted(set(ngrams(words(sample.response), 3))) for sample in samples])


class OpeningVariety:
    """1 where the answer's first three words open no answer to another question, else 0. No bar.



    Sees: every answer starting `I remember the`. Misses: all that follows. A change of voice makes openings alike
    without harm.
    """

    name = "opening_variety"
    family = "diversity"
    higher_is_better = True
    margin: float | None = None

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        openings = [words(sample.response)[:OPENING] for sample in samples]
        return _own_share(samples, [[tuple(opening)] if opening else [] for opening in openings])


class WordVariety:
    """Different words among 40 neighbouring words, as a share, 0..1, mean over the answer. No bar.



    Sees: loops and a narrow vocabulary. Misses: sense; plain prose repeats small words and scores below a list of
    nouns.
    """

    name = "word_variety"
    family = "diversity"
    higher_is_better = True
    margin: float | None = None

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return np.array([_variety(words(sample.response)) for sample in samples], dtype=np.float64)


def _variety(found: list[str]) -> float:
    return float(np.mean([len(set(run)) / len(run) for run in windows(found, SPAN)])) if found else 0.0


def _own_share(samples: Sequence[Sample], marks: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
    """For each sample the share of its marks that no sample of another prompt has; 0 where it has none."""
    holders: defaultdict[Hashable, set[str]] = defaultdict(set)
    for sample, own in zip(samples, marks, strict=True):
        for mark in own:
            holders[mark].add(sample.prompt_id)
    return np.array(
        [sum(len(holders[mark]) == 1 for mark in own) / len(own) if own else 0.0 for own in marks], dtype=np.float64
    )
