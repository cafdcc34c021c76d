"""Broken rubric files, each of which gives exactly one clear line that names file, line and criterion."""

from pathlib import Path

import pytest

from rubric_anchors.core.errors import RubricError
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
    "wrong type": (
        "weight: 2",
        "weight: much",
        6,
        "criterion 'length': weight: expected a number, seen the text 'much'",
    ),
    "quoted number": ("weight: 2", "weight: '2'", 6, "seen the text '2'; write it without quotes"),
    "number for text": (
        "ask: Concrete detail carries it.",
        "ask: 5",
        9,
        "expected some text, seen the number 5; put it in quotes",
    ),
    "YAML 1.1 no": ("means: None.", "means: no", 12, 'write "no" or false'),
    "YAML 1.1 number": ("min: 60", "min: 1_000", 7, "1_000 is read differently by YAML readers"),
    "not a number": ("weight: 2", "weight: .nan", 6, "criterion 'length': weight: .nan is no number that can be used"),
    "infinite": ("weight: 2", "weight: .inf", 6, "is no number that can be used"),
    "weight 0": ("weight: 2", "weight: 0", 6, "criterion 'length': weight: weight 0 and neither a veto nor a relation"),
    "huge weight": ("weight: 2", "weight: 1e300", 6, "expected a number of at most 1e+09"),
    "duplicate key": (
        "weight: 2",
        "weight: 2\n    weight: 3",
        7,
        "the key 'weight' stands twice in one mapping (first on line 6)",
    ),
    "duplicate criterion": ("key: detail\n", "key: length\n", 8, "'length' stands more than once"),
    "tier order": ("value: 0,", "value: 1,", 11, "the first and the last tier must differ"),
    "falling tiers": ("value: 1,", "value: 0.5}\n      - {means: Worse., value: 0.25,", 14, "must never decrease"),
    "half the values": ("value: 0,", "", 12, "give every tier a value or none"),
    "no anchors": (
        ", anchors: [Believe.]",
        "",
        12,
        "criterion 'detail': tiers[0]: an exemplar criterion needs anchors",
    ),
    "unknown relation": (
        "{key: detail, beyond",
        "{key: detial, beyond",
        15,
        "'detial' is no criterion; there are: length, detail",
    ),
    "out of range": (
        "beyond: 0.8",
        "beyond: 80",
        15,
        "relations[0].saturate.beyond: expected a number below 1, seen the number 80",
    ),
    "bad choice": (
        "id: voice",
        "id: voice\nscope: tasks",
        3,
        "scope: expected dataset, task or instance, seen the text 'tasks'",
    ),
    "bad id": ("id: voice", "id: My Voice", 2, "id: expected an id of lower-case letters"),
    "bad critic": (
        "critic: exemplar",
        "critic: {check: x, min: 3}",
        10,
        "unknown field 'min'; a critic's options stand under",
    ),
    "future schema": ("schema: 1", "schema: 7", 1, "schema: expected 1, seen the number 7"),
    "tab": ("    weight", "\tweight", 6, "a tab stands in the indentation; indent with spaces"),
    "open quote": ("ask: Concrete", "ask: 'Concrete", 9, "look for a quote that is never closed"),
    "open bracket": ("min: 60, max: 120}}", "min: 60, max: 120", 8, "look for a missing comma or bracket"),
    "colon in text": ("ask: It is", "ask: It is: ", 5, "text with ': ' in it needs quotes"),
    "tag": (
        "ask: It",
        "ask: !!python/name:os.system It",
        5,
        "the tag 'tag:yaml.org,2002:python/name:os.system' is not allowed",
    ),
    "self alias": ("[Believe.]", "&a [*a]", 12, "stands inside what it repeats"),
    "control character": ("It is", "It \x07 is", 5, "the character U+0007 cannot stand in YAML"),
    "second document": ("relations:", "---\nrelations:", 14, "a second document begins"),
    "not a list": ("criteria:\n", "criteria: none\nrest:\n", 4, "unknown field 'rest'"),
}

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
    "JSON comma": (
        "r.json",
        b'{\n "id": "voice",\n}',
        ":3:1: not valid JSON: expected a key in double quotes; seen '}'",
    ),
    "JSON twice": (
        "r.json",
        b'{\n "id": "a",\n "id": "b"}',
        ":3:2: the key 'id' stands twice in one mapping (first on line 2)",
    ),
    "JSON NaN": ("r.json", b'{"id": NaN}', ":1:8: id: not valid JSON: NaN is no JSON value"),
    "JSON field": (
        "r.json",
        b'{\n "id": "a",\n "criteria": 3}',
        ":3:2: criteria: expected a list, seen the number 3; put it in [ ]",
    ),
}


def one_line(path: Path) -> str:
    with pytest.raises(RubricError) as caught:
        load_rubric(path)
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
    message = one_line(path)
    assert words in message
    assert message.startswith(f":{line}:")


@pytest.mark.parametrize("name", WHOLE_RUBRICS)
def test_a_file_that_is_no_rubric_is_one_line(tmp_path: Path, name: str) -> None:
    file, content, words = WHOLE_RUBRICS[name]
    (tmp_path / file).write_bytes(content)
    assert words in one_line(tmp_path / file)


def test_the_sound_rubric_that_the_broken_ones_are_made_of_is_read(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(RUBRIC)
    assert load_rubric(tmp_path / "r.yaml").keys == ("length", "detail")
