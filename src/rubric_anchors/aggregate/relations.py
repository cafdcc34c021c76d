"""The relations of a rubric as arithmetic: saturation curves, interactions, vetoes, and the bounds of what they can
give.

Arrays carry their axes in their names: N answers, K criteria, V vetoes. Criteria are named by their index here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Values = NDArray[np.floating[Any]]
"""float32 or float64, 0..1: what critics gave, before weights have a say."""

SEARCH_LIMIT: Final = 4096
"""Corners that are enumerated for an exact extreme; beyond it a sound bound stands in. 4096 is 12 criteria in
conflicts."""

FADING: Final = 3.0
"""How many time constants of the exponential curve lie between its point and 1: its slope at 1 is exp(-3), about
0.05."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A concave curve through (0, 0) with slope 1 up to `beyond`. Ours.

    With e = max(g - b, 0):
        knee         min(g, b) + slope x e
        exponential  min(g, b) + t (1 - exp(-e / t)),  t = (1 - b) / 3
    """

    at: int
    kind: Literal["knee", "exponential"]
    beyond: float
    slope: float

    def raw(self, goodness: FloatArray) -> FloatArray:
        """The curve's height at each goodness, any shape; 0 at 0, `top` at 1."""
        excess = np.maximum(goodness - self.beyond, 0.0)
        if self.kind == "knee":
            return np.asarray(goodness - (1.0 - self.slope) * excess)
        scale = (1.0 - self.beyond) / FADING
        return np.asarray(goodness - excess - scale * np.expm1(-excess / scale))

    @property
    def top(self) -> float:
        """The curve's height at goodness 1."""
        return float(self.raw(np.ones(1))[0])


@dataclass(frozen=True, slots=True)
class Pair:
    """An interaction of two criteria; for a gate, `first` holds the gate and `second` passes through it."""

    kind: Literal["synergy", "conflict", "gate"]
    first: int
    second: int
    strength: float


@dataclass(frozen=True, slots=True)
class Line:
    """A veto: fires where a criterion's value is strictly on the wrong side of `line`.

    `below_tier: N` is the same as `below` the value of tier N, as a tier is reached when the value is at least its own.
    """

    at: int
    side: Literal["below", "above"]
    line: float
    cap: float | None
    """The reward is at most this when it fires; None where it multiplies instead."""
    factor: float = 1.0

    def fires(self, values_N: Values) -> BoolArray:
        """Where it fires. Compared in the values' own precision, so that a float32 0.7 is not below 0.7."""
        line = values_N.dtype.type(self.line)
        return np.asarray(values_N < line if self.side == "below" else values_N > line)

    @property
    def possible(self) -> bool:
        """Whether any value in 0..1 fires it."""
        return self.line > 0.0 if self.side == "below" else self.line < 1.0


def joint(counted_K: FloatArray, pairs: Sequence[Pair], saturated_NK: FloatArray) -> FloatArray:
    """Weighted mean and interactions before they are brought back to 0..1, [N]. Ours.

    f(u) = sum_k q_k u_k prod_{gates i -> k} (1 - s + s u_i)  +  sum_{synergy} s u_i u_j  -  sum_{conflict} s u_i u_j

    with u goodness after saturation and q the shares after saturation. f is linear in each u_k when the others are
    held, which is why its extremes over a box lie at corners.
    """
    total_N = saturated_NK @ counted_K
    for passed in sorted({pair.second for pair in pairs if pair.kind == "gate"}):
        total_N += counted_K[passed] * saturated_NK[:, passed] * (openness(pairs, passed, saturated_NK) - 1.0)
    for pair in pairs:
        if pair.kind != "gate":
            sign = 1.0 if pair.kind == "synergy" else -1.0
            total_N += sign * pair.strength * saturated_NK[:, pair.first] * saturated_NK[:, pair.second]
    return np.asarray(total_N)


def openness(pairs: Sequence[Pair], passed: int, saturated_NK: FloatArray) -> FloatArray:
    """How far all gates before criterion `passed` stand open, [N], 0..1."""
    factor_N = np.ones(len(saturated_NK))
    for pair in pairs:
        if pair.kind == "gate" and pair.second == passed:
            factor_N *= 1.0 - pair.strength + pair.strength * saturated_NK[:, pair.first]
    return factor_N


def in_conflict(pairs: Sequence[Pair]) -> frozenset[int]:
    """The criteria whose rise can lower the reward."""
    return frozenset(at for pair in pairs if pair.kind == "conflict" for at in (pair.first, pair.second))


def bounds(counted_K: FloatArray, pairs: Sequence[Pair]) -> tuple[float, float]:
    """The least and the greatest `joint` over all goodness in [0, 1]^K.

    `joint` never falls in a criterion outside conflicts, so those stand at 0 for the least and at 1 for the greatest;
    those in conflicts are enumerated. With more than 12 of them the bounds are the sound, looser -C and 1 + S, with C
    and S the summed strengths of conflicts and synergies.
    """
    torn = sorted(in_conflict(pairs))
    if 2 ** len(torn) > SEARCH_LIMIT:
        strength = {kind: math.fsum(p.strength for p in pairs if p.kind == kind) for kind in ("conflict", "synergy")}
        return -strength["conflict"], 1.0 + strength["synergy"]
    corners = np.array(list(product((0.0, 1.0), repeat=len(torn)))).reshape(2 ** len(torn), len(torn))
    ends = []
    for rest in (0.0, 1.0):
        rows_NK = np.full((len(corners), len(counted_K)), rest)
        rows_NK[:, torn] = corners
        ends.append(joint(counted_K, pairs, rows_NK))
    return float(ends[0].min()), float(ends[1].max())
