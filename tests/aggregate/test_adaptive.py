"""Weights that follow training, with their state in sight."""

import json
import math

import numpy as np
import pytest

from rubric_anchors.aggregate import Adaptive, AdaptiveState, Contrast, Headroom, Plan, rewards
from rubric_anchors.core.errors import InputError
from rubric_anchors.rubric.model import Rubric

SCHEMES: list[Adaptive] = [Headroom(), Contrast()]


def plan(*weights: float, formula: str = "mean") -> Plan:
    levels = [{"means": "No."}, {"means": "Yes."}]
    criteria = [
        {"key": f"k{at}", "ask": "It is so.", "critic": "judge", "tiers": levels, "weight": weight}
        | ({"veto": {"below": 0.1}} if weight == 0 else {})
        for at, weight in enumerate(weights)
    ]
    return Plan.compile(Rubric.model_validate({"id": "a", "criteria": criteria, "reward": {"formula": formula}}))


def batch(*means: float) -> np.ndarray:
    return np.tile(np.array(means), (4, 1))


def test_headroom_weighs_by_what_is_left_to_gain() -> None:
    start = plan(1, 1)
    scheme = Headroom(gamma=0.5)
    adapted, state = scheme.adapt(start, scheme.start(start), batch(0.75, 0.0))
    assert state.tracked == (0.75, 0.0)
    assert adapted.weights == pytest.approx(np.array([0.5, 1.0]) * 2 / 1.5)
    _, state = scheme.adapt(adapted, state, batch(0.25, 0.5))
    assert state.tracked == pytest.approx((0.65, 0.1))


def test_headroom_reads_goodness_so_an_absent_pitfall_is_saturated() -> None:
    start = plan(1, -1)
    adapted, _ = Headroom().adapt(start, Headroom().start(start), batch(0.5, 0.0))
    assert adapted.weights[1] < 0
    assert abs(adapted.weights[1]) < adapted.weights[0]


def test_contrast_follows_the_spread_within_its_clip_and_slowly() -> None:
    start = plan(1, 1, 1)
    scheme = Contrast()
    adapted, state = scheme.adapt(start, scheme.start(start), batch(0.5, 1.0, 0.9))
    typical = (0.5 + 0.0 + 0.3) / 3
    expected = [1 + 0.2 * (1.5 - 1), 1 + 0.2 * (0.67 - 1), 1 + 0.2 * (0.3 / typical - 1)]
    assert state.tracked == pytest.approx(expected)
    assert adapted.weights == pytest.approx(np.array(expected) * 3 / sum(expected))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_adapting_starts_from_stated_weights_and_keeps_sum_signs_and_zeros(scheme: Adaptive) -> None:
    static = plan(2, -1, 0)
    current, state = static, scheme.start(static)
    for _ in range(50):
        current, state = scheme.adapt(current, state, batch(0.9, 0.5, 1.0))
    again, _ = scheme.adapt(static, state, batch(0.9, 0.5, 1.0))
    onward, _ = scheme.adapt(current, state, batch(0.9, 0.5, 1.0))
    assert again.weights == pytest.approx(onward.weights)
    assert np.abs(current.weights).sum() == pytest.approx(3.0)
    assert np.sign(current.weights).tolist() == [1.0, -1.0, 0.0]
    assert current.stated.tolist() == [2.0, -1.0, 0.0]
    assert (current.weights[0] / 2) < abs(current.weights[1])


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_where_everything_is_saturated_the_stated_weights_stand(scheme: Adaptive) -> None:
    start = plan(3, -1)
    adapted, _ = scheme.adapt(start, scheme.start(start), batch(1.0, 0.0))
    assert adapted.weights == pytest.approx(start.weights)
    assert rewards(adapted, np.array([[1.0, 0.0]]))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_unjudged_values_move_nothing(scheme: Adaptive) -> None:
    start = plan(1, 1)
    judged = np.array([[True, False]] * 4)
    values = np.array([[0.8, math.nan]] * 4)
    _, state = scheme.adapt(start, scheme.start(start), values, judged=judged)
    assert state.seen == (1, 0)
    assert state.tracked[1] == scheme.start(start).tracked[1]
    _, same = scheme.adapt(start, state, np.zeros((0, 2)))
    assert same == state


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_a_state_survives_json_and_leads_to_the_same_weights(scheme: Adaptive) -> None:
    start = plan(1, 2)
    _, state = scheme.adapt(start, scheme.start(start), batch(0.3, 0.9))
    back = AdaptiveState.from_json(json.loads(json.dumps(state.to_json())))
    assert back == state
    one, two = (scheme.adapt(start, each, batch(0.4, 0.8))[0] for each in (state, back))
    assert one.weights.tolist() == two.weights.tolist()


def test_what_does_not_fit_is_refused() -> None:
    start = plan(1, 1)
    headroom = Headroom()
    with pytest.raises(InputError, match="the state is of contrast"):
        headroom.adapt(start, Contrast().start(start), batch(0.5, 0.5))
    with pytest.raises(InputError, match="the state is of headroom for rubric"):
        headroom.adapt(start, headroom.start(plan(1, 2)), batch(0.5, 0.5))
    with pytest.raises(InputError, match=r"in 0\.\.1"):
        headroom.adapt(start, headroom.start(start), batch(0.5, math.nan))
    points = plan(1, 1, formula="healthbench")
    with pytest.raises(InputError, match="formula mean"):
        headroom.adapt(points, headroom.start(points), batch(0.5, 0.5))
    for bad in ({}, {"scheme": "headroom", "rubric": "r", "tracked": ["x"], "seen": [1]}):
        with pytest.raises(InputError, match="not an adaptive state"):
            AdaptiveState.from_json(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one finite number"):
        AdaptiveState.from_json({"scheme": "headroom", "rubric": "r", "tracked": [math.nan], "seen": [1]})


@pytest.mark.parametrize("build", [lambda: Headroom(gamma=0), lambda: Headroom(rate=2), lambda: Contrast(low=2.0)])
def test_options_out_of_range_are_refused(build: object) -> None:
    with pytest.raises(InputError, match="needs"):
        build()  # type: ignore[operator]
