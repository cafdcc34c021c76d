"""A function of the user's as a check: only where allowed, and never a number where it fails."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import anchors
from tests.support.recipes import write_rows

from rubric_anchors import Reward, Rubric
from rubric_anchors.core.errors import DataError, RubricError
from rubric_anchors.data.rows import read_prompts
from rubric_anchors.rubric.outcome import Judged, Unjudged

MODULE = """
import sys
loaded = True
def brevity(prompt, text, words=5):
    return min(1.0, words / max(len(text.split()), 1)), f"{len(text.split())} words, asked {prompt[-1]['content']!r}"
def yes(prompt, text): return True
def number(prompt, text): return 0.5
def broken(prompt, text): raise KeyError("nothing\\nhere")
def outside(prompt, text): return 1.5
def nan(prompt, text): return float("nan")
def words(prompt, text): return "good"
def pair(prompt, text): return 0.5, 3
def ends(prompt, text): sys.exit(3)
not_callable = 3
"""
NAME = "anchors_own_checks"


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{NAME}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, NAME, raising=False)


def rubric(function: str, **options: Any) -> Rubric:
    critic = {"check": "python", "with": {"function": f"{NAME}.{function}", **options}}
    criteria = [{"key": "own", "ask": "It is as I like it.", "critic": critic}]
    return Rubric.model_validate({"id": "mine", "criteria": criteria})


def test_a_function_gets_prompt_text_and_options() -> None:
    marks = Reward(rubric("brevity", words=2), allow_code=True).score("Say it.", "one two three four")
    verdict = marks.verdicts["own"]
    assert isinstance(verdict, Judged)
    assert (verdict.value, verdict.evidence[0].note) == (0.5, "4 words, asked 'Say it.'")
    assert verdict.critic == "check:python"


@pytest.mark.parametrize(("function", "value"), [("yes", 1.0), ("number", 0.5)])
def test_a_plain_number_or_truth_will_do(function: str, value: float) -> None:
    assert Reward(rubric(function), allow_code=True).score("p", "t").reward == value


@pytest.mark.parametrize("function", ["broken", "outside", "nan", "words", "pair"])
def test_a_function_that_fails_leaves_the_criterion_unjudged(function: str) -> None:
    marks = Reward(rubric(function), allow_code=True).score("p", "t")
    verdict = marks.verdicts["own"]
    assert isinstance(verdict, Unjudged)
    assert verdict.cause.kind == "infrastructure"
    assert "\n" not in verdict.cause.detail
    assert marks.reward is None


def test_unless_allowed_nothing_is_imported() -> None:
    import sys

    with pytest.raises(RubricError, match="allow_code"):
        Reward(rubric("yes"))
    assert NAME not in sys.modules


@pytest.mark.parametrize(("function", "words"), [("gone", "gone"), ("not_callable", "cannot be called")])
def test_a_function_that_is_not_there_is_said_at_once(function: str, words: str) -> None:
    with pytest.raises(RubricError, match=words):
        Reward(rubric(function), allow_code=True)


def test_a_reward_that_may_run_code_can_be_pickled() -> None:
    reward = pickle.loads(pickle.dumps(Reward(rubric("number"), allow_code=True)))  # noqa: S301
    assert reward.score("p", "t").reward == 0.5


def test_a_rubric_that_a_row_carries_may_not_name_code(tmp_path: Path) -> None:
    fields = rubric("yes").model_dump(mode="json", by_alias=True, exclude_defaults=True)
    write_rows(tmp_path / "rows.jsonl", [{"prompt": "p", "rubric": fields}])
    with pytest.raises(DataError, match="names code to be run"):
        read_prompts(tmp_path / "rows.jsonl")
    reward = Reward(rubric("yes"), allow_code=True)
    with pytest.raises(RubricError, match="names code to be run"):
        reward(prompts=["p"], completions=["t"], rubric=[{**fields, "id": "theirs"}])


def test_the_command_line_asks_for_leave(tmp_path: Path) -> None:
    write_rows(tmp_path / "d.jsonl", [{"prompt": "p", "response": "one two"}])
    (tmp_path / "mine.yaml").write_text(
        f"id: mine\ncriteria:\n"
        f"  - {{key: own, ask: So., critic: {{check: python, with: {{function: {NAME}.number}}}}}}\n",
        encoding="utf-8",
    )
    asked = ("score", tmp_path / "d.jsonl", "--rubric", tmp_path / "mine.yaml", "--out", tmp_path / "out.jsonl")
    refused = anchors(*asked)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--allow-code" in refused.err
    assert anchors(*asked, "--allow-code").code == 0
    tried = anchors("checks", "try", "python", "one", "--with", f"function={NAME}.number", "--allow-code")
    assert tried.out.startswith("python: 0.5\n")
