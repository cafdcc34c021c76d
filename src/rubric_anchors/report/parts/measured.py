"""What was measured on held-out prompts: the reward, the seesaw of families, measures outside it, preservation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rubric_anchors.report.figures import Interval, Tick, domain_of, interval, scale
from rubric_anchors.report.readings import Reading, against_margin, direction, is_ratio, kept, margin_units, movement
from rubric_anchors.runs.records import Evaluation, Measured, Preserved

_FAR: Final = 4.0
"""Margins beyond which an interval is cut: one large gain must not flatten all the others."""


@dataclass(frozen=True, slots=True)
class MeasureRow:
    measured: Measured
    reading: Reading
    figure: Interval | None


@dataclass(frozen=True, slots=True)
class PreservedRow:
    preserved: Preserved
    reading: Reading
    figure: Interval
    ratio: bool


@dataclass(frozen=True, slots=True)
class FamilyRow:
    family: str
    measured: Measured
    reading: Reading
    figure: Interval


@dataclass(frozen=True, slots=True)
class Measures:
    inside: tuple[MeasureRow, ...]
    inside_scale: tuple[Tick, ...]
    outside: tuple[MeasureRow, ...]
    """Those that have a margin, and so pass, fail or are not shown."""
    outside_scale: tuple[Tick, ...]
    informative: tuple[MeasureRow, ...]
    """Those that have none: they say what else changed, and pass or fail nothing."""
    families: tuple[FamilyRow, ...]
    family_scale: tuple[Tick, ...]
    seesaw: str
    preserved: tuple[PreservedRow, ...]
    preserved_scale: tuple[Tick, ...]


def measures(evaluation: Evaluation) -> Measures:
    inside = [measured for measured in evaluation.measures if measured.in_reward]
    outside = [each for each in evaluation.measures if not each.in_reward and each.margin is not None]
    informative = [each for each in evaluation.measures if not each.in_reward and each.margin is None]
    families = [(family, measured) for family, group in evaluation.families.items() for measured in group]
    inside_domain = _plain_domain(inside)
    family_domain = _plain_domain([measured for _, measured in families])
    scaled = {measured.name: _in_margins(measured) for measured in outside}
    outside_domain = _margin_domain([place for places in scaled.values() if places for place in places])
    kept_places = [margin_units(preserved) for preserved in evaluation.preservation]
    preserved_domain = _margin_domain([place for places in kept_places for place in places])
    family_rows = tuple(
        FamilyRow(family, measured, direction(measured), _plain(measured, family_domain))
        for family, measured in families
    )
    return Measures(
        inside=tuple(MeasureRow(each, direction(each), _plain(each, inside_domain)) for each in inside),
        inside_scale=scale(inside_domain),
        outside=tuple(
            MeasureRow(each, against_margin(each), interval(*places, outside_domain, -1.0) if places else None)
            for each in outside
            for places in [scaled[each.name]]
        ),
        outside_scale=scale(outside_domain),
        informative=tuple(MeasureRow(each, movement(each), None) for each in informative),
        families=family_rows,
        family_scale=scale(family_domain),
        seesaw=_seesaw(family_rows),
        preserved=tuple(
            PreservedRow(each, kept(each), interval(*places, preserved_domain, -1.0), is_ratio(each))
            for each, places in zip(evaluation.preservation, kept_places, strict=True)
        ),
        preserved_scale=scale(preserved_domain),
    )


def _plain(measured: Measured, domain: tuple[float, float]) -> Interval:
    return interval(measured.delta, measured.low, measured.high, domain)


def _plain_domain(measured: Sequence[Measured]) -> tuple[float, float]:
    edges = [edge for each in measured for edge in (each.low, each.high)]
    return domain_of(edges, least=(-0.05, 0.05), most=(float("-inf"), float("inf")))


def _in_margins(measured: Measured) -> tuple[float, float, float] | None:
    if not measured.margin:
        return None
    sign = 1 if measured.higher_is_better else -1
    at, low, high = (sign * value / measured.margin for value in (measured.delta, measured.low, measured.high))
    return at, min(low, high), max(low, high)


def _margin_domain(places: Sequence[float]) -> tuple[float, float]:
    return domain_of(places, least=(-1.5, 1.0), most=(-_FAR, _FAR))


def _seesaw(rows: Sequence[FamilyRow]) -> str:
    rose = list(dict.fromkeys(row.family for row in rows if row.reading.tone == "good"))
    fell = list(dict.fromkeys(row.family for row in rows if row.reading.tone == "bad"))
    if rose and fell:
        return f"A seesaw: {', '.join(rose)} rose while {', '.join(fell)} fell."
    if fell:
        return f"{', '.join(fell)} fell, and no family was shown to rise."
    if rose:
        return f"No seesaw was seen: {', '.join(rose)} rose, and no family was shown to fall."
    return "No family was shown to rise or to fall."
