"""The geometry of the report's figures, in the coordinates of their view boxes; templates/figures.html.j2 draws them.

Drawn by hand rather than by a plotting library, because the page's own colours then hold in the figures too, light and
dark, text stays text at the reader's size, and the same numbers give the same bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rubric_anchors.report.text import number

PANEL: Final = (300, 132)
"""Width and height of a curve's view box."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 6, 8, 18

HISTOGRAM: Final = (640, 200)
INTERVAL: Final = (220, 34)
_DOT: Final = 4

Points = str
"""`x,y x,y ...`, as SVG writes them."""


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity over the steps of a stage."""

    title: str
    ends: str
    """Its mean over the first and the last tenth of the steps, in words."""
    raw: tuple[Points, ...]
    smooth: tuple[Points, ...]
    """Centred running mean; empty where the steps are few enough to be read one by one."""
    band: tuple[Points, ...]
    dots: tuple[tuple[float, float], ...]
    """Points that have no neighbour to be joined to."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    width: float
    kept: tuple[float, float]
    """y and height of the part that was kept."""
    dropped: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Histogram:
    bars: tuple[Bar, ...]
    band: tuple[float, float]
    """x of the band's left and right edge."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    floor: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A dot with its interval, on a row of its own."""

    zero: float
    margin: float | None
    low: float
    high: float
    at: float | None
    """The dot; None where it lies beyond the edge itself."""
    cut: tuple[bool, bool]
    """Whether the interval runs on beyond the left and the right edge."""


@dataclass(frozen=True, slots=True)
class Fall:
    """One bar of a waterfall, in hundredths of the row's width."""

    x: float
    width: float
    rises: bool
    ends: float


def ticks(low: float, high: float, about: int = 3) -> list[float]:
    """Round numbers within low..high, 1, 2 or 5 times a power of ten apart: about `about` of them, at least two."""
    if not low < high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    found: list[float] = []
    for step in (10 * power, 5 * power, 2 * power, power):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        found = [round(index * step, 12) for index in range(first, last + 1)]
        if len(found) >= max(2, about):
            break
    return found


def tick_label(value: float) -> str:
    """A tick's number without needless zeros."""
    text = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.2g}"
    return text.replace("-", "−")


