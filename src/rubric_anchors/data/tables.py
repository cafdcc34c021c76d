"""Rows of any table, one after another: JSON lines, JSON, CSV, TSV, Parquet, a saved `datasets` folder, or the hub."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TextIO

from rubric_anchors.core.disk import os_errors, read_bytes
from rubric_anchors.core.errors import DataError
from rubric_anchors.core.jsonl import LINE_LIMIT, read_value, scan_jsonl
from rubric_anchors.core.words import human_size, kind_of
from rubric_anchors.core.yamlfile import decode
from rubric_anchors.data.hub import HUB, open_folder, open_hub

SUFFIXES: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")
JSON_LIMIT: Final = 256 << 20
"""Bytes in a .json file, which is read whole; .jsonl has no limit."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row as the file has it."""

    line: int
    """The line it begins on, for text files; otherwise its number, from 1."""
    where: str
    """`prompts.jsonl:17` or `prompts.parquet, row 17`."""
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is none."""

    line: int
    error: DataError


def read_rows(source: str | Path) -> Iterator[Row | BadRow]:
    """The rows of `source`, in order: a file, a folder saved by `datasets`, or `hub:owner/name[:split]`.

    Raises DataError where the source cannot be read at all or holds no row; SetupError where a package is missing or
    the hub does not answer.
    """
    name = str(source)
    if name.startswith(HUB):
        yield from _numbered(name, open_hub(name))
        return
    path = Path(source)
    with os_errors("read", path, DataError):
        is_folder = path.is_dir() or (not path.exists() and Path(name.rpartition(":")[0] or name).is_dir())
    if is_folder:
        yield from _numbered(name, open_folder(name))
        return
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson"):
        yield from _jsonl(path)
    elif suffix == ".json":
        yield from _json(path)
    elif suffix in (".csv", ".tsv"):
        yield from _csv(path, "\t" if suffix == ".tsv" else ",")
    elif suffix == ".parquet":
        yield from _numbered(name, _parquet(path))
    else:
        with os_errors("read", path, DataError), path.open("rb"):
            pass
        endings = ", ".join(SUFFIXES)
        raise DataError(
            f"{name}: what kind of table is this? Expected a name that ends in {endings}, or a datasets folder"
        )


def _jsonl(path: Path) -> Iterator[Row | BadRow]:
    for line, row in scan_jsonl(path):
        yield BadRow(line, row) if isinstance(row, DataError) else Row(line, f"{path}:{line}", row)


def _json(path: Path) -> Iterator[Row | BadRow]:
    text = decode(read_bytes(path, DataError, JSON_LIMIT), str(path), DataError)
    if not text.strip():
        raise DataError(f"{path}: the file is empty; expected a JSON list of rows")
    try:
        rows = read_value(text)
    except json.JSONDecodeError as error:
        seen = f"{error.msg[:1].lower()}{error.msg[1:]}"
        hint = "; is it JSON lines? Then end its name in .jsonl" if error.msg == "Extra data" else ""
        raise DataError(f"{path}:{error.lineno}:{error.colno}: not JSON: {seen}{hint}") from None
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{path}: expected a JSON list of rows, seen {kind_of(rows)}")
    for number, row in enumerate(rows, 1):
        yield _row(f"{path}, row {number}", number, row)


def _csv(path: Path, delimiter: str) -> Iterator[Row | BadRow]:
    # The module's own limit, 128 KiB a field, is under what long answers need; it can only be raised for all readers.
    csv.field_size_limit(max(LINE_LIMIT, csv.field_size_limit()))
    # Bytes that are not UTF-8 become lone surrogates, by which the rows that hold them are known.
    with (
        os_errors("read", path, DataError),
        path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file,
    ):
        yield from _csv_rows(csv.reader(_lines(file, path), delimiter=delimiter, strict=True), path)


class _Reader(Protocol):
    @property
    def line_num(self) -> int: ...
    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


def _csv_rows(reader: _Reader, path: Path) -> Iterator[Row | BadRow]:
    header: list[str] | None = None
    begins = 1
    try:
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            if not cells:
                continue
            if any(_NOT_UTF8.search(cell) for cell in cells):
                seen = DataError(f"{path}:{line}: the row holds bytes that are not UTF-8; save the file as UTF-8")
                if header is None:
                    raise seen
                yield BadRow(line, seen)
            elif header is None:
                header = cells
                twice = next((name for at, name in enumerate(header) if name in header[:at]), None)
                if twice is not None:
                    raise DataError(f"{path}:{line}: the column {twice!r} stands twice in the header; rename one")
            elif len(cells) != len(header):
                count = f"expected {len(header)} fields as in the header, seen {len(cells)}"
                advice = "text with a delimiter or a line break in it needs double quotes"
                yield BadRow(line, DataError(f"{path}:{line}: {count}; {advice}"))
            else:
                yield Row(line, f"{path}:{line}", dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(
            f"{path}:{begins}: not readable as CSV: {error}; look for a quote that is never closed"
        ) from None
    if header is None:
        raise DataError(f"{path}: the file is empty; expected a header line with the names of the columns")


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(LINE_LIMIT + 1):
        number += 1
        if len(line) > LINE_LIMIT:
            raise DataError(f"{path}:{number}: the line is longer than {human_size(LINE_LIMIT)}, the most that is read")
        yield line


def _parquet(path: Path) -> Iterator[object]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with os_errors("read", path, DataError), path.open("rb") as file, pq.ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=1024):
                yield from batch.to_pylist()
    except (pa.ArrowException, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not readable as Parquet: {' '.join(str(error).split())[:200]}") from None


def _numbered(name: str, rows: Iterator[object]) -> Iterator[Row | BadRow]:
    number = 0
    for number, row in enumerate(rows, 1):
        yield _row(f"{name}, row {number}", number, row)
    if number == 0:
        raise DataError(f"{name}: the table has no rows; expected one prompt a row")


def _row(where: str, number: int, row: object) -> Row | BadRow:
    if isinstance(row, Mapping):
        return Row(number, where, row)
    return BadRow(number, DataError(f"{where}: expected fields (name: value), seen {kind_of(row)}"))
