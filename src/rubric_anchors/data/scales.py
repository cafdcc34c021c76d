"""The scales of people's scores: numbers between two ends, or words in an order, each with a place in 0..1."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rubric_anchors.core.errors import DataError, InputError
from rubric_anchors.core.words import kind_of

_ENDS: Final = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*")
EVERYTHING: Final = ""
"""The name under which a scale for all labels stands."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale with its ends, or with its words from least to most."""

    low: float
    high: float
    words: tuple[str, ...] = ()

    def place(self, number: float) -> float:
        """`number` on 0..1; 0.5 where the scale is a single point."""
        return (number - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def __str__(self) -> str:
        return ", ".join(self.words) if self.words else f"{self.low:g}..{self.high:g}"


def parse_scales(given: Sequence[str]) -> dict[str, Scale]:
    """What --scale says, by label: `1..5` or `bad,ok,good` for all, `warmth=1..5` for one. Raises InputError."""
    found: dict[str, Scale] = {}
    for one in given:
        name, equals, text = one.partition("=")
        name, text = (name.strip(), text) if equals else (EVERYTHING, one)
        if name in found:
            raise InputError(f"--scale: {name or 'the scale of all labels'} is given twice; keep one")
        found[name] = _scale(text, one)
    return found


def number_in(value: object, scale: Scale | None) -> float | None:
    """A cell's score: a number, the number in a text, true as 1, or the place of a word; None where it is empty.

    Raises DataError for anything else, and for what is not on `scale`; None for `scale`: any number will do.
    """
    if (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    ):
        return None
    if scale is not None and scale.words:
        words = [word.casefold() for word in scale.words]
        text = str(value).strip().casefold()
        if text not in words:
            raise DataError(f"expected one of {scale}, seen {kind_of(value)}")
        return float(words.index(text))
    number = _number(value)
    if number is None:
        raise DataError(
            f"expected a number, seen {kind_of(value)}; give numbers, or the words from least to most with --scale, "
            "e.g. --scale bad,ok,good"
        )
    if scale is not None and not scale.low <= number <= scale.high:
        raise DataError(f"expected a number in {scale}, seen {number:g}")
    return number


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _scale(text: str, given: str) -> Scale:
    ends = _ENDS.fullmatch(text)
    if ends:
        low, high = float(ends[1]), float(ends[2])
        if not low < high:
            raise InputError(f"--scale {given}: the first end must be below the second")
        return Scale(low, high)
    words = tuple(word.strip() for word in text.split(","))
    if len(words) < 2 or not all(words) or len({word.casefold() for word in words}) < len(words):
        raise InputError(
            "--scale takes two ends (1..5) or different words from least to most (bad,ok,good), and for one label "
            f"its name before (warmth=1..5); seen {given[:60]!r}"
        )
    return Scale(0.0, float(len(words) - 1), words)
