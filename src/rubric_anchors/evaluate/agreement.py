"""How far two raters, or several, say the same: kappa, rank correlation, order of pairs, alpha, slopes.

Each maker returns a `Statistic`: counts of the rows in, the figure out. Rows are answers. NaN stands for a missing
rating, and only there.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix

from rubric_anchors.evaluate.resample import Array, Statistic

MOST_PAIRS: Final = 200_000
"""Pairs of answers that are compared; of more, as many are drawn: the share of pairs then errs by a thousandth."""
BINS: Final = 10
_FLAT: Final = 1e-12
"""A variance below this, of values in 0..1, is none."""


def _moments(x: Array, y: Array, counts: Array) -> tuple[Array, Array, Array, Array]:
    """Mean difference, variances and covariance under `counts`, each of shape [draws]; NaN where one does not vary."""
    shift_x, shift_y = float(np.mean(x)), float(np.mean(y))
    x, y = x - shift_x, y - shift_y
    total = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x, mean_y = counts @ x / total, counts @ y / total
        var_x, var_y = counts @ x**2 / total - mean_x**2, counts @ y**2 / total - mean_y**2
        cov = counts @ (x * y) / total - mean_x * mean_y
    varies = (var_x > _FLAT) & (var_y > _FLAT)
    nan = np.where(varies, 1.0, np.nan)
    return mean_x - mean_y + shift_x - shift_y, var_x * nan, var_y * nan, cov


def kappa(x: Array, y: Array) -> Statistic:
    """Quadratic-weighted kappa (Cohen 1968) of two ratings on one scale, shapes [n].

    Computed as 2 cov / (var x + var y + (mean x - mean y)^2), which is the same on evenly spaced levels (Fleiss and
    Cohen 1973) and, for numbers between the levels, Lin's (1989) concordance: nothing has to be rounded to a level.
    """

    def of(counts: Array) -> Array:
        gap, var_x, var_y, cov = _moments(x, y, counts)
        return 2 * cov / (var_x + var_y + gap**2)

    return of


def midranks(values: Array, counts: Array) -> Array:
    """The rank of each value where value i stands `counts[:, i]` times, ties sharing their mean; shape [draws, n]."""
    _, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    each = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = np.cumsum(each, axis=1) - each / 2 + 0.5
    return np.asarray(ranks[:, place], dtype=np.float64)


def spearman(x: Array, y: Array) -> Statistic:
    """Spearman's rank correlation, ties at their mean rank."""

    def of(counts: Array) -> Array:
        a, b = midranks(x, counts), midranks(y, counts)
        total = counts.sum(axis=1, keepdims=True)
        a -= (counts * a).sum(axis=1, keepdims=True) / total
        b -= (counts * b).sum(axis=1, keepdims=True) / total
        spread = (counts * a**2).sum(axis=1) * (counts * b**2).sum(axis=1)
        spread[spread <= _FLAT] = np.nan
        return np.asarray((counts * a * b).sum(axis=1) / np.sqrt(spread))

    return of


Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows of the answer that people rate lower and of the one that they rate higher, shape [pairs] each."""


def ordered_pairs(labels: Array, prompts: NDArray[np.intp] | None, seed: int) -> Pairs:
    """The pairs of rows that people tell apart; where `prompts` is given, of answers to the same prompt alone."""
    n, source = len(labels), np.random.default_rng(seed)
    if prompts is not None:
        blocks = [np.flatnonzero(prompts == prompt) for prompt in np.unique(prompts)]
        found = [np.triu_indices(len(block), 1) for block in blocks]
        left = np.concatenate([block[a] for block, (a, _) in zip(blocks, found, strict=True)])
        right = np.concatenate([block[b] for block, (_, b) in zip(blocks, found, strict=True)])
    elif n * (n - 1) // 2 <= 4 * MOST_PAIRS:
        left, right = np.triu_indices(n, 1)
    else:
        left, right = source.integers(0, n, 4 * MOST_PAIRS), source.integers(0, n, 4 * MOST_PAIRS)
    differ = np.abs(labels[left] - labels[right]) > 1e-9
    left, right = left[differ], right[differ]
    if len(left) > MOST_PAIRS:
        kept = np.sort(source.choice(len(left), MOST_PAIRS, replace=False))
        left, right = left[kept], right[kept]
    rises = labels[left] < labels[right]
    return np.where(rises, left, right), np.where(rises, right, left)


def order(values: Array, pairs: Pairs) -> Statistic:
    """The share of `pairs` that `values` put in the same order as people do; where it gives both the same, half."""
    lower, higher = pairs
    right = 0.5 + 0.5 * np.sign(np.round(values[higher] - values[lower], 12))
    shape = (len(values), len(values))
    hits, all_pairs = (coo_matrix((w, pairs), shape=shape).tocsr() for w in (right, np.ones(len(lower))))

    def of(counts: Array) -> Array:
        total = ((all_pairs @ counts.T).T * counts).sum(axis=1)
        total[total == 0] = np.nan
        return np.asarray(((hits @ counts.T).T * counts).sum(axis=1) / total)

    return of


def alpha(ratings: Array, *, ordinal: bool) -> Statistic:
    """Krippendorff's alpha (2011) of `ratings`, shape [raters, n], NaN where a rater gave none.

    Interval: observed over expected squared difference. Ordinal: the same over midranks, since the squared sum of the
    frequencies between two levels, half of the levels' own left out, is the squared difference of their midranks.
    """
    there = ~np.isnan(ratings)
    pairable = there.sum(axis=0) >= 2
    there = there & pairable
    size = there.sum(axis=0).astype(np.float64)
    flat = np.where(there, ratings, 0.0)
    units = np.nonzero(there)[1]

    def of(counts: Array) -> Array:
        if ordinal:
            values = np.zeros((len(counts), *ratings.shape))
            values[:, there] = midranks(flat[there], counts[:, units])
        else:
            values = np.broadcast_to(flat, (len(counts), *ratings.shape))
        total = counts @ size
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = (values.sum(axis=1) * counts).sum(axis=1) / total
            from_middle = np.where(there, values - middle[:, None, None], 0.0)
            own = from_middle.sum(axis=1) / size
            within = (np.where(there, from_middle - own[:, None, :], 0.0) ** 2).sum(axis=1)
            observed = (counts * np.where(pairable, size / (size - 1) * within, 0.0)).sum(axis=1) / total
            expected = (counts * (from_middle**2).sum(axis=1)).sum(axis=1) / (total - 1)
        expected[~(expected > _FLAT)] = np.nan
        return np.asarray(1 - observed / expected)

    return of


def mean_of(statistics: list[tuple[Statistic, NDArray[np.bool_]]]) -> Statistic:
    """The mean of several statistics, each over the rows of its mask, shape [n]; it is made for those rows alone."""

    def of(counts: Array) -> Array:
        return np.asarray(np.mean([statistic(counts[:, rows]) for statistic, rows in statistics], axis=0))

    return of


def share(hits: NDArray[np.float64] | NDArray[np.bool_], among: NDArray[np.bool_] | None = None) -> Statistic:
    """The mean of `hits` over the rows `among`, shapes [n]; over all where None."""
    mask = np.ones(len(hits)) if among is None else among.astype(np.float64)
    kept = np.where(mask > 0, hits, 0.0)

    def of(counts: Array) -> Array:
        total = counts @ mask
        total[total == 0] = np.nan
        return np.asarray(counts @ kept / total)

    return of


def calibration_error(values: Array, labels: Array) -> Statistic:
    """Mean |mean value - mean label| over ten bins of the value of equal width, weighted by their rows."""
    bins = bins_of(values)
    inside = (bins[:, None] == np.arange(BINS)[None, :]).astype(np.float64)
    gaps = inside * (values - labels)[:, None]

    def of(counts: Array) -> Array:
        return np.asarray(np.abs(counts @ gaps).sum(axis=1) / counts.sum(axis=1))

    return of


def bins_of(values: Array) -> NDArray[np.intp]:
    """Which of the ten bins of 0..1 each value is in; 1 is in the last."""
    return np.minimum((values * BINS + 1e-9).astype(np.intp), BINS - 1)


def slope(values: Array, on: Array, given: Array, *, through_zero: bool = False) -> Statistic:
    """The slope of `values` on `on` where `given` is held fixed: least squares on both, with an intercept unless
    `through_zero`. Not defined where `on` does not vary beside `given`."""

    def of(counts: Array) -> Array:
        total = counts.sum(axis=1)

        def joint(a: Array, b: Array) -> Array:
            product: Array = counts @ (a * b) / total
            return product if through_zero else product - (counts @ a / total) * (counts @ b / total)

        x, y, xy = joint(on, on), joint(given, given), joint(on, given)
        free = x * y - xy**2
        free[~((free > 1e-9 * x * y) & (x > _FLAT) & (y > _FLAT))] = np.nan
        return np.asarray((joint(on, values) * y - xy * joint(given, values)) / free)

    return of


def intercept(values: Array, on: Array, given: Array) -> Statistic:
    """The value that least squares on `on` and `given` expects where both are 0."""
    first, second = slope(values, on, given), slope(values, given, on)

    def of(counts: Array) -> Array:
        total = counts.sum(axis=1)
        mean_v, mean_x, mean_y = (counts @ each / total for each in (values, on, given))
        return np.asarray(mean_v - first(counts) * mean_x - second(counts) * mean_y)

    return of
