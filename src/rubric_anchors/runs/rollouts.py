"""Rollouts on disk: a journal while a stage runs, one Parquet file when the road is done.

The journal is JSON Lines, appended and synced before the rollouts are used, so that a killed run asks nothing twice.
The Parquet file has the columns of `SCHEMA`, a row an answer; what is nested stands in it as JSON text.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import JsonValue, ValidationError

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import DataError
from rubric_anchors.core.files import JsonlJournal, atomic_file, json_bytes, whole_text
from rubric_anchors.runs.records import Rollout
from rubric_anchors.runs.store import first_error, make_folder

_COLUMNS: Final[dict[str, pa.DataType]] = {
    "id": pa.string(),
    "stage": pa.string(),
    "step": pa.int64(),
    "policy": pa.string(),
    "prompt_id": pa.string(),
    "prompt": pa.string(),
    "response": pa.string(),
    "tokens": pa.int64(),
    "logp": pa.float64(),
    "rubric": pa.string(),
    "verdicts": pa.string(),
    "contributions": pa.string(),
    "reward": pa.float64(),
    "status": pa.string(),
    "cause": pa.string(),
}
_MAY_BE_NULL: Final = frozenset({"logp", "reward", "cause"})

SCHEMA: Final = pa.schema([pa.field(name, kind, nullable=name in _MAY_BE_NULL) for name, kind in _COLUMNS.items()])
"""Columns of rollouts.parquet. JSON text: `prompt` (a list of {role, content}), `rubric` (a list of ids), `verdicts`,
`contributions`, `cause`. A lone surrogate in a text is U+FFFD here: Parquet's strings are UTF-8."""

BATCH: Final = 2048
"""Rows a row group: a few MB of text, so that a reader's memory stays small whatever the run's length."""


def append(path: Path, rollouts: Sequence[Rollout]) -> None:
    """Adds `rollouts` to the journal `path` and returns once they are on disk. A torn last line, left by a killed
    writer, is cut off first. Raises SetupError where the disk says no, ValueError where a number is not finite."""
    make_folder(path.parent)
    with JsonlJournal(path) as journal:
        for rollout in rollouts:
            journal.append(rollout.model_dump(mode="json"))


def read_journal(path: Path) -> Iterator[Rollout]:
    """The journal's rollouts in the order written. A torn last line is left out; another broken line is a DataError."""
    for _, rollout in _journalled(path):
        yield rollout


def kept_lines(path: Path, last_step: int) -> bytes:
    """The journal's lines whose step is at most `last_step`, as they stand. Raises as `read_journal`."""
    return b"".join(line for line, rollout in _journalled(path) if rollout.step <= last_step)


def write_parquet(path: Path, rollouts: Iterable[Rollout]) -> int:
    """Writes `rollouts` as one Parquet file (zstd), whole or not at all; gives the number of rows."""
    count = 0
    with atomic_file(path) as file, pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        for batch in _batches(rollouts, BATCH):
            writer.write_table(pa.Table.from_pylist([_row(rollout) for rollout in batch], schema=SCHEMA))
            count += len(batch)
    return count


def read_rollouts(path: Path) -> Iterator[Rollout]:
    """The rollouts of a Parquet file that `write_parquet` wrote, one row group in memory at a time. Raises DataError
    where it is no such file."""
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in SCHEMA.names if name not in file.schema_arrow.names]
            if missing:
                raise DataError(f"{path}: a file of rollouts has the column {missing[0]!r}, this one does not")
            for batch in file.iter_batches(batch_size=BATCH, columns=SCHEMA.names):
                yield from (_rollout(row) for row in batch.to_pylist())
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error}); write it again from the journals") from error


def _row(rollout: Rollout) -> dict[str, Any]:
    plain = {
        name: whole_text(value) if isinstance(value, str) else value for name, value in rollout.model_dump().items()
    }
    return {
        **plain,
        "prompt": _text([{"role": role, "content": content} for role, content in rollout.prompt]),
        "rubric": _text(list(rollout.rubric)),
        "verdicts": _text(rollout.verdicts),
        "contributions": _text(list(rollout.contributions)),
        "cause": None if rollout.cause is None else _text(rollout.cause),
    }


def _text(value: JsonValue) -> str:
    return json_bytes(value).decode()


def _rollout(row: dict[str, Any]) -> Rollout:
    nested = {name: json.loads(row[name]) for name in ("prompt", "rubric", "verdicts", "contributions")}
    nested["prompt"] = [(turn["role"], turn["content"]) for turn in nested["prompt"]]
    nested["cause"] = None if row["cause"] is None else json.loads(row["cause"])
    return Rollout.model_validate({**row, **nested})


def _batches(rollouts: Iterable[Rollout], size: int) -> Iterator[list[Rollout]]:
    batch: list[Rollout] = []
    for rollout in rollouts:
        batch.append(rollout)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _journalled(path: Path) -> Iterator[tuple[bytes, Rollout]]:
    """Each whole line of the journal, as it stands and as what it says."""
    with os_errors("read", path, DataError), path.open("rb") as journal:
        for number, line in enumerate(journal, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield line, Rollout.model_validate(json.loads(line))
            except ValidationError as error:
                seen = f"not a rollout ({first_error(error)})"
                raise DataError(f"{path}:{number}: {seen}; restore the file from a copy") from error
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}:{number}: is no JSON ({error}); restore the file from a copy") from error
