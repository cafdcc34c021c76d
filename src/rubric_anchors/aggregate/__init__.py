"""From verdicts to rewards: pure arithmetic over goodness. Formulas and curves: docs/aggregation.md."""

from rubric_anchors.aggregate.adaptive import Adaptive, AdaptiveState, Contrast, Headroom
from rubric_anchors.aggregate.batch import chain, rewards
from rubric_anchors.aggregate.outcomes import aggregate, explain, vetoed_already
from rubric_anchors.aggregate.partial import Worst, worst
from rubric_anchors.aggregate.plan import Plan

__all__ = [
    "Adaptive",
    "AdaptiveState",
    "Contrast",
    "Headroom",
    "Plan",
    "Worst",
    "aggregate",
    "chain",
    "explain",
    "rewards",
    "vetoed_already",
    "worst",
]
