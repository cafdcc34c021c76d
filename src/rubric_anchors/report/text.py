"""How the report writes text and numbers. Text comes from strangers: it is shown as it is, and can do nothing."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pydantic import JsonValue

MINUS: Final = "−"

_UNFIT: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters: HTML has no way to write most of them
    "\u202a-\u202e\u2066-\u2069"  # marks that turn the reading order of what follows, our own words included
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"  # half pairs and non-characters: no UTF-8, or no HTML
)


def visible(value: object) -> object:
    """`value` with the characters that a page cannot hold, or that would reorder it, written out as `[U+202E]`.

    Markup is ours and passes as it is; carriage returns become line feeds, as HTML would make them.
    """
    from markupsafe import Markup  # of the extra `report`: the command line starts without it

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNFIT.sub(lambda found: f"[U+{ord(found[0]):04X}]", value.replace("\r\n", "\n").replace("\r", "\n"))


def number(value: float) -> str:
    """`value` to about three figures: 0.714, 1.92, 12.3, 1,204."""
    size = abs(value)
    if 1e-9 < size < 0.0005:
        text = f"{value:.1e}"
    else:
        places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.9995 else 3
        text = f"{value if size > 1e-9 else 0.0:,.{places}f}"
    return text.replace("-", MINUS)


def signed(value: float) -> str:
    """`value` as a change: +0.190, −0.012."""
    text = number(value)
    return text if text.startswith(MINUS) else f"+{text}"


def ratio(value: float) -> str:
    """after / before: ×1.017."""
    return f"×{value:.3f}"


def percent(share: float) -> str:
    """A share of 1 as per cent."""
    return f"{100 * share:.0f}%" if share in (0.0, 1.0) or 0.1 <= share < 0.995 else f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    """Wall time, in the two units that matter."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 stage`, `2 stages`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an answer; `notes` say what critics found in it."""

    text: str
    notes: tuple[str, ...] = ()


def passages(response: str, verdicts: Mapping[str, JsonValue], judged_from: int = 0) -> tuple[Passage, ...]:
    """`response` cut where the evidence of its verdicts begins and ends; joined again, the pieces are the response.

    `judged_from` is where in the response the judged text starts, which is what evidence counts characters from.
    """
    places = [place for key, verdict in verdicts.items() for place in _places(key, verdict, judged_from, len(response))]
    cuts = sorted({0, len(response), *(edge for start, end, _ in places for edge in (start, end))})
    pieces = []
    for start, end in pairwise(cuts):
        notes = tuple(dict.fromkeys(note for a, b, note in places if a <= start and end <= b))
        pieces.append(Passage(response[start:end], notes))
    return tuple(pieces)


def _places(key: str, verdict: JsonValue, shift: int, length: int) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    evidence = verdict.get("evidence") if isinstance(verdict, dict) else None
    for item in evidence if isinstance(evidence, list) else ():
        start, end = (item.get("start"), item.get("end")) if isinstance(item, dict) else (None, None)
        if isinstance(start, int) and isinstance(end, int) and isinstance(item, dict):
            a, b = max(0, start + shift), min(length, end + shift)
            if a < b:
                found.append((a, b, f"{key}: {item.get('note', '')}"))
    return found


def cells(value: JsonValue) -> str:
    """A JSON value as short plain text, for tables of settings."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {cells(item)}" for name, item in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(cells(item) for item in value) or "none"
    return str(value)


def as_float(value: object) -> float | None:
    """`value` where it is a finite number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
