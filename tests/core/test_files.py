import errno
import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from rubric_anchors.core import files
from rubric_anchors.core.disk import os_error_line, read_bytes
from rubric_anchors.core.errors import DataError, InputError, SetupError
from rubric_anchors.core.files import (
    JsonlJournal,
    atomic_file,
    atomic_write_bytes,
    atomic_write_json,
    atomic_write_text,
    whole_text,
)
from rubric_anchors.core.jsonl import read_jsonl
from rubric_anchors.core.words import human_size


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def full_disk(*args: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_write_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    atomic_write_text(target, "first, and longer")
    atomic_write_text(target, "zweite\r\n")
    assert target.read_bytes() == b"zweite\r\n"
    assert names(tmp_path) == ["a.txt"]


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    atomic_write_json(target, {"old": True})
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(SetupError, match=r"cannot write '.*a\.json': the disk is full; free some space"):
        atomic_write_json(target, {"new": True})
    assert json.loads(target.read_text()) == {"old": True}
    assert names(tmp_path) == ["a.json"]


def test_a_file_whose_block_raises_leaves_the_old_one_and_no_part(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(TypeError, match="bytes-like"), atomic_file(target) as file:
        file.writelines([b"new", 3])  # type: ignore[list-item]
    assert (names(tmp_path), target.read_text()) == (["out.txt"], "old")
    with atomic_file(target) as file:
        file.write(b"ne")
        file.write(b"w")
        assert target.read_text() == "old"
    assert (names(tmp_path), target.read_text()) == (["out.txt"], "new")


def test_a_write_keeps_permissions_and_follows_links(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("x")
    real.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    atomic_write_bytes(link, b"y")
    assert link.is_symlink()
    assert real.read_bytes() == b"y"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    atomic_write_bytes(tmp_path / "atomic", b"")
    assert (tmp_path / "atomic").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder, "it is a folder, not a file"),
        (lambda folder: folder / "missing" / "a.txt", "there is no such file or folder"),
        (lambda folder: folder / ("x" * 300), "the path is too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, make, words: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(SetupError, match=words) as caught:
        atomic_write_bytes(make(tmp_path), b"")
    assert "\n" not in str(caught.value)


def test_an_unknown_os_error_keeps_its_own_words() -> None:
    line = os_error_line(OSError(errno.EDOM, "Strange"), "read", "a/b")
    assert line == "cannot read 'a/b': Strange; check the path and the disk"


def test_reading_is_the_callers_kind_of_error_and_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_bytes(tmp_path / "none", DataError)
    (tmp_path / "big").write_bytes(b"12345")
    assert read_bytes(tmp_path / "big", limit=5) == b"12345"
    with pytest.raises(InputError, match="larger than 4 bytes"):
        read_bytes(tmp_path / "big", limit=4)


def test_json_refuses_nan_and_writes_surrogates_as_escapes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        atomic_write_json(tmp_path / "a.json", {"x": float("nan")})
    assert names(tmp_path) == []
    atomic_write_json(tmp_path / "a.json", {"x": "\ud800é"})
    assert json.loads((tmp_path / "a.json").read_bytes()) == {"x": "\ud800é"}


def test_whole_text_mends_only_what_no_file_can_hold() -> None:
    assert whole_text("a\0\r\nb\ufeff") == "a\0\r\nb\ufeff"
    assert whole_text("a\ud800b") == "a\ufffdb"
    assert whole_text("\ud83d\ude00") == "😀"


@pytest.mark.parametrize(
    ("size", "words"), [(3, "3 bytes"), (8 << 20, "8 MiB"), (3 << 19, "1.5 MiB"), (1 << 31, "2 GiB")]
)
def test_sizes_are_in_words(size: int, words: str) -> None:
    assert human_size(size) == words


ROWS: list[dict[str, JsonValue]] = [{"id": 1, "text": "a\nb"}, {"id": 2, "text": "\ud800 é\u2028"}, {"id": 3}]


def test_a_journal_gives_back_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with JsonlJournal(path) as journal:
        assert list(journal.rows()) == []
        journal.append(ROWS[0])
        assert path.read_bytes() == b""
        journal.flush()
        assert list(journal.rows()) == ROWS[:1]
        journal.append(ROWS[1])
    with JsonlJournal(path) as journal:
        journal.append(ROWS[2])
        journal.flush()
        assert list(journal.rows()) == ROWS
    assert [row for _, row in read_jsonl(path)] == ROWS


@given(cut=st.integers(0, 200), rows=st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9)), max_size=5))
def test_a_journal_torn_anywhere_keeps_every_whole_row_and_takes_new_ones(
    tmp_path_factory: pytest.TempPathFactory, cut: int, rows: list[dict[str, JsonValue]]
) -> None:
    path = tmp_path_factory.mktemp("torn") / "rows.jsonl"
    with JsonlJournal(path) as journal:
        for row in rows:
            journal.append(row)
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    with JsonlJournal(path) as journal:
        kept = list(journal.rows())
        assert kept == rows[: data.count(b"\n")]
        journal.append({"after": True})
        journal.flush()
        assert list(journal.rows()) == [*kept, {"after": True}]


def test_a_long_torn_line_is_cut_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_CHUNK", 4)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": "' + b"x" * 30)
    with JsonlJournal(path) as journal:
        assert list(journal.rows()) == [{"a": 1}]
    assert path.read_bytes() == b'{"a": 1}\n'


def test_a_full_disk_leaves_whole_rows_and_the_others_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    journal = JsonlJournal(path)
    journal.append({"a": 1})
    journal.flush()
    journal.append({"b": 2})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(SetupError, match="the disk is full"):
            journal.flush()
    assert path.read_bytes() == b'{"a":1}\n'
    journal.close()
    assert path.read_bytes() == b'{"a":1}\n{"b":2}\n'


def test_a_closed_journal_takes_no_row(tmp_path: Path) -> None:
    journal = JsonlJournal(tmp_path / "rows.jsonl")
    journal.close()
    journal.close()
    with pytest.raises(ValueError, match="is closed"):
        journal.append({})


def test_a_journal_where_none_can_be_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="it is a folder"):
        JsonlJournal(tmp_path)


def test_threads_can_share_a_journal(tmp_path: Path) -> None:
    with JsonlJournal(tmp_path / "rows.jsonl") as journal:

        def work(number: int) -> None:
            for index in range(50):
                journal.append({"thread": number, "index": index})
                journal.flush()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = list(journal.rows())
    assert len(rows) == 200
    for number in range(4):
        assert [row["index"] for row in rows if row["thread"] == number] == list(range(50))
