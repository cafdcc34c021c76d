"""Rewards for many answers at once: the fast path, the full chain by step, and what arrays are refused."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from rubric_anchors.aggregate.partial import worst
from rubric_anchors.aggregate.plan import Plan
from rubric_anchors.aggregate.relations import BoolArray, FloatArray, Values
from rubric_anchors.aggregate.steps import STEPS, fired, levels
from rubric_anchors.core.errors import InputError
from rubric_anchors.rubric.outcome import Step

CHUNK: Final = 4096
"""Answers worked on at a time: 16 float32 criteria and a copy of them then stay in a core's own cache. Measured."""


def rewards(plan: Plan, values: Values, *, judged: BoolArray | None = None) -> Values:
    """The reward of each answer, [N], in the dtype of `values`.

    `values` [N, K]: float32 or float64 in 0..1, *values* as critics give them, not goodness; integers and booleans
    count as float64. `judged` [N, K] marks the verdicts that there are; answers that lack some get what the rubric's
    `unjudgeable` policy says, so leave out answers whose verdicts failed by infrastructure first.

    Raises InputError (a ValueError) for a wrong shape or dtype and for judged values that are NaN, infinite or
    outside 0..1.
    """
    values_NK, judged_NK = _matrix(plan, values, judged)
    if plan.pairs or any(curve.kind != "knee" for curve in plan.curves):
        rewards_N = np.empty(len(values_NK), dtype=values_NK.dtype)
        for part in _parts(len(values_NK)):
            chunk_NK = _checked(plan, values_NK, judged_NK, part)
            rewards_N[part] = levels(plan, chunk_NK, fired(plan, chunk_NK))[-1]
    else:
        rewards_N = _fast(plan, values_NK, judged_NK)
    for row, missing_K in _incomplete(judged_NK):
        rewards_N[row] = _settled(plan, values_NK[row], missing_K)[-1]
    return rewards_N


def chain(plan: Plan, values: Values, *, judged: BoolArray | None = None) -> dict[Step, FloatArray]:
    """What each step adds to each reward: step -> deltas [N] in float64, in order; they add up to the reward to 1e-9.

    Arguments and errors as for `rewards`. A step that the rubric does not have adds 0.
    """
    values_NK, judged_NK = _matrix(plan, values, judged)
    levels_5N = np.empty((len(STEPS), len(values_NK)))
    for part in _parts(len(values_NK)):
        chunk_NK = _checked(plan, values_NK, judged_NK, part)
        levels_5N[:, part] = levels(plan, chunk_NK, fired(plan, chunk_NK))
    for row, missing_K in _incomplete(judged_NK):
        levels_5N[:, row] = _settled(plan, values_NK[row], missing_K)
    for step in range(len(STEPS) - 1, 0, -1):
        levels_5N[step] -= levels_5N[step - 1]
    return dict(zip(STEPS, levels_5N, strict=True))


def _fast(plan: Plan, values_NK: Values, judged_NK: BoolArray | None) -> Values:
    """Weighted mean or points, knees, shape and vetoes, in the values' own precision and without a temporary matrix.

    Knees by one clip and two products: c(g) = slope x g + (1 - slope) min(g, b), and for a pitfall, g = 1 - v, min(g,
    b) is 1 - max(v, 1 - b); so clip(v) against per-criterion limits serves both signs.
    """
    kind = values_NK.dtype
    sign_K = np.where(plan.pitfall, -1.0, 1.0)
    mean = plan.formula == "mean"
    height_K, bend_K = np.ones(len(plan.keys)), np.zeros(len(plan.keys))
    floor_K, ceiling_K = np.zeros(len(plan.keys)), np.ones(len(plan.keys))
    for curve in plan.curves:
        height_K[curve.at], bend_K[curve.at] = curve.top, 1.0 - curve.slope
        if plan.pitfall[curve.at]:
            floor_K[curve.at] = 1.0 - curve.beyond
        else:
            ceiling_K[curve.at] = curve.beyond
    scale_K = plan.counted / height_K
    straight_K = (sign_K * scale_K * (1.0 - bend_K)).astype(kind)
    bent_K = (sign_K * scale_K * bend_K).astype(kind)
    offset = kind.type(scale_K[plan.pitfall].sum() if mean else 0.0)
    floor_K, ceiling_K = floor_K.astype(kind), ceiling_K.astype(kind)

    rewards_N = np.empty(len(values_NK), dtype=kind)
    clipped_BK = np.empty((min(CHUNK, len(values_NK)), len(plan.keys)), dtype=kind)
    for part in _parts(len(values_NK)):
        chunk_NK = _checked(plan, values_NK, judged_NK, part)
        reward_N = rewards_N[part]
        np.dot(chunk_NK, straight_K, out=reward_N)
        if plan.curves:
            bent_NK = np.clip(chunk_NK, floor_K, ceiling_K, out=clipped_BK[: len(chunk_NK)])
            reward_N += bent_NK @ bent_K
        reward_N += offset
        if plan.shape:
            start, power = kind.type(plan.shape.start), kind.type(plan.shape.power)
            reward_N += (power - 1) * np.maximum(reward_N - start, 0)
            reward_N /= start + power * (1 - start)
        np.clip(reward_N, 0, 1, out=reward_N)
        for line in plan.vetoes:
            if line.cap is None:
                np.multiply(reward_N, kind.type(line.factor), out=reward_N, where=line.fires(chunk_NK[:, line.at]))
        for line in plan.vetoes:
            if line.cap is not None:
                np.minimum(reward_N, kind.type(line.cap), out=reward_N, where=line.fires(chunk_NK[:, line.at]))
    return rewards_N


