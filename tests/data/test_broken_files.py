"""Broken data files, each of which gives exactly one clear line that names the file and the row."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rubric_anchors.core.errors import AnchorsError, DataError
from rubric_anchors.data.rows import read_prompts
from rubric_anchors.rubric.load import load_rubric

P = b'{"prompt": "Say it."}\n'
DATA: dict[str, tuple[str, bytes, str]] = {
    "empty": ("d.jsonl", b"", ": the file is empty; expected one JSON object a line"),
    "blank": ("d.jsonl", b"\n\n", ": the file is empty"),
    "bad JSON": ("d.jsonl", P + b'{"prompt": }\n', ":2: not JSON: expecting value (column 12)"),
    "not an object": ("d.jsonl", P + b'"text"\n', ":2: expected a JSON object {...}, seen the text 'text'"),
    "missing column": (
        "d.jsonl",
        P + b'{"promt": "x"}\n',
        ":2: the column 'prompt' is missing; there are: promt; did you mean",
    ),
    "10 MB line": ("d.jsonl", P + b'{"prompt": "' + b"x" * 10_000_000 + b'"}\n', ":2: the line is longer than 8 MiB"),
    "latin-1": ("d.jsonl", P + b'{"prompt": "caf\xe9"}\n', ":2: byte 16 of the line is not UTF-8"),
    "utf-16": ("d.jsonl", P.decode().encode("utf-16"), ":1: byte 1 of the line is not UTF-8"),
    "number": (
        "d.jsonl",
        P + b'{"prompt": 3}\n',
        ":2: prompt: expected text or a list of {role, content} messages, seen the",
    ),
    "no text": ("d.jsonl", b'{"prompt": " "}\n', ":1: the prompt is empty; remove the row or write one"),
    "bad role": (
        "d.jsonl",
        b'{"prompt": [{"role": "human", "content": "x"}]}\n',
        ":1: prompt: message 1: expected a role of system",
    ),
    "no content": (
        "d.jsonl",
        b'{"prompt": [{"role": "user"}]}\n',
        ":1: prompt: message 1: expected text as content, seen nothing",
    ),
    "last turn": (
        "d.jsonl",
        b'{"prompt": [{"role": "assistant", "content": "x"}]}\n',
        ":1: prompt: the last message is the assistant's",
    ),
    "id twice": ("d.jsonl", b'{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}\n', ":2: the id 'a' stands at"),
    "prompt twice": ("d.jsonl", P + P, ":2: the same prompt (and no id) stands at"),
    "rubrics": (
        "d.jsonl",
        b'{"prompt": "x", "rubrics": [3]}\n',
        ":1: rubrics: expected a list of ids, seen the number 3 in it",
    ),
    "inline rubric": (
        "d.jsonl",
        P + json.dumps({"prompt": "x", "rubric": {"id": "r", "criteria": [{"key": "k", "aks": "It."}]}}).encode(),
        ":2, rubric: criterion 'k': unknown field 'aks'; did you mean 'ask'? (and 2 more)",
    ),
    "CSV column": ("d.csv", b"id,text\na,b\n", ":2: the column 'prompt' is missing; there are: id, text"),
    "CSV ragged": ("d.csv", b"id,prompt\na,b\nc,d,e\n", ":3: expected 2 fields as in the header, seen 3"),
    "CSV quote": (
        "d.csv",
        b'id,prompt\na,b\nc,"d\n',
        ":3: not readable as CSV: unexpected end of data; look for a quote",
    ),
    "CSV header": ("d.csv", b"prompt,prompt\na,b\n", ":1: the column 'prompt' stands twice in the header"),
    "CSV latin-1": ("d.csv", b"prompt\ncaf\xe9\n", ":2: the row holds bytes that are not UTF-8"),
    "CSV empty": ("d.csv", b"", ": the file is empty; expected a header line"),
    "CSV without rows": ("d.csv", b"prompt\n", ": the table has no rows; expected one prompt a row"),
    "CSV 10 MB": ("d.csv", b"prompt\n" + b"x" * 10_000_000, ":2: the line is longer than 8 MiB"),
    "JSON as lines": ("d.json", P + P, ":2:1: not JSON: extra data; is it JSON lines? Then end its name in .jsonl"),
    "JSON object": ("d.json", P, ": expected a JSON list of rows, seen a mapping"),
    "Parquet": ("d.parquet", b"PAR1 but not really", ": not readable as Parquet"),
    "no kind": ("d.txt", b"x", ": what kind of table is this? Expected a name that ends in .jsonl"),
}


def one_line(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_prompts(path)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.isprintable()
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize("name", DATA)
def test_broken_data_is_one_line_with_its_row(tmp_path: Path, name: str) -> None:
    file, content, words = DATA[name]
    (tmp_path / file).write_bytes(content)
    assert one_line(tmp_path / file).startswith(words)


@pytest.mark.parametrize("reader", [load_rubric, read_prompts])
def test_a_file_that_is_not_there_or_closed_to_us_is_one_line(tmp_path: Path, reader: Callable[[Path], object]) -> None:
    with pytest.raises(AnchorsError, match="there is no such file or folder; check the path") as caught:
        reader(tmp_path / "none.yaml")
    assert caught.value.exit_code == 2
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    with pytest.raises(AnchorsError, match="symbolic links go in a circle"):
        reader(loop)
    (tmp_path / "file").write_text("")
    with pytest.raises(AnchorsError, match="a part of the path is a file"):
        reader(tmp_path / "file" / "r.jsonl")
