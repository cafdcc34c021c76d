"""Several rubrics on one answer: their rewards as a weighted mean, and every veto of one holds for all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rubric_anchors.aggregate import Plan, vetoed_already
from rubric_anchors.rubric.outcome import (
    Cause,
    Contribution,
    Judged,
    Outcome,
    Scorecard,
    Scored,
    Step,
    Unscored,
)

STEPS: Final[tuple[Step, ...]] = ("weighted", "saturation", "interaction", "shape")


@dataclass(frozen=True, slots=True)
class Part:
    """What one rubric says of the answer."""

    name: str
    weight: float
    """Not negative; 0: only its vetoes count."""
    plan: Plan
    card: Scorecard
    outcome: Outcome


def combine(parts: Sequence[Part]) -> Outcome:
    """The joint outcome. Ours.

    With w the weights scaled to sum 1 and m the rubrics' rewards before their vetoes: sum(w m), then times every factor
    that fired, then at most the lowest cap that fired. (Taking the vetoed rewards into the mean instead would let a
    second rubric buy back half of what a veto took.) One rubric alone is passed through as it is. Unscored by one
    rubric is Unscored: what it would have said, a veto for one, is not known. A rubric that was skipped because of
    another's veto, which leaves nothing, adds nothing.
    """
    if len(parts) == 1:
        return parts[0].outcome
    scored = [(part, part.outcome) for part in parts if isinstance(part.outcome, Scored)]
    failed = [(part.name, part.outcome.cause) for part in parts if isinstance(part.outcome, Unscored)]
    if any(_leaves_nothing(part) for part, _ in scored):
        failed = [(name, cause) for name, cause in failed if cause.kind != "skipped"]
    if failed:
        name, cause = min(failed, key=lambda one: one[1].kind == "skipped")
        return Unscored(Cause(cause.kind, cause.code, f"{name}: {cause.detail}".rstrip(": ")))
    total = math.fsum(part.weight for part in parts)
    steps = [
        Contribution(step, part.weight / total * item.delta, f"{part.name}: {item.note}")
        for step in STEPS
        for part, outcome in scored
        if part.weight > 0
        for item in outcome.contributions
        if item.step == step
    ]
    before = math.fsum(item.delta for item in steps)
    reward, notes, any_veto = min(max(before, 0.0), 1.0), [], False
    effects = [_effect(part, outcome) for part, outcome in scored]
    for (part, outcome), (factor, cap) in zip(scored, effects, strict=True):
        vetoes = [item for item in outcome.contributions if item.step == "veto"]
        any_veto = any_veto or bool(vetoes)
        reward *= factor
        if factor < 1.0 or cap is not None:
            notes += [f"{part.name}: {item.note}" for item in vetoes]
    reward = min([reward, *(cap for _, cap in effects if cap is not None)])
    if any_veto:
        steps.append(Contribution("veto", reward - before, "; ".join(notes) or "no veto fires"))
    return Scored(reward, tuple(steps))


def _leaves_nothing(part: Part) -> bool:
    """Whether a veto of the part that brings everything to 0 has fired, by what was judged."""
    values = {key: verdict.value for key, verdict in part.card if isinstance(verdict, Judged)}
    return vetoed_already(part.plan, values) is not None


def _effect(part: Part, outcome: Scored) -> tuple[float, float | None]:
    """(product of the factors, lowest of the caps or None) of the vetoes that fired in one rubric.

    A veto's criterion that the answer kept from being judged counts as fired, as it does inside the rubric.
    """
    factor, caps = 1.0, []
    for line in part.plan.vetoes:
        verdict = part.card.verdicts[line.at]
        if isinstance(verdict, Judged):
            fires = bool(line.fires(np.array(verdict.value)))
        else:
            fires = line.possible and verdict.cause.kind != "skipped"
        if fires and line.cap is not None:
            caps.append(line.cap)
        elif fires:
            factor *= line.factor
    if sum(item.step == "veto" for item in outcome.contributions) > bool(part.plan.vetoes):
        # One more than the rubric's own: it gives 0 to what cannot be judged, a veto by policy, which holds for all
        # too.
        caps.append(0.0)
    return factor, min(caps) if caps else None
