"""What is read, hashed and refused before a recipe runs."""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.support.recipes import tiny_recipe, write_recipe

pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")

from rubric_anchors.app import refuse
from rubric_anchors.app.prepare import prepare
from rubric_anchors.core.errors import RecipeError


def without(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    def find(name: str) -> Any:
        return None if name == missing else importlib.util.find_spec("json")

    monkeypatch.setattr(refuse, "find_spec", find)


def test_files_of_preservation_tasks_are_hashed_as_all_others_are(
    tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "nothing")
    content = tiny_recipe()
    content["evaluate"]["preservation"]["tasks"] = ["mine.yaml"]
    (tmp_path / "mine.yaml").write_text("task: mine\n", encoding="utf-8")
    hashes = prepare(write_recipe(tmp_path, tiny_policy, content)).hashes
    assert hashes["mine.yaml"] == hashlib.sha256(b"task: mine\n").hexdigest()


def test_a_report_needs_no_plotting_library(tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "matplotlib")
    assert prepare(write_recipe(tmp_path, tiny_policy)).recipe.output.report


def test_answers_cannot_be_sampled_at_infinite_temperature(tiny_policy: Path, tmp_path: Path) -> None:
    content = tiny_recipe()
    content["evaluate"]["temperature"] = float("inf")
    with pytest.raises(RecipeError, match=r"temperature.*finite"):
        prepare(write_recipe(tmp_path, tiny_policy, content))
