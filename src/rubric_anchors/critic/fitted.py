"""What somebody likes, learnt from texts that they like and texts that they do not: a small classifier that says why.

Features: how a text is written (`critic.style`) and, unless it is to go by style alone, what it says (an embedding).
Model: logistic regression with an L2 penalty, by Newton's method; features are measured in their standard deviations.
The penalty is the one of PENALTIES with the least loss on texts left out. Cross-validation leaves whole groups out
(authors, sources), so that a style is learnt and not an author. Probabilities are calibrated on the left-out scores
by a line through the logits (Platt 1999).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rubric_anchors.core.errors import CriticError, DataError
from rubric_anchors.core.frozen import Frozen, Misfit
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.critic.base import Encoder
from rubric_anchors.critic.logistic import (
    Array,
    area,
    calibrated,
    calibration_error,
    interval,
    logistic,
    loss,
    probability,
)
from rubric_anchors.critic.style import NAMES, style_rows
from rubric_anchors.critic.text import TextView

Space = Literal["both", "style"]
# A file that was edited by hand must not overflow into a probability that is no number.
Number = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Spread = Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)]

LEAST: Final = 10
"""Texts on each side that a fit needs; below some 50 its figures are wide."""
FOLDS: Final = 5
PENALTIES: Final = (1.0, 3.0, 10.0, 30.0, 100.0)
EXAMPLES: Final = 6
"""Texts of each side kept in the file, so that a verdict can point to one."""
EXCERPT: Final = 200
MEANING: Final = "what it says"


@dataclass(frozen=True, slots=True)
class Liked:
    """A text with whether it is liked and whose it is."""

    text: str
    liked: bool
    group: str


class Side(Frozen):
    """The texts of one side that a critic was fitted on."""

    texts: int
    groups: int
    sha256: str
    """Of the texts, sorted, each followed by a NUL."""


class Example(Frozen):
    """A text that the critic was fitted on, for comparison."""

    liked: bool
    excerpt: str
    vector: tuple[Number, ...]


class CrossValidation(Frozen):
    """How well left-out texts are told apart."""

    by: Literal["group", "text"]
    """`text`: no groups were given, so texts of one author may stand on both sides of a split: the figures flatter."""
    folds: int
    area: float
    """Under the ROC curve."""
    low: float
    high: float
    """95% bootstrap interval over groups."""
    calibration_error: float
    """Mean distance between predicted and observed share in ten bins, weighted by their size."""
    length_area: float
    """The area that the number of words alone reaches, either way round."""


class FittedCritic(Frozen):
    """A fitted critic, as it stands in its file."""

    format: Literal["rubric-anchors fitted critic 1"] = "rubric-anchors fitted critic 1"
    version: str
    """Of the package that fitted it."""
    space: Space
    encoder: str
    """Fingerprint of the encoder; empty where style alone is looked at."""
    columns: tuple[str, ...]
    """The style columns."""
    centre: tuple[Number, ...]
    spread: tuple[Spread, ...]
    weights: tuple[Number, ...]
    """Of the style columns, then of the embedding's dimensions, a standard deviation each."""
    bias: Number
    slope: Number = Field(gt=0.0)
    offset: Number
    """Calibration: P(liked) = 1 / (1 + exp(-(slope x score + offset)))."""
    penalty: float
    liked: Side
    disliked: Side
    measured: CrossValidation
    examples: tuple[Example, ...]

    @model_validator(mode="after")
    def _of_one_size(self) -> Self:
        if self.columns != NAMES:
            raise Misfit("its columns of style are not those of this version; fit the critic anew", "columns")
        sizes = {len(self.centre), len(self.spread), len(self.weights)}
        least, most = len(NAMES), len(NAMES) if self.space == "style" else max(sizes)
        if len(sizes) > 1 or not least <= len(self.weights) <= most:
            seen = f"{len(self.centre)}, {len(self.spread)} and {len(self.weights)}"
            raise Misfit(f"centre, spread and weights have a number for each column; seen {seen}", "weights")
        if any(len(one.vector) != len(self.weights) - len(NAMES) for one in self.examples):
            raise Misfit("the examples' vectors are not as long as the embedding's weights", "examples")
        return self

    def judge(self, texts: Sequence[str], encoder: Encoder | None) -> "list[Liking]":
        """What it says of each text. Raises CriticError where the encoder is another than it was fitted with."""
        rows = features(texts, self._checked(encoder))
        moved = (rows - np.array(self.centre)) / np.array(self.spread) * np.array(self.weights)
        style = len(self.columns)
        found = []
        for row, parts in zip(rows, moved, strict=True):
            logit = self.slope * (float(parts.sum()) + self.bias) + self.offset
            reasons = [(name, self.slope * float(part)) for name, part in zip(self.columns, parts[:style], strict=True)]
            if len(parts) > style:
                reasons.append((MEANING, self.slope * float(parts[style:].sum())))
            reasons.sort(key=lambda reason: -abs(reason[1]))
            found.append(Liking(probability(logit), tuple(reasons), self._nearest(row[style:])))
        return found

    def _checked(self, encoder: Encoder | None) -> Encoder | None:
        if self.space == "style":
            return None
        if encoder is None or encoder.fingerprint != self.encoder:
            seen = encoder.fingerprint if encoder else "none"
            raise CriticError(
                f"the critic was fitted with encoder {self.encoder} and is asked with {seen}; fit it anew"
            )
        return encoder

    def _nearest(self, vector: Array) -> Example | None:
        with_vectors = [one for one in self.examples if one.vector]
        if not len(vector) or not with_vectors:
            return None
        return max(with_vectors, key=lambda one: float(np.dot(vector, one.vector)))


