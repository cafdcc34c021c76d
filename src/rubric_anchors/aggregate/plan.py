"""A rubric compiled to arrays, once, so that a million scorecards can be added up with it."""

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rubric_anchors.aggregate.relations import BoolArray, Curve, FloatArray, Line, Pair, Values, bounds
from rubric_anchors.core.errors import InputError, RubricError
from rubric_anchors.rubric.model import Criterion, Rubric, Shape

Array = TypeVar("Array", FloatArray, BoolArray)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a rubric says about adding up, as arrays over its K criteria. Arrays are read-only."""

    rubric: str
    """Content id of the rubric."""
    keys: tuple[str, ...]
    formula: Literal["mean", "healthbench"]
    unjudgeable: Literal["worst", "veto"]
    stated: FloatArray
    """[K] signed weights as the rubric states them."""
    weights: FloatArray
    """[K] signed weights in force: the stated ones, or what adaptive weighting made of them in training."""
    pitfall: BoolArray
    """[K] where the weight is negative, so that goodness is 1 - value."""
    matters: BoolArray
    """[K] where a verdict can change the reward: weight, veto or interaction."""
    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    shape: Shape | None
    vetoes: tuple[Line, ...]
    share: FloatArray
    """[K] what goodness is multiplied by. mean: |w| / sum |w|. healthbench: |w| / sum of positive w."""
    counted: FloatArray
    """[K] shares after saturation: share x the curve's height at 1, scaled to sum 1."""
    low: float
    high: float
    """The least and greatest that weights and interactions can give together; mapped to 0 and 1."""

    @staticmethod
    def compile(rubric: Rubric) -> "Plan":
        """The plan of a rubric; compiled once per content id, then remembered.

        Raises RubricError where relations contradict each other so that no reward could follow from them.
        """
        return _compiled(rubric)

    def with_weights(self, weights: ArrayLike) -> "Plan":
        """The same plan with other magnitudes: [K], not negative, at least one above 0. Signs stay the rubric's.

        Raises InputError for NaN, infinite, negative or all-zero weights.
        """
        size = np.array(weights, dtype=np.float64)
        if size.shape != self.stated.shape:
            raise InputError(f"{len(self.keys)} weights are needed, one a criterion; seen shape {size.shape}")
        if not np.isfinite(size).all() or (size < 0).any() or not size.any():
            raise InputError(f"weights must be finite, not negative and not all 0; seen {size.tolist()}")
        signed = _read_only(np.where(self.pitfall, -size, size))
        return dataclasses.replace(self, weights=signed, **_derived(self.formula, signed, self.curves, self.pairs))

    def goodness(self, values: Values) -> FloatArray:
        """Goodness of values [..., K] in float64: the value, or 1 - value for pitfalls."""
        exact = np.asarray(values, dtype=np.float64)
        return np.where(self.pitfall, 1.0 - exact, exact)


@lru_cache(maxsize=4096)
def _compiled(rubric: Rubric) -> Plan:
    at = {key: index for index, key in enumerate(rubric.keys)}
    stated = _read_only(np.array([criterion.weight for criterion in rubric.criteria], dtype=np.float64))
    curves = tuple(
        Curve(at[s.key], s.curve, s.beyond, s.slope) for relation in rubric.relations if (s := relation.saturate)
    )
    pairs = tuple(
        Pair(i.kind, at[i.keys[0]], at[i.keys[1]], i.strength)
        for relation in rubric.relations
        if (i := relation.interact)
    )
    vetoes = tuple(line for index, criterion in enumerate(rubric.criteria) if (line := _line(index, criterion)))
    _refuse_what_cannot_count(rubric, curves, pairs)
    derived = _derived(rubric.reward.formula, stated, curves, pairs)
    if derived["high"] - derived["low"] < 1e-9:
        raise RubricError(f"rubric {rubric.id}: its relations cancel its weights, so every answer would get one reward")
    decisive = {line.at for line in vetoes} | {end for pair in pairs for end in (pair.first, pair.second)}
    return Plan(
        rubric=rubric.content_id,
        keys=rubric.keys,
        formula=rubric.reward.formula,
        unjudgeable=rubric.reward.unjudgeable,
        stated=stated,
        weights=stated,
        pitfall=_read_only(stated < 0),
        matters=_read_only(np.array([w != 0 or k in decisive for k, w in enumerate(stated)])),
        curves=curves,
        pairs=pairs,
        shape=rubric.reward.shape,
        vetoes=vetoes,
        **derived,
    )


def _derived(formula: str, weights_K: FloatArray, curves: tuple[Curve, ...], pairs: tuple[Pair, ...]) -> dict[str, Any]:
    """What follows from the weights in force: `share`, `counted`, `low`, `high`."""
    size_K = np.abs(weights_K) / np.abs(weights_K).max()  # first, so that huge weights cannot overflow their sum
    if formula == "healthbench":
        share_K = _read_only(size_K / math.fsum(size_K[weights_K > 0]))
        return {"share": share_K, "counted": share_K, "low": 0.0, "high": 1.0}
    share_K = size_K / math.fsum(size_K)
    height_K = np.ones(len(share_K))
    for curve in curves:
        height_K[curve.at] = curve.top
    counted_K = share_K * height_K
    counted_K /= math.fsum(counted_K)
    low, high = bounds(counted_K, pairs)
    return {"share": _read_only(share_K), "counted": _read_only(counted_K), "low": low, "high": high}


def _line(at: int, criterion: Criterion) -> Line | None:
    veto = criterion.veto
    if veto is None:
        return None
    factor = 1.0 if veto.factor is None else veto.factor
    if veto.above is not None:
        return Line(at, "above", veto.above, veto.reward, factor)
    line = criterion.tiers[veto.below_tier].value if veto.below_tier is not None else veto.below
    return Line(at, "below", line or 0.0, veto.reward, factor)


def _refuse_what_cannot_count(rubric: Rubric, curves: tuple[Curve, ...], pairs: tuple[Pair, ...]) -> None:
    for curve in curves:
        if curve.top == 0.0:
            key = rubric.keys[curve.at]
            raise RubricError(
                f"rubric {rubric.id}: {key} saturates at 0 with slope 0, so it can never count; use weight 0"
            )
    seen: set[tuple[str, tuple[int, int]]] = set()
    for pair in pairs:
        ends = (pair.first, pair.second) if pair.kind == "gate" else tuple(sorted((pair.first, pair.second)))
        name = (pair.kind, (ends[0], ends[1]))
        if name in seen:
            keys = f"{rubric.keys[pair.first]}, {rubric.keys[pair.second]}"
            raise RubricError(
                f"rubric {rubric.id}: the {pair.kind} of {keys} stands twice; state it once with one strength"
            )
        seen.add(name)
    if rubric.reward.shape and rubric.reward.shape.start == 0.0:
        raise RubricError(
            f"rubric {rubric.id}: a stretch from 0 leaves everything as it is, as 0 and 1 stay where they are; "
            "give a start above 0"
        )


def _read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
