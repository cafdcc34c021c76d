"""Weights that follow training: less for what every answer already has, more for what still tells answers apart.

For training only: filtering and evaluation use the rubric as written. State goes in and comes out explicitly and is
plain data, so that a checkpoint can hold it. Both schemes start from the *stated* weights at every step, so they never
compound, keep signs and the sum of |w|, and leave weight 0 at 0.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from pydantic import JsonValue

from rubric_anchors.aggregate.batch import checked_matrix
from rubric_anchors.aggregate.plan import Plan
from rubric_anchors.aggregate.relations import BoolArray, FloatArray, Values
from rubric_anchors.core.errors import InputError


@dataclass(frozen=True, slots=True)
class AdaptiveState:
    """What a scheme remembers between batches."""

    scheme: str
    rubric: str
    """Content id of the rubric."""
    tracked: tuple[float, ...]
    """[K] the moving average: of mean goodness (`headroom`) or of the weight's multiplier (`contrast`)."""
    seen: tuple[int, ...]
    """[K] batches in which each criterion was judged at all."""

    def to_json(self) -> dict[str, JsonValue]:
        return {"scheme": self.scheme, "rubric": self.rubric, "tracked": list(self.tracked), "seen": list(self.seen)}

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> "AdaptiveState":
        """The inverse of `to_json`. Raises InputError on anything else."""
        try:
            tracked = tuple(float(item) for item in value["tracked"])  # type: ignore[union-attr, arg-type]
            seen = tuple(int(item) for item in value["seen"])  # type: ignore[union-attr, arg-type]
            state = cls(str(value["scheme"]), str(value["rubric"]), tracked, seen)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not an adaptive state: {dict(value)!r}") from error
        if len(tracked) != len(seen) or not all(math.isfinite(item) for item in tracked):
            raise InputError(
                f"an adaptive state needs one finite number and one count a criterion; seen {dict(value)!r}"
            )
        return state


class Adaptive(Protocol):
    """A way of adapting weights: a start, and a step from one state to the next."""

    @property
    def name(self) -> str: ...

    def start(self, plan: Plan) -> AdaptiveState: ...

    def adapt(
        self, plan: Plan, state: AdaptiveState, values: Values, *, judged: BoolArray | None = None
    ) -> tuple[Plan, AdaptiveState]: ...


@dataclass(frozen=True, slots=True)
class Headroom:
    """w'_k proportional to w_k (1 - s_k)^gamma, with s_k the moving average of the batch mean of goodness.

    Source: SA-MRPO (arXiv 2608.16072), there on separately normalised advantages of each objective, gamma 0.5; here
    on the weighted mean of goodness. Ours: the moving average with `rate` (the first batch sets it), and 1 - s kept
    above `least`, so that criteria which are all saturated still have weights.
    """

    gamma: float = 0.5
    rate: float = 0.2
    least: float = 0.05
    name: str = field(default="headroom", init=False)

    def __post_init__(self) -> None:
        if not (0.0 < self.gamma <= 8.0 and 0.0 < self.rate <= 1.0 and 0.0 < self.least <= 1.0):
            raise InputError(f"headroom needs gamma in (0, 8], rate and least in (0, 1]; seen {self}")

    def start(self, plan: Plan) -> AdaptiveState:
        return AdaptiveState(self.name, plan.rubric, (0.0,) * len(plan.keys), (0,) * len(plan.keys))

    def adapt(
        self, plan: Plan, state: AdaptiveState, values: Values, *, judged: BoolArray | None = None
    ) -> tuple[Plan, AdaptiveState]:
        """The plan for the next batch and the state after this one; `values` [N, K], `judged` [N, K] as for
        `rewards`."""
        means_K, present_K = _batch_means(self.name, plan, state, values, judged)
        old_K, seen_K = np.array(state.tracked), np.array(state.seen)
        rate_K = np.where(seen_K == 0, 1.0, self.rate)
        tracked_K = np.where(present_K, old_K + rate_K * (means_K - old_K), old_K)
        seen_K = seen_K + present_K
        known_K = seen_K > 0
        # A criterion never judged yet is taken to stand where the others stand on average, so that its weight is left
        # alone.
        guess = float(tracked_K[known_K].mean()) if known_K.any() else 0.0
        factors_K = np.maximum(1.0 - np.where(known_K, tracked_K, guess), self.least) ** self.gamma
        return _reweighted(plan, factors_K), _next(state, tracked_K, seen_K)


