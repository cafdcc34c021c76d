"""Files that are whole or not there: atomic writes, and a journal of JSON rows that a kill cannot corrupt."""

import errno
import json
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from pydantic import JsonValue

from rubric_anchors.core.disk import os_errors, sync_folder
from rubric_anchors.core.jsonl import LINE_LIMIT, Row, read_jsonl

_CHUNK: Final = 1 << 20


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of `path` at the end of the block; where the block raises, what was
    there stays: a temporary file beside it, fsync, rename.

    A symbolic link is followed, and the permissions of a file that is replaced are kept. A pipe or a device is written
    into. Raises SetupError where the disk says no, for an OSError of the block too.
    """
    with os_errors("write", path):
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            with target.open("wb") as file:  # a pipe or a device: renaming over it would destroy it
                yield file
            return
        kept = target.stat().st_mode & 0o777 if target.exists() else None
        # Not `tempfile`: its files are 0600 whatever the umask, and a result that others cannot read is a surprise.
        part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with open(descriptor, "wb") as file:
                if kept is not None:
                    os.fchmod(file.fileno(), kept)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
        sync_folder(target.parent)


def atomic_write_bytes(path: str | Path, data: bytes) -> None:
    """Writes the whole file or leaves what was there, as `atomic_file`."""
    with atomic_file(path) as file:
        file.write(data)


def atomic_write_text(path: str | Path, text: str) -> None:
    """`atomic_write_bytes` of `text` as UTF-8, line ends as they stand. Lone surrogates become U+FFFD."""
    atomic_write_bytes(path, whole_text(text).encode("utf-8"))


def atomic_write_json(path: str | Path, value: JsonValue, *, indent: int | None = 2) -> None:
    """`atomic_write_bytes` of `value` as JSON with a final line end. Raises ValueError on NaN and infinity."""
    atomic_write_bytes(path, json_bytes(value, indent=indent) + b"\n")


def json_bytes(value: JsonValue, *, indent: int | None = None) -> bytes:
    """`value` as JSON in UTF-8; lone surrogates stay as escapes. Raises ValueError on NaN and infinity."""
    separators = (",", ": ") if indent is not None else (",", ":")
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent, separators=separators).encode("ascii")


def whole_text(text: str) -> str:
    """`text` with each lone surrogate, which no encoding can carry, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Through UTF-16 a high and a low surrogate side by side become the one character they stand for.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class JsonlJournal:
    """An append-only file of JSON rows. What `flush` has returned for is on disk, whatever happens next.

    A last line that a kill left torn (no line end) is cut off when the journal is opened again. Rows may be appended
    from several threads; one process writes at a time. Raises SetupError where the disk says no: the file then still
    ends with a whole row, and the rows that did not fit wait for the next `flush`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._pending: list[bytes] = []
        self._lock = threading.Lock()
        with os_errors("write", path):
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115  closed by `close`
            self._size = _whole_size(self._file)
            if self._size < os.fstat(self._file.fileno()).st_size:
                os.truncate(self._file.fileno(), self._size)
            sync_folder(self.path.parent)

    def append(self, row: Mapping[str, JsonValue]) -> None:
        """Adds a row; it is on disk after the next `flush`. Raises ValueError on NaN and infinity."""
        line = json_bytes(dict(row)) + b"\n"
        with self._lock:
            if self._file.closed:
                raise ValueError(f"the journal {str(self.path)!r} is closed")
            self._pending.append(line)

    def flush(self) -> None:
        """Writes the rows appended so far and waits until the disk has them."""
        with self._lock, os_errors("write", self.path):
            if not self._pending:
                return
            data = memoryview(b"".join(self._pending))
            try:
                written = 0
                while written < len(data):
                    written += self._file.write(data[written:]) or 0
                os.fsync(self._file.fileno())
            except BaseException:
                # Ctrl-C too: the rows still count as waiting, and written again they would stand there twice.
                os.truncate(self._file.fileno(), self._size)
                raise
            self._size, self._pending = self._size + len(data), []

    def rows(self, *, limit: int = LINE_LIMIT) -> Iterator[Row]:
        """The rows on disk, from the first; none for a new journal. Raises DataError on a row that is no JSON."""
        if self._size:
            for _, row in read_jsonl(self.path, limit=limit):
                yield row

    def close(self) -> None:
        """Flushes and closes. A second call does nothing."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _whole_size(file: FileIO) -> int:
    """Bytes up to and with the last line end."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _CHUNK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
