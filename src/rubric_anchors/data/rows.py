"""Prompts to answer and answers to score, from any table. A row:

    id          text; left out, an id from the content
    prompt      text, or a list of {role, content} messages (in CSV as JSON)
    response    the answer to score
    rubric      a rubric for this row alone: its fields, or YAML or JSON text
    rubrics     ids of the rubrics that judge it: a list, JSON, or text with commas
    instruction_id_list, kwargs
                in place of `rubric`: instructions in IFEval's form (rubric_anchors.rubric.ifeval)
    family      the kind of task
    reference   an answer to compare with

Other columns are kept aside. Text stays as it is, line ends and control characters included; only a lone surrogate,
which no file can hold, becomes U+FFFD.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.errors import DataError, InputError
from rubric_anchors.core.words import near
from rubric_anchors.data.cells import Cells, plain_json
from rubric_anchors.data.tables import BadRow, Row, read_rows
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.records import PromptRow

KNOWN: Final = ("id", "prompt", "response", "rubric", "rubrics", "family", "reference", "instruction_id_list", "kwargs")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a table."""

    rows: tuple[PromptRow, ...]
    rubrics: dict[str, Rubric] = field(default_factory=dict)
    """The rubrics that rows carry, by id; the rows name them."""
    extra: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    """The other columns of each row, by the row's id."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """An answer to score, with what was asked."""

    id: str
    prompt: PromptRow
    """`prompt.id` is the content id of the prompt: answers to one prompt share it."""
    response: str
    extra: dict[str, JsonValue] = field(default_factory=dict)
    line: int = 0
    where: str = ""
    """As for `Row`: where it stands, for what is found wrong with it later."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that cannot be read."""

    line: int
    """The line it begins on, for text files; otherwise its number, from 1."""
    cause: str
    """One line that names file and row."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a table; what cannot be read is listed and the rest goes on."""

    rows: tuple[AnswerRow, ...]
    rejected: tuple[Rejected, ...] = ()
    rubrics: dict[str, Rubric] = field(default_factory=dict)


def read_prompts(source: str | Path, known: Collection[str] | None = None) -> Prompts:
    """The prompts of a file, a `datasets` folder or `hub:owner/name[:split]`.

    known: ids of the rubrics there are; None: not checked. Raises DataError at the first row that is no prompt, repeats
    an id or names a rubric that there is not; SetupError where a package is missing or the hub does not answer.
    """
    book: dict[str, Rubric] = {}
    homes: dict[str, str] = {}
    rows: list[PromptRow] = []
    extra: dict[str, dict[str, JsonValue]] = {}
    for row in read_rows(source):
        if isinstance(row, BadRow):
            raise row.error
        _require(row, ("prompt",))
        prompt = _prompt(row, book)
        if prompt.id in homes:
            what = f"the id {prompt.id!r}" if Cells(row).text("id") else "the same prompt (and no id)"
            raise DataError(
                f"{row.where}: {what} stands at {homes[prompt.id]} already; remove one or give it another id"
            )
        _check_known(row, prompt.rubrics, known, book)
        homes[prompt.id] = row.where
        rows.append(prompt)
        if others := _others(row, ("response",)):
            extra[prompt.id] = others
    if not rows:
        raise DataError(f"{source}: the table has no rows; expected one prompt a row")
    return Prompts(tuple(rows), book, extra)


def read_answers(source: str | Path, known: Collection[str] | None = None) -> Answers:
    """The answers to score of a file, a `datasets` folder or `hub:owner/name[:split]`.

    A row that cannot be read is listed in `rejected`. Raises DataError where there is no row at all, or where none
    has a prompt and a response; SetupError where a package is missing or the hub does not answer.
    """
    book: dict[str, Rubric] = {}
    homes: dict[str, str] = {}
    repeats: Counter[str] = Counter()
    rows: list[AnswerRow] = []
    rejected: list[Rejected] = []
    columns: DataError | None = None
    for row in read_rows(source):
        try:
            if isinstance(row, BadRow):
                raise row.error
            try:
                _require(row, ("prompt", "response"))
            except DataError as error:
                columns = columns or error
                raise
            answer = _answer(row, book, homes, repeats)
            _check_known(row, answer.prompt.rubrics, known, book)
        except InputError as error:
            rejected.append(Rejected(row.line, str(error)))
            continue
        homes[answer.id] = row.where
        rows.append(answer)
    if not rows and columns:
        raise columns
    if not rows and not rejected:
        raise DataError(f"{source}: the table has no rows; expected one answer a row")
    return Answers(tuple(rows), tuple(rejected), book)


def _prompt(row: Row, book: dict[str, Rubric]) -> PromptRow:
    cells = Cells(row)
    messages = cells.messages()
    rubrics = cells.rubric_ids()
    inline = cells.rubric()
    if inline is not None:
        if rubrics:
            raise DataError(f"{row.where}: the row has both `rubric` and `rubrics`; keep one")
        if book.get(inline.id, inline) != inline:
            raise DataError(
                f"{row.where}: another row carries a different rubric with the id {inline.id!r}; rename one"
            )
        book[inline.id] = inline
        rubrics = (inline.id,)
    return PromptRow(
        id=cells.text("id") or cells.content_id(),
        messages=messages,
        family=cells.text("family") or "",
        rubrics=rubrics,
        reference=cells.text("reference"),
    )


def _answer(row: Row, book: dict[str, Rubric], homes: dict[str, str], repeats: Counter[str]) -> AnswerRow:
    cells = Cells(row)
    response = cells.whole("response")
    if response is None:
        raise DataError(f'{row.where}: the response is missing; an empty answer is written ""')
    prompt = _prompt(row, book)
    given = cells.text("id")
    if given is not None and given in homes:
        raise DataError(f"{row.where}: the id {given!r} stands at {homes[given]} already; give it another id")
    of_prompt = prompt.with_changes(id=cells.content_id())
    answer_id = given if given is not None else _fresh(cells.content_id(response), homes, repeats)
    return AnswerRow(answer_id, of_prompt, response, _others(row), row.line, row.where)


def _fresh(base: str, taken: Collection[str], repeats: Counter[str]) -> str:
    """`base`, or `base-2`, `base-3`... where it is taken; `repeats` remembers how far it came, as one answer may stand
    in any number of rows."""
    candidate = base
    while candidate in taken:
        repeats[base] += 1
        candidate = f"{base}-{repeats[base] + 1}"
    return candidate


def _require(row: Row, columns: tuple[str, ...]) -> None:
    for name in columns:
        if name not in row.values:
            there = ", ".join(map(str, list(row.values)[:12])) or "none"
            guess = near(name, [str(column) for column in row.values])
            raise DataError(f"{row.where}: the column {name!r} is missing; there are: {there}{guess}")


def _check_known(row: Row, names: tuple[str, ...], known: Collection[str] | None, book: dict[str, Rubric]) -> None:
    if known is None:
        return
    for name in names:
        if name not in known and name not in book:
            there = ", ".join(sorted(known)[:8]) or "none"
            raise DataError(f"{row.where}: names the rubric {name!r}; there are: {there}{near(name, sorted(known))}")


def _others(row: Row, beside: tuple[str, ...] = ()) -> dict[str, JsonValue]:
    known = [name for name in KNOWN if name not in beside]
    return {str(name): plain_json(value) for name, value in row.values.items() if name not in known}
