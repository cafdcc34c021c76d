"""A file of rows while it is being made: `OUT.partial`, from which an interrupted piece of work goes on.

Its first line says what is being made; each further line is a finished row. `OUT` appears only when all rows are there.
"""

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pydantic import JsonValue

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.core.files import JsonlJournal, atomic_file
from rubric_anchors.core.jsonl import Row


def refuse_out(out: Path, *, resume: bool, force: bool, sources: Iterable[str | Path] = ()) -> None:
    """Raises SetupError where `out` or its partial file is there and nobody said what to do with it, or is one of the
    `sources` that are read; InputError for both `resume` and `force`."""
    if resume and force:
        raise InputError("--resume goes on with an interrupted run and --force starts anew; give one of them")
    with os_errors("write", out):
        if not out.parent.is_dir():
            out.parent.stat()  # raises where nothing is
            raise NotADirectoryError(errno.ENOTDIR, "")
        if out.exists() and not out.is_file():
            raise SetupError(f"{out}: is no plain file; name a file to write the rows to")
        partial = partial_of(out)
        for source in sources:
            if _is_one_of(source, (out, partial)):
                raise SetupError(f"{out}: {source} is read and would be replaced; name another file to write to")
        if partial.exists() and not (resume or force):
            raise SetupError(_begun(out))
        if out.exists() and not force and not (resume and partial.exists()):
            raise SetupError(_there(out))


def _is_one_of(source: str | Path, files: Iterable[Path]) -> bool:
    for file in files:
        with suppress(OSError):  # one that is not there, or no path at all
            if file.samefile(source):
                return True
    return False


def _begun(out: Path) -> str:
    held = f"{partial_of(out).name} holds the finished rows of an interrupted run"
    return f"{out}: {held}; --resume goes on, --force starts anew"


def _there(out: Path) -> str:
    return f"{out}: is there already; --force replaces it, or name another file"


def partial_of(out: Path) -> Path:
    """Where the finished rows of `out` stand until all are done."""
    return out.with_name(f"{out.name}.partial")


class Unfinished:
    """The finished rows of `out`, for the length of a `with` block; one process at a time."""

    def __init__(self, out: Path, begun: Mapping[str, JsonValue], *, resume: bool, force: bool = False) -> None:
        """`begun`: what is being made; rows of an earlier process are kept only for the very same. `force`: whether
        `out` may be replaced. Raises SetupError.
        """
        self.out = out
        self.path = partial_of(out)
        self._begun = {"begun": dict(begun)}
        self._resume = resume
        self._force = force
        self._count = 0
        self.found: list[Row] = []
        """The rows finished before, in order; known inside the `with` block."""

    def __enter__(self) -> Self:
        self._lock = self._locked()
        try:
            if not self._resume:
                # What another process left since `refuse_out` looked is not to be lost either.
                if os.fstat(self._lock).st_size and not self._force:
                    raise SetupError(_begun(self.out))
                os.ftruncate(self._lock, 0)
            self._journal = JsonlJournal(self.path)
            self._begin()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def _locked(self) -> int:
        """The partial file, held by this process alone."""
        while True:
            with os_errors("write", self.path):
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(handle), self.path.stat()):
                    return handle
            except BlockingIOError as error:
                os.close(handle)
                raise SetupError(
                    f"{self.out}: another process is writing it; wait for it to end, or name another file"
                ) from error
            except FileNotFoundError:
                pass
            os.close(handle)  # whoever held it finished between our opening and our locking it

    def _begin(self) -> None:
        rows = list(self._journal.rows())
        self.found = rows[1:]
        if self.out.exists() and not self._force and not rows:
            self._give_up()
            raise SetupError(_there(self.out))
        if not rows:
            try:
                self._journal.append(self._begun)
                self._journal.flush()
            except BaseException:
                self._give_up()
                raise
        elif rows[0] != self._begun:
            self._journal.close()
            raise SetupError(
                f"{self.path}: was begun with other data, rubrics, options or another judge; restore them, or start"
                " anew with --force"
            )
        self._count = len(self.found)

    def append(self, rows: Sequence[Mapping[str, JsonValue]]) -> None:
        """Adds finished rows; they are on disk when this returns."""
        for row in rows:
            self._journal.append(row)
        self._journal.flush()
        self._count += len(rows)

    def finish(
        self,
        write: Callable[[Iterator[bytes], BinaryIO], None] = lambda lines, file: file.writelines(lines),
        order: Sequence[int] | None = None,
    ) -> None:
        """All rows are there: `out` appears, the partial file goes.

        `write`: makes the file of the rows' lines. `order`: the numbers of the rows as `out` is to have them; None: as
        they were appended.
        """
        self._journal.close()
        with os_errors("write", self.out):
            with atomic_file(self.out) as file:
                write(self._lines(order), file)
            self.path.unlink()

    def _lines(self, order: Sequence[int] | None) -> Iterator[bytes]:
        with self.path.open("rb") as rows:
            start = len(rows.readline())
            if order is None:
                yield from rows
                return
            starts = []
            for line in rows:
                starts.append(start)
                start += len(line)
            for number in order:
                rows.seek(starts[number])
                yield rows.readline()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or self._count:
                self._journal.close()
            else:
                self._give_up()
        finally:
            os.close(self._lock)

    def _give_up(self) -> None:
        """Nothing was finished: leave nothing behind."""
        with suppress(SetupError):
            self._journal.close()
        with suppress(OSError):
            self.path.unlink()
