import logging
import random
from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.training import ROWS, RUBRIC, Bench, BenchMaker
from trl import GRPOTrainer

from rubric_anchors.critic.answer import Answer
from rubric_anchors.reward import scorer as scorer_module
from rubric_anchors.reward.marks import Marks
from rubric_anchors.rubric.outcome import Cause, Contribution, Judged, Scored, Unjudged, Unscored, Verdict
from rubric_anchors.train import rollout as rollout_module
from rubric_anchors.train.rollout import step_metrics

DOWN = Cause("infrastructure", "timeout", "the endpoint did not answer")


class Flaky:
    """Judges an answer by its text alone; `down` says which answers its endpoint fails on."""

    keys = RUBRIC.keys

    def __init__(self, down: float) -> None:
        self.down = down
        self.seen: list[str] = []

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        self.seen += [answer.text for answer in answers]
        return [self._one(random.Random(answer.text)) for answer in answers]

    def _one(self, dice: random.Random) -> tuple[Verdict, ...]:
        if dice.random() < self.down:
            return tuple(Unjudged(DOWN, "flaky") for _ in self.keys)
        return tuple(Judged(dice.random(), 0, "flaky") for _ in self.keys)


@pytest.fixture
def advantages(monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    """What TRL made of the rewards, a list a step."""
    seen: list[list[float]] = []
    real = GRPOTrainer._generate_and_score_completions

    def spy(self: Any, inputs: Any) -> Any:
        output = real(self, inputs)
        seen.append(output["advantages"].tolist())
        return output

    monkeypatch.setattr(GRPOTrainer, "_generate_and_score_completions", spy)
    return seen


def flaky(monkeypatch: pytest.MonkeyPatch, down: float) -> Flaky:
    critic = Flaky(down)
    monkeypatch.setattr(scorer_module, "build_critics", lambda rubric, tools: [critic])
    return critic


def test_an_unscored_answer_has_no_advantage_and_no_part_in_its_group_s_mean(
    bench: BenchMaker, advantages: list[list[float]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flaky(monkeypatch, 0.4)
    here = bench()
    with caplog.at_level(logging.WARNING):
        result = here.train({"scale": "none", "group": 8}, steps=2)
    rewards = [rollout.reward for rollout in here.rollouts]
    assert None in rewards
    assert any(rewards)
    flat = [value for step in advantages for value in step]
    for start in range(0, len(rewards), 8):
        group = rewards[start : start + 8]
        scored = [reward for reward in group if reward is not None]
        mean = sum(scored) / len(scored)
        wanted = [0.0 if reward is None else reward - mean for reward in group]
        assert flat[start : start + 8] == pytest.approx(wanted, abs=1e-5)
    for number, step in enumerate(result.steps):
        mine = rewards[number * 16 : number * 16 + 16]
        assert step.unscored == pytest.approx(mine.count(None) / 16)
        scored = [reward for reward in mine if reward is not None]
        assert step.reward == pytest.approx(sum(scored) / len(scored), abs=1e-5)
    assert {r.status for r in here.rollouts} == {"scored", "unscored"}
    assert {r.cause["code"] for r in here.rollouts if r.cause is not None} == {"timeout"}
    assert not [record for record in caplog.records if "returned None" in record.getMessage()]


def test_a_step_in_which_nothing_could_be_scored_moves_nothing(
    bench: BenchMaker, advantages: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    flaky(monkeypatch, 1.0)
    [step] = bench().train(steps=1).steps
    assert (step.reward, step.unscored, step.no_signal, step.grad_norm) == (None, 1.0, 1.0, 0.0)
    assert set(advantages[0]) == {0.0}


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_advantages_are_scaled_as_the_stage_says(
    bench: BenchMaker, advantages: list[list[float]], monkeypatch: pytest.MonkeyPatch, scale: str
) -> None:
    import numpy as np

    flaky(monkeypatch, 0.0)
    here = bench()
    here.train({"scale": scale}, steps=1)
    rewards = np.array([rollout.reward for rollout in here.rollouts]).reshape(2, 4)
    deviation = {
        "group": rewards.std(axis=1, ddof=1, keepdims=True) + 1e-4,
        "batch": rewards.std(ddof=1) + 1e-4,
        "none": 1.0,
    }[scale]
    wanted = (rewards - rewards.mean(axis=1, keepdims=True)) / deviation
    assert advantages[0] == pytest.approx(wanted.ravel().tolist(), abs=1e-3)


def thinking(bench: Bench, monkeypatch: pytest.MonkeyPatch, judge_reasoning: bool) -> list[str]:
    """What the critic sees when every answer is `<think>ab</think>cd`."""
    critic = flaky(monkeypatch, 0.0)

    def scripted(model: Any, prompts: Any, seeds: Any, answers: int, *_: Any) -> Any:
        ids = _ids("<think>ab</think>cd")
        return [[*ids, 1] for _ in range(len(prompts) * answers)], [-1.0] * (len(prompts) * answers)

    from rubric_anchors.models.policy import LocalPolicy

    tokenizer = LocalPolicy.load(bench.start).tokenizer

    def _ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    monkeypatch.setattr(rollout_module, "sample", scripted)
    bench.train(steps=1, judge_reasoning=judge_reasoning)
    assert {rollout.response for rollout in bench.rollouts} == {"<think>ab</think>cd"}
    return critic.seen


def test_reasoning_is_recorded_and_not_judged(bench: BenchMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(thinking(bench(), monkeypatch, judge_reasoning=False)) == {"cd"}


def test_reasoning_is_judged_when_asked_for(bench: BenchMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(thinking(bench(), monkeypatch, judge_reasoning=True)) == {"<think>ab</think>cd"}


def test_rubrics_of_a_row_judge_beside_those_of_the_stage(bench: BenchMaker) -> None:
    from tests.support.fakes import fake_tools

    own = RUBRIC.with_changes(id="own")
    rows = [ROWS[0].with_changes(rubrics=("own", "plain")), ROWS[1]]
    here = bench()
    here.train(
        steps=1,
        rows=rows,
        scorer=scorer_module.Scorer({"plain": RUBRIC, "own": own}, fake_tools()),
    )
    applied = {rollout.prompt_id: rollout.rubric for rollout in here.rollouts}
    assert applied == {"p0": ("plain", "own"), "p1": ("plain",)}


def marks(*rewards: float | None) -> list[Marks]:
    return [
        Marks({"a": Unjudged(DOWN, "x")}, Unscored(DOWN))
        if reward is None
        else Marks({"a": Judged(reward, 0, "x")}, Scored(reward, (Contribution("weighted", reward, ""),)))
        for reward in rewards
    ]


def test_a_group_has_a_signal_when_two_scored_answers_differ() -> None:
    metrics = step_metrics(marks(0.5, 0.5, 0.5, None, 0.1, None, None, None, 0.2, 0.3), 2)
    assert metrics["no_signal"] == pytest.approx(4 / 5)
    assert metrics["unscored"] == pytest.approx(4 / 10)
    assert metrics["criteria/a"] == pytest.approx(2.1 / 6)


def test_a_criterion_that_was_never_judged_has_no_figure() -> None:
    assert step_metrics(marks(None, None), 2) == {"unscored": 1.0, "no_signal": 1.0}