@dataclass(frozen=True, slots=True)
class Liking:
    """What a fitted critic says of one text."""

    value: float
    """The probability that it is liked."""
    reasons: tuple[tuple[str, float], ...]
    """What moved it and how far, in log-odds against the mean of the texts it was fitted on; the strongest first."""
    nearest: Example | None


def fit(texts: Sequence[Liked], encoder: Encoder | None, version: str, seed: int = 0) -> FittedCritic:
    """Fit a critic. `encoder`: None for style alone.

    Raises DataError for fewer than LEAST texts on a side, the same text on both, or a single group.
    """
    sides = _sides(texts)
    groups = [one.group for one in texts]
    grouped = any(groups)
    if grouped and len(set(groups)) < 2:
        raise DataError(f"all texts are of one group, {groups[0]!r}; leave the groups out, or give more of them")
    units = groups if grouped else [str(number) for number in range(len(texts))]
    rows = features([one.text for one in texts], encoder)
    truth = np.array([one.liked for one in texts], dtype=np.float64)
    folds = _folds(units, truth, seed)
    scores = {penalty: _left_out(rows, truth, folds, penalty) for penalty in PENALTIES}
    penalty = min(PENALTIES, key=lambda one: loss(scores[one], truth))
    slope, offset = calibrated(scores[penalty], truth)
    centre, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    weights, bias = logistic((rows - centre) / spread, truth, penalty)
    words = np.array([float(len(TextView(one.text).words)) for one in texts])
    by_length = area(words, truth)
    low, high = interval(scores[penalty], truth, units, seed)
    likely = np.array([probability(slope * score + offset) for score in scores[penalty]])
    return FittedCritic(
        version=version,
        space="style" if encoder is None else "both",
        encoder=encoder.fingerprint if encoder else "",
        columns=NAMES,
        centre=_plain(centre),
        spread=_plain(spread),
        weights=_plain(weights),
        bias=bias,
        slope=slope,
        offset=offset,
        penalty=penalty,
        liked=sides[True],
        disliked=sides[False],
        measured=CrossValidation(
            by="group" if grouped else "text",
            folds=int(folds.max()) + 1,
            area=area(scores[penalty], truth),
            low=low,
            high=high,
            calibration_error=calibration_error(likely, truth),
            length_area=max(by_length, 1 - by_length),
        ),
        examples=_examples(texts, rows, scores[penalty]),
    )


def features(texts: Sequence[str], encoder: Encoder | None) -> Array:
    """Style columns, then the embedding's dimensions: float64 [len(texts), columns]."""
    style = style_rows([TextView(text) for text in texts])
    return style if encoder is None else np.hstack([style, encoder.encode(texts).astype(np.float64)])


def _sides(texts: Sequence[Liked]) -> dict[bool, Side]:
    sides = {}
    for liked in (True, False):
        own = [one for one in texts if one.liked is liked]
        if len(own) < LEAST:
            name = "liked" if liked else "disliked"
            raise DataError(f"{len(own)} {name} texts; a fit needs at least {LEAST} of each, and some 50 to say much")
        digest = hashlib.sha256(
            "".join(f"{text}\0" for text in sorted(one.text for one in own)).encode("utf-8", "replace")
        )
        sides[liked] = Side(texts=len(own), groups=len({one.group for one in own}), sha256=digest.hexdigest())
    both = {one.text for one in texts if one.liked} & {one.text for one in texts if not one.liked}
    if both:
        raise DataError(f"a text stands on both sides: {min(both)[:60]!r}; nobody likes and dislikes it")
    return sides


def _folds(units: Sequence[str], truth: Array, seed: int) -> NDArray[np.int64]:
    """The fold of each text: whole units, drawn by seed, so that every fold's training part has both sides."""
    names = sorted(set(units))
    order = np.random.default_rng(derive_seed(seed, "folds")).permutation(len(names))
    for count in range(min(FOLDS, len(names)), 1, -1):
        of_unit = {names[at]: place % count for place, at in enumerate(order)}
        folds = np.array([of_unit[unit] for unit in units])
        if all(0 < truth[folds != fold].mean() < 1 for fold in range(count)):
            return folds
    raise DataError("the groups cannot be split so that both sides are on either part; give more groups, or none")


def _left_out(rows: Array, truth: Array, folds: NDArray[np.int64], penalty: float) -> Array:
    """The score of each text by a model that has not seen its fold."""
    scores = np.zeros(len(truth))
    for fold in range(int(folds.max()) + 1):
        train = folds != fold
        centre, spread = rows[train].mean(axis=0), np.maximum(rows[train].std(axis=0), 1e-6)
        weights, bias = logistic((rows[train] - centre) / spread, truth[train], penalty)
        scores[~train] = (rows[~train] - centre) / spread @ weights + bias
    return scores


def _examples(texts: Sequence[Liked], rows: Array, scores: Array) -> tuple[Example, ...]:
    """The texts of each side that are most like their side."""
    kept = []
    for liked in (True, False):
        own = [at for at, one in enumerate(texts) if one.liked is liked]
        own.sort(key=lambda at: -scores[at] if texts[at].liked else scores[at])
        for at in own[:EXAMPLES]:
            excerpt = " ".join(texts[at].text.split())[:EXCERPT]
            kept.append(Example(liked=liked, excerpt=excerpt, vector=_plain(rows[at][len(NAMES) :])))
    return tuple(kept)


def _plain(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), 8) for value in values)
