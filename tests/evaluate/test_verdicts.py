"""Kept, not kept, not shown."""

import pytest

from rubric_anchors.evaluate.paired import Interval
from rubric_anchors.evaluate.verdicts import ENOUGH, in_words, kept, measure_kept, ratio_kept
from rubric_anchors.runs.records import Measured


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.02, 0.04, True),
        (-0.029, -0.001, True),  # worse for sure, and by less than the margin
        (-0.05, 0.04, None),
        (-0.03, 0.01, None),  # the end must lie inside, not on, the margin
        (-0.08, -0.04, False),
    ],
)
def test_accuracy_is_kept_only_where_the_whole_interval_is_within_the_margin(
    low: float, high: float, verdict: bool | None
) -> None:
    assert kept(Interval((low + high) / 2, low, high), 0.03, 200) is verdict


def test_a_measure_where_less_is_better_is_read_the_other_way_round() -> None:
    assert kept(Interval(-0.1, -0.2, 0.02), 0.05, 60, higher_is_better=False) is True
    assert kept(Interval(0.1, 0.06, 0.2), 0.05, 60, higher_is_better=False) is False
    assert kept(Interval(0.0, -0.1, 0.1), 0.05, 60, higher_is_better=False) is None


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.99, 1.049, True), (1.0, 1.05, None), (0.9, 1.2, None), (1.06, 1.1, False)]
)
def test_perplexity_is_kept_while_its_high_end_is_under_the_limit(
    low: float, high: float, verdict: bool | None
) -> None:
    assert ratio_kept(Interval((low + high) / 2, low, high), 0.05, 60) is verdict


def test_a_zero_width_interval_over_few_prompts_is_not_shown() -> None:
    still = Interval(0.0, 0.0, 0.0)
    assert kept(still, 0.03, ENOUGH - 1) is None
    assert kept(still, 0.03, ENOUGH) is True
    assert ratio_kept(Interval(1.0, 1.0, 1.0), 0.05, ENOUGH - 1) is None


def test_a_measure_without_a_margin_has_no_verdict() -> None:
    figures = {"before": 0.5, "after": 0.2, "delta": -0.3, "low": -0.4, "high": -0.2, "n": 60}
    row = {"name": "x", "family": "style", "in_reward": False, "higher_is_better": True, **figures}
    assert measure_kept(Measured.model_validate({**row, "margin": None})) is None
    assert measure_kept(Measured.model_validate({**row, "margin": 0.1})) is False
    assert measure_kept(Measured.model_validate({**row, "margin": 0.1, "higher_is_better": False})) is True


def test_verdicts_have_words() -> None:
    assert [in_words(verdict) for verdict in (True, False, None)] == ["kept", "not kept", "not shown"]