def curve(
    title: str,
    steps: Sequence[int],
    values: Sequence[float | None],
    *,
    spread: Sequence[float | None] | None = None,
    unit_range: bool = False,
) -> Curve:
    """A panel of `values` over `steps`; None leaves a gap. `unit_range` shows the whole of 0..1."""
    seen = [(step, value) for step, value in zip(steps, values, strict=True) if value is not None]
    deviations = spread if spread is not None else [None] * len(steps)
    heights = [value for _, value in seen]
    low, high = (0.0, 1.0) if unit_range and heights and 0 <= min(heights) <= max(heights) <= 1 else _room(heights)
    first, last = (steps[0], steps[-1]) if steps else (0, 1)

    def place(step: float, value: float) -> tuple[float, float]:
        share = (step - first) / (last - first) if last > first else 0.5
        x = _LEFT + share * (PANEL[0] - _LEFT - _RIGHT)
        y = _TOP + (high - min(max(value, low), high)) / (high - low) * (PANEL[1] - _TOP - _BOTTOM)
        return round(x, 1), round(y, 1)

    runs = _runs(list(zip(steps, values, strict=True)))
    smoothed = [_smooth(run) for run in runs] if len(seen) >= 24 else []
    edges = [
        [
            (step, value, deviation)
            for step, value, deviation in zip(steps, values, deviations, strict=True)
            if value is not None and deviation is not None
        ]
    ]
    band = [
        _points([place(s, v + d) for s, v, d in run] + [place(s, v - d) for s, v, d in reversed(run)])
        for run in edges
        if len(run) > 1
    ]
    tenth = max(1, len(heights) // 10)
    ends = f"{number(_mean(heights[:tenth]))} → {number(_mean(heights[-tenth:]))}" if heights else "not recorded"
    return Curve(
        title=title,
        ends=ends,
        raw=tuple(_points([place(*point) for point in run]) for run in runs if len(run) > 1),
        smooth=tuple(_points([place(*point) for point in run]) for run in smoothed if len(run) > 1),
        band=tuple(band),
        dots=tuple(place(*run[0]) for run in runs if len(run) == 1),
        x_ticks=tuple(Tick(place(step, low)[0], str(step)) for step in dict.fromkeys((first, last))) if steps else (),
        y_ticks=tuple(Tick(place(first, value)[1], tick_label(value)) for value in ticks(low, high)) if heights else (),
    )


def histogram(means: Sequence[tuple[float, bool]], cuts: tuple[float, float]) -> Histogram:
    """Scores of prompts (score, whether it was kept) with the band between `cuts`."""
    scores = [score for score, _ in means]
    low, high = _room([*scores, *cuts])
    low, high = (
        max(low, 0.0) if min([*scores, *cuts]) >= 0 else low,
        min(high, 1.0) if max([*scores, *cuts]) <= 1 else high,
    )
    count = max(8, min(32, round(2 * math.sqrt(len(scores)))))
    width = (high - low) / count
    kept, dropped = [0] * count, [0] * count
    for score, stays in means:
        place = min(count - 1, max(0, int((score - low) / width)))
        (kept if stays else dropped)[place] += 1
    top = max(1, *(a + b for a, b in zip(kept, dropped, strict=True)))
    floor, room = HISTOGRAM[1] - 24.0, HISTOGRAM[1] - 24.0 - 22.0

    def x(value: float) -> float:
        return round(34 + (value - low) / (high - low) * (HISTOGRAM[0] - 42), 1)

    bars = []
    for index, (stay, go) in enumerate(zip(kept, dropped, strict=True)):
        tall, more = room * stay / top, room * go / top
        left, right = x(low + index * width), x(low + (index + 1) * width)
        bars.append(
            Bar(
                x=left + 0.5,
                width=round(right - left - 1, 1),
                kept=(round(floor - tall, 1), round(tall, 1)),
                dropped=(round(floor - tall - more, 1), round(more, 1)),
            )
        )
    return Histogram(
        bars=tuple(bars),
        band=(x(cuts[0]), x(cuts[1])),
        x_ticks=tuple(Tick(x(value), tick_label(value)) for value in ticks(low, high, 6)),
        y_ticks=tuple(
            Tick(round(floor - room * value / top, 1), tick_label(value))
            for value in ticks(0, top, 3)
            if value % 1 == 0
        ),
        floor=floor,
    )


def interval(at: float, low: float, high: float, domain: tuple[float, float], margin: float | None = None) -> Interval:
    """A row's dot and interval on the scale `domain`; what lies beyond is cut, and marked as cut."""

    def x(value: float) -> float:
        return _along(value, domain)

    return Interval(
        zero=x(0.0),
        margin=None if margin is None else x(margin),
        low=x(low),
        high=x(high),
        at=x(at) if domain[0] <= at <= domain[1] else None,
        cut=(low < domain[0], high > domain[1]),
    )


def scale(domain: tuple[float, float]) -> tuple[Tick, ...]:
    """The ticks over a column of intervals."""
    return tuple(Tick(_along(value, domain), tick_label(value)) for value in ticks(*domain, 4))


def _along(value: float, domain: tuple[float, float]) -> float:
    share = (min(max(value, domain[0]), domain[1]) - domain[0]) / (domain[1] - domain[0])
    return round(_DOT + share * (INTERVAL[0] - 2 * _DOT), 1)


def domain_of(values: Sequence[float], *, least: tuple[float, float], most: tuple[float, float]) -> tuple[float, float]:
    """A scale that holds `values` and `least`, but goes no further than `most`."""
    low, high = min([*values, least[0]]), max([*values, least[1]])
    return max(low, most[0]), min(high, most[1])


def waterfall(deltas: Sequence[float]) -> tuple[Fall, ...]:
    """Bars that start where the last one ended, from 0; the row's width is 0..1, or more where a sum leaves it."""
    sums = [0.0]
    for delta in deltas:
        sums.append(sums[-1] + delta)
    low, high = min(0.0, *sums), max(1.0, *sums)

    def x(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    return tuple(
        Fall(x=x(min(a, b)), width=round(max(x(max(a, b)) - x(min(a, b)), 0.0), 2), rises=b >= a, ends=x(b))
        for a, b in pairwise(sums)
    )


def _room(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    space = (high - low) * 0.08 or abs(high) * 0.1 or 0.5
    return (0.0 if low >= 0 and low - space < 0 else low - space), high + space


def _runs(points: Sequence[tuple[int, float | None]]) -> list[list[tuple[int, float]]]:
    runs: list[list[tuple[int, float]]] = [[]]
    for step, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((step, value))
    return [run for run in runs if run]


def _smooth(run: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    reach = max(2, len(run) // 16)
    return [
        (step, _mean([value for _, value in run[max(0, index - reach) : index + reach + 1]]))
        for index, (step, _) in enumerate(run)
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _points(places: Sequence[tuple[float, float]]) -> Points:
    return " ".join(f"{x:g},{y:g}" for x, y in places)
