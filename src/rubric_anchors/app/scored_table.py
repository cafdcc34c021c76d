"""Scored answers as a table, a row an answer: JSON lines, Parquet or CSV, by the name's ending.

JSON lines are the rows of `reward.marks.row_json`. Parquet and CSV have these columns, in this order:

    id, prompt, response    text; a prompt that is more than one user's turn as JSON, a list of {role, content}
    reward                  number; null where the answer is unscored
    status                  scored, unscored
    cause                   JSON: {kind, code, detail}; null where it is scored
    scored_by               ids of the rubrics, + between them
    KEY.value, KEY.tier, KEY.status, KEY.cause, KEY.evidence
                            of each criterion: 0..1, index of the tier, judged or unjudged; JSON {kind, code, detail};
                            JSON list of {note, start, end}. All null where the criterion does not judge the answer.
                            KEY is RUBRIC/CRITERION where the table has several rubrics
    contributions           JSON: a list of {step, delta, note}; the deltas add up to the reward
    more                    JSON: criterion to verdict, for rubrics beyond the first MOST criteria of the table; or null

A null is an empty cell of a CSV.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from pydantic import JsonValue

from rubric_anchors.app.sharing import Asked
from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.core.files import json_bytes
from rubric_anchors.rubric.model import Rubric

MOST: Final = 200
"""Criteria with columns of their own: tables whose every row carries a rubric would have any number."""
BATCH: Final = 2048
"""Rows a row group."""
FIELDS: Final = {"value": float, "tier": int, "status": str, "cause": str, "evidence": str}
Lines = Iterator[bytes]
Row = dict[str, Any]


def write_as(out: Path, asked: Sequence[Asked], rubrics: Mapping[str, Rubric]) -> Callable[[Lines, BinaryIO], None]:
    """What makes `out` of the JSON lines of `asked`, in their order. Raises InputError for an ending that says nothing,
    SetupError where a package is missing."""
    ending = out.suffix.lower()
    if ending == ".jsonl":
        return lambda lines, file: file.writelines(lines)
    if ending == ".csv":
        return lambda lines, file: _write_csv(_Table(asked, rubrics), lines, file)
    if ending == ".parquet":
        _pyarrow()
        return lambda lines, file: _write_parquet(_Table(asked, rubrics), lines, file)
    raise InputError(
        f"{out}: what kind of table is that to be? Expected a name that ends in .jsonl, .parquet or .csv; seen "
        f"{ending or 'no ending'}"
    )


@dataclass(frozen=True, slots=True)
class _Criterion:
    rubric: str
    key: str
    column: str


class _Table:
    """The columns of a table, and its rows."""

    def __init__(self, asked: Sequence[Asked], rubrics: Mapping[str, Rubric]) -> None:
        self._asked = asked
        names = list(dict.fromkeys(name for _, applied in asked for name in applied))
        self._criteria: list[_Criterion] = []
        self._inside: set[str] = set()
        for name in names:
            keys = rubrics[name].keys
            if len(self._criteria) + len(keys) <= MOST:
                self._inside.add(name)
                self._criteria += [_Criterion(name, key, f"{name}/{key}" if names[1:] else key) for key in keys]
        self.columns: dict[str, type] = {
            **dict.fromkeys(("id", "prompt", "response"), str),
            "reward": float,
            **dict.fromkeys(("status", "cause", "scored_by"), str),
            **{f"{one.column}.{field}": kind for one in self._criteria for field, kind in FIELDS.items()},
            **dict.fromkeys(("contributions", "more"), str),
        }

    def rows(self, lines: Lines) -> Iterator[Row]:
        """The rows of the JSON lines of all that was asked."""
        for (answer, applied), line in zip(self._asked, lines, strict=True):
            written = json.loads(line)
            verdicts = {_full(applied, name): verdict for name, verdict in written["criteria"].items()}
            row: Row = {
                "id": answer.id,
                "prompt": _prompt(answer.prompt.messages),
                "response": answer.response,
                "reward": written["reward"],
                "status": written["status"],
                "cause": _json(written["cause"]),
                "scored_by": written["rubric"],
            }
            for one in self._criteria:
                row |= _cells(one.column, verdicts.get((one.rubric, one.key)))
            more = {f"{rubric}/{key}": one for (rubric, key), one in verdicts.items() if rubric not in self._inside}
            yield row | {"contributions": _json(written["contributions"]), "more": _json(more or None)}


def _full(applied: Sequence[str], name: str) -> tuple[str, str]:
    """(rubric, criterion) of a verdict as it is written."""
    rubric, _, key = name.rpartition("/")
    return rubric or applied[0], key


def _cells(column: str, verdict: Mapping[str, JsonValue] | None) -> Row:
    if verdict is None:
        return dict.fromkeys(f"{column}.{field}" for field in FIELDS)
    judged = verdict["status"] == "judged"
    return {
        f"{column}.value": verdict["value"],
        f"{column}.tier": verdict["tier"],
        f"{column}.status": verdict["status"],
        f"{column}.cause": _json(verdict["cause"]),
        f"{column}.evidence": _json(verdict["evidence"]) if judged else None,
    }


def _prompt(messages: Sequence[tuple[str, str]]) -> str:
    [(role, content), *others] = messages
    # What begins like a list could be read as one.
    if role == "user" and not others and not content.lstrip().startswith("["):
        return content
    return json_bytes([{"role": role, "content": content} for role, content in messages]).decode()


def _json(value: JsonValue) -> str | None:
    return None if value is None else json_bytes(value).decode()


def _write_csv(table: _Table, lines: Lines, file: BinaryIO) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(table.columns), lineterminator="\n")
    writer.writeheader()
    for rows in _batches(table.rows(lines)):
        writer.writerows(rows)
        file.write(text.getvalue().encode("utf-8"))
        text.seek(0)
        text.truncate()
    file.write(text.getvalue().encode("utf-8"))


def _write_parquet(table: _Table, lines: Lines, file: BinaryIO) -> None:
    pa, pq = _pyarrow()
    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64()}
    schema = pa.schema([pa.field(name, kinds[kind]) for name, kind in table.columns.items()])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _batches(table.rows(lines)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise SetupError(
            "writing Parquet needs pyarrow, which is not installed; pip install pyarrow, or name a .jsonl or .csv file"
        ) from error
    return pyarrow, pyarrow.parquet


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        yield batch
