import fcntl
import os
from pathlib import Path

import pytest

from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.lock import exclusive


def test_a_run_that_wrote_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder(tmp_path / "run").write():
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays_and_is_empty_again(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder(tmp_path).write():
        raise ZeroDivisionError
    assert tmp_path.is_dir()
    assert list(tmp_path.iterdir()) == []


def write_and_fail(folder: Path) -> None:
    with RunFolder(folder).write() as run:
        run.write_rubrics([])
        raise ZeroDivisionError


def test_what_was_written_before_a_failure_stays(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_and_fail(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rubrics.json", "run.lock"]


def test_a_lock_taken_on_a_file_that_its_holder_removed_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a third process could lock the new file beside us."""
    lock, real, calls = tmp_path / "run.lock", fcntl.flock, 0

    def slow(handle: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            lock.unlink()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with exclusive(lock):
        other = os.open(lock, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            real(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
    assert calls == 2
