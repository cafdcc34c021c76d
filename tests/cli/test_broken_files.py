"""Files and folders that cannot be used: one line on standard error, exit code 2, and nothing left half-written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.command import Ran, anchors
from tests.support.recipes import RUBRIC, tiny_recipe, write_recipe, write_rows, write_yaml

ANSWERS: Final = [{"id": "a", "prompt": "Say river.", "response": "a slow river"}]
CRITERION: Final[dict[str, Any]] = RUBRIC["criteria"][0]
WIDTH: Final = {"key": "width", "beyond": 0.5}
TIERS: Final = [{"means": "Low.", "value": 0.8}, {"means": "High.", "value": 0.2}]


def text(content: str) -> bytes:
    """The rubric's file with `content` after its head."""
    return f"schema: 1\nid: short\ntitle: Short\nscope: task\n{content}".encode()


def odd_weight(weight: str) -> bytes:
    return text(f"criteria:\n  - {{key: a, ask: A., critic: {{check: questions}}, weight: {weight}}}\n")


def rubric(**changes: object) -> bytes:
    """The rubric's file with one criterion, changed."""
    return json.dumps({**RUBRIC, "criteria": [{**CRITERION, **changes}]}).encode()


BROKEN_RUBRICS: Final[dict[str, tuple[bytes, str]]] = {
    "bad YAML": (text("criteria: [\n"), "short.yaml:"),
    "a tab": (text("criteria:\n\t- key: a\n"), "short.yaml:6"),
    "unknown key": (rubric(wieght=2), "wieght"),
    "unknown field of the rubric": (text("criterias: []\n"), "criteria"),
    "wrong type": (rubric(weight="heavy"), "weight"),
    "a number in quotes": (rubric(weight="2"), "weight"),
    "key twice in a mapping": (text("title: Again\ncriteria: []\n"), "title"),
    "criterion twice": (json.dumps({**RUBRIC, "criteria": [CRITERION, CRITERION]}).encode(), "length"),
    "no criteria": (text("criteria: []\n"), "criteria"),
    "tiers that fall": (rubric(tiers=TIERS), "tier"),
    "weight 0": (rubric(weight=0), "weight"),
    "weight that is no number": (odd_weight(".nan"), "weight"),
    "weight without end": (odd_weight(".inf"), "weight"),
    "unknown kind of critic": (rubric(critic="oracle"), "oracle"),
    "unknown check": (rubric(critic={"check": "word_cout"}), "word_count"),
    "unknown option of a check": (rubric(critic={"check": "word_count", "with": {"minimum": 2}}), "minimum"),
    "options that contradict": (rubric(critic={"check": "word_count", "with": {"min": 9, "max": 2}}), "min"),
    "a list that is not shipped": (rubric(critic={"check": "avoids", "with": {"phrases": "boiler"}}), "boiler"),
    "a judge where there is none": (rubric(critic="judge", tiers=TIERS[::-1]), "judge"),
    "a veto without a line": (rubric(veto={"reward": 0.0}), "veto"),
    "a relation to nobody": (json.dumps({**RUBRIC, "relations": [{"saturate": WIDTH}]}).encode(), "width"),
    "another schema": (json.dumps({**RUBRIC, "schema": 7}).encode(), "schema"),
    "empty": (b"", "empty"),
    "a list": (b"- 1\n- 2\n", "a list"),
    "UTF-16": (text("criteria: []\n").decode().encode("utf-16"), "UTF-16"),
    "Latin-1": (text("# caf\xe9\n").decode("utf-8").encode("latin-1"), "UTF-8"),
    "10 MB": (b"#" * 10_000_000, "larger than 1 MiB"),
    "aliases that multiply": (b"a: &a [1,1,1,1,1,1,1,1,1]\n" + b"".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n".encode() for old, new in zip("abcdefg", "bcdefgh", strict=True)
    ), "values"),
    "Python in YAML": (b"!!python/object/apply:os.system ['true']\n", "tag"),
}  # fmt: skip

