"""How far two sides differ, with the interval that says how sure that is. Pure NumPy.

The unit is the cluster: a held-out prompt (its answers averaged first) or a held-out passage. Both sides answer the
same prompts, so differences are taken within a prompt and what makes one prompt harder than another cancels out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rubric_anchors.core.errors import InputError

LEVEL: Final = 0.95
RESAMPLES: Final = 10_000
FEW: Final = 8
"""Below this many clusters a bootstrap has too few distinct resamples to be trusted; Student's t is wider and is used
instead.
"""
CHUNK: Final = 4_000_000
"""Resampled values held in memory at once (32 MB)."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A change and its 95% interval: `low <= delta <= high`. A ratio where the maker says so, else a difference."""

    delta: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether a difference of 0 lies outside."""
        return self.low > 0.0 or self.high < 0.0


def prompt_means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The mean of each prompt's values; prompts with none are left out. Raises InputError on NaN or infinity."""
    means = {}
    for prompt_id, several in values.items():
        if len(several) == 0:
            continue
        mean = float(np.mean(np.asarray(several, dtype=np.float64)))
        if not np.isfinite(mean):
            raise InputError(f"prompt {prompt_id!r} has a value that is not finite; a figure needs real numbers")
        means[prompt_id] = mean
    return means


def difference_interval(differences: Sequence[float] | Array, seed: int, weights: Array | None = None) -> Interval:
    """The (weighted) mean of `differences`, one a cluster, shape [n], with its 95% interval.

    From 8 clusters on: the bias-corrected and accelerated bootstrap (Efron 1987, BCa) over clusters, 10,000
    resamples, acceleration from the jackknife, ties counted half so that swapping the sides mirrors the interval
    exactly. Below 8: Student's t. Equal differences give a zero-width interval: that is what was seen, and whether so
    few clusters can carry a claim is `verdicts`' business. Raises InputError for fewer than 2 clusters: one says
    nothing of spread.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise InputError(f"an interval needs at least 2 prompts seen on both sides; seen: {values.size}")
    if not np.all(np.isfinite(values)):
        raise InputError("an interval needs finite differences; seen NaN or infinity")
    mass = np.ones_like(values) if weights is None else np.asarray(weights, dtype=np.float64)
    if mass.shape != values.shape or not np.all(mass > 0):
        raise InputError("weights are one positive number for each cluster")
    delta = float(np.sum(mass * values) / np.sum(mass))
    if np.ptp(values) <= 1e-12 * max(1.0, float(np.max(np.abs(values)))):
        return Interval(delta, delta, delta)
    low, high = _student(values, mass, delta) if len(values) < FEW else _bca(values, mass, delta, seed)
    return Interval(delta, min(low, delta), max(high, delta))


def ratio_interval(log_ratios: Sequence[float] | Array, seed: int, weights: Array | None = None) -> Interval:
    """exp of `difference_interval` over logs: after / before, 1 for no change."""
    logs = difference_interval(log_ratios, seed, weights)
    return Interval(float(np.exp(logs.delta)), float(np.exp(logs.low)), float(np.exp(logs.high)))


def accuracy_interval(
    before: Sequence[bool] | NDArray[np.bool_], after: Sequence[bool] | NDArray[np.bool_]
) -> Interval:
    """after - before in accuracy on the same items, shape [n] each, with Bonett and Price's (2012) adjusted Wald
    interval.

    One right answer is added to each kind of disagreement, so that even no disagreement at all has a width: a bootstrap
    would call 0 of 20 changed certain. Closed form, no seed. Raises InputError on no items or unequal lengths.
    """
    first, second = np.asarray(before, dtype=bool), np.asarray(after, dtype=bool)
    if first.shape != second.shape or first.ndim != 1 or len(first) == 0:
        raise InputError(f"accuracy is compared on the same items; seen: {first.size} before, {second.size} after")
    n = len(first)
    gained, lost = int(np.sum(~first & second)), int(np.sum(first & ~second))
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * float(np.sqrt((up + down - (up - down) ** 2) / (n + 2)))
    delta, middle = (gained - lost) / n, up - down
    return Interval(delta, max(-1.0, min(middle - reach, delta)), min(1.0, max(middle + reach, delta)))


def _student(values: Array, mass: Array, delta: float) -> tuple[float, float]:
    n, share = len(values), mass / np.sum(mass)
    error = float(np.sqrt(np.sum((share * (values - delta)) ** 2) * n / (n - 1)))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * error
    return delta - reach, delta + reach


def _bca(values: Array, mass: Array, delta: float, seed: int) -> tuple[float, float]:
    drawn = _resampled(values, mass, seed)
    return bca(drawn, delta, (np.sum(mass * values) - mass * values) / (np.sum(mass) - mass))


def bca(drawn: Array, at: float, without: Array) -> tuple[float, float]:
    """The ends of the 95% interval of a figure that came out as `at`.

    `drawn`: the figure on each resample, shape [draws]; `without`: on all clusters but one, shape [clusters]; not all
    of these equal. Efron (1987), BCa.
    """
    scale = 1e-12 * max(1.0, abs(at))
    below = float(np.mean(drawn < at - scale) + 0.5 * np.mean(np.abs(drawn - at) <= scale))
    below = min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn))
    bias = float(stats.norm.ppf(below))
    pull = float(np.mean(without)) - without
    acceleration = float(np.sum(pull**3) / (6.0 * np.sum(pull**2) ** 1.5))
    tails = stats.norm.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) + bias
    low, high = np.quantile(drawn, stats.norm.cdf(bias + tails / (1 - acceleration * tails)))
    return float(low), float(high)


def _resampled(values: Array, mass: Array, seed: int) -> Array:
    """The statistic on each of RESAMPLES resamples of the clusters, shape [RESAMPLES]."""
    source, n, parts = np.random.default_rng(seed), len(values), []
    rows = max(1, min(RESAMPLES, CHUNK // n))
    for start in range(0, RESAMPLES, rows):
        picks = source.integers(0, n, size=(min(rows, RESAMPLES - start), n))
        parts.append(np.sum((mass * values)[picks], axis=1) / np.sum(mass[picks], axis=1))
    return np.concatenate(parts)
