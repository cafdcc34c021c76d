"""Broken files, each of which gives exactly one clear line that names the file and, where there is one, the line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rubric_anchors.core.errors import AnchorsError, DataError, RubricError
from rubric_anchors.data.rows import read_prompts
from rubric_anchors.rubric.load import load_rubric

RUBRIC = """\
schema: 1
id: voice
criteria:
  - key: length
    ask: It is 60 to 120 words long.
    weight: 2
    critic: {check: word_count, with: {min: 60, max: 120}}
  - key: detail
    ask: Concrete detail carries it.
    critic: exemplar
    tiers:
      - {means: None., value: 0, anchors: [Believe.]}
      - {means: Much., value: 1, anchors: [The kettle ticked.]}
relations:
  - saturate: {key: detail, beyond: 0.8}
"""

# (what is replaced, by what, the line that the message names, words of the message)
BROKEN_RUBRICS: dict[str, tuple[str, str, int, str]] = {
    "unknown field": ("weight:", "wieght:", 6, "criterion 'length': unknown field 'wieght'; did you mean 'weight'?"),
    "unknown top field": ("relations:", "relation:", 14, "unknown field 'relation'; did you mean 'relations'?"),
    "missing field": ("    ask: Concrete detail carries it.\n", "", 8, "criterion 'detail': field 'ask' is missing"),
    "wrong type": ("weight: 2", "weight: much", 6, "criterion 'length': weight: expected a number, seen the text 'much'"),
    "quoted number": ("weight: 2", "weight: '2'", 6, "seen the text '2'; write it without quotes"),
    "number for text": ("ask: Concrete detail carries it.", "ask: 5", 9, "expected some text, seen the number 5; put it in quotes"),
    "YAML 1.1 no": ("means: None.", "means: no", 12, 'write "no" or false'),
    "YAML 1.1 number": ("min: 60", "min: 1_000", 7, "1_000 is read differently by YAML readers"),
    "not a number": ("weight: 2", "weight: .nan", 6, "criterion 'length': weight: .nan is no number that can be used"),
    "infinite": ("weight: 2", "weight: .inf", 6, "is no number that can be used"),
    "weight 0": ("weight: 2", "weight: 0", 6, "criterion 'length': weight: weight 0 and neither a veto nor a relation"),
    "huge weight": ("weight: 2", "weight: 1e300", 6, "expected a number of at most 1e+09"),
    "duplicate key": ("weight: 2", "weight: 2\n    weight: 3", 7, "the key 'weight' stands twice in one mapping (first on line 6)"),
    "duplicate criterion": ("key: detail\n", "key: length\n", 8, "'length' stands more than once"),
    "tier order": ("value: 0,", "value: 1,", 11, "the first and the last tier must differ"),
    "falling tiers": ("value: 1,", "value: 0.5}\n      - {means: Worse., value: 0.25,", 14, "must never decrease"),
    "half the values": ("value: 0,", "", 12, "give every tier a value or none"),
    "no anchors": (", anchors: [Believe.]", "", 12, "criterion 'detail': tiers[0]: an exemplar criterion needs anchors"),
    "unknown relation": ("{key: detail, beyond", "{key: detial, beyond", 15, "'detial' is no criterion; there are: length, detail"),
    "out of range": ("beyond: 0.8", "beyond: 80", 15, "relations[0].saturate.beyond: expected a number below 1, seen the number 80"),
    "bad choice": ("id: voice", "id: voice\nscope: tasks", 3, "scope: expected dataset, task or instance, seen the text 'tasks'"),
    "bad id": ("id: voice", "id: My Voice", 2, "id: expected an id of lower-case letters"),
    "bad critic": ("critic: exemplar", "critic: {check: x, min: 3}", 10, "unknown field 'min'; a critic's options stand under"),
    "future schema": ("schema: 1", "schema: 7", 1, "schema: expected 1, seen the number 7"),
    "tab": ("    weight", "\tweight", 6, "a tab stands in the indentation; indent with spaces"),
    "open quote": ("ask: Concrete", "ask: 'Concrete", 9, "look for a quote that is never closed"),
    "open bracket": ("min: 60, max: 120}}", "min: 60, max: 120", 8, "look for a missing comma or bracket"),
    "colon in text": ("ask: It is", "ask: It is: ", 5, "text with ': ' in it needs quotes"),
    "tag": ("ask: It", "ask: !!python/name:os.system It", 5, "the tag 'tag:yaml.org,2002:python/name:os.system' is not allowed"),
    "self alias": ("[Believe.]", "&a [*a]", 12, "stands inside what it repeats"),
    "control character": ("It is", "It \x07 is", 5, "the character U+0007 cannot stand in YAML"),
    "second document": ("relations:", "---\nrelations:", 14, "a second document begins"),
    "not a list": ("criteria:\n", "criteria: none\nrest:\n", 4, "unknown field 'rest'"),
}  # fmt: skip

WHOLE_RUBRICS: dict[str, tuple[str, bytes, str]] = {
    "empty": ("r.yaml", b"", ": the file is empty; expected a mapping of fields"),
    "only comments": ("r.yaml", b"# nothing\n", ": the file is empty"),
    "a list": ("r.yaml", b"- a\n", ":1:1: expected a mapping of fields (schema, id, title"),
    "latin-1": ("r.yaml", b"id: voice\ntitle: caf\xe9\n", ":2:11: byte 0xE9 is not UTF-8; save the file as UTF-8"),
    "utf-16": ("r.yaml", "id: voice".encode("utf-16"), ": the file looks like UTF-16"),
    "10 MB": ("r.yaml", b"id: " + b"x" * 10_000_000, ": the file is larger than 1 MiB"),
    "alias bomb": (
        "r.yaml",
        b"a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (i, i, b", ".join([b"*%c" % (i - 1)] * 10)) for i in range(ord("b"), ord("k"))),
        ": more than 100,000 values, aliases counted each time",
    ),
    "deep": ("r.yaml", b"[" * 100_000, "nested more than 32 deep"),
    "JSON comma": ("r.json", b'{\n "id": "voice",\n}', ":3:1: not valid JSON: expected a key in double quotes; seen '}'"),
    "JSON twice": ("r.json", b'{\n "id": "a",\n "id": "b"}', ":3:2: the key 'id' stands twice in one mapping (first on line 2)"),
    "JSON NaN": ("r.json", b'{"id": NaN}', ":1:8: id: not valid JSON: NaN is no JSON value"),
    "JSON field": ("r.json", b'{\n "id": "a",\n "criteria": 3}', ":3:2: criteria: expected a list, seen the number 3; put it in [ ]"),
}  # fmt: skip

P = b'{"prompt": "Say it."}\n'
DATA: dict[str, tuple[str, bytes, str]] = {
    "empty": ("d.jsonl", b"", ": the file is empty; expected one JSON object a line"),
    "blank": ("d.jsonl", b"\n\n", ": the file is empty"),
    "bad JSON": ("d.jsonl", P + b'{"prompt": }\n', ":2: not JSON: expecting value (column 12)"),
    "not an object": ("d.jsonl", P + b'"text"\n', ":2: expected a JSON object {...}, seen the text 'text'"),
    "missing column": ("d.jsonl", P + b'{"promt": "x"}\n', ":2: the column 'prompt' is missing; there are: promt; did you mean"),
    "10 MB line": ("d.jsonl", P + b'{"prompt": "' + b"x" * 10_000_000 + b'"}\n', ":2: the line is longer than 8 MiB"),
    "latin-1": ("d.jsonl", P + b'{"prompt": "caf\xe9"}\n', ":2: byte 16 of the line is not UTF-8"),
    "utf-16": ("d.jsonl", P.decode().encode("utf-16"), ":1: byte 1 of the line is not UTF-8"),
    "number": ("d.jsonl", P + b'{"prompt": 3}\n', ":2: prompt: expected text or a list of {role, content} messages, seen the"),
    "no text": ("d.jsonl", b'{"prompt": " "}\n', ":1: the prompt is empty; remove the row or write one"),
    "bad role": ("d.jsonl", b'{"prompt": [{"role": "human", "content": "x"}]}\n', ":1: prompt: message 1: expected a role of system"),
    "no content": ("d.jsonl", b'{"prompt": [{"role": "user"}]}\n', ":1: prompt: message 1: expected text as content, seen nothing"),
    "last turn": ("d.jsonl", b'{"prompt": [{"role": "assistant", "content": "x"}]}\n', ":1: prompt: the last message is the assistant's"),
    "id twice": ("d.jsonl", b'{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}\n', ":2: the id 'a' stands at"),
    "prompt twice": ("d.jsonl", P + P, ":2: the same prompt (and no id) stands at"),
    "rubrics": ("d.jsonl", b'{"prompt": "x", "rubrics": [3]}\n', ":1: rubrics: expected a list of ids, seen the number 3 in it"),
    "inline rubric": (
        "d.jsonl",
        P + json.dumps({"prompt": "x", "rubric": {"id": "r", "criteria": [{"key": "k", "aks": "It."}]}}).encode(),
        ":2, rubric: criterion 'k': unknown field 'aks'; did you mean 'ask'? (and 2 more)",
    ),
    "CSV column": ("d.csv", b"id,text\na,b\n", ":2: the column 'prompt' is missing; there are: id, text"),
    "CSV ragged": ("d.csv", b"id,prompt\na,b\nc,d,e\n", ":3: expected 2 fields as in the header, seen 3"),
    "CSV quote": ("d.csv", b'id,prompt\na,b\nc,"d\n', ":3: not readable as CSV: unexpected end of data; look for a quote"),
    "CSV header": ("d.csv", b"prompt,prompt\na,b\n", ":1: the column 'prompt' stands twice in the header"),
    "CSV latin-1": ("d.csv", b"prompt\ncaf\xe9\n", ":2: the row holds bytes that are not UTF-8"),
    "CSV empty": ("d.csv", b"", ": the file is empty; expected a header line"),
    "CSV without rows": ("d.csv", b"prompt\n", ": the table has no rows; expected one prompt a row"),
    "CSV 10 MB": ("d.csv", b"prompt\n" + b"x" * 10_000_000, ":2: the line is longer than 8 MiB"),
    "JSON as lines": ("d.json", P + P, ":2:1: not JSON: extra data; is it JSON lines? Then end its name in .jsonl"),
    "JSON object": ("d.json", P, ": expected a JSON list of rows, seen a mapping"),
    "Parquet": ("d.parquet", b"PAR1 but not really", ": not readable as Parquet"),
    "no kind": ("d.txt", b"x", ": what kind of table is this? Expected a name that ends in .jsonl"),
}  # fmt: skip


def one_line(read: Callable[[Path], object], path: Path, kind: type[AnchorsError]) -> str:
    with pytest.raises(kind) as caught:
        read(path)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.isprintable()
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize("name", BROKEN_RUBRICS)
def test_a_broken_rubric_is_one_line_with_its_place(tmp_path: Path, name: str) -> None:
    old, new, line, words = BROKEN_RUBRICS[name]
    assert RUBRIC.count(old) == 1
    path = tmp_path / "r.yaml"
    path.write_bytes(RUBRIC.replace(old, new).encode())
    message = one_line(load_rubric, path, RubricError)
    assert words in message
    assert message.startswith(f":{line}:")


@pytest.mark.parametrize("name", WHOLE_RUBRICS)
def test_a_file_that_is_no_rubric_is_one_line(tmp_path: Path, name: str) -> None:
    file, content, words = WHOLE_RUBRICS[name]
    (tmp_path / file).write_bytes(content)
    assert words in one_line(load_rubric, tmp_path / file, RubricError)


@pytest.mark.parametrize("name", DATA)
def test_broken_data_is_one_line_with_its_row(tmp_path: Path, name: str) -> None:
    file, content, words = DATA[name]
    (tmp_path / file).write_bytes(content)
    assert one_line(read_prompts, tmp_path / file, DataError).startswith(words)


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


def test_the_sound_rubric_that_the_broken_ones_are_made_of_is_read(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(RUBRIC)
    assert load_rubric(tmp_path / "r.yaml").keys == ("length", "detail")
