"""The steps from values to rewards, exactly, in float64: weighted, saturation, interaction, shape, veto.

Every step's formula stands in its function. Arrays carry their axes in their names: N answers, K criteria, V vetoes.
Inputs are taken as checked; see `batch` for the checks.
"""

from typing import Final, get_args

import numpy as np

from rubric_anchors.aggregate.plan import Plan
from rubric_anchors.aggregate.relations import BoolArray, FloatArray, Values, joint
from rubric_anchors.rubric.model import Shape
from rubric_anchors.rubric.outcome import Step

STEPS: Final[tuple[Step, ...]] = get_args(Step)


def levels(plan: Plan, values_NK: Values, fired_NV: BoolArray) -> FloatArray:
    """The reward as it stands after each of the five steps, [5, N]; a step that the rubric lacks leaves it as it is."""
    if plan.formula == "healthbench":
        weighted_N = np.clip(points(plan, values_NK), 0.0, 1.0)
        return np.stack([weighted_N] * 4 + [veto(plan, weighted_N, fired_NV)])
    goodness_NK = plan.goodness(values_NK)
    saturated_NK = saturate(plan, goodness_NK)
    weighted_N = goodness_NK @ plan.share
    saturation_N = saturated_NK @ plan.counted if plan.curves else weighted_N
    interaction_N = interact(plan, saturated_NK) if plan.pairs else saturation_N
    shape_N = stretch(plan.shape, interaction_N) if plan.shape else interaction_N
    return np.stack([weighted_N, saturation_N, interaction_N, shape_N, veto(plan, shape_N, fired_NV)])


def points(plan: Plan, values_NK: Values) -> FloatArray:
    """HealthBench's score before its clip (arXiv 2505.08775): sum_k w_k v_k / sum_{w_k > 0} w_k, [N], at most 1.

    Works on values, not goodness: a pitfall that is met costs its points. HealthBench's verdicts are met or not met,
    1 or 0; values between them count in proportion (ours).
    """
    return np.asarray(np.asarray(values_NK, dtype=np.float64) @ np.where(plan.pitfall, -plan.share, plan.share))


def saturate(plan: Plan, goodness_NK: FloatArray) -> FloatArray:
    """u_k = c_k(g_k) / c_k(1), [N, K]: goodness after its curve, 0..1; g_k itself where criterion k has no curve.

    The saturated mean is sum_k p_k c_k(g_k) / sum_k p_k c_k(1), which is u @ q with the shares q = `Plan.counted`. One
    division for all criteria, so below their points criteria trade at their written weights, and perfect goodness
    gives 1. Form ours; the idea of diminishing returns is Rubicon's (arXiv 2508.12790), which gives no formula.
    """
    if not plan.curves:
        return goodness_NK
    saturated_NK = goodness_NK.copy()
    for curve in plan.curves:
        saturated_NK[:, curve.at] = curve.raw(goodness_NK[:, curve.at]) / curve.top
    return saturated_NK


def interact(plan: Plan, saturated_NK: FloatArray) -> FloatArray:
    """(f(u) - low) / (high - low), [N]: `joint`, brought back to 0..1 by its exact bounds over all goodness.

    Without conflicts low is 0 and high 1 + the summed strengths of synergies, so nothing good still gives 0 and
    perfection 1. Form ours; pairwise modelling of synergy and antagonism is Rubicon's idea (arXiv 2508.12790).
    """
    raw_N = joint(plan.counted, plan.pairs, saturated_NK)
    return np.asarray(np.clip((raw_N - plan.low) / (plan.high - plan.low), 0.0, 1.0))


def stretch(shape: Shape, reward_N: FloatArray) -> FloatArray:
    """T(x) = x / Z up to a, (a + p (x - a)) / Z beyond, Z = a + p (1 - a), with a = `from` and p = `power`, [N]. Ours.

    T(0) = 0, T(1) = 1 and T rises everywhere. Beyond a its slope is p / Z, above 1: p - Z = a (p - 1) > 0. Below a it
    is 1 / Z, under 1: what good answers gain in distance, poor ones give up.
    """
    scale = shape.start + shape.power * (1.0 - shape.start)
    beyond_N = np.maximum(reward_N - shape.start, 0.0)
    return np.asarray((reward_N + (shape.power - 1.0) * beyond_N) / scale)


def fired(plan: Plan, values_NK: Values) -> BoolArray:
    """Which vetoes fire on which answers, [N, V]; judged on values, not goodness."""
    fired_NV = np.empty((len(values_NK), len(plan.vetoes)), dtype=np.bool_)
    for index, line in enumerate(plan.vetoes):
        fired_NV[:, index] = line.fires(values_NK[:, line.at])
    return fired_NV


def veto(plan: Plan, reward_N: FloatArray, fired_NV: BoolArray) -> FloatArray:
    """min(reward x product of fired factors, lowest fired cap), [N]: factors first, so the order of criteria is no
    matter."""
    vetoed_N = np.clip(reward_N, 0.0, 1.0)
    for index, line in enumerate(plan.vetoes):
        if line.cap is None:
            vetoed_N[fired_NV[:, index]] *= line.factor
    for index, line in enumerate(plan.vetoes):
        if line.cap is not None:
            vetoed_N[fired_NV[:, index]] = np.minimum(vetoed_N[fired_NV[:, index]], line.cap)
    return np.asarray(vetoed_N)
