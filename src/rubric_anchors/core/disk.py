"""One clear line where the machine says no, and reading a file whole.

Reading raises the caller's kind of `InputError` (the file is wrong); writing raises `SetupError` (the machine is).
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rubric_anchors.core.errors import AnchorsError, InputError, SetupError
from rubric_anchors.core.words import human_size

_ADVICE: Final = {
    errno.ENOENT: ("there is no such file or folder", "check the path"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "check the path"),
    errno.EISDIR: ("it is a folder, not a file", "name a file in it"),
    errno.EACCES: ("permission denied", "change its permissions or choose another place"),
    errno.EPERM: ("permission denied", "change its permissions or choose another place"),
    errno.EROFS: ("the file system is read-only", "choose another place"),
    errno.ENOSPC: ("the disk is full", "free some space and run again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run again"),
    errno.EFBIG: ("the file would be larger than this file system or limit allows", "choose another place"),
    errno.ENAMETOOLONG: ("the path is too long", "use a shorter name"),
    errno.EMFILE: ("too many files are open", "raise the limit (`ulimit -n`)"),
    errno.ELOOP: ("its symbolic links go in a circle", "check the path"),
}


def os_error_line(error: OSError, doing: str, path: str | Path) -> str:
    """One line for a failed file operation: what was tried on which path, why it failed, what to do."""
    unknown = (error.strerror or type(error).__name__, "check the path and the disk")
    cause, advice = _ADVICE.get(error.errno or 0, unknown)
    return f"cannot {doing} {str(path)!r}: {cause}; {advice}"


@contextmanager
def os_errors(doing: str, path: str | Path, error_class: type[AnchorsError] = SetupError) -> Iterator[None]:
    """Turns OSError inside the block into `error_class` with one line, e.g. `with os_errors("write", path): ...`."""
    try:
        yield
    except OSError as error:
        raise error_class(os_error_line(error, doing, path)) from error


def read_bytes(path: str | Path, error_class: type[AnchorsError] = InputError, limit: int | None = None) -> bytes:
    """The file's bytes. Raises `error_class` where it cannot be read or holds more than `limit` bytes."""
    with os_errors("read", path, error_class), open(path, "rb") as file:
        data = file.read() if limit is None else file.read(limit + 1)
    if limit is not None and len(data) > limit:
        raise error_class(f"{path}: the file is larger than {human_size(limit)}, the most that is read; split it")
    return data


def sync_folder(folder: Path) -> None:
    """Makes a rename inside `folder` survive a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
