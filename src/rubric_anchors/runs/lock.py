"""One writer a run folder: an advisory lock that ends with the process that holds it, however it ends."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import SetupError

_HELD: Final[set[int]] = set()


def _forget_in_child() -> None:
    # A forked child shares the parent's lock: left open there, the lock would outlive a killed parent.
    while _HELD:
        os.close(_HELD.pop())


os.register_at_fork(after_in_child=_forget_in_child)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the lock file `path` for the length of the block; the file itself stays, emptied.

    The kernel holds the lock (`flock`), so a process that is killed leaves none behind. Raises SetupError, naming the
    holder's process and host, where another writer has it, and where the file system cannot lock.
    """
    handle = _open(path)
    try:
        _take(handle, path)
        while not _is_at(handle, path):  # its holder removed it between our opening and our locking it
            os.close(handle)
            handle = _open(path)
            _take(handle, path)
        _HELD.add(handle)
        holder = {"pid": os.getpid(), "host": socket.gethostname()}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(holder).encode(), 0)
        try:
            yield
        finally:
            # A forked child that unwinds this block has forgotten the lock; its parent still holds it.
            if handle in _HELD:
                os.ftruncate(handle, 0)
    finally:
        if handle in _HELD:
            _HELD.discard(handle)
            os.close(handle)


def _open(path: Path) -> int:
    with os_errors("write", path):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _is_at(handle: int, path: Path) -> bool:
    """Whether `path` still names the file that `handle` has open."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def _take(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = _holder(handle)
        os.close(handle)
        raise SetupError(
            f"{path.parent}: {holder} is writing this run; wait for it to end, stop it, or choose another folder"
        ) from error
    except OSError as error:
        os.close(handle)
        raise SetupError(
            f"{path}: this file system cannot lock files ({error.strerror}); put the run on a local disk"
        ) from error


def _holder(handle: int) -> str:
    try:
        seen = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(seen['pid'])} on {str(seen['host'])!r}"
    except (ValueError, KeyError, TypeError):
        return "another process"