BROKEN_DATA: Final[dict[str, tuple[str, bytes, str]]] = {
    "missing column": ("d.jsonl", b'{"prompt": "Hi", "answer": "ho"}\n', "'response'"),
    "empty": ("d.jsonl", b"", "empty"),
    "blank": ("d.jsonl", b"\n\n  \n", "empty"),
    "not JSON": ("d.jsonl", b"prompt,response\nHi,ho\n", "d.jsonl:1"),
    "a 10 MB line": ("d.jsonl", b'{"prompt": "' + b"x" * 10_000_000 + b'"}\n', "longer than 8 MiB"),
    "UTF-16": ("d.jsonl", '{"prompt": "Hi", "response": "ho"}\n'.encode("utf-16"), "UTF-8"),
    "Latin-1": ("d.jsonl", '{"prompt": "Hi", "response": "é"}\n'.encode("latin-1"), "UTF-8"),
    "Latin-1 in a header": ("d.csv", "prompt,réponse\n".encode("latin-1"), "UTF-8"),
    "a header alone": ("d.csv", b"prompt,response\n", "no rows"),
    "a quote never closed": ("d.csv", b'prompt,response\nHi,"ho\n', "quote"),
    "a column twice": ("d.csv", b"prompt,prompt\nHi,ho\n", "twice"),
    "JSON that is no list": ("d.json", b'{"prompt": "Hi"}', "list"),
    "a torn Parquet file": ("d.parquet", b"PAR1" + b"\0" * 40, "Parquet"),
    "a table of no known kind": ("d.xlsx", b"PK", "what kind of table"),
    "a folder of something else": ("d/x.txt", b"", "datasets"),
}

Change = Callable[[Path, dict[str, Any]], object]


def stage(**changes: object) -> Change:
    return lambda folder, recipe: recipe["stages"][0].update(changes)


def measuring(**changes: object) -> Change:
    return lambda folder, recipe: recipe["evaluate"].update(changes)


def policy(name: str, **files: bytes) -> Change:
    """The recipe's model is a folder of these files."""

    def change(folder: Path, recipe: dict[str, Any]) -> None:
        recipe["policy"]["model"] = name
        for file, content in files.items():
            (folder / name).mkdir(exist_ok=True)
            (folder / name / file.replace("_", ".")).write_bytes(content)

    return change


def share_a_prompt(folder: Path, recipe: dict[str, Any]) -> None:
    recipe["data"]["held_out"]["held"] = "shared.jsonl"
    rows = [{"id": "h1", "prompt": "say  RIVER."}, {"id": "h2", "prompt": "Say nothing."}]
    write_rows(folder / "shared.jsonl", rows)


def one_prompt(folder: Path, recipe: dict[str, Any]) -> None:
    recipe["data"]["held_out"]["held"] = "one.jsonl"
    write_rows(folder / "one.jsonl", [{"prompt": "Say something."}])


def twice(folder: Path, recipe: dict[str, Any]) -> None:
    recipe["stages"][0]["data"] = ["mine", "mine"]


def asks_a_judge(folder: Path, recipe: dict[str, Any]) -> None:
    broken_rubric(folder, recipe)
    recipe["judge"] = {"url": "http://localhost:1/v1", "model": "any", "key_env": "NOBODY_SET_THIS"}


def one_id_twice(folder: Path, recipe: dict[str, Any]) -> None:
    recipe["data"]["train"]["more"] = "more.jsonl"
    recipe["stages"][0]["data"] = ["mine", "more"]
    write_rows(folder / "more.jsonl", [{"id": "train-river", "prompt": "Say sea."}])


def ungated(folder: Path, recipe: dict[str, Any]) -> None:
    del recipe["evaluate"]["preservation"]
    recipe["stages"][0]["gates"] = [{"watch": "perplexity", "above": 1.1}]


