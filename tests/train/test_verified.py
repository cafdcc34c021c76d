"""A reward that mixes mathematics with style trains a policy, and marks each part for itself."""

from pathlib import Path
from typing import Final

import pytest
from tests.support.fakes import fake_tools
from tests.support.training import BenchMaker

from rubric_anchors.data.rows import read_prompts
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.load import load_rubric

pytest.importorskip("math_verify", reason="needs math-verify: pip install 'rubric-anchors[verify]'")

RECIPES: Final = Path(__file__).parents[2] / "recipes"


def test_a_policy_trains_on_mathematics_and_style_in_one_reward(bench: BenchMaker) -> None:
    rubric = load_rubric(RECIPES / "rubrics" / "arithmetic.yaml")
    rows = read_prompts(RECIPES / "data" / "arithmetic.jsonl").rows
    here = bench()
    result = here.train({"rubrics": ("arithmetic",)}, rows=rows, scorer=Scorer({"arithmetic": rubric}, fake_tools()))
    assert [step.unscored for step in result.steps] == [0, 0, 0]
    assert all(set(step.criteria) == {"right", "states", "length", "voice"} for step in result.steps)
    assert all(rollout.reward is not None for rollout in here.rollouts)
