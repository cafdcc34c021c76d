"""Agreement: published values, definitions spelled out, and counts that mean what repeating a row means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from rubric_anchors.evaluate import agreement as of
from rubric_anchors.evaluate.resample import Array, Statistic

NAN = float("nan")
KRIPPENDORFF: Array = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)
"""Krippendorff (2011), section C: four observers, twelve units, some not seen by all."""
TWO = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=20)


def once(statistic: Statistic, n: int) -> float:
    return float(statistic(np.ones((1, n)))[0])


def test_alpha_is_that_of_the_published_example() -> None:
    assert once(of.alpha(KRIPPENDORFF, ordinal=False), 12) == pytest.approx(0.849, abs=5e-4)
    assert once(of.alpha(KRIPPENDORFF, ordinal=True), 12) == pytest.approx(0.815, abs=5e-4)


def test_alpha_is_1_where_all_agree_and_undefined_where_nothing_varies() -> None:
    assert once(of.alpha(np.array([[0.0, 1.0, 0.5], [0.0, 1.0, 0.5]]), ordinal=False), 3) == 1.0
    assert np.isnan(once(of.alpha(np.full((2, 3), 0.5), ordinal=False), 3))
    assert np.isnan(once(of.alpha(np.array([[0.0, 1.0], [NAN, NAN]]), ordinal=True), 2))


def test_kappa_is_cohen_s_cell_by_cell() -> None:
    # Cohen (1968): 1 - sum(v observed) / sum(v expected), where v is the squared distance of two levels.
    x, y = np.array([0, 0, 1, 2, 2, 3, 3, 1]), np.array([0, 1, 1, 2, 0, 3, 2, 1])
    observed = np.mean((x - y) ** 2)
    expected = np.mean((x[:, None] - y[None, :]) ** 2)
    assert once(of.kappa(x / 3, y / 3), 8) == pytest.approx(1 - observed / expected)
    # Two levels: (agreed - by chance) / (1 - by chance) = (3/4 - 1/2) / (1 - 1/2)
    assert once(of.kappa(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])), 4) == pytest.approx(0.5)


def test_kappa_knows_the_level_and_rank_correlation_does_not() -> None:
    x = np.linspace(0, 1, 11)
    assert once(of.kappa(x / 2, x), 11) < 0.7
    assert once(of.spearman(x / 2, x), 11) == pytest.approx(1.0)


@pytest.mark.parametrize("maker", [of.kappa, of.spearman])
def test_what_does_not_vary_has_no_correlation(maker: object) -> None:
    flat, other = np.full(5, 0.3), np.linspace(0, 1, 5)
    assert np.isnan(once(maker(flat, other), 5))  # type: ignore[operator]
    assert np.isnan(once(maker(other, flat), 5))  # type: ignore[operator]


@given(TWO)
@settings(max_examples=60, deadline=None)
def test_counting_a_row_twice_is_repeating_it(rows: list[tuple[int, int, int]]) -> None:
    x, y, times = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    if times.sum() < 2:
        return
    x, y, whole = x / 4, y / 4, times.astype(int)
    pairs = of.ordered_pairs(y, None, 0)
    made: dict[str, tuple[Statistic, Statistic]] = {
        "kappa": (of.kappa(x, y), of.kappa(np.repeat(x, whole), np.repeat(y, whole))),
        "spearman": (of.spearman(x, y), of.spearman(np.repeat(x, whole), np.repeat(y, whole))),
        "error": (
            of.calibration_error(x, y),
            of.calibration_error(np.repeat(x, whole), np.repeat(y, whole)),
        ),
    }
    for ordinal in (False, True):
        both = np.stack([x, y])
        made[f"alpha {ordinal}"] = (
            of.alpha(both, ordinal=ordinal),
            of.alpha(np.repeat(both, whole, axis=1), ordinal=ordinal),
        )
    if len(pairs[0]):
        again = np.repeat(y, whole)
        made["order"] = (of.order(x, pairs), of.order(np.repeat(x, whole), of.ordered_pairs(again, None, 0)))
    for name, (counted, repeated) in made.items():
        assert float(counted(times[None])[0]) == pytest.approx(
            once(repeated, int(times.sum())), abs=1e-9, nan_ok=True
        ), name


@given(TWO)
@settings(max_examples=40, deadline=None)
def test_spearman_is_scipy_s(rows: list[tuple[int, int, int]]) -> None:
    x, y = (np.array(column, dtype=np.float64) for column in list(zip(*rows, strict=True))[:2])
    if np.ptp(x) and np.ptp(y):
        assert once(of.spearman(x, y), len(x)) == pytest.approx(float(spearmanr(x, y).statistic))


def test_pairs_in_order_leave_out_people_s_ties_and_halve_the_critic_s() -> None:
    labels = np.array([0.0, 0.5, 0.5, 1.0])
    values = np.array([0.2, 0.2, 0.9, 0.5])
    # The five pairs that people tell apart: 0-1 tied, 0-2 right, 0-3 right, 1-3 right, 2-3 wrong
    assert once(of.order(values, of.ordered_pairs(labels, None, 0)), 4) == pytest.approx(3.5 / 5)


def test_pairs_within_a_prompt_are_of_that_prompt_alone() -> None:
    labels = np.array([0.0, 1.0, 0.0, 1.0])
    lower, higher = of.ordered_pairs(labels, np.array([0, 0, 1, 1]), 0)
    assert sorted(zip(lower.tolist(), higher.tolist(), strict=True)) == [(0, 1), (2, 3)]


def test_of_very_many_pairs_some_are_drawn_and_the_share_hardly_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(0)
    values, labels = source.random(400), source.random(400)
    whole = once(of.order(values, of.ordered_pairs(labels, None, 0)), 400)
    monkeypatch.setattr(of, "MOST_PAIRS", 10_000)
    some = of.ordered_pairs(labels, None, 0)
    assert len(some[0]) == 10_000
    assert once(of.order(values, some), 400) == pytest.approx(whole, abs=0.03)
    assert all(np.array_equal(a, b) for a, b in zip(some, of.ordered_pairs(labels, None, 0), strict=True))


def test_the_calibration_error_is_the_mean_gap_over_tenths() -> None:
    values, labels = np.array([0.05, 0.05, 0.95, 1.0]), np.array([0.0, 0.3, 1.0, 0.55])
    # First tenth: 0.05 against 0.15; last: 0.975 against 0.775
    assert once(of.calibration_error(values, labels), 4) == pytest.approx((0.1 + 0.2) / 2)
    assert of.bins_of(np.array([0.0, 0.1, 0.3, 0.7, 1.0])).tolist() == [0, 1, 3, 7, 9]


def planted(n: int = 60) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    source = np.random.default_rng(4)
    return source.normal(8, 1, n), source.choice([-1.0, 0.0, 1.0], n)


def test_slope_and_intercept_are_those_that_were_planted() -> None:
    length, label = planted()
    value = 0.1 + 0.03 * length + 0.2 * label
    assert once(of.slope(value, length, label), 60) == pytest.approx(0.03)
    assert once(of.intercept(value, length, label), 60) == pytest.approx(0.1)
    assert once(of.slope(0.03 * length + 0.2, length, np.ones(60), through_zero=True), 60) == pytest.approx(0.03)


def test_a_slope_beside_what_it_cannot_be_told_from_is_not_defined() -> None:
    length, _ = planted()
    assert np.isnan(once(of.slope(length, length, 2 * length + 1), 60))
    assert np.isnan(once(of.slope(length, np.ones(60), length), 60))


def test_a_share_among_nothing_is_not_defined() -> None:
    assert np.isnan(once(of.share(np.ones(3), np.zeros(3, dtype=bool)), 3))
    assert once(of.share(np.array([1.0, 0.0, 1.0]), np.array([True, True, False])), 3) == 0.5
