"""Logistic regression with an L2 penalty, calibration of its scores, and how well they tell two sides apart."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.ids import derive_seed

Array = NDArray[np.float64]
DRAWS: Final = 1000
"""Bootstrap samples of an interval."""


def logistic(rows: Array, truth: Array, penalty: float) -> tuple[Array, float]:
    """Weights and bias with the least of sum log(1 + exp(-y s)) + penalty |w|^2 / 2, the bias free."""
    design = np.hstack([rows, np.ones((len(rows), 1))])
    ridge = np.full(design.shape[1], penalty)
    ridge[-1] = 1e-6
    beta = np.zeros(design.shape[1])
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (chance - truth) + ridge * beta
        curve = design.T @ (design * (chance * (1 - chance))[:, None]) + np.diag(ridge)
        step = np.linalg.solve(curve, gradient)
        beta -= step
        if float(np.abs(step).max()) < 1e-8:
            break
    return beta[:-1], float(beta[-1])


def calibrated(scores: Array, truth: Array) -> tuple[float, float]:
    """Slope and offset of P(liked) over the score; the slope is kept above 0, so that order stays."""
    weights, offset = logistic(scores[:, None], truth, 1e-3)
    return max(float(weights[0]), 1e-3), offset


def loss(scores: Array, truth: Array) -> float:
    slope, offset = calibrated(scores, truth)
    signed = np.where(truth > 0, 1.0, -1.0) * (slope * scores + offset)
    return float(np.mean(np.logaddexp(0.0, -signed)))


def area(scores: Array, truth: Array) -> float:
    """The chance that a liked text scores above a disliked one, ties counting half."""
    liked, others = scores[truth > 0], np.sort(scores[truth == 0])
    below = np.searchsorted(others, liked, "left")
    level = np.searchsorted(others, liked, "right") - below
    return float((below + level / 2).sum() / len(liked) / len(others))


def interval(scores: Array, truth: Array, units: Sequence[str], seed: int) -> tuple[float, float]:
    members: dict[str, list[int]] = {}
    for at, unit in enumerate(units):
        members.setdefault(unit, []).append(at)
    groups = [np.array(places) for places in members.values()]
    rng = np.random.default_rng(derive_seed(seed, "interval"))
    areas = []
    for _ in range(DRAWS):
        drawn = np.concatenate([groups[at] for at in rng.integers(len(groups), size=len(groups))])
        if 0 < truth[drawn].mean() < 1:
            areas.append(area(scores[drawn], truth[drawn]))
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def calibration_error(likely: Array, truth: Array, bins: int = 10) -> float:
    places = np.minimum((likely * bins).astype(int), bins - 1)
    gaps = [abs(likely[places == at].mean() - truth[places == at].mean()) * (places == at).mean() for at in set(places)]
    return float(sum(gaps))


def probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(min(logit, 700.0), -700.0)))
