"""A critic held against people: what is found, as data.

Two kinds of data. Scores: people rated answers, on a scale that was mapped to 0..1. Pairs: people said which of two
answers they prefer. Which figures there are, and how each is worked out: `against_scores` and `against_pairs`.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from rubric_anchors.core.frozen import Frozen
from rubric_anchors.evaluate.agreement import BINS, bins_of
from rubric_anchors.evaluate.resample import Array, Figure


class Bin(Frozen):
    """The answers whose value is in one tenth of 0..1."""

    value: float
    """Mean value of the critic."""
    label: float
    """Mean label of people, on 0..1."""
    n: int


class Again(Frozen):
    """The same answers judged a second time, in the opposite order."""

    n: int
    """Answers, or pairs, that were judged both times."""
    changed: int
    """How many got another value; of pairs, another order."""
    mean_change: float
    """Mean absolute difference of the two values; of pairs, of the two differences in goodness."""


class Target(Frozen):
    """One thing that people judged too: a criterion, or the whole reward."""

    key: str
    kind: Literal["criterion", "reward"]
    used: int
    """Answers or pairs with both a verdict and a label."""
    unlabelled: int
    unjudged: dict[str, int] = Field(default_factory=dict)
    """Cause to the number of labelled answers (or pairs) that are left out by it."""
    raters: int
    scale: str = ""
    """Of the labels, in words; empty for pairs."""
    figures: dict[str, Figure]
    """Critic against people, by name: see docs/calibrate.md."""
    people: dict[str, Figure] = Field(default_factory=dict)
    """People among themselves, where there are several raters."""
    bins: tuple[Bin, ...] = ()
    again: Again | None = None


class Calibration(Frozen):
    """What `anchors calibrate` finds."""

    data: str
    """Name of the file."""
    rubric: str
    rubric_content_id: str
    kind: Literal["scores", "pairs"]
    rows: int
    """Rows that could be read."""
    left_out: int
    """Rows that could not."""
    clusters: str
    """What was resampled together: `prompt`, or the name of a column."""
    seed: int
    targets: tuple[Target, ...]


def mean_label(ratings: Array) -> Array:
    """The mean of each column of `ratings`, shape [raters, n], over the ratings that are there; NaN where none is."""
    there = ~np.isnan(ratings)
    count = there.sum(axis=0)
    total = np.where(there, ratings, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def bins(values: Array, ratings: Array) -> tuple[Bin, ...]:
    """The reliability diagram: values in tenths against the mean label there; empty tenths are left out."""
    labels = mean_label(ratings)
    used = ~np.isnan(values) & ~np.isnan(labels)
    values, labels = values[used], labels[used]
    places = bins_of(values)
    return tuple(
        Bin(value=float(values[here].mean()), label=float(labels[here].mean()), n=int(here.sum()))
        for at in range(BINS)
        if (here := places == at).any()
    )


def again(first: Array, second: Array, *, pairs: bool = False) -> Again | None:
    """What became of the same answers (or pairs) judged twice, NaN where not judged; None where none was."""
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return None
    a, b = first[both], second[both]
    moved = np.sign(np.round(a, 12)) != np.sign(np.round(b, 12)) if pairs else np.abs(a - b) > 1e-9
    return Again(n=int(both.sum()), changed=int(moved.sum()), mean_change=float(np.abs(a - b).mean()))


def tallied(causes: Sequence[str]) -> dict[str, int]:
    """How often each cause stands there, the commonest first; empty ones are none."""
    found = [cause for cause in causes if cause]
    return dict(sorted(((one, found.count(one)) for one in set(found)), key=lambda item: (-item[1], item[0])))
