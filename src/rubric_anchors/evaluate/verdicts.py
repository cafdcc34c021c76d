"""Kept, not kept, or not shown: non-inferiority read off an interval.

A change is kept when even the interval's worse end is within the margin, lost when even its better end is beyond it,
and not shown when the interval reaches across: too few prompts, or too noisy a measure, never a reason to say "kept".
"""

from typing import Final

from rubric_anchors.evaluate.paired import Interval
from rubric_anchors.runs.records import Measured

ACCURACY_MARGIN: Final = 0.03
PERPLEXITY_MARGIN: Final = 0.05
"""The perplexity ratio may reach 1.05."""
ENOUGH: Final = 20
"""Clusters below which nothing is called kept, however narrow the interval: with 20 alike, up to 14% of all prompts may
still behave otherwise (1 - 0.05 ** (1 / 20)); with fewer, more."""


def kept(interval: Interval, margin: float, n: int, *, higher_is_better: bool = True) -> bool | None:
    """Whether a difference is no worse than `margin` (a positive number, in the measure's unit); None: not shown."""
    worst, best = (interval.low, interval.high) if higher_is_better else (-interval.high, -interval.low)
    if best <= -margin:
        return False
    return True if worst > -margin and n >= ENOUGH else None


def ratio_kept(interval: Interval, margin: float, n: int) -> bool | None:
    """The same for a ratio where less is better (perplexity): kept while its high end stays under 1 + margin."""
    limit = 1.0 + margin
    if interval.low >= limit:
        return False
    return True if interval.high < limit and n >= ENOUGH else None


def measure_kept(measured: Measured) -> bool | None:
    """The verdict on a measure against its own margin; None too for a measure without one: it has no bar."""
    if measured.margin is None:
        return None
    interval = Interval(measured.delta, measured.low, measured.high)
    return kept(interval, measured.margin, measured.n, higher_is_better=measured.higher_is_better)


def in_words(verdict: bool | None) -> str:
    """`kept`, `not kept` or `not shown`."""
    return "not shown" if verdict is None else "kept" if verdict else "not kept"
