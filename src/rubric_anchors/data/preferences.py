"""Pairs of answers of which people prefer one. A row:

prompt              as in `rubric_anchors.data.rows`; `reference` too
FIRST, SECOND       the two answers, in columns that the caller names
COLUMN              which of them a person prefers, in columns that the caller names; where none is named, the first
GROUP               the source, in a column that the caller names
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rubric_anchors.core.errors import DataError, InputError
from rubric_anchors.core.words import kind_of
from rubric_anchors.data.labelled import group_of, prompt_of, read_each, text_of
from rubric_anchors.data.rows import Rejected
from rubric_anchors.data.tables import Row
from rubric_anchors.runs.records import PromptRow

FIRST, SECOND, TIE = 1.0, -1.0, 0.0
_SIDES: Final = {"a": FIRST, "first": FIRST, "b": SECOND, "second": SECOND, "tie": TIE}
"""What a preference may be called where nobody says otherwise, beside the names of the two columns."""


@dataclass(frozen=True, slots=True)
class Preference:
    """A rater's column, and what its values mean."""

    column: str
    values: tuple[str, ...] = ()
    """Those for the first answer, the second and a tie (which may be left out); empty: the usual words."""


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two answers to one prompt."""

    prompt: PromptRow
    first: str
    second: str
    preferred: tuple[float | None, ...]
    """A rater's each: 1 the first, -1 the second, 0 neither; None where the rater gave none."""
    group: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a table; what cannot be read is listed and the rest goes on."""

    rows: tuple[PairRow, ...]
    rejected: tuple[Rejected, ...]


def parse_pairs(given: str, preferences: Sequence[str]) -> tuple[tuple[str, str], tuple[Preference, ...]]:
    """What --pairs (`chosen,rejected`) and --preference (`label`, `label=1,2,0`) say. Raises InputError."""
    names = tuple(name.strip() for name in given.split(","))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise InputError(f"--pairs takes the two columns with the answers, e.g. chosen,rejected; seen {given[:60]!r}")
    found = []
    for one in preferences:
        column, equals, text = one.partition("=")
        values = tuple(value.strip() for value in text.split(",")) if equals else ()
        if not column.strip() or (
            equals and (len(values) not in (2, 3) or len(set(map(str.casefold, values))) < len(values))
        ):
            raise InputError(
                "--preference takes a column, and after = the values that mean the first answer, the second and a tie, "
                f"e.g. label=1,2,0; seen {one[:60]!r}"
            )
        found.append(Preference(column.strip(), values))
    return (names[0], names[1]), tuple(found)


def read_pairs(
    source: str | Path, answers: tuple[str, str], preferences: Sequence[Preference], group: str = ""
) -> Pairs:
    """The pairs of a file, a `datasets` folder or `hub:owner/name[:split]`; without `preferences` the first answer is
    the preferred one. group: the column; empty: the prompt's id. Raises DataError where no row can be used or a column
    is in none of them."""
    wanted = ("prompt", *answers, *(each.column for each in preferences), *((group,) if group else ()))

    def read(row: Row) -> PairRow:
        prompt = prompt_of(row)
        preferred = tuple(_side(row, each, answers) for each in preferences) or (FIRST,)
        return PairRow(
            prompt, text_of(row, answers[0]), text_of(row, answers[1]), preferred, group_of(row, group) or prompt.id
        )

    rows, rejected = read_each(source, wanted, read)
    return Pairs(tuple(rows), rejected)


def _side(row: Row, preference: Preference, answers: tuple[str, str]) -> float | None:
    value = row.values.get(preference.column)
    # A whole number may come as 1.0, from a column that also holds empty cells.
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    text = text.strip().casefold()
    if value is None or text in ("", "nan"):
        return None
    if preference.values:
        sides = {name.casefold(): side for name, side in zip(preference.values, (FIRST, SECOND, TIE), strict=False)}
    else:
        sides = {**_SIDES, answers[0].casefold(): FIRST, answers[1].casefold(): SECOND}
    if text not in sides:
        hint = (
            "" if preference.values else f"; what do its values mean? --preference {preference.column}=FIRST,SECOND,TIE"
        )
        raise DataError(f"{row.where}: {preference.column}: expected {', '.join(sides)}, seen {kind_of(value)}{hint}")
    return sides[text]
