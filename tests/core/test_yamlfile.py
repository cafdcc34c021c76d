import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
import yaml
from pydantic import Field, JsonValue, model_validator

from rubric_anchors.core import yamltree
from rubric_anchors.core.errors import RecipeError
from rubric_anchors.core.frozen import Expected, Frozen, Misfit
from rubric_anchors.core.nodes import DEPTH_LIMIT, DocumentProblem, from_value, plain
from rubric_anchors.core.yamlfile import SIZE_LIMIT, parse_config, read_config
from rubric_anchors.core.yamltree import read_yaml, resolve


class Stage(Frozen):
    name: str
    steps: int = Field(default=1, ge=1, le=9)
    rate: float = Field(default=1e-5, gt=0)
    quiet: bool = False
    mode: Literal["full", "lora"] = "full"
    pair: tuple[str, str] | None = None
    colour: Annotated[str, Field(pattern="^[a-z]+$"), Expected("a colour in lower case")] = "red"
    start: float = Field(default=0.5, alias="from", lt=1)
    limits: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_both(self) -> "Stage":
        if self.steps > 5 and self.quiet:
            raise Misfit("more than 5 steps are never quiet", "steps")
        return self


class Recipe(Frozen):
    name: str
    stages: tuple[Stage, ...] = Field(default=(), max_length=2)
    options: dict[str, JsonValue] = Field(default_factory=dict)


def parse(text: str) -> Recipe:
    return parse_config(text, Recipe, RecipeError, source="r.yaml")


def fault(text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


STAGE = "name: r\nstages:\n  - name: warm\n    "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("steps: two", "stage 'warm': steps: expected a whole number, seen the text 'two'"),
        ("steps: '2'", "stage 'warm': steps: expected a number, seen the text '2'; write it without quotes"),
        ("steps: true", "stage 'warm': steps: expected a number, seen true"),
        ("steps: 2.5", "stage 'warm': steps: expected a whole number, seen the number 2.5"),
        ("steps: 0", "stage 'warm': steps: expected a number of at least 1, seen the number 0"),
        ("steps: 10", "stage 'warm': steps: expected a number of at most 9, seen the number 10"),
        ("rate: 0", "stage 'warm': rate: expected a number above 0, seen the number 0"),
        ("from: 1.0", "stage 'warm': from: expected a number below 1, seen the number 1.0"),
        ("start: 0.1", "stage 'warm': unknown field 'start'; the fields are: name, steps, rate, quiet, mode, pair"),
        ("rte: 0.1", "stage 'warm': unknown field 'rte'; did you mean 'rate'?"),
        ("quiet: 1", "stage 'warm': quiet: expected true or false, seen the number 1"),
        ("quiet: 'true'", "stage 'warm': quiet: expected true or false, seen the text 'true'; write it without quotes"),
        ("mode: lore", "stage 'warm': mode: expected full or lora, seen the text 'lore'; did you mean 'lora'?"),
        ("pair: [a]", "stage 'warm': pair: entry 2 of the list is missing; add it"),
        ("pair: [a, b, c]", "stage 'warm': pair: expected at most 2 entries, seen a list"),
        ("pair: a", "stage 'warm': pair: expected a list, seen the text 'a'; put it in [ ]"),
        ("pair: [a, 2]", "stage 'warm': pair[1]: expected text, seen the number 2; put it in quotes"),
        ("colour: RED", "stage 'warm': colour: expected a colour in lower case, seen the text 'RED'"),
        ("limits: 3", "stage 'warm': limits: expected a mapping of fields (name: value), seen the number 3"),
        ("limits: {a: b}", "stage 'warm': limits.a: expected a number, seen the text 'b'"),
        ("limits: {a: '1'}", "stage 'warm': limits.a: expected a number, seen the text '1'; write it without quotes"),
        ("steps: 6\n    quiet: true", "stage 'warm': steps: more than 5 steps are never quiet"),
        ("steps:", "stage 'warm': steps: expected a whole number, seen nothing (null)"),
    ],
)
def test_a_wrong_value_names_place_expectation_and_sight(line: str, message: str) -> None:
    found = fault(STAGE + line + "\n")
    place, _, words = found.partition(": ")
    assert place in {"r.yaml:4:5", "r.yaml:4:14", "r.yaml:4:15"}
    assert words.startswith(message)
    as_json = json.dumps(plain(read_yaml(STAGE + line + "\n")), indent=1)  # type: ignore[arg-type]
    with pytest.raises(RecipeError) as caught:
        parse_config(as_json, Recipe, RecipeError, source="r.json", is_json=True)
    place, _, same = str(caught.value).partition(": ")
    assert same.startswith(message)
    assert place.startswith("r.json:")


