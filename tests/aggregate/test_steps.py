"""Each step against values worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest

from rubric_anchors.aggregate import Plan, chain, explain, rewards
from rubric_anchors.core.errors import InputError, RubricError
from rubric_anchors.rubric.model import Rubric

LEVELS = [{"means": "Not at all."}, {"means": "In part."}, {"means": "Fully."}]


def rubric(*criteria: dict[str, Any], relations: tuple[dict[str, Any], ...] = (), **reward: object) -> Rubric:
    """Criteria a, b, c, ... with three tiers; each argument overrides fields of one."""
    full = [
        {"key": "abcdefgh"[at], "ask": "It is good.", "critic": "judge", "tiers": LEVELS, **criterion}
        for at, criterion in enumerate(criteria)
    ]
    return Rubric.model_validate({"id": "hand", "criteria": full, "relations": relations, "reward": reward})


def reward(of: Rubric, *values: float) -> float:
    return float(rewards(Plan.compile(of), np.array([values]))[0])


def test_the_mean_weighs_goodness_by_the_size_of_the_weight() -> None:
    assert reward(rubric({"weight": 3}, {"weight": 1}), 1.0, 0.5) == pytest.approx(3.5 / 4)


def test_a_pitfall_counts_by_its_absence() -> None:
    two = rubric({"weight": 3}, {"weight": -1})
    assert reward(two, 1.0, 0.0) == 1.0
    assert reward(two, 1.0, 1.0) == 0.75
    assert reward(two, 0.0, 1.0) == 0.0


def test_huge_weights_do_not_overflow() -> None:
    plan = Plan.compile(rubric({}, {})).with_weights([1e308, 1e308])
    assert rewards(plan, np.array([[1.0, 0.0]])).tolist() == [0.5]


def test_a_knee_counts_the_rest_at_its_slope_and_keeps_perfection_at_one() -> None:
    one = rubric({}, relations=({"saturate": {"key": "a", "beyond": 0.5, "slope": 0.25}},))
    assert reward(one, 0.5) == pytest.approx(0.5 / 0.625)
    assert reward(one, 0.75) == pytest.approx((0.5 + 0.25 * 0.25) / 0.625)
    assert reward(one, 1.0) == pytest.approx(1.0)


def test_below_its_knee_a_criterion_trades_with_others_at_the_written_weights() -> None:
    two = rubric({"weight": 2}, {}, relations=({"saturate": {"key": "a", "beyond": 0.5}},))
    assert reward(two, 0.4, 0.2) == pytest.approx(reward(two, 0.2, 0.6))


def test_a_saturated_pitfall_saturates_in_its_absence() -> None:
    one = rubric({"weight": -1}, relations=({"saturate": {"key": "a", "beyond": 0.5, "slope": 0.0}},))
    assert reward(one, 0.4) == reward(one, 0.0) == 1.0
    assert reward(one, 0.75) == pytest.approx(0.5)


def test_the_exponential_curve_starts_with_slope_one_and_fades() -> None:
    one = rubric({}, relations=({"saturate": {"key": "a", "beyond": 0.4, "curve": "exponential"}},))
    top = 0.4 + 0.2 * (1 - math.exp(-3))
    assert reward(one, 0.4) == pytest.approx(0.4 / top)
    assert reward(one, 0.7) == pytest.approx((0.4 + 0.2 * (1 - math.exp(-1.5))) / top)
    assert reward(one, 1.0) == pytest.approx(1.0)


def interacting(kind: str, strength: float) -> Rubric:
    return rubric({}, {}, relations=({"interact": {"keys": ["a", "b"], "kind": kind, "strength": strength}},))


def test_synergy_pays_for_both_together() -> None:
    both = interacting("synergy", 0.25)
    assert reward(both, 1.0, 0.0) == pytest.approx(0.5 / 1.25)
    assert reward(both, 0.5, 0.5) == pytest.approx((0.5 + 0.25 * 0.25) / 1.25)
    assert reward(both, 1.0, 1.0) == pytest.approx(1.0)


def test_conflict_makes_both_together_worth_less_than_their_sum() -> None:
    both = interacting("conflict", 0.2)
    assert reward(both, 0.0, 0.0) == 0.0
    assert reward(both, 1.0, 0.0) == pytest.approx(0.5 / 0.8)
    assert reward(both, 1.0, 1.0) == pytest.approx(1.0)


def test_a_conflict_stronger_than_its_criteria_makes_one_alone_the_best() -> None:
    both = interacting("conflict", 1.0)
    assert reward(both, 1.0, 0.0) == pytest.approx(1.0)
    assert reward(both, 1.0, 1.0) == pytest.approx(0.0)


def test_a_gate_lets_the_second_count_only_as_far_as_the_first_holds() -> None:
    both = interacting("gate", 0.8)
    assert reward(both, 0.0, 1.0) == pytest.approx(0.5 * 0.2)
    assert reward(both, 0.5, 1.0) == pytest.approx(0.25 + 0.5 * 0.6)
    assert reward(both, 1.0, 0.0) == pytest.approx(0.5)


def test_interactions_work_on_goodness_after_saturation() -> None:
    saturate = {"saturate": {"key": "a", "beyond": 0.5, "slope": 0.0}}
    synergy = {"interact": {"keys": ["a", "b"], "kind": "synergy", "strength": 1.0}}
    both = rubric({}, {}, relations=(saturate, synergy))
    assert reward(both, 0.5, 1.0) == reward(both, 1.0, 1.0) == pytest.approx(1.0)


def test_the_stretch_pins_both_ends_and_widens_the_top() -> None:
    one = rubric({}, shape={"kind": "stretch", "from": 0.7, "power": 2})
    assert reward(one, 0.0) == 0.0
    assert reward(one, 1.0) == pytest.approx(1.0)
    assert reward(one, 0.7) == pytest.approx(0.7 / 1.3)
    assert (reward(one, 0.9) - reward(one, 0.8)) / 0.1 == pytest.approx(2 / 1.3)


@pytest.mark.parametrize(
    ("criterion", "fires", "silent"),
    [
        ({"veto": {"below": 0.5}}, 0.49, 0.5),
        ({"veto": {"above": 0.5}, "weight": -1}, 0.51, 0.5),
        ({"veto": {"below_tier": 1}}, 0.49, 0.5),
        ({"veto": {"below_tier": 2}}, 0.99, 1.0),
        ({"veto": {"below": 1.0}}, 0.999, 1.0),
    ],
)
def test_a_veto_fires_on_the_wrong_side_of_its_line_only(
    criterion: dict[str, Any], fires: float, silent: float
) -> None:
    of = rubric(criterion, {"weight": 5})
    assert reward(of, fires, 1.0) == 0.0
    assert reward(of, silent, 1.0) > 0.5


def test_a_veto_on_a_float32_tier_value_does_not_fire_by_rounding() -> None:
    of = rubric({"veto": {"below": 0.7}})
    assert rewards(Plan.compile(of), np.array([[0.7]], dtype=np.float32))[0] == pytest.approx(0.7)


def test_a_veto_caps_or_multiplies() -> None:
    assert reward(rubric({"veto": {"below": 0.5, "reward": 0.3}}, {"weight": 3}), 0.0, 1.0) == 0.3
    assert reward(rubric({"veto": {"below": 0.5, "reward": 0.3}}, {"weight": 3}), 0.0, 0.1) == pytest.approx(0.075)
    assert reward(rubric({"veto": {"below": 0.5, "factor": 0.2}}, {"weight": 3}), 0.0, 1.0) == pytest.approx(0.15)


def test_factors_come_before_caps_whatever_the_order_of_criteria() -> None:
    cap, factor = {"veto": {"below": 0.5, "reward": 0.3}}, {"veto": {"below": 0.5, "factor": 0.5}}
    assert reward(rubric(cap, factor, {"weight": 8}), 0, 0, 1) == 0.3
    assert reward(rubric(factor, cap, {"weight": 8}), 0, 0, 1) == 0.3


def test_a_criterion_of_weight_zero_can_veto_and_counts_for_nothing_else() -> None:
    of = rubric({}, {"weight": 0, "veto": {"below": 0.5}})
    assert reward(of, 0.6, 0.5) == reward(of, 0.6, 1.0) == 0.6
    assert reward(of, 0.6, 0.4) == 0.0


def test_healthbench_divides_points_by_positive_points_and_clips() -> None:
    of = rubric({"weight": 7}, {"weight": 3}, {"weight": -5}, formula="healthbench")
    assert reward(of, 1, 0, 0) == pytest.approx(0.7)
    assert reward(of, 1, 0, 1) == pytest.approx(0.2)
    assert reward(of, 0, 1, 1) == 0.0
    parts = explain(Plan.compile(of), np.array([0.0, 1.0, 1.0]))
    assert [round(part.delta, 6) for part in parts] == [0.0, 0.3, -0.5, 0.2]
    assert "clipped" in parts[-1].note


def test_the_chain_names_all_steps_in_order_and_leaves_absent_ones_at_zero() -> None:
    deltas = chain(Plan.compile(rubric({}, {})), np.array([[0.5, 1.0], [0.0, 0.0]]))
    assert list(deltas) == ["weighted", "saturation", "interaction", "shape", "veto"]
    assert deltas["weighted"].tolist() == [0.75, 0.0]
    assert all(not deltas[step].any() for step in deltas if step != "weighted")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -0.001, 1.001])
@pytest.mark.parametrize("work", [rewards, chain])
def test_what_is_no_value_is_refused_by_place(bad: float, work: Any) -> None:
    values = np.full((9000, 2), 0.5)
    values[8500, 1] = bad
    with pytest.raises(ValueError, match="answer 8500, criterion 'b'"):
        work(Plan.compile(rubric({}, {})), values)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.zeros((2, 3)), "a column a criterion"),
        (np.zeros(2), "a column a criterion"),
        (np.zeros((2, 2), dtype=np.float16), "float16"),
        (np.array([["x", "y"]]), "float32 or float64"),
    ],
)
def test_arrays_of_another_form_are_refused(values: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        rewards(Plan.compile(rubric({}, {})), values)


def test_booleans_count_and_no_answers_give_no_rewards() -> None:
    plan = Plan.compile(rubric({}, {}))
    assert rewards(plan, np.array([[True, False]])).tolist() == [0.5]
    assert rewards(plan, np.zeros((0, 2))).shape == (0,)
    assert rewards(plan, np.zeros((3, 2), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (rubric({}, relations=({"saturate": {"key": "a", "beyond": 0.0, "slope": 0.0}},)), "can never count"),
        (rubric({}, shape={"from": 0.0}), "give a start above 0"),
        (
            rubric(
                {}, {}, relations=tuple({"interact": {"keys": k, "kind": "synergy"}} for k in (["a", "b"], ["b", "a"]))
            ),
            "stands twice",
        ),
        (
            rubric(
                {"weight": 0},
                {},
                relations=tuple(
                    {"interact": {"keys": ["a", "b"], "kind": kind, "strength": 1.0}} for kind in ("gate", "conflict")
                ),
            ),
            "cancel its weights",
        ),
    ],
)
def test_relations_that_can_give_no_reward_are_refused(of: Rubric, says: str) -> None:
    with pytest.raises(RubricError, match=says):
        Plan.compile(of)


def test_many_conflicts_keep_the_range_though_their_bounds_are_loose() -> None:
    keys = [f"k{at}" for at in range(14)]
    criteria = [{"key": key} for key in keys]
    pairs = tuple({"interact": {"keys": keys[at : at + 2], "kind": "conflict"}} for at in range(0, 14, 2))
    of = Rubric.model_validate(
        {
            "id": "torn",
            "criteria": [{"ask": "It is good.", "critic": "judge", "tiers": LEVELS, **one} for one in criteria],
            "relations": pairs,
        }
    )
    plan = Plan.compile(of)
    assert (plan.low, plan.high) == pytest.approx((-1.4, 1.0))
    got = rewards(plan, np.random.default_rng(0).integers(0, 2, (500, 14)).astype(np.float64))
    assert 0.0 <= got.min() <= got.max() <= 1.0


@pytest.mark.parametrize("bad", [[math.nan, 1.0], [math.inf, 1.0], [0.0, 0.0], [-1.0, 2.0], [1.0]])
def test_weights_that_are_none_are_refused(bad: list[float]) -> None:
    with pytest.raises(InputError, match="weights"):
        Plan.compile(rubric({}, {})).with_weights(bad)


def test_a_plan_is_read_only() -> None:
    plan = Plan.compile(rubric({}, {}))
    with pytest.raises(ValueError, match="read-only"):
        plan.share[0] = 1.0
