import pytest

from rubric_anchors.report.readings import against_margin, direction, headline, kept, margin_units, tally
from rubric_anchors.runs.records import Evaluation, Measured, Preserved


def measured(low: float, high: float, *, margin: float | None = None, up: bool = True) -> Measured:
    middle = (low + high) / 2
    return Measured(
        name="reward",
        family="",
        in_reward=True,
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
        (-0.04, 0.02, True, "not worse", "good"),
        (-0.04, -0.01, True, "within its margin", "good"),
        (-0.06, 0.02, True, "not shown", "open"),
        (-0.05, 0.02, True, "not shown", "open"),
        (-0.09, -0.06, True, "worse than its margin", "bad"),
        (0.06, 0.09, False, "worse than its margin", "bad"),
        (-0.3, 0.04, False, "not worse", "good"),
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


def test_a_tally_counts_what_held_what_did_not_and_what_was_not_shown() -> None:
    readings = [against_margin(measured(low, 0.1, margin=0.05)) for low in (0.01, -0.01, -0.2)]
    assert tally(readings) == "2 held, 1 not shown"
    assert tally([]) == "none"