def test_one_fault_is_shown_and_the_others_counted() -> None:
    message = fault("name: 5\nstages: [{name: a, steps: 0}, {steps: 0}]\n")
    assert message == "r.yaml:1:1: name: expected text, seen the number 5; put it in quotes (and 3 more)"


def test_an_entry_without_a_name_is_called_by_its_number() -> None:
    assert fault("name: r\nstages: [{steps: 1}]\n") == "r.yaml:2:10: stages[0]: field 'name' is missing; add it"
    assert "stages: expected at most 2 entries" in fault("name: r\nstages: [{name: a}, {name: b}, {name: c}]\n")
    assert "stage 'x': unknown field 'zzz'" in fault("name: r\nstages:\n  - {name: x, zzz: 1}\n")


def test_a_fault_in_a_repeated_value_is_placed() -> None:
    message = fault("name: r\noptions: &o {name: 3}\nstages:\n  - *o\n")
    assert message.startswith("r.yaml:2:14: stages[0].name: expected text")
    assert fault("name: r\noptions: {a: &o 3}\nstages:\n  - *o\n").startswith("r.yaml:4:5: stages[0]: ")


@pytest.mark.parametrize("content", ["", "   \n", "# only a comment\n", "---\n", "null\n", "\ufeff"])
def test_an_empty_file_says_what_was_expected(content: str) -> None:
    assert fault(content) == "r.yaml: the file is empty; expected a mapping of fields (name, stages, options, ...)"


@pytest.mark.parametrize(
    ("content", "seen"), [("a", "the text 'a'"), ("- a", "a list"), ("3", "the number 3"), ("[]", "an empty")]
)
def test_a_file_that_is_no_mapping_is_refused(content: str, seen: str) -> None:
    assert f"expected a mapping of fields (name, stages, options, ...), seen {seen}" in fault(content)


WORDS = {
    "a": "a",
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "False": False,
    "0": 0,
    "-7": -7,
    "+3": 3,
    "2e-5": 2e-5,
    "1.": 1.0,
    ".5": 0.5,
    "-1.5E+3": -1500.0,
    "2024-01-01": "2024-01-01",
    "1.2.3": "1.2.3",
    "1e": "1e",
    "=": "=",
    "y": "y",
    "-": "-",
    ".": ".",
    "1a": "1a",
    "1,000": "1,000",
    "e5": "e5",
    "0.5": 0.5,
    "-0": 0,
}


@pytest.mark.parametrize("word", WORDS)
def test_a_bare_word_means_what_every_reader_takes_it_for(word: str) -> None:
    value = resolve(word)
    assert value == WORDS[word]
    assert type(value) is type(WORDS[word])


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "No",
        "ON",
        "off",
        "1_000",
        "0777",
        "0x1F",
        "0o17",
        "0b101",
        "12:30",
        "1:20:30.5",
        ".inf",
        "-.INF",
        ".nan",
        "1e999",
        "9" * 20,
        "00",
        "1__0.5",
    ],
)
def test_a_word_that_readers_take_differently_is_refused(word: str) -> None:
    message = fault(f"name: {word}\n")
    assert message.startswith("r.yaml:1:7: name: ")
    assert word[:40] in message
    assert parse(f"name: '{word}'\n").name == word


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("name: r\nname: s\n", "2:1", "the key 'name' stands twice in one mapping (first on line 1); remove one"),
        ("name: r\nyes: s\n", "2:1", 'yes is text to some YAML readers and true to others; write "yes" or true'),
        ("name: r\n1: s\n", "2:1", 'a key must be text, seen the number 1; put it in quotes: "1"'),
        ("name: r\n? [a]\n: b\n", "2:3", "a key must be text, seen a list or mapping"),
        ("name: r\noptions: &a {x: 1}\n*a : 3\n", "3:1", "a key must be text, seen an alias"),
        ("name: r\noptions: {<<: {x: 1}}\n", "2:11", "merge keys (<<) are not read"),
        ("name: !!str r\n", "1:7", "the tag 'tag:yaml.org,2002:str' is not allowed"),
        ("name: !x r\n", "1:7", "the tag '!x' is not allowed"),
        ("options: !!python/object/apply:os.system ['true']\n", "1:10", "is not allowed"),
        ("name: *n\n", "1:7", "the alias *n has no anchor &n before it"),
        ("name: r\noptions: &o {x: *o}\n", "2:17", "the alias *o stands inside what it repeats"),
        ("name: r\n--- \nname: s\n", "2:1", "a second document begins; expected one a file"),
        ("name: r\n\toptions: {}\n", "2:1", "a tab stands in the indentation; indent with spaces, not tabs"),
        ("name: a: b\n", "1:8", "text with ': ' in it needs quotes"),
        ("name: 'a\nstages: []\n", "1:7", "look for a quote that is never closed"),
        ("name: [a\nstages: []\n", "2:7", "look for a missing comma or bracket"),
        ("name: @a\n", "1:7", "text that begins with this character needs quotes"),
        ('name: "a\\q"\n', "1:", "use single quotes for text with backslashes"),
        ("name: a\0b\n", "1:8", "the character U+0000 cannot stand in YAML; remove it"),
        ("name: r\n  stages: []\n", "2:9", "not valid YAML"),
    ],
)
def test_what_is_not_plain_yaml_is_refused_at_its_place(text: str, place: str, words: str) -> None:
    message = fault(text)
    assert message.startswith(f"r.yaml:{place}")
    assert words in message


