from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubric_anchors.report.figures import PANEL, curve, histogram, interval, ticks, waterfall
from rubric_anchors.report.text import cells, duration, number, passages, percent, ratio, signed, visible

FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.tuples(FLOATS, FLOATS).filter(lambda pair: pair[1] - pair[0] > 1e-3))
def test_ticks_are_round_few_and_inside(pair: tuple[float, float]) -> None:
    found = ticks(*pair)
    assert 2 <= len(found) <= 8
    slack = (pair[1] - pair[0]) * 1e-6
    assert all(pair[0] - slack <= tick <= pair[1] + slack for tick in found)


@given(st.lists(st.one_of(st.none(), FLOATS), max_size=60))
def test_a_curve_stays_in_its_box_and_leaves_gaps_where_nothing_was_recorded(values: list[float | None]) -> None:
    panel = curve("x", list(range(len(values))), values)
    places = [tuple(map(float, point.split(","))) for points in (*panel.raw, *panel.smooth) for point in points.split()]
    assert all(0 <= x <= PANEL[0] and 0 <= y <= PANEL[1] for x, y in [*places, *panel.dots])
    drawn = sum(len(points.split()) for points in panel.raw) + len(panel.dots)
    assert drawn == sum(value is not None for value in values)
    if all(value is None for value in values):
        assert panel.ends == "not recorded"


@given(st.lists(st.floats(-1, 1), max_size=12))
def test_a_waterfall_starts_at_nought_and_each_bar_where_the_last_one_ended(deltas: list[float]) -> None:
    bars = waterfall(deltas)
    assert len(bars) == len(deltas)
    for before, after in pairwise(bars):
        start = after.x if after.rises else after.x + after.width
        assert start == pytest.approx(before.ends, abs=0.02)
    assert all(bar.x >= -0.01 and bar.x + bar.width <= 100.01 for bar in bars)


def test_every_scored_prompt_is_in_the_histogram() -> None:
    means = [(index / 20, 5 <= index <= 15) for index in range(21)]
    figure = histogram(means, (0.25, 0.75))
    kept, dropped = sum(bar.kept[1] for bar in figure.bars), sum(bar.dropped[1] for bar in figure.bars)
    assert kept / dropped == pytest.approx(11 / 10, abs=0.02)
    assert figure.band[0] < figure.band[1]


def test_an_interval_beyond_the_edge_is_marked_as_cut() -> None:
    row = interval(9.0, 7.0, 11.0, (-4.0, 4.0), -1.0)
    assert row.cut == (False, True)
    assert row.at is None


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (number(0.4814), "0.481"),
        (number(-2.39), "−2.39"),
        (number(18.44), "18.4"),
        (number(1204.4), "1,204"),
        (number(3e-5), "3.0e−05"),
        (number(-1e-17), "0.000"),
        (signed(0.19), "+0.190"),
        (signed(-0.0123), "−0.012"),
        (ratio(1.0171), "×1.017"),
        (percent(0.4), "40%"),
        (percent(0.042), "4.2%"),
        (duration(4.25), "4.2 s"),
        (duration(291), "4 min 51 s"),
        (duration(7384), "2 h 03 min"),
        (cells({"min": 60, "soft": 0.5, "on": True, "words": ["a", "b"]}), "min 60, soft 0.5, on yes, words a, b"),
    ],
)
def test_numbers_read_as_people_write_them(seen: str, expected: str) -> None:
    assert seen == expected


@given(st.text(), st.lists(st.tuples(st.integers(-5, 60), st.integers(-5, 60)), max_size=6), st.integers(0, 10))
def test_marking_evidence_changes_no_character(text: str, spans: list[tuple[int, int]], shift: int) -> None:
    verdicts = {"a": {"evidence": [{"note": "n", "start": start, "end": end} for start, end in spans]}}
    assert "".join(piece.text for piece in passages(text, verdicts, shift)) == text  # type: ignore[arg-type]


def test_evidence_is_counted_from_where_judging_began() -> None:
    verdicts = {"voice": {"evidence": [{"note": "boilerplate", "start": 0, "end": 2}, {"note": "nowhere"}]}}
    pieces = passages("<think>x</think>Hi there", verdicts, 16)  # type: ignore[arg-type]
    assert [(piece.text, piece.notes) for piece in pieces] == [
        ("<think>x</think>", ()),
        ("Hi", ("voice: boilerplate",)),
        (" there", ()),
    ]


@given(st.text())
def test_visible_text_can_be_written_and_reorders_nothing(text: str) -> None:
    shown = str(visible(text + "\ud800\u202e\x00"))
    shown.encode("utf-8")
    assert not set(shown) & set("\x00\x1b\r\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert shown.endswith("[U+D800][U+202E][U+0000]")
    assert visible("plain\n\ttext") == "plain\n\ttext"
