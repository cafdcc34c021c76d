"""`anchors calibrate`: tables, files, and one line for what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import anchors
from tests.support.recipes import WORDS, write_rows, write_yaml

from rubric_anchors.rubric.load import load_rubric

CRITERIA: list[dict[str, Any]] = [
    {"key": "long", "ask": "Long.", "weight": 2, "critic": {"check": "word_count", "with": {"min": 20, "soft": 20}}},
    {"key": "plain", "ask": "It is plain.", "critic": {"check": "no_markdown"}, "veto": {"below": 0.1}},
    {"key": "shout", "ask": "It shouts.", "critic": {"check": "exclamations", "with": {"min": 1}}},
]  # fmt: skip


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_yaml(tmp_path / "mine.yaml", {"id": "mine", "criteria": CRITERIA})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = []
    for at in range(30):
        words = 1 + (7 * at) % 20
        response = " ".join(WORDS[(at + nth) % len(WORDS)] for nth in range(words))
        rows.append({"prompt": f"Say {at // 2}.", "response": response, "h1": 1 + words // 5, "h2": 1 + words // 6,
                     "said": "good" if words > 9 else "bad", "other": " ".join(WORDS[:3])})  # fmt: skip
    return write_rows(tmp_path / "scored.jsonl", rows)


def test_the_tables_say_how_far_the_critic_agrees(data: Path, rubric: Path) -> None:
    ran = anchors("calibrate", data, "--rubric", rubric, "--labels", "long=h1,h2", "--labels", "plain=h1")
    assert (ran.code, ran.err) == (0, "")
    for words in ("the critic against people (95% intervals)", "kappa", "Spearman", "people among themselves"):
        assert words in ran.out
    assert "1.000 (" in next(line for line in ran.out.splitlines() if line.strip().startswith("long"))
    assert (
        "plain: kappa, spearman, order, order within prompt, length: the critic gives every answer the same, 1"
        in ran.out
    )
    assert "judged again in the opposite order: 30 of 30 the same" in ran.out
    assert "without labels: shout" in ran.out
    assert "nan" not in ran.out.lower()


def test_files_hold_all_figures_the_picture_and_the_shrunk_rubric(data: Path, rubric: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the picture needs Jinja2")
    files = {name: tmp_path / f"out.{name}" for name in ("json", "svg", "yaml")}
    options = ["--json", files["json"], "--figure", files["svg"], "--shrunk", files["yaml"]]
    labels = ["--labels", "long=h1", "--labels", "plain=h1"]
    ran = anchors("calibrate", data, "--rubric", rubric, *labels, *options)
    assert ran.code == 0
    found = json.loads(files["json"].read_text("utf-8"))
    low = next(each for each in found["targets"] if each["key"] == "long")["figures"]["order"]["low"]
    assert found["shrink"] == {"long": pytest.approx(2 * low - 1), "plain": 0.0}
    assert files["svg"].read_text("utf-8").startswith("<svg")
    made = load_rubric(files["yaml"])
    assert {each.key: each.weight for each in made.criteria} == {
        "long": pytest.approx(2 * (2 * low - 1), rel=1e-3),
        "plain": 0.0,
        "shout": 1.0,
    }
    assert ran.err == "anchors: the veto of plain stays, though the critic is not shown to agree with people there\n"
    again = anchors("calibrate", data, "--rubric", rubric, *labels, *options)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "is there already" in again.err
    assert anchors("calibrate", data, "--rubric", rubric, *labels, *options, "--force").code == 0


def test_pairs_are_read_from_two_columns(data: Path, rubric: Path) -> None:
    ran = anchors("calibrate", data, "--rubric", rubric, "--pairs", "response,other")
    assert (ran.code, ran.err) == (0, "")
    assert "leans to the longer" in ran.out
    assert "position: the preferred answers all stand on one side" in ran.out
    assert "shout: order, length, longer, position: the critic gives both answers of every pair the same" in ran.out


def test_words_are_scores_where_their_order_is_given(data: Path, rubric: Path) -> None:
    refused = anchors("calibrate", data, "--rubric", rubric, "--labels", "long=said")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--scale bad,ok,good" in refused.err
    ran = anchors("calibrate", data, "--rubric", rubric, "--labels", "long=said", "--scale", "bad,good")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give one: --labels"),
        (["--labels", "long=h1", "--pairs", "a,b"], "give one: --labels"),
        (["--pairs", "response,other", "--scale", "1..5"], "--scale does not go with --pairs"),
        (["--labels", "long=h1", "--preference", "h1"], "--preference does not go with --labels"),
        (["--labels", "long=h9"], "the column 'h9' is in no row; there are: prompt, response, h1"),
        (["--labels", "nope=h1"], "neither a criterion nor `reward`"),
        (["--labels", "long=h1", "--group", "author"], "the column 'author' is in no row"),
        (["--labels", "long=h1", "--again", "-1"], "--again"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(data: Path, rubric: Path, options: list[str], words: str) -> None:
    ran = anchors("calibrate", data, "--rubric", rubric, *options)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert words in ran.err


def test_rows_that_cannot_be_read_are_named_and_the_rest_is_compared(tmp_path: Path, rubric: Path) -> None:
    rows = [{"prompt": f"{at}", "response": "river " * at, "h": at} for at in range(12)]
    path = write_rows(tmp_path / "d.jsonl", [*rows, {"prompt": "x", "h": 1}])
    ran = anchors("calibrate", path, "--rubric", rubric, "--labels", "long=h")
    assert ran.code == 0
    assert "left out:" in ran.err
    assert "d.jsonl:13: the response is missing" in ran.err
    assert "rows left out: 1 of 13" in ran.out


def test_nothing_to_compare_ends_with_exit_code_1(tmp_path: Path, rubric: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [{"prompt": "x", "response": "river", "h": None}])
    ran = anchors("calibrate", path, "--rubric", rubric, "--labels", "long=h")
    assert ran.code == 1
    assert "nothing could be compared" in ran.err


def test_a_rubric_of_which_nothing_is_left_is_not_written(data: Path, tmp_path: Path) -> None:
    shout = write_yaml(tmp_path / "shout.yaml", {"id": "mine", "criteria": [CRITERIA[2]]})
    ran = anchors("calibrate", data, "--rubric", shout, "--labels", "shout=h1", "--shrunk", tmp_path / "out.yaml")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "no weight is left" in ran.err
    assert not (tmp_path / "out.yaml").exists()
