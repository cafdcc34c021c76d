import json
import os
import stat
import threading
from pathlib import Path

import pytest

from rubric_anchors.core.files import JsonlJournal, atomic_write_text


def test_ctrl_c_while_a_row_is_written_does_not_write_it_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.fsync, 0

    def interrupted(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt
        real(descriptor)

    with JsonlJournal(tmp_path / "rows.jsonl") as journal:
        journal.append({"row": 1})
        monkeypatch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.flush()
    lines = (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"row": 1}]


def test_a_pipe_is_written_into_and_not_renamed_over(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")))
    reader.start()
    atomic_write_text(pipe, "a schema")
    reader.join()
    assert read == ["a schema"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
