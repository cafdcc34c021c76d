"""The picture of a calibration: pairs in people's order, criterion by criterion, and a reliability diagram for each.

One SVG that stands by itself, light and dark; geometry here, drawing in templates/calibration.svg.j2.
"""

from dataclasses import dataclass
from typing import Final

from rubric_anchors.evaluate.calibration import Calibration, Target
from rubric_anchors.report.figures import Tick
from rubric_anchors.report.html import environment
from rubric_anchors.report.text import number

WIDTH: Final = 760
ROW: Final = 26
LEFT, RIGHT = 190, 540
"""Where the scale of 0..1 begins and ends in the rows of intervals."""
TOP: Final = 64
PANEL: Final = 180
"""Side of a reliability diagram."""
ACROSS: Final = 3
STEP: Final = (246, 240)
"""From one panel to the next."""
DOT: Final = (2.0, 9.0)
"""Radius of a tenth with one answer, and of one with all of them."""


@dataclass(frozen=True, slots=True)
class Row:
    """A target's interval."""

    name: str
    y: float
    at: float | None
    low: float | None
    high: float | None
    people: float | None
    """Where people stand among themselves."""
    words: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A reliability diagram: value across, people's label up; x and y are those of its lower left corner."""

    name: str
    x: float
    y: float
    dots: tuple[tuple[float, float, float, str], ...]
    """x, y, radius, and what it is in words."""
    words: str


def picture(calibration: Calibration) -> str:
    """The SVG; the same calibration gives the same text."""
    rows = [_row(target, TOP + ROW * at) for at, target in enumerate(calibration.targets)]
    floor = TOP + ROW * len(rows)
    drawn = [target for target in calibration.targets if target.bins]
    panels = [_panel(target, at, floor + 66) for at, target in enumerate(drawn)]
    deep = -(-len(panels) // ACROSS)
    what = "answers" if calibration.kind == "scores" else "pairs"
    return (
        environment()
        .get_template("calibration.svg.j2")
        .render(
            width=WIDTH,
            height=floor + 30 + (36 + STEP[1] * deep if panels else 0),
            title=f"{calibration.rubric[:48]} against people: {calibration.rows:,} {what} of {calibration.data[:48]}",
            rows=rows,
            panels=panels,
            panel=PANEL,
            floor=floor,
            top=TOP,
            half=_along(0.5),
            ticks=[Tick(_along(value), f"{value:g}") for value in (0.0, 0.25, 0.5, 0.75, 1.0)],
            people=any(row.people is not None for row in rows),
        )
    )


def _row(target: Target, y: float) -> Row:
    order, people = target.figures["order"], target.people.get("order")
    return Row(
        name=target.key,
        y=y,
        at=None if order.value is None else _along(order.value),
        low=None if order.low is None else _along(order.low),
        high=None if order.high is None else _along(order.high),
        people=None if people is None or people.value is None else _along(people.value),
        words=order.words,
    )


def _panel(target: Target, at: int, top: float) -> Panel:
    x, y = 40 + STEP[0] * (at % ACROSS), top + PANEL + STEP[1] * (at // ACROSS)
    total = sum(each.n for each in target.bins)
    dots = tuple(
        (
            round(x + PANEL * each.value, 1),
            round(y - PANEL * each.label, 1),
            round(DOT[0] + (DOT[1] - DOT[0]) * (each.n / total) ** 0.5, 1),
            f"value {number(each.value)}, people {number(each.label)}, {each.n} answers",
        )
        for each in target.bins
    )
    error = target.figures["calibration_error"]
    return Panel(target.key, x, y, dots, f"error {error.words}")


def _along(value: float) -> float:
    return round(LEFT + value * (RIGHT - LEFT), 1)