@dataclass(frozen=True, slots=True)
class Contrast:
    """w'_k proportional to w_k m_k, with m_k the moving average of clip(sqrt(p_k (1 - p_k)) / mean, low, high).

    p_k is the batch mean of goodness: a criterion that all answers have, or none, cannot tell them apart. Source: POW3R
    (arXiv 2605.20164): sqrt(p (1 - p)), clip 0.67..1.5, moving average 0.2. Ours: division by the mean over the
    criteria judged in the batch before the clip, so that 1 means `as much contrast as the others`; the multiplier
    starts at 1.
    """

    low: float = 0.67
    high: float = 1.5
    rate: float = 0.2
    name: str = field(default="contrast", init=False)

    def __post_init__(self) -> None:
        if not (0.0 < self.low <= 1.0 <= self.high < math.inf and 0.0 < self.rate <= 1.0):
            raise InputError(f"contrast needs 0 < low <= 1 <= high and rate in (0, 1]; seen {self}")

    def start(self, plan: Plan) -> AdaptiveState:
        return AdaptiveState(self.name, plan.rubric, (1.0,) * len(plan.keys), (0,) * len(plan.keys))

    def adapt(
        self, plan: Plan, state: AdaptiveState, values: Values, *, judged: BoolArray | None = None
    ) -> tuple[Plan, AdaptiveState]:
        """The plan for the next batch and the state after this one; `values` [N, K], `judged` [N, K] as for
        `rewards`."""
        means_K, present_K = _batch_means(self.name, plan, state, values, judged)
        spread_K = np.sqrt(means_K * (1.0 - means_K))
        counted_K = present_K & (plan.stated != 0)
        typical = float(spread_K[counted_K].mean()) if counted_K.any() else 0.0
        target_K = np.clip(spread_K / typical, self.low, self.high) if typical > 0.0 else np.ones(len(plan.keys))
        old_K = np.array(state.tracked)
        tracked_K = np.where(present_K, old_K + self.rate * (target_K - old_K), old_K)
        return _reweighted(plan, tracked_K), _next(state, tracked_K, np.array(state.seen) + present_K)


def _batch_means(
    scheme: str, plan: Plan, state: AdaptiveState, values: Values, judged: BoolArray | None
) -> tuple[FloatArray, BoolArray]:
    """Mean goodness [K] over the answers in which each criterion was judged, and where there were any, [K]."""
    if plan.formula != "mean":
        raise InputError(
            f"adaptive weights need formula mean; the rubric has {plan.formula}, which is for comparison only"
        )
    if (state.scheme, state.rubric, len(state.tracked)) != (scheme, plan.rubric, len(plan.keys)):
        raise InputError(f"the state is of {state.scheme} for rubric {state.rubric}, not of {scheme} for {plan.rubric}")
    values_NK, judged_NK = checked_matrix(plan, values, judged)
    counts_K = judged_NK.sum(axis=0)
    sums_K = np.where(judged_NK, plan.goodness(values_NK), 0.0).sum(axis=0)
    return np.clip(sums_K / np.maximum(counts_K, 1), 0.0, 1.0), counts_K > 0


def _reweighted(plan: Plan, factors_K: FloatArray) -> Plan:
    stated_K = np.abs(plan.stated)
    weights_K = stated_K * factors_K
    return plan.with_weights(weights_K * (stated_K.sum() / weights_K.sum()))


def _next(state: AdaptiveState, tracked_K: FloatArray, seen_K: np.ndarray) -> AdaptiveState:
    return AdaptiveState(state.scheme, state.rubric, tuple(tracked_K.tolist()), tuple(seen_K.tolist()))
