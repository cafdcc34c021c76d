"""Intervals: right values by hand, symmetry, and coverage that is what it says."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rubric_anchors.core.errors import InputError
from rubric_anchors.evaluate.paired import (
    RESAMPLES,
    accuracy_interval,
    difference_interval,
    prompt_means,
    ratio_interval,
)

DIFFERENCES = st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=30)


def test_answers_are_averaged_within_their_prompt_and_an_empty_prompt_is_left_out() -> None:
    assert prompt_means({"a": [0.0, 1.0], "b": [0.25], "c": []}) == {"a": 0.5, "b": 0.25}


def test_below_eight_prompts_the_interval_is_students_t() -> None:
    # mean 2, standard deviation 1, t(0.975, 2) = 4.302653: 2 -+ 4.302653 / sqrt(3)
    interval = difference_interval([1.0, 2.0, 3.0], seed=0)
    assert interval.delta == 2.0
    assert interval.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-6)
    assert interval.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-6)


def test_a_symmetric_sample_gives_about_the_normal_interval() -> None:
    values = np.random.default_rng(3).normal(0.1, 0.2, 200)
    interval = difference_interval(values, seed=1)
    error = values.std(ddof=1) / math.sqrt(200)
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)
    assert interval.clear


def test_equal_differences_give_a_zero_width_interval() -> None:
    assert difference_interval([0.25] * 30, seed=0) == difference_interval([0.25] * 3, seed=9)
    interval = difference_interval([0.25] * 30, seed=0)
    assert (interval.low, interval.delta, interval.high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("bad", [[], [0.5], [0.1, math.nan], [0.1, math.inf]])
def test_what_cannot_carry_an_interval_is_refused(bad: list[float]) -> None:
    with pytest.raises(InputError):
        difference_interval(bad, seed=0)


@given(DIFFERENCES, st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_swapping_the_sides_mirrors_the_interval(differences: list[float], seed: int) -> None:
    forth = difference_interval(differences, seed)
    back = difference_interval([-value for value in differences], seed)
    assert back.delta == pytest.approx(-forth.delta, abs=1e-12)
    assert back.low == pytest.approx(-forth.high, abs=1e-9)
    assert back.high == pytest.approx(-forth.low, abs=1e-9)


@given(DIFFERENCES)
@settings(max_examples=25, deadline=None)
def test_the_interval_holds_the_change_and_stays_in_the_range_seen(differences: list[float]) -> None:
    interval = difference_interval(differences, seed=0)
    assert interval.low <= interval.delta <= interval.high
    if len(differences) >= 8:
        assert min(differences) - 1e-9 <= interval.low
        assert interval.high <= max(differences) + 1e-9


def test_the_same_seed_gives_the_same_interval_and_another_nearly() -> None:
    values = np.random.default_rng(0).normal(0, 1, 60)
    assert difference_interval(values, 4) == difference_interval(values, 4)
    assert difference_interval(values, 4).low == pytest.approx(difference_interval(values, 5).low, abs=0.02)


def test_a_ratio_weighs_long_passages_more() -> None:
    # (10 log 1.1 + 30 log 0.9) / 40, exponentiated
    interval = ratio_interval([math.log(1.1), math.log(0.9)], seed=0, weights=np.array([10.0, 30.0]))
    assert interval.delta == pytest.approx(1.1**0.25 * 0.9**0.75)
    assert interval.low < interval.delta < interval.high


def test_accuracy_is_adjusted_by_one_in_each_kind_of_disagreement() -> None:
    # 100 items, 6 gained, 2 lost: up 7/102, down 3/102
    before = [True] * 2 + [False] * 6 + [True] * 92
    after = [False] * 2 + [True] * 6 + [True] * 92
    up, down = 7 / 102, 3 / 102
    reach = 1.959964 * math.sqrt((up + down - (up - down) ** 2) / 102)
    interval = accuracy_interval(before, after)
    assert interval.delta == pytest.approx(0.04)
    assert interval.low == pytest.approx(up - down - reach, abs=1e-6)
    assert interval.high == pytest.approx(up - down + reach, abs=1e-6)


def test_no_disagreement_on_few_items_is_not_certainty() -> None:
    few, many = accuracy_interval([True] * 20, [True] * 20), accuracy_interval([True] * 500, [True] * 500)
    assert few.low < -0.03 < many.low < 0


def test_accuracy_is_compared_on_the_same_items_only() -> None:
    with pytest.raises(InputError, match="same items"):
        accuracy_interval([True], [True, False])


def _skewed(source: np.random.Generator, n: int) -> NDArray[np.float64]:
    return source.exponential(1.0, n) - 1.0


def test_intervals_cover_the_truth_about_nineteen_times_in_twenty() -> None:
    source, held = np.random.default_rng(11), {"normal": 0, "skewed": 0, "few": 0}
    trials = 150
    for trial in range(trials):
        samples = {"normal": source.normal(0, 1, 40), "skewed": _skewed(source, 60), "few": source.normal(0, 1, 5)}
        for name, values in samples.items():
            interval = difference_interval(values, seed=trial)
            held[name] += interval.low <= 0 <= interval.high
    assert RESAMPLES == 10_000
    assert all(0.88 * trials <= count <= 0.995 * trials for count in held.values()), held


def test_accuracy_intervals_cover_the_truth_even_where_little_changes() -> None:
    source, trials, held = np.random.default_rng(5), 400, 0
    for _ in range(trials):
        before = source.random(200) < 0.6
        flipped = source.random(200) < np.where(before, 0.02, 0.03)  # true change: 0.4 * 0.03 - 0.6 * 0.02 = 0
        interval = accuracy_interval(before, before ^ flipped)
        held += interval.low <= 0 <= interval.high
    assert 0.93 * trials <= held <= 0.995 * trials
