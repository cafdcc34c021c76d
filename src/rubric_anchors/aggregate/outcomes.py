"""One answer at a time, explained: from a scorecard to an outcome whose contributions say in plain words what
counted."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rubric_anchors.aggregate.partial import Worst, worst
from rubric_anchors.aggregate.plan import Plan
from rubric_anchors.aggregate.relations import FloatArray, Line, Values, openness
from rubric_anchors.aggregate.steps import fired, levels, points, saturate
from rubric_anchors.core.errors import InputError
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Contribution, Judged, Outcome, Scorecard, Scored, Unscored


def aggregate(rubric: Rubric | Plan, card: Scorecard) -> Outcome:
    """What a scorecard is worth.

    All judged: Scored. Something that matters unjudged by `infrastructure`: Unscored, whatever else is known, for the
    answer is not to blame. Unjudged by `answer` only: Scored, by the rubric's `unjudgeable` policy at the lowest
    reward that any verdicts on the missing criteria could give (`worst`), or at 0 (`veto`). Unjudged as `skipped`:
    Scored at the 0 that a fired veto leaves; Unscored where none has fired here, for then another rubric's did. A
    verdict that can change nothing (weight 0, no veto, no interaction) may be missing.

    Raises InputError where the card is not of this rubric or a value is not in 0..1.
    """
    plan = rubric if isinstance(rubric, Plan) else Plan.compile(rubric)
    if card.keys != plan.keys or card.rubric != plan.rubric:
        raise InputError(
            f"the scorecard is of rubric {card.rubric} ({', '.join(card.keys)}), "
            f"not of {plan.rubric} ({', '.join(plan.keys)})"
        )
    values = np.zeros(len(plan.keys))
    missing: dict[int, Cause] = {}
    for at, (key, verdict) in enumerate(card):
        if isinstance(verdict, Judged):
            if not 0.0 <= verdict.value <= 1.0:
                raise InputError(f"a verdict's value must be in 0..1; {key!r} has {verdict.value}")
            values[at] = verdict.value
        elif plan.matters[at]:
            missing[at] = verdict.cause
    failed = {at: cause for at, cause in missing.items() if cause.kind == "infrastructure"}
    if failed:
        at, first = next(iter(failed.items()))
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return Unscored(Cause("infrastructure", first.code, f"{plan.keys[at]}{others}: {first.detail}".rstrip(": ")))
    skipped = {at: cause for at, cause in missing.items() if cause.kind == "skipped"}
    if skipped:
        known = {key: verdict.value for key, verdict in card if isinstance(verdict, Judged)}
        if vetoed_already(plan, known) is None:
            return Unscored(next(iter(skipped.values())))
    return _scored(plan, values, missing)


def vetoed_already(plan: Plan, card: Mapping[str, float]) -> str | None:
    """The criterion whose value makes the reward 0 whatever the others will be, for its veto leaves nothing; None where
    there is none. `card`: the values known so far, by key."""
    for line in plan.vetoes:
        key = plan.keys[line.at]
        leaves_nothing = line.cap == 0.0 or (line.cap is None and line.factor == 0.0)
        if leaves_nothing and key in card and bool(line.fires(np.array([card[key]]))[0]):
            return key
    return None


def explain(plan: Plan, values: Values) -> tuple[Contribution, ...]:
    """The contributions of one fully judged answer, `values` [K] in 0..1, in order; they add up to its reward to 1e-9.

    The weighted step has one contribution a criterion; every other step that the rubric has, one. Raises InputError.
    """
    array = np.asarray(values)
    if array.shape != plan.stated.shape or not ((array >= 0) & (array <= 1)).all():
        raise InputError(f"values must be {len(plan.keys)} numbers in 0..1, one a criterion; seen {array.tolist()}")
    return _scored(plan, array.astype(np.float64), {}).contributions


def _scored(plan: Plan, values: FloatArray, missing: Mapping[int, Cause]) -> Scored:
    skipped = {at for at, cause in missing.items() if cause.kind == "skipped"}
    broken = [at for at in missing if at not in skipped]
    values = values.copy()
    values[list(skipped)] = plan.pitfall[list(skipped)]
    gaps = np.zeros(len(plan.keys), dtype=np.bool_)
    gaps[broken] = True
    point = worst(plan, values, gaps) if broken else Worst(values, fired(plan, values[None])[0], 0.0, exact=True)
    # Nobody said what a skipped criterion's own veto would have seen.
    point = replace(
        point, fired=point.fired & np.array([line.at not in skipped for line in plan.vetoes], dtype=np.bool_)
    )
    at_5 = levels(plan, point.values[None], point.fired[None])[:, 0].tolist()
    steps = _weighted(plan, point.values, missing, at_5[0])
    if plan.curves:
        steps.append(Contribution("saturation", at_5[1] - at_5[0], _saturation_note(plan)))
    if plan.pairs:
        steps.append(Contribution("interaction", at_5[2] - at_5[1], _interaction_note(plan, point.values)))
    if plan.shape:
        note = f"stretched from {plan.shape.start:g}: {at_5[2]:.3f} becomes {at_5[3]:.3f}"
        steps.append(Contribution("shape", at_5[3] - at_5[2], note))
    if plan.vetoes:
        steps.append(Contribution("veto", at_5[4] - at_5[3], _veto_note(plan, point, missing)))
    reward = at_5[4]
    if broken and (plan.unjudgeable == "veto" or not point.exact):
        why = "this rubric gives 0 to an answer that cannot be judged"
        if plan.unjudgeable == "worst":
            why = f"too many of the {len(broken)} unjudged criteria are in conflicts to find the lowest reward"
        steps.append(Contribution("veto", -reward, why))
        reward = 0.0
    return Scored(reward, tuple(steps))


def _weighted(plan: Plan, values: FloatArray, missing: Mapping[int, Cause], reached: float) -> list[Contribution]:
    """One contribution a criterion with weight; for healthbench a last one where the sum was clipped."""
    healthbench = plan.formula == "healthbench"
    sizes = np.abs(plan.weights)
    total = sum((sizes[~plan.pitfall] if healthbench else sizes).tolist())
    amounts = values * np.where(plan.pitfall, -1.0, 1.0) if healthbench else plan.goodness(values)
    contributions = []
    for at in np.flatnonzero(sizes).tolist():
        named = f"{plan.keys[at]} (pitfall)" if plan.pitfall[at] else plan.keys[at]
        what = f"value {values[at]:.3g}" if healthbench else f"goodness {amounts[at]:.3g}"
        weight = plan.weights[at] if healthbench else sizes[at]
        note = f"{named}: {what} x weight {weight:.4g} of {total:.4g}"
        if at in missing and missing[at].kind == "skipped":
            note += "; not asked, as a veto leaves nothing of it"
        elif at in missing:
            note += f"; unjudged ({missing[at].code}), counted at its worst"
        contributions.append(Contribution("weighted", float(amounts[at] * plan.share[at]), note))
    if healthbench:
        raw = float(points(plan, values[None])[0])
        if raw != reached:
            contributions.append(Contribution("weighted", reached - raw, f"{raw:.3f} clipped to 0..1"))
    return contributions


def _saturation_note(plan: Plan) -> str:
    parts = []
    for curve in plan.curves:
        how = f"at {curve.slope:g}" if curve.kind == "knee" else "ever less"
        parts.append(f"{plan.keys[curve.at]} counts {how} beyond {curve.beyond:g}")
    return "; ".join(parts) + "; shares rescaled so that perfection stays 1"


def _interaction_note(plan: Plan, values: FloatArray) -> str:
    saturated = saturate(plan, plan.goodness(values[None]))
    parts = []
    for pair in plan.pairs:
        first, second = plan.keys[pair.first], plan.keys[pair.second]
        amount = pair.strength * saturated[0, pair.first] * saturated[0, pair.second]
        if pair.kind == "synergy":
            parts.append(f"synergy of {first} and {second} +{amount:.3f}")
        elif pair.kind == "conflict":
            parts.append(f"conflict of {first} and {second} -{amount:.3f}")
    for passed in sorted({pair.second for pair in plan.pairs if pair.kind == "gate"}):
        gates = ", ".join(plan.keys[pair.first] for pair in plan.pairs if pair.kind == "gate" and pair.second == passed)
        parts.append(f"{gates} lets {plan.keys[passed]} count {openness(plan.pairs, passed, saturated)[0]:.0%}")
    return "; ".join(parts) + f"; brought back from {plan.low:.3g}..{plan.high:.3g} to 0..1"


def _veto_note(plan: Plan, point: Worst, missing: Mapping[int, Cause]) -> str:
    parts = []
    for line, fires in zip(plan.vetoes, point.fired.tolist(), strict=True):
        if fires:
            parts.append(_one_veto(plan.keys[line.at], line, float(point.values[line.at]), missing.get(line.at)))
    return "; ".join(parts) or "no veto fires"


def _one_veto(key: str, line: Line, value: float, cause: Cause | None) -> str:
    effect = f"reward at most {line.cap:g}" if line.cap is not None else f"reward x {line.factor:g}"
    seen = f"unjudged ({cause.code}), counted as" if cause else f"value {value:.3g}"
    return f"{key}: {seen} {line.side} {line.line:g}: {effect}"
