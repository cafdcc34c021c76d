"""A figure with its interval, by resampling whole clusters. Pure NumPy.

Every figure here is a function of how often each row counts, so that a resample is a row of counts, leaving a cluster
out is a row of ones and zeros, and a thousand resamples are one matrix product.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.frozen import Frozen
from rubric_anchors.evaluate.paired import LEVEL, bca

RESAMPLES: Final = 2_000
"""A fifth of what `paired` draws: some of these figures sort all rows for each draw. The ends move by about a
hundredth of the interval's width between seeds."""
FEWEST: Final = 10
"""Clusters below which no interval is given."""
MOST_UNDEFINED: Final = 0.05
"""Share of resamples that may have no figure (all labels alike, say) before the interval is not given."""
CELLS: Final = 1_000_000
"""Counts held in memory at once (8 MB), with a few arrays of the same size beside them."""

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
"""Counts of each row, shape [draws, rows], to the figure, shape [draws]; NaN where it is not defined."""


class Figure(Frozen):
    """A figure, or why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """Ends of the 95% interval; None where there is none, and then `reason` says why."""
    n: int
    """Rows, or pairs of answers, that it rests on."""
    reason: str = ""

    @property
    def words(self) -> str:
        """`0.620 (0.550 to 0.690)`, the bare figure where there is no interval, a dash where there is no figure."""
        if self.value is None:
            return "-"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def nothing(reason: str, n: int = 0) -> Figure:
    """No figure."""
    return Figure(value=None, n=n, reason=reason)


def figure(
    statistic: Statistic,
    clusters: Sequence[str],
    seed: int,
    *,
    undefined: str,
    n: int | None = None,
    share: bool = False,
) -> Figure:
    """`statistic` over rows, with the bias-corrected and accelerated bootstrap over their clusters (95%).

    clusters: of each row, what it is drawn with. undefined: what to say where the statistic is not defined. n: what it
    rests on, the rows where None. share: a proportion; at exactly 0 or 1, where all resamples are alike, its interval
    is Clopper and Pearson's (1934) for that many of that many clusters.
    """
    rows = len(clusters)
    n = rows if n is None else n
    value = float(statistic(np.ones((1, rows)))[0]) if rows else float("nan")
    if not np.isfinite(value):
        return nothing(undefined, n)
    _, codes = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    count = int(codes.max()) + 1
    if count < FEWEST:
        return Figure(value=value, n=n, reason=f"no interval from {count} clusters; at least {FEWEST} are needed")
    drawn, without = _draws(statistic, codes, count, seed), _left_out(statistic, codes, count)
    defined = drawn[np.isfinite(drawn)]
    if 1 - len(defined) / len(drawn) > MOST_UNDEFINED or not np.all(np.isfinite(without)):
        return Figure(value=value, n=n, reason=f"no interval: too many resamples have no figure ({undefined})")
    if np.ptp(defined) < 1e-12 or np.ptp(without) < 1e-12:
        if share and (value < 1e-12 or value > 1 - 1e-12):
            edge = ((1 - LEVEL) / 2) ** (1 / count)
            low, high = (0.0, 1 - edge) if value < 0.5 else (edge, 1.0)
            return Figure(value=value, low=low, high=high, n=n)
        return Figure(value=value, n=n, reason="no interval: all resamples give the same, which says nothing of spread")
    low, high = bca(defined, value, without)
    return Figure(value=value, low=min(low, value), high=max(high, value), n=n)


def _draws(statistic: Statistic, codes: NDArray[np.intp], count: int, seed: int) -> Array:
    source, parts, at = np.random.default_rng(seed), [], 0
    step = max(1, CELLS // len(codes))
    while at < RESAMPLES:
        times = source.multinomial(count, np.full(count, 1 / count), size=min(step, RESAMPLES - at))
        parts.append(statistic(times[:, codes].astype(np.float64)))
        at += len(times)
    return np.concatenate(parts)


def _left_out(statistic: Statistic, codes: NDArray[np.intp], count: int) -> Array:
    """The figure without each of the clusters in turn, shape [count]."""
    step = max(1, CELLS // len(codes))
    parts = [
        statistic((codes[None, :] != np.arange(start, min(start + step, count))[:, None]).astype(np.float64))
        for start in range(0, count, step)
    ]
    return np.concatenate(parts)
