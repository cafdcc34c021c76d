"""How well the anchors of a criterion tell their own tiers apart: each judged by the others."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rubric_anchors.critic.exemplar import AnchorSpace
from rubric_anchors.critic.kernel import Fitted, Matrix, Setting, order_agreement, squared

RESAMPLES: Final = 1000
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class AnchorLeftOut:
    """One anchor judged by the others."""

    tier: int
    nearest: int
    """The tier that it would be taken for."""
    value: float
    """0..1 on the criterion's scale."""
    confidence: float
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A criterion's anchors, each judged by the others."""

    key: str
    anchors: tuple[AnchorLeftOut, ...]
    agreement: float
    """Share of pairs of different tiers that are put in the right order; 0.5 is chance."""
    interval: tuple[float, float]
    """95% of `agreement`, by resampling anchors within their tiers (percentiles)."""
    apart: bool
    """Whether the tiers are told apart beyond chance (`kernel.beyond_chance`)."""
    nearest_anchor: float
    """The same share by the value of the nearest other anchor alone."""
    right: float
    """Share of anchors taken for their own tier."""
    confident: float
    """Mean confidence: calibrated where it equals `right`."""
    setting: Setting


def leave_one_out(space: AnchorSpace) -> LeftOut | None:
    """None where a tier has fewer than three anchors: leaving one out then says nothing."""
    fitted = space.fitted
    if fitted.left_out is None:
        return None
    values = np.interp(fitted.left_out, fitted.knots[0], fitted.knots[1])
    nearest = np.abs(values[:, None] - fitted.levels[None, :]).argmin(axis=1)
    # An anchor's own value would vouch for itself.
    sure = [
        fitted.confidence(float(raw), int(level), without=at)
        for at, (raw, level) in enumerate(zip(fitted.left_out, nearest, strict=True))
    ]
    anchors = tuple(
        AnchorLeftOut(tier, space.levels[level], float(value), confidence, text)
        for (tier, text), level, value, confidence in zip(space.anchors, nearest, values, sure, strict=True)
    )
    own = np.searchsorted(fitted.levels, fitted.values)
    return LeftOut(
        key=space.criterion.key,
        anchors=anchors,
        agreement=order_agreement(fitted.left_out, fitted.values),
        interval=_interval(fitted.left_out, fitted.values),
        apart=bool(fitted.apart),
        nearest_anchor=order_agreement(_of_the_nearest(fitted), fitted.values),
        right=float((nearest == own).mean()),
        confident=float(np.mean(sure)),
        setting=fitted.setting,
    )


def _interval(guess: Matrix, values: Matrix) -> tuple[float, float]:
    random = np.random.default_rng(0)
    tiers = [np.flatnonzero(values == value) for value in np.unique(values)]
    drawn = []
    for _ in range(RESAMPLES):
        of = np.concatenate([random.choice(tier, len(tier)) for tier in tiers])
        drawn.append(order_agreement(guess[of], values[of]))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _of_the_nearest(fitted: Fitted) -> Matrix:
    """The value of each anchor's nearest other anchor: by meaning where there is an encoder, else by style."""
    space = fitted.meaning if fitted.meaning.shape[1] else fitted.style
    distances = squared(space, space)
    np.fill_diagonal(distances, np.inf)
    return np.asarray(fitted.values[distances.argmin(axis=1)])
