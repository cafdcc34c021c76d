"""JSON lines, with a clear word for each bad line."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Never

from pydantic import JsonValue

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import DataError
from rubric_anchors.core.words import human_size, kind_of

LINE_LIMIT: Final = 8 << 20
"""Bytes in one line. A longer one is nearly always a file that is not JSON lines, and would be held whole in memory."""
NESTING_LIMIT: Final = 100
"""Lists and objects inside one another: what reads and writes them afterwards goes one call deeper for each."""
_BOM: Final = b"\xef\xbb\xbf"
_CHUNK: Final = 1 << 20

Row = dict[str, JsonValue]


def read_jsonl(path: str | Path, *, limit: int = LINE_LIMIT) -> Iterator[tuple[int, Row]]:
    """Yields (line number from 1, row); blank lines are passed over. Raises DataError at the first line that is no row,
    and for a file that holds none."""
    for number, row in scan_jsonl(path, limit=limit):
        if isinstance(row, DataError):
            raise row
        yield number, row


def scan_jsonl(path: str | Path, *, limit: int = LINE_LIMIT) -> Iterator[tuple[int, Row | DataError]]:
    """As `read_jsonl`, but a bad line is yielded as its DataError and the reading goes on. Raises DataError where the
    file cannot be read or holds no line at all."""
    seen = False
    with os_errors("read", path, DataError), open(path, "rb") as file:
        for number, line in _lines(file, limit):
            if line is None:
                seen = True
                most = f"{human_size(limit)}, the most that is read; shorten it or check that the file is JSON lines"
                yield number, DataError(f"{path}:{number}: the line is longer than {most}")
            elif line.strip():
                seen = True
                yield number, _row(line, f"{path}:{number}")
    if not seen:
        raise DataError(f"{path}: the file is empty; expected one JSON object a line")


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """(number, line), the line None where it is over the limit: the rest of it is skipped without being held."""
    number = 0
    while line := file.readline(limit + 2):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line.rstrip(b"\r\n")) > limit:
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK)
            yield number, None
        else:
            yield number, line


def read_value(text: str) -> JsonValue:
    """The JSON in `text`. Raises ValueError (json.JSONDecodeError for bad syntax) that says what is wrong: also for NaN
    and infinity, a key that stands twice in one object, and more than NESTING_LIMIT levels."""
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_fields)
    except RecursionError:
        raise _Unreadable(_TOO_DEEP) from None
    except (json.JSONDecodeError, _Unreadable):
        raise
    except ValueError:
        raise _Unreadable("a whole number has more digits than can be read; write it as text") from None
    if text.count("[") + text.count("{") > NESTING_LIMIT and _is_deep(value):
        raise _Unreadable(_TOO_DEEP)
    return value


class _Unreadable(ValueError):
    """JSON that is not taken, in words."""


_TOO_DEEP: Final = f"lists and objects are nested more than {NESTING_LIMIT} deep; flatten them"


def _fields(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(again, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise _Unreadable(f"the key {again[:60]!r} stands twice in one object; remove one")
    return fields


def _no_constant(word: str) -> Never:
    raise _Unreadable(f"{word} is no JSON value; use null for a missing number")


def _is_deep(value: JsonValue) -> bool:
    level = [value]
    for _ in range(NESTING_LIMIT + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
        ]
        if not level:
            return False
    return True


def _row(line: bytes, where: str) -> Row | DataError:
    try:
        value = read_value(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return DataError(f"{where}: byte {error.start + 1} of the line is not UTF-8; save the file as UTF-8")
    except json.JSONDecodeError as error:
        problem = f"{error.msg[:1].lower()}{error.msg[1:]} (column {error.colno})"
        return DataError(f"{where}: not JSON: {problem}; expected one JSON object a line")
    except ValueError as error:
        return DataError(f"{where}: {error}")
    if not isinstance(value, dict):
        return DataError(f"{where}: expected a JSON object {{...}}, seen {kind_of(value)}")
    return value