def _settled(plan: Plan, values_K: Values, missing_K: BoolArray) -> FloatArray:
    """The five levels of one answer that lacks verdicts, [5]."""
    point = worst(plan, values_K, missing_K)
    levels_5 = levels(plan, point.values[None], point.fired[None])[:, 0]
    if not point.exact or (plan.unjudgeable == "veto" and (missing_K & plan.matters).any()):
        levels_5[-1] = 0.0
    return np.asarray(levels_5)


def checked_matrix(plan: Plan, values: Values, judged: BoolArray | None) -> tuple[Values, BoolArray]:
    """`values` [N, K] with 0 where nothing was judged, and where something was, [N, K]. Raises InputError as
    `rewards`."""
    values_NK, judged_NK = _matrix(plan, values, judged)
    if len(values_NK):
        values_NK = _checked(plan, values_NK, judged_NK, slice(0, len(values_NK)))
    return values_NK, np.ones(values_NK.shape, dtype=np.bool_) if judged_NK is None else judged_NK


def _matrix(plan: Plan, values: Values, judged: BoolArray | None) -> tuple[Values, BoolArray | None]:
    array = np.asarray(values)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype not in (np.float32, np.float64):
        raise InputError(f"values must be float32 or float64; seen {array.dtype}")
    if array.ndim != 2 or array.shape[1] != len(plan.keys):
        raise InputError(f"values must be [answers, {len(plan.keys)}], a column a criterion; seen shape {array.shape}")
    if judged is None:
        return array, None
    mask = np.asarray(judged)
    if mask.dtype != np.bool_ or mask.shape != array.shape:
        raise InputError(f"judged must be booleans of shape {array.shape}; seen {mask.dtype} of shape {mask.shape}")
    return array, mask


def _parts(answers: int) -> Iterator[slice]:
    for start in range(0, answers, CHUNK):
        yield slice(start, min(start + CHUNK, answers))


def _checked(plan: Plan, values_NK: Values, judged_NK: BoolArray | None, part: slice) -> Values:
    """A chunk, contiguous, with 0 where nothing was judged. Raises InputError naming the first bad value."""
    chunk_NK = np.ascontiguousarray(values_NK[part])
    if judged_NK is not None:
        chunk_NK = np.where(judged_NK[part], chunk_NK, chunk_NK.dtype.type(0))
    if not (chunk_NK.min() >= 0.0 and chunk_NK.max() <= 1.0):  # written so that NaN fails it
        row, column = np.argwhere(~((chunk_NK >= 0.0) & (chunk_NK <= 1.0)))[0]
        raise InputError(
            f"values must be in 0..1: answer {part.start + row}, criterion {plan.keys[column]!r} has "
            f"{chunk_NK[row, column]}; mark what could not be judged in `judged`"
        )
    return chunk_NK


def _incomplete(judged_NK: BoolArray | None) -> Iterator[tuple[int, BoolArray]]:
    """The answers that lack verdicts, each with what it lacks, [K]."""
    if judged_NK is not None:
        for row in np.flatnonzero(~judged_NK.all(axis=1)).tolist():
            yield row, ~judged_NK[row]