def test_both_yaml_parsers_give_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "name: &a 'x'\nstages:\n- {name: *a, steps: 3}\n-   name: |\n      two\n      lines\noptions: {a: [1, ~]}\n"
    trees = []
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        monkeypatch.setattr(yamltree, "_LOADER", loader)
        trees.append(read_yaml(text))
        for broken in ("name: [a\nb: c\n", "a: b: c\n", "\tname: a\n", "a: 'b\n", "a: @b\n", "%x\n"):
            assert fault(broken).startswith("r.yaml:")
    assert trees[0] == trees[1]


def test_aliases_are_counted_each_time_they_are_used() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    assert "more than 100,000 values, aliases counted each time" in fault(bomb)
    assert parse("name: r\noptions: {a: &a [1, 2], b: *a}\n").options == {"a": [1, 2], "b": [1, 2]}


def test_aliases_cannot_nest_beyond_the_limit() -> None:
    deep = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 40))
    assert f"nested more than {DEPTH_LIMIT} deep" in fault(deep)


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize("text", ["[" * 500_000, "name: " + "[" * 5000, "- " * 5000, "? " * 5000])
def test_depth_is_limited_before_it_can_hurt(monkeypatch: pytest.MonkeyPatch, loader: str, text: str) -> None:
    monkeypatch.setattr(yamltree, "_LOADER", getattr(yaml, loader, yaml.SafeLoader))
    message = fault(text)
    assert f"nested more than {DEPTH_LIMIT} deep" in message or "a key must be text" in message


def test_size_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"# " + b"x" * SIZE_LIMIT)
    with pytest.raises(RecipeError, match=r"big\.yaml: the file is larger than 1 MiB, the most that is read; split it"):
        read_config(path, Recipe, RecipeError)
    assert "longer than 1 MiB" in fault("#" * (SIZE_LIMIT + 1))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"name: a\nstages: [\xe9]\n", ":2:10: byte 0xE9 is not UTF-8; save the file as UTF-8"),
        ("name: a".encode("utf-16"), "looks like UTF-16"),
        (b"\x1f\x8b\x08\x00", "looks like gzip"),
        (b"PK\x03\x04", "looks like zip"),
    ],
)
def test_another_encoding_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "a.yaml").write_bytes(data)
    with pytest.raises(RecipeError) as caught:
        read_config(tmp_path / "a.yaml", Recipe, RecipeError)
    assert words in str(caught.value)


def test_a_byte_order_mark_and_crlf_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfname: a\r\nstages:\r\n  - name: b\r\n")
    assert read_config(tmp_path / "a.yaml", Recipe, RecipeError).stages[0].name == "b"
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"name": "a",\r\n\t"stages": []}')
    assert read_config(tmp_path / "a.json", Recipe, RecipeError).name == "a"


@pytest.mark.parametrize("value", [{1: 2}, {"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}, {"a": float("inf")}])
def test_values_of_a_program_are_held_to_json_too(value: object) -> None:
    with pytest.raises(DocumentProblem):
        from_value(value)
    with pytest.raises(RecipeError, match=r"^row 3: "):
        parse_config(value, Recipe, RecipeError, source="row 3")  # type: ignore[arg-type]


def test_a_program_s_values_give_errors_without_a_line() -> None:
    with pytest.raises(RecipeError) as caught:
        parse_config({"name": "a", "stages": ({"name": "b", "steps": "3"},)}, Recipe, RecipeError, source="row 3")
    assert str(caught.value) == "row 3: stage 'b': steps: expected a number, seen the text '3'; write it without quotes"


def test_braces_are_json_or_yaml() -> None:
    assert parse("{name: a, stages: []}").name == "a"
    assert parse('{"name": "\\ud83d\\ude00", "stages": []}').name == "😀"
