"""Answers that people scored. A row:

prompt, response    as in `rubric_anchors.data.rows`; `reference` too
COLUMN              a person's score, in columns that the caller names: a number or a word of the scale; empty where
                    that person gave none
GROUP               the source or author, in a column that the caller names
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rubric_anchors.core.errors import DataError, InputError
from rubric_anchors.core.words import near
from rubric_anchors.data.cells import Cells
from rubric_anchors.data.rows import Rejected
from rubric_anchors.data.scales import EVERYTHING, Scale, number_in
from rubric_anchors.data.tables import BadRow, Row, read_rows
from rubric_anchors.runs.records import PromptRow

Columns = Mapping[str, tuple[str, ...]]
"""What is labelled (a criterion, or `reward`) to its columns, one a rater."""


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """An answer with what people gave it."""

    prompt: PromptRow
    """`prompt.id` is the content id of the prompt."""
    response: str
    scores: Mapping[str, tuple[float | None, ...]]
    """A rater's score each, on 0..1."""
    group: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled answers of a table; what cannot be read is listed and the rest goes on."""

    rows: tuple[LabelledRow, ...]
    rejected: tuple[Rejected, ...]
    scales: Mapping[str, Scale]


def parse_labels(given: Sequence[str], known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What --labels says: `warmth=human_warmth`, `honest=h1,h2,h3`, `reward=overall`, or `warmth` where the column is
    called as the criterion is. known: what can be labelled. Raises InputError."""
    found: dict[str, tuple[str, ...]] = {}
    for one in given:
        name, equals, text = one.partition("=")
        name = name.strip()
        columns = tuple(column.strip() for column in text.split(",")) if equals else (name,)
        if name not in known:
            there = ", ".join(known)
            raise InputError(
                f"--labels {one}: {name!r} is neither a criterion nor `reward`; there are: {there}{near(name, known)}; "
                "write CRITERION=COLUMN"
            )
        if not all(columns) or len(set(columns)) < len(columns):
            raise InputError(f"--labels {one}: expected different columns with commas between, e.g. {name}=h1,h2")
        if name in found:
            raise InputError(f"--labels: {name} is given twice; several raters are written {name}=h1,h2")
        found[name] = columns
    return found


def read_labelled(source: str | Path, columns: Columns, scales: Mapping[str, Scale], group: str = "") -> Labelled:
    """The labelled answers of a file, a `datasets` folder or `hub:owner/name[:split]`.

    scales: by label, or for all under the empty name; where there is none, from the least to the largest score seen in
    the label's columns. group: the column; empty: the prompt's id. Raises DataError where no row can be used or a
    column is in none of them.
    """
    wanted = ("prompt", "response", *(name for each in columns.values() for name in each), *((group,) if group else ()))

    def read(row: Row) -> LabelledRow:
        prompt = prompt_of(row)
        scores = {name: _scores(row, each, scales.get(name, scales.get(EVERYTHING))) for name, each in columns.items()}
        return LabelledRow(prompt, text_of(row, "response"), scores, group_of(row, group) or prompt.id)

    rows, rejected = read_each(source, wanted, read)
    found = {name: scales.get(name) or scales.get(EVERYTHING) or _seen(rows, name) for name in columns}
    placed = [
        LabelledRow(
            row.prompt,
            row.response,
            {
                name: tuple(None if score is None else found[name].place(score) for score in scores)
                for name, scores in row.scores.items()
            },
            row.group,
        )
        for row in rows
    ]
    return Labelled(tuple(placed), rejected, found)


T = TypeVar("T")


def read_each(
    source: str | Path, columns: Sequence[str], read: Callable[[Row], T]
) -> tuple[list[T], tuple[Rejected, ...]]:
    """What `read` makes of each row, and the rows of which it makes nothing.

    Raises DataError where one of `columns` is in no row, or no row can be read.
    """
    made: list[T] = []
    rejected: list[Rejected] = []
    seen: dict[str, None] = {}
    for row in read_rows(source):
        try:
            if isinstance(row, BadRow):
                raise row.error
            seen.update(dict.fromkeys(map(str, row.values)))
            made.append(read(row))
        except InputError as error:
            rejected.append(Rejected(row.line, str(error)))
    missing = next((name for name in columns if name not in seen), None) if seen else None
    if missing is not None:
        there = ", ".join(list(seen)[:12])
        raise DataError(f"{source}: the column {missing!r} is in no row; there are: {there}{near(missing, seen)}")
    if not made:
        if not rejected:
            raise DataError(f"{source}: the table has no rows")
        more = f" (and {len(rejected) - 1} more rows)" if len(rejected) > 1 else ""
        raise DataError(f"{rejected[0].cause}{more}; no row can be used")
    return made, tuple(rejected)


def prompt_of(row: Row) -> PromptRow:
    """The prompt of a row, called by its content. Raises DataError."""
    if "prompt" not in row.values:
        raise DataError(f"{row.where}: the prompt is missing")
    cells = Cells(row)
    return PromptRow(id=cells.content_id(), messages=cells.messages(), reference=cells.text("reference"))


def text_of(row: Row, column: str) -> str:
    """The answer in `column`, which may be empty. Raises DataError where there is none."""
    text = Cells(row).whole(column)
    if text is None:
        raise DataError(f'{row.where}: the {column} is missing; an empty answer is written ""')
    return text


def group_of(row: Row, column: str) -> str:
    """What stands in `column`, a number too; empty where no column is named. Raises DataError where it is empty."""
    value = row.values.get(column) if column else ""
    if value is None or (column and not str(value).strip()):
        raise DataError(f"{row.where}: the column {column!r} is missing or empty; it says what is resampled together")
    return str(value)


def _scores(row: Row, columns: tuple[str, ...], scale: Scale | None) -> tuple[float | None, ...]:
    found = []
    for column in columns:
        try:
            found.append(number_in(row.values.get(column), scale))
        except DataError as error:
            raise DataError(f"{row.where}: {column}: {error}") from error
    return tuple(found)


def _seen(rows: Sequence[LabelledRow], name: str) -> Scale:
    scores = [score for row in rows for score in row.scores[name] if score is not None]
    return Scale(min(scores, default=0.0), max(scores, default=0.0))