def torn_weights(folder: Path, recipe: dict[str, Any]) -> None:
    weights = shutil.copytree(recipe["policy"]["model"], folder / "torn") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    recipe["policy"]["model"] = "torn"


def no_tokenizer(folder: Path, recipe: dict[str, Any]) -> None:
    model = shutil.copytree(recipe["policy"]["model"], folder / "mute")
    for file in model.glob("*token*"):
        file.unlink()
    recipe["policy"]["model"] = "mute"


def names(field: str, value: object) -> Change:
    return lambda folder, recipe: recipe.update({field: value})


def broken_rubric(folder: Path, recipe: dict[str, Any]) -> None:
    recipe["rubrics"] = ["judged.yaml"]
    (folder / "judged.yaml").write_bytes(rubric(critic="judge", tiers=TIERS[::-1]))


BROKEN_RECIPES: Final[dict[str, tuple[Change, str]]] = {
    "unknown key": (names("polcy", {}), "polcy"),
    "wrong type": (names("seed", "seven"), "seed"),
    "a step count of 0": (stage(steps=0), "steps"),
    "a group that the micro-batch does not divide": (stage(micro_batch=3), "micro_batch"),
    "two stages of one name": (stage(name="second"), "different names"),
    "a stage called as records are": (stage(name="select-first"), "select-"),
    "a defence with nothing before it": (stage(defend=True), "no stage before it"),
    "a script that no letter is of": (names("select", {"script": "Klingon"}), "Klingon"),
    "unknown training data": (stage(data=["others"]), "others"),
    "unknown rubric": (stage(rubrics=["shrt"]), "shrt"),
    "more prompts a step than there are": (stage(prompts=50), "50 prompts"),
    "the same data twice": (twice, "twice"),
    "a gate on nothing measured": (stage(gates=[{"watch": "kl", "above": 1.0}]), "kl"),
    "no stages": (names("stages", []), "stages"),
    "a rubric file that is not there": (names("rubrics", ["gone.yaml"]), "gone.yaml"),
    "a data file that is not there": (
        names("data", {"train": {"mine": "gone.jsonl"}, "held_out": {"held": "held.jsonl"}}),
        "gone.jsonl",
    ),
    "a rubric that needs a judge": (broken_rubric, "judge"),
    "held-out data that is trained on": (share_a_prompt, "is also in training data"),
    "a single held-out prompt": (one_prompt, "fewer than 2"),
    "unknown held-out data": (measuring(data=["others"]), "others"),
    "unknown measure": (measuring(measures=["charm"]), "charm"),
    "held text that is not there": (measuring(preservation={"text": "gone.jsonl"}), "gone.jsonl"),
    "held text of another form": (measuring(preservation={"text": "choices.jsonl"}), "text"),
    "a tracker that is not installed": (names("output", {"trackers": ["trackio"]}), "pip install trackio"),
    "an unknown tracker": (names("output", {"trackers": ["notes"]}), "notes"),
    "tasks that are not there": (measuring(preservation={"tasks": ["tasks/one.yaml"]}), "tasks"),
    "a judge whose key is not set": (asks_a_judge, "NOBODY_SET_THIS"),
    "a judge without a model": (names("judge", {"url": "http://localhost:1/v1"}), "model"),
    "a judge at no URL": (names("judge", {"url": "localhost", "model": "m"}), "http or https URL"),
    "one prompt id in two files": (one_id_twice, "'train-river' twice, from 'mine' and 'more'"),
    "a gate on text that is not given": (ungated, "evaluate.preservation.text"),
    "a family called main": (
        measuring(others=[{"name": "main", "rubrics": ["short"], "data": ["held"]}]),
        "different names",
    ),
    "a model folder that is not there": (policy("./nowhere"), "nowhere"),
    "a model that nobody has": (policy("nobody/nothing"), "nobody/nothing"),
    "a model without safetensors": (policy("pickled", config_json=b"{}", pytorch_bin=b"x"), "safetensors"),
    "weights without a config": (policy("bare", model_safetensors=b"x"), "config.json"),
    "a config that is no JSON": (policy("odd", config_json=b"{", model_safetensors=b"x"), "odd"),
    "weights that are torn": (torn_weights, "torn"),
    "a model without a tokenizer": (no_tokenizer, "mute"),
    "an architecture that nobody knows": (
        policy("new", config_json=b'{"model_type": "x9"}', model_safetensors=b"x"),
        "x9",
    ),
}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder under `folder`."""
    paths = folder.rglob("*")
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def refused(folder: Path, *arguments: object) -> Ran:
    """Runs the command, which must end as bad input ends."""
    before = contents(folder)
    ran = anchors(*arguments)
    assert ran.code == 2, ran
    assert ran.err.startswith("anchors: "), ran
    assert ran.err.count("\n") == 1, ran
    assert "Traceback" not in ran.out + ran.err
    assert contents(folder) == before
    return ran


@pytest.mark.parametrize("name", BROKEN_RUBRICS)
def test_a_broken_rubric(name: str, tmp_path: Path) -> None:
    content, words = BROKEN_RUBRICS[name]
    write_rows(tmp_path / "d.jsonl", ANSWERS)
    (tmp_path / "short.yaml").write_bytes(content)
    asked = ("score", tmp_path / "d.jsonl", "--rubric", tmp_path / "short.yaml", "--out", tmp_path / "out.jsonl")
    assert words in refused(tmp_path, *asked).err


@pytest.mark.parametrize("name", BROKEN_DATA)
def test_broken_data(name: str, tmp_path: Path) -> None:
    file, content, words = BROKEN_DATA[name]
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_bytes(content)
    data = tmp_path / file.split("/")[0]
    write_yaml(tmp_path / "short.yaml", RUBRIC)
    asked = ("score", data, "--rubric", tmp_path / "short.yaml", "--out", tmp_path / "out.jsonl")
    assert words in refused(tmp_path, *asked).err


@pytest.mark.parametrize("name", BROKEN_RECIPES)
def test_a_broken_recipe(name: str, tmp_path: Path, tiny_policy: Path) -> None:
    change, words = BROKEN_RECIPES[name]
    recipe = tiny_recipe()
    path = write_recipe(tmp_path, tiny_policy, recipe)
    change(tmp_path, recipe)
    write_yaml(path, recipe)
    assert words in refused(tmp_path, "run", path, "--out", tmp_path / "run").err


@pytest.mark.parametrize("file", ["short.yaml", "d.jsonl"])
def test_a_file_that_is_not_there(file: str, tmp_path: Path) -> None:
    write_yaml(tmp_path / "short.yaml", RUBRIC)
    write_rows(tmp_path / "d.jsonl", ANSWERS)
    (tmp_path / file).unlink()
    asked = ("score", tmp_path / "d.jsonl", "--rubric", tmp_path / "short.yaml", "--out", tmp_path / "out.jsonl")
    ran = refused(tmp_path, *asked)
    assert f"{file}': there is no such file" in ran.err


def test_a_rubric_that_is_a_folder(tmp_path: Path) -> None:
    write_rows(tmp_path / "d.jsonl", ANSWERS)
    ran = refused(tmp_path, "score", tmp_path / "d.jsonl", "--rubric", tmp_path, "--out", tmp_path / "out.jsonl")
    assert "it is a folder" in ran.err


def test_what_a_file_says_cannot_draw_on_the_terminal(tmp_path: Path) -> None:
    write_rows(tmp_path / "d.jsonl", ANSWERS)
    (tmp_path / "short.yaml").write_bytes(json.dumps({**RUBRIC, "\x1b[2J\nanchors: done": 1}).encode())
    ran = refused(
        tmp_path, "score", tmp_path / "d.jsonl", "--rubric", tmp_path / "short.yaml", "--out", tmp_path / "out.jsonl"
    )
    assert "\x1b" not in ran.err
