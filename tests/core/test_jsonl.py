from pathlib import Path

import pytest

from rubric_anchors.core.errors import DataError
from rubric_anchors.core.jsonl import read_jsonl, scan_jsonl


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_rows_come_with_their_line_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": "x\\u0000\\ud800"}')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (4, {"b": "x\0\ud800"})]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a": }', r"not JSON: expecting value \(column 7\)"),
        (b'{"a": 1} {"b": 2}', "not JSON: extra data"),
        (b"[1]", r"expected a JSON object {\.\.\.}, seen a list"),
        (b'"text"', "seen the text 'text'"),
        (b'{"a": NaN}', "NaN is no JSON value; use null"),
        (b'{"a": -Infinity}', "-Infinity is no JSON value"),
        (b'{"a": "\xe9"}', "byte 8 of the line is not UTF-8"),
        (b"\xff\xfe{\x00", "byte 1 of the line is not UTF-8"),
        (b"[" * 100_000, "nested more than 100 deep; flatten them"),
        (b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}", "nested more than 100 deep; flatten them"),
        (b'{"a": ' + b'{"b":' * 400 + b"1" + b"}" * 401, "nested more than 100 deep; flatten them"),
        (b'{"a": ' + b"9" * 5000 + b"}", "more digits than can be read; write it as text"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice in one object; remove one"),
        (b'{"a": [{"b": 1, "b": 1}]}', "the key 'b' stands twice in one object; remove one"),
        (b'{"a": "' + b"x" * 100 + b'"}', "the line is longer than 64 bytes"),
    ],
)
def test_a_bad_line_names_file_and_line(tmp_path: Path, line: bytes, words: str) -> None:
    path = write(tmp_path / "a.jsonl", b'{"first": 1}\n' + line + b'\n{"last": 1}\n')
    limit = 64 if b"xxx" in line else 1 << 20
    with pytest.raises(DataError, match=words) as caught:
        list(read_jsonl(path, limit=limit))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert "\n" not in str(caught.value)
    found = list(scan_jsonl(path, limit=limit))
    assert [number for number, _ in found] == [1, 2, 3]
    assert found[2][1] == {"last": 1}


def test_a_line_at_the_limit_is_read_and_one_beyond_is_not(tmp_path: Path) -> None:
    line = b'{"a": "' + b"x" * 55 + b'"}'
    assert len(line) == 64
    for ending in (b"", b"\n", b"\r\n"):
        path = write(tmp_path / "a.jsonl", line + ending)
        assert len(list(read_jsonl(path, limit=64))) == 1
        with pytest.raises(DataError, match="longer than 63 bytes"):
            list(read_jsonl(path, limit=63))


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="the file is empty"):
        list(read_jsonl(write(tmp_path / "a.jsonl", content)))


def test_a_missing_file_and_a_folder_are_data_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read_jsonl(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match="it is a folder"):
        list(read_jsonl(tmp_path))


def test_a_hundred_levels_are_read_and_brackets_in_texts_are_no_levels(tmp_path: Path) -> None:
    deep = b'{"a": ' + b"[" * 99 + b"1" + b"]" * 99 + b', "b": "' + b"[{" * 300 + b'"}'
    assert len(list(read_jsonl(write(tmp_path / "a.jsonl", deep)))) == 1
