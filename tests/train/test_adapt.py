"""Adaptive weights: they move with the answers, a checkpoint holds them, and nothing outside the stage sees them."""

import pytest

pytest.importorskip("torch", reason="training needs PyTorch")

from tests.support.training import RUBRIC, BenchMaker, Interrupted, same_weights, without_seconds

from rubric_anchors.aggregate import Plan
from rubric_anchors.train.stage import train_stage

ADAPTED = {"adapt": "contrast"}


@pytest.mark.parametrize("scheme", ["headroom", "contrast"])
def test_a_stage_with_adaptive_weights_trains_and_the_rubric_stays_as_written(bench: BenchMaker, scheme: str) -> None:
    here = bench()
    before = Plan.compile(RUBRIC)
    result = here.train({"adapt": scheme}, rubrics={"plain": RUBRIC})
    assert result.ended == "done"
    assert Plan.compile(RUBRIC) == before


def test_rewards_after_the_first_step_follow_the_moved_weights(bench: BenchMaker) -> None:
    plain, moved = bench(), bench()
    plain.train()
    moved.train(ADAPTED, rubrics={"plain": RUBRIC})
    first = [rollout.reward for rollout in plain.rollouts if rollout.step == 1]
    assert [rollout.reward for rollout in moved.rollouts if rollout.step == 1] == first
    assert [rollout.reward for rollout in moved.rollouts] != [rollout.reward for rollout in plain.rollouts]


def test_an_interrupted_stage_goes_on_with_the_weights_it_had(bench: BenchMaker) -> None:
    whole, cut = bench(), bench()
    result = whole.train(ADAPTED, rubrics={"plain": RUBRIC}, steps=5)
    cut.die_at = 4
    with pytest.raises(Interrupted):
        cut.train(ADAPTED, rubrics={"plain": RUBRIC}, steps=5)
    cut.die_at = None
    resumed = train_stage(cut.job(ADAPTED, rubrics={"plain": RUBRIC}, steps=5))
    assert without_seconds(resumed.steps) == without_seconds(result.steps)
    assert same_weights(cut.folder / "model", whole.folder / "model")
