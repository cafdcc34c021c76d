import pytest

from rubric_anchors.report.readings import (
    Reading,
    against_margin,
    caveats,
    direction,
    headline,
    kept,
    margin_units,
    tally,
)
from rubric_anchors.runs.records import Evaluation, Measured, Preserved


def measured(
    low: float, high: float, *, margin: float | None = None, up: bool = True, name: str = "reward", inside: bool = True
) -> Measured:
    middle = (low + high) / 2
    return Measured(
        name=name,
        family="",
        in_reward=inside,
        higher_is_better=up,
        before=0.5,
        after=0.5 + middle,
        delta=middle,
        low=low,
        high=high,
        margin=margin,
        n=60,
    )


def preserved(name: str, low: float, high: float, margin: float, state: bool | None = None) -> Preserved:
    middle = (low + high) / 2
    return Preserved(
        name=name, before=1, after=1, delta=middle, low=low, high=high, margin=margin, kept=state, n=200
    )  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "up", "word"),
    [
        (0.01, 0.2, True, "better"),
        (0.01, 0.2, False, "worse"),
        (-0.2, -0.01, False, "better"),
        (-0.01, 0.2, True, "no clear change"),
        (0.0, 0.2, True, "no clear change"),
    ],
)
def test_a_direction_is_claimed_only_where_the_interval_is_clear_of_nought(
    low: float, high: float, up: bool, word: str
) -> None:
    assert direction(measured(low, high, up=up)).word == word


@pytest.mark.parametrize(
    ("low", "high", "up", "word", "tone"),
    [
        (0.01, 0.2, True, "better", "good"),
        (-0.04, 0.02, True, "within margin", "good"),
        (-0.04, -0.01, True, "within margin", "good"),
        (-0.06, 0.02, True, "not shown", "open"),
        (-0.05, 0.02, True, "not shown", "open"),
        (-0.09, -0.06, True, "beyond margin", "bad"),
        (0.06, 0.09, False, "beyond margin", "bad"),
        (-0.3, 0.04, False, "within margin", "good"),
    ],
)
def test_a_margin_holds_only_where_the_whole_interval_is_inside_it(
    low: float, high: float, up: bool, word: str, tone: str
) -> None:
    reading = against_margin(measured(low, high, margin=0.05, up=up))
    assert (reading.word, reading.tone) == (word, tone)


def test_an_interval_too_wide_to_say_is_never_called_kept() -> None:
    words = [kept(preserved("accuracy", -0.01, 0.01, 0.03, state)).word for state in (True, False, None)]
    assert words == ["kept", "not kept", "not shown"]


def test_a_perplexity_at_its_limit_stands_at_minus_one_margin_however_the_limit_is_written() -> None:
    for margin in (0.05, 1.05):
        at, low, high = margin_units(preserved("perplexity", 0.95, 1.05, margin))
        assert (at, low, high) == pytest.approx((0.0, -1.0, 1.0))
    assert margin_units(preserved("accuracy", -0.03, 0.03, 0.03)) == pytest.approx((0.0, -1.0, 1.0))


def test_the_headline_says_no_more_than_was_shown() -> None:
    def of(*measures: Measured) -> str:
        return headline(
            Evaluation(measures=measures, preservation=(), wall_seconds=1, peak_rss_mb=1, answers=4, seed=1)
        )

    assert "rose from 0.500 to 0.600" in of(measured(0.05, 0.15))
    assert "fell" in of(measured(-0.2, -0.1))
    assert of(measured(-0.1, 0.2)).startswith("No change in the reward could be shown on 60 held-out prompts")
    assert of() == headline(None)
    assert "Not measured yet" in headline(None)


def test_a_tally_counts_each_reading_what_holds_first() -> None:
    edges = ((0.01, 0.1), (-0.2, -0.1), (-0.01, 0.1), (-0.2, 0.1), (-0.02, 0.1))
    readings = [against_margin(measured(low, high, margin=0.05)) for low, high in edges]
    words = [f"{count} {reading.word}" for count, reading in tally(readings)]
    assert words == ["1 better", "2 within margin", "1 not shown", "1 beyond margin"]
    assert tally([]) == ()


@pytest.mark.parametrize(
    ("low", "high", "word"), [(0.1, 0.2, "rose"), (-0.2, -0.1, "fell"), (-1, 1, "no clear change")]
)
@pytest.mark.parametrize("up", [True, False])
def test_a_measure_without_a_margin_is_neither_praised_nor_blamed(low: float, high: float, word: str, up: bool) -> None:
    assert against_margin(measured(low, high, up=up, inside=False)) == Reading(word, "plain")


def test_what_speaks_against_the_result_is_said_and_what_has_no_margin_is_left_out() -> None:
    measures = (
        measured(0.1, 0.2),
        measured(-0.4, -0.2, margin=0.05, name="distinctness", inside=False),
        measured(-0.4, 0.2, margin=0.05, name="word_overlap", inside=False),
        measured(-0.4, -0.2, name="opening_variety", inside=False),
    )
    held = tuple(preserved(f"held {state}", 0, 0, 0.1, state) for state in (True, False, None))
    said = caveats(
        Evaluation(measures=measures, preservation=held, wall_seconds=1, peak_rss_mb=1, answers=4, seed=1)
    )  # fmt: skip
    assert said == (
        Reading("Outside the reward, worse beyond its margin: distinctness (−0.300).", "bad"),
        Reading("Not kept of what it could do before: held False.", "bad"),
        Reading("Outside the reward, not shown to stay within its margin: word overlap.", "open"),
        Reading("Not shown to be kept: held None.", "open"),
    )
    assert caveats(None) == ()
