"""What holds for every rubric and every answer."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rubric_anchors.aggregate import Plan, aggregate, chain, explain, rewards, vetoed_already, worst
from rubric_anchors.aggregate.relations import FloatArray
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Scorecard, Scored, Unjudged, Unscored

UNPARSEABLE, TIMEOUT = Cause("answer", "unparseable"), Cause("infrastructure", "timeout")
SKIPPED = Cause("skipped", "vetoed")
unit = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0]) | st.floats(0.0, 1.0)


@st.composite
def rubrics(draw: st.DrawFn, kinds: tuple[str, ...] = ("synergy", "conflict", "gate"), aligned: bool = False) -> Rubric:
    """1 to 6 criteria with any mixture of relations; `aligned`: vetoes fire on low goodness only."""
    size = draw(st.integers(1, 6))
    keys = [f"k{at}" for at in range(size)]
    weights = [draw(st.sampled_from([1.0, 2.0, -1.0, 0.5, -3.0])) for _ in keys]
    criteria: list[dict[str, Any]] = []
    for key, weight in zip(keys, weights, strict=True):
        tiers = [{"means": "Poor."}, {"means": "Fair."}, {"means": "Good."}]
        criteria.append({"key": key, "ask": "It is good.", "weight": weight, "critic": "judge", "tiers": tiers})
        if draw(st.booleans()):
            sides = ["above"] if weight < 0 else ["below"]
            side = draw(st.sampled_from(sides if aligned else ["above", "below"]))
            effect = draw(st.sampled_from(["reward", "factor"]))
            drawn = draw(unit)
            # A veto below 0 or above 1 could never fire, and a rubric refuses it.
            line = {("below", 0.0): 1.0, ("above", 1.0): 0.0}.get((side, drawn), drawn)
            criteria[-1]["veto"] = {side: line, effect: draw(unit)}
    relations: list[dict[str, Any]] = []
    for key in keys:
        if draw(st.booleans()):
            curve = draw(st.sampled_from(["knee", "exponential"]))
            point = draw(st.floats(0.05, 0.95))
            relations.append({"saturate": {"key": key, "beyond": point, "curve": curve, "slope": draw(unit)}})
    couples = [(a, b) for at, a in enumerate(keys) for b in keys[at + 1 :]]
    for couple in draw(st.lists(st.sampled_from(couples), unique=True, max_size=4)) if couples else []:
        interact = {"keys": draw(st.permutations(couple)), "kind": draw(st.sampled_from(kinds))}
        relations.append({"interact": {**interact, "strength": draw(st.floats(0.05, 1.0))}})
    stretch = {"from": draw(st.floats(0.05, 0.95)), "power": draw(st.floats(1.5, 4.0))}
    reward = {"shape": draw(st.sampled_from([None, stretch])), "unjudgeable": draw(st.sampled_from(["worst", "veto"]))}
    return Rubric.model_validate({"id": "any", "criteria": criteria, "relations": relations, "reward": reward})


def answers(draw: Callable[..., Any], plan: Plan, count: int) -> FloatArray:
    drawn: FloatArray = draw(hnp.arrays(np.float64, (count, len(plan.keys)), elements=unit))
    return drawn


@st.composite
def scored(draw: st.DrawFn, /, count: int = 5, **options: Any) -> tuple[Rubric, Plan, FloatArray]:
    rubric = draw(rubrics(**options))
    plan = Plan.compile(rubric)
    return rubric, plan, answers(draw, plan, count)


@st.composite
def holed(draw: st.DrawFn) -> tuple[Rubric, Plan, FloatArray, np.ndarray]:
    """A rubric, one answer, and which of its verdicts are missing (at least one)."""
    rubric, plan, values = draw(scored(count=1))
    missing = draw(hnp.arrays(np.bool_, len(plan.keys)))
    assume(missing.any())
    return rubric, plan, values[0], missing


def card(rubric: Rubric, values: FloatArray, missing: np.ndarray, cause: Cause = UNPARSEABLE) -> Scorecard:
    verdicts = tuple(
        Unjudged(cause, "test") if gone else Judged(float(value), criterion.tier_of(float(value)), "test")
        for criterion, value, gone in zip(rubric.criteria, values, missing, strict=True)
    )
    return Scorecard(rubric.content_id, rubric.keys, verdicts)


@given(scored())
def test_every_reward_lies_between_0_and_1(case: tuple[Rubric, Plan, FloatArray]) -> None:
    _, plan, values = case
    got = rewards(plan, values)
    assert ((got >= 0.0) & (got <= 1.0)).all()


@given(scored())
def test_contributions_add_up_to_the_reward_singly_and_in_batches(case: tuple[Rubric, Plan, FloatArray]) -> None:
    rubric, plan, values = case
    expected = rewards(plan, values)
    assert np.abs(sum(chain(plan, values).values()) - expected).max() <= 1e-9
    for row, reward in zip(values, expected, strict=True):
        assert abs(sum(part.delta for part in explain(plan, row)) - reward) <= 1e-9
        outcome = aggregate(rubric, card(rubric, row, np.zeros(len(row), dtype=bool)))
        assert isinstance(outcome, Scored)
        assert outcome.reward == pytest.approx(reward, abs=1e-12)


@given(scored(kinds=("synergy", "gate"), aligned=True), st.data())
def test_without_conflicts_more_goodness_never_gives_less(
    case: tuple[Rubric, Plan, FloatArray], data: st.DataObject
) -> None:
    _, plan, values = case
    better = plan.goodness(values) + (1 - plan.goodness(values)) * answers(data.draw, plan, len(values))
    raised = np.clip(np.where(plan.pitfall, 1 - better, better), 0.0, 1.0)
    raised = np.where(plan.pitfall, np.minimum(raised, values), np.maximum(raised, values))
    assert (rewards(plan, raised) >= rewards(plan, values) - 1e-12).all()


@given(rubrics(kinds=("synergy", "gate"), aligned=True))
def test_without_conflicts_perfection_gives_1_and_nothing_good_gives_0(rubric: Rubric) -> None:
    plan = Plan.compile(rubric)
    best = np.where(plan.pitfall, 0.0, 1.0)[None]
    assert rewards(plan, best)[0] == pytest.approx(1.0)
    assert rewards(plan, 1.0 - best)[0] == pytest.approx(0.0, abs=1e-12)


@given(rubrics())
def test_before_vetoes_some_answer_reaches_0_and_some_answer_1(rubric: Rubric) -> None:
    plan = Plan.compile(rubric)
    corners = np.array(list(product((0.0, 1.0), repeat=len(plan.keys))))
    deltas = chain(plan, corners)
    unvetoed = np.asarray(sum(deltas.values())) - deltas["veto"]
    assert (unvetoed.min(), unvetoed.max()) == pytest.approx((0.0, 1.0), abs=1e-9)


@given(scored(), st.data())
def test_the_order_of_criteria_and_relations_is_no_matter(
    case: tuple[Rubric, Plan, FloatArray], data: st.DataObject
) -> None:
    rubric, plan, values = case
    order = data.draw(st.permutations(range(len(plan.keys))))
    moved = rubric.model_copy(
        update={"criteria": tuple(rubric.criteria[at] for at in order), "relations": rubric.relations[::-1]}
    )
    shuffled = Rubric.model_validate(moved.model_dump(by_alias=True))
    assert rewards(Plan.compile(shuffled), values[:, order]) == pytest.approx(rewards(plan, values), abs=1e-9)


@given(scored(), st.floats(1e-3, 1e3))
def test_the_scale_of_weights_is_no_matter(case: tuple[Rubric, Plan, FloatArray], scale: float) -> None:
    rubric, plan, values = case
    raw = rubric.model_dump(by_alias=True)
    for criterion in raw["criteria"]:
        criterion["weight"] *= scale
    scaled = Plan.compile(Rubric.model_validate(raw))
    assert rewards(scaled, values) == pytest.approx(rewards(plan, values), abs=1e-9)


@given(scored())
def test_a_fired_veto_wins_whatever_else_is_met(case: tuple[Rubric, Plan, FloatArray]) -> None:
    _, plan, values = case
    got = rewards(plan, values)
    before = got - chain(plan, values)["veto"]
    for line in plan.vetoes:
        fires = line.fires(values[:, line.at])
        limit = line.cap if line.cap is not None else line.factor * np.clip(before[fires], 0, 1)
        assert (got[fires] <= np.asarray(limit) + 1e-12).all()


@given(scored())
def test_the_fast_path_equals_the_full_chain(case: tuple[Rubric, Plan, FloatArray]) -> None:
    rubric, _, values = case
    relations = tuple(r for r in rubric.relations if r.saturate and r.saturate.curve == "knee")
    raw = rubric.model_dump(by_alias=True) | {"relations": [r.model_dump() for r in relations]}
    plan = Plan.compile(Rubric.model_validate(raw))
    full = np.asarray(sum(chain(plan, values).values()))
    assert np.abs(rewards(plan, values) - full).max() <= 1e-12
    narrow = values.astype(np.float32)
    full = np.asarray(sum(chain(plan, narrow).values()))
    assert np.abs(rewards(plan, narrow) - full).max() <= 1e-5


@given(holed(), st.data())
def test_a_failure_to_judge_never_gives_more_than_any_judged_completion(
    case: tuple[Rubric, Plan, FloatArray, np.ndarray], data: st.DataObject
) -> None:
    rubric, plan, values, missing = case
    outcome = aggregate(rubric, card(rubric, values, missing))
    assert isinstance(outcome, Scored)
    assert abs(sum(part.delta for part in outcome.contributions) - outcome.reward) <= 1e-9
    completions = np.where(missing, answers(data.draw, plan, 20), values)
    assert outcome.reward <= rewards(plan, completions).min() + 1e-12
    masked = rewards(plan, np.where(missing, np.nan, values)[None], judged=~missing[None])
    assert masked[0] == pytest.approx(outcome.reward, abs=1e-12)


@given(holed())
@settings(max_examples=60)
def test_the_worst_is_the_least_on_a_grid_that_holds_every_corner(
    case: tuple[Rubric, Plan, FloatArray, np.ndarray],
) -> None:
    _, plan, values, missing = case
    assume(missing.sum() <= 3)
    edges = {line.line + step for line in plan.vetoes for step in (-1e-9, 0.0, 1e-9)}
    grid = sorted({0.0, 0.5, 1.0} | {edge for edge in edges if 0.0 <= edge <= 1.0})
    gone = np.flatnonzero(missing)
    mesh = np.stack(np.meshgrid(*[grid] * len(gone)), axis=-1).reshape(-1, len(gone))
    rows = np.tile(values, (len(mesh), 1))
    rows[:, gone] = mesh
    point = worst(plan, values, missing)
    assert point.exact
    # The steps of 1e-9 beside a veto's line are worth at most their slope, well under 1e-6.
    assert point.reward == pytest.approx(rewards(plan, rows).min(), abs=1e-6)


@given(holed(), st.data())
def test_breaking_the_judge_never_raises_an_answers_advantage_in_its_group(
    case: tuple[Rubric, Plan, FloatArray, np.ndarray], data: st.DataObject
) -> None:
    rubric, plan, values, missing = case
    others = rewards(plan, answers(data.draw, plan, 7))
    judged = np.where(missing, answers(data.draw, plan, 10), values)
    worst_verdict = rewards(plan, judged).min()
    outcome = aggregate(rubric, card(rubric, values, missing))
    assert isinstance(outcome, Scored)

    def advantage(own: float) -> float:
        group = np.append(others, own)
        return float((own - group.mean()) / (group.std() + 1e-4))

    assert advantage(outcome.reward) <= advantage(float(worst_verdict)) + 1e-9


@given(holed())
def test_infrastructure_failures_leave_the_answer_unscored_whatever_else_failed(
    case: tuple[Rubric, Plan, FloatArray, np.ndarray],
) -> None:
    rubric, _, values, missing = case
    verdicts = list(card(rubric, values, missing).verdicts)
    verdicts[int(np.flatnonzero(missing)[0])] = Unjudged(TIMEOUT, "test")
    outcome = aggregate(rubric, Scorecard(rubric.content_id, rubric.keys, tuple(verdicts)))
    assert isinstance(outcome, Unscored)
    assert (outcome.cause.kind, outcome.cause.code) == ("infrastructure", "timeout")


@st.composite
def emptied(draw: st.DrawFn) -> tuple[Rubric, Plan, FloatArray, np.ndarray]:
    """As `holed`, of at least two criteria, where a veto on the first has fired and leaves nothing."""
    rubric, _, values, missing = draw(holed())
    assume(len(rubric.criteria) > 1)
    raw = rubric.model_dump(by_alias=True)
    raw["criteria"][0]["veto"] = {"below": 0.5, draw(st.sampled_from(["reward", "factor"])): 0.0}
    values, missing = values.copy(), missing.copy()
    values[0], missing[0] = draw(st.floats(0.0, 0.49)), False
    assume(missing.any())
    return Rubric.model_validate(raw), Plan.compile(Rubric.model_validate(raw)), values, missing


@given(emptied(), st.data())
def test_what_a_veto_has_brought_to_nothing_is_worth_exactly_that_whoever_was_not_asked(
    case: tuple[Rubric, Plan, FloatArray, np.ndarray], data: st.DataObject
) -> None:
    rubric, plan, values, missing = case
    outcome = aggregate(rubric, card(rubric, values, missing, SKIPPED))
    assert isinstance(outcome, Scored)
    assert outcome.reward == 0.0
    assert abs(sum(part.delta for part in outcome.contributions)) <= 1e-9
    assert rewards(plan, np.where(missing, answers(data.draw, plan, 20), values)).max() == 0.0


@given(holed())
def test_what_was_skipped_without_a_fired_veto_is_no_number(case: tuple[Rubric, Plan, FloatArray, np.ndarray]) -> None:
    rubric, plan, values, missing = case
    whole = card(rubric, values, missing, SKIPPED)
    assume((missing & plan.matters).any())
    if vetoed_already(plan, {key: one.value for key, one in whole if isinstance(one, Judged)}) is None:
        assert aggregate(rubric, whole) == Unscored(SKIPPED)
