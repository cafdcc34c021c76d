import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from tests.support.training import ROWS, BenchMaker, same_weights, weights_of, without_seconds

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.reward.diversity import own_pairs
from rubric_anchors.runs.records import PromptRow, Rollout
from rubric_anchors.train.config import LoraSettings
from rubric_anchors.train.stage import forget_checkpoints

Usage = namedtuple("Usage", "total used free")


def value_of(rollout: Rollout, key: str) -> float:
    verdict = rollout.verdicts[key]
    assert isinstance(verdict, dict)
    assert isinstance(verdict["value"], float)
    return verdict["value"]


@pytest.mark.parametrize("kind", ["tiny_policy", "tiny_moe"])
@pytest.mark.parametrize("adapter", [None, {"rank": 4}], ids=["full", "lora"])
def test_a_stage_trains_records_and_leaves_a_plain_folder(
    bench: BenchMaker, request: pytest.FixtureRequest, kind: str, adapter: dict[str, Any] | None
) -> None:
    start: Path = request.getfixturevalue(kind)
    here = bench(start)
    result = here.train(adapter=adapter and LoraSettings.model_validate(adapter))
    assert (result.name, result.ended, result.model) == ("style", "done", "model")
    assert [step.step for step in result.steps] == [1, 2, 3]
    assert here.progress == list(result.steps)
    assert all(set(step.criteria) == {"quiet", "words"} for step in result.steps)
    assert all(step.loss is not None and step.grad_norm and step.entropy and step.seconds > 0 for step in result.steps)
    assert all(step.kl is None and step.unscored == 0 for step in result.steps)
    assert len({rollout.id for rollout in here.rollouts}) == len(here.rollouts) == 3 * 2 * 4
    assert not same_weights(start, here.folder / "model")
    assert weights_of(start).keys() == weights_of(here.folder / "model").keys()
    after = LocalPolicy.load(here.folder / "model")
    assert after.generate([ROWS[0].messages], answers=1, max_tokens=2, temperature=1.0, seeds=[0])


def test_a_stage_killed_before_its_result_is_on_record_trains_no_step_again(bench: BenchMaker) -> None:
    here = bench()
    first = here.train()
    count = len(here.rollouts)
    second = here.train()
    assert without_seconds(second.steps) == without_seconds(first.steps)
    assert len(here.rollouts) == count
    forget_checkpoints(here.job().checkpoints)
    assert not here.job().checkpoints.exists()


def test_the_reward_rises_when_a_policy_is_trained_on_it(bench: BenchMaker) -> None:
    here = bench()
    result = here.train({"prompts": 4, "group": 8, "micro_batch": 16, "learning_rate": 3e-3}, steps=15)
    rewards = [step.reward for step in result.steps if step.reward is not None]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.1


def test_step_figures_are_those_of_the_rollouts(bench: BenchMaker) -> None:
    here = bench()
    result = here.train(steps=2)
    for step in result.steps:
        mine = [rollout for rollout in here.rollouts if rollout.step == step.step]
        rewards = [rollout.reward or 0.0 for rollout in mine]
        groups = [rewards[:4], rewards[4:]]
        assert step.reward == pytest.approx(sum(rewards) / 8)
        assert step.length == pytest.approx(sum(rollout.tokens for rollout in mine) / 8)
        assert step.no_signal == sum(max(group) - min(group) < 1e-6 for group in groups) / 2
        assert step.diversity == pytest.approx(sum(own_pairs([rollout.response for rollout in mine])) / 8)
        values = [value_of(rollout, "quiet") for rollout in mine]
        assert step.criteria["quiet"] == pytest.approx(sum(values) / 8)
        assert {len({rollout.prompt_id for rollout in mine[at : at + 4]}) for at in (0, 4)} == {1}


def test_bfloat16_weights_are_trained_and_saved_as_such(bench: BenchMaker) -> None:
    import torch
    from safetensors.torch import load_file

    here = bench()
    here.train(steps=1, dtype=torch.bfloat16)
    saved = load_file(here.folder / "model" / "model.safetensors")
    assert {weight.dtype for weight in saved.values()} == {torch.bfloat16}
    assert not same_weights(here.start, here.folder / "model")


def test_kl_is_nought_at_first_and_grows_from_the_stage_s_start(bench: BenchMaker) -> None:
    for adapter in (None, LoraSettings(rank=4)):
        result = bench().train({"kl": 0.1, "learning_rate": 3e-3}, adapter=adapter)
        first, *_, last = [step.kl for step in result.steps]
        assert first == pytest.approx(0.0, abs=1e-5)
        assert last is not None
        assert last > 1e-5


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_groups_without_signal_are_counted_by_group_whatever_scales_the_advantages(
    bench: BenchMaker, scale: str
) -> None:
    here = bench()
    result = here.train({"scale": scale, "max_tokens": 2}, steps=2)
    for step in result.steps:
        rewards = [rollout.reward for rollout in here.rollouts if rollout.step == step.step]
        assert step.no_signal == sum(len(set(group)) == 1 for group in (rewards[:4], rewards[4:])) / 2


def test_too_few_prompts_are_refused_before_anything_is_made(bench: BenchMaker) -> None:
    here = bench()
    with pytest.raises(SetupError, match="has 1 prompts to train on and needs 2"):
        here.train(rows=ROWS[:1])
    assert not here.folder.exists()


def test_a_disk_too_small_is_said_before_training(bench: BenchMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10, 9, 1))
    here = bench()
    with pytest.raises(SetupError, match=r"needs 0\.0 GB .* has 0\.0 GB free; free some room") as caught:
        here.train()
    assert "\n" not in str(caught.value)
    assert not here.rollouts


def test_a_folder_that_cannot_be_made_is_one_line(bench: BenchMaker) -> None:
    here = bench()
    here.folder.parent.mkdir(exist_ok=True)
    here.folder.write_text("a file", encoding="utf-8")
    with pytest.raises(SetupError, match="cannot make the folder"):
        here.train()


def test_a_prompt_with_a_system_message_is_asked_and_recorded_whole(bench: BenchMaker) -> None:
    rows = [
        PromptRow(
            id=f"p{number}", messages=(("system", "Be brief."), ("user", "Why?"), ("assistant", "So."), ("user", q))
        )
        for number, q in enumerate(["And then?", "Who?"])
    ]
    here = bench()
    here.train(rows=rows, steps=1)
    assert {rollout.prompt for rollout in here.rollouts} == {row.messages for row in rows}


def test_two_rows_with_one_text_are_two_groups_with_answers_of_their_own(bench: BenchMaker) -> None:
    rows = [PromptRow(id=name, messages=(("user", "Why?"),)) for name in ("a", "b", "c")]
    here = bench()
    here.train({"prompts": 3}, rows=rows, steps=1)
    of = {name: [r.response for r in here.rollouts if r.prompt_id == name] for name in ("a", "b", "c")}
    assert all(len(responses) == 4 for responses in of.values())
    assert of["a"] != of["b"] != of["c"]


def test_a_second_stage_starts_from_adapters_that_were_not_merged(bench: BenchMaker) -> None:
    first = bench()
    adapter = LoraSettings(rank=4, merge=False)
    first.train({"learning_rate": 3e-3, "kl": 0.01}, adapter=adapter)
    saved = first.folder / "model"
    assert sorted(path.name for path in saved.glob("**/*.safetensors")) == ["adapter_model.safetensors"]
    second = bench(saved)
    result = second.train({"kl": 0.01}, adapter=adapter)
    assert result.steps[0].kl == pytest.approx(0.0, abs=1e-5)


def test_two_runs_of_one_seed_agree_and_another_seed_differs(bench: BenchMaker) -> None:
    one, two, other = bench(), bench(), bench()
    one.train(steps=2)
    two.train(steps=2)
    other.train(steps=2, seed=4)
    assert one.rollouts == two.rollouts
    assert same_weights(one.folder / "model", two.folder / "model")
    assert one.rollouts != other.rollouts


def test_the_order_of_the_rows_in_their_file_does_not_matter(bench: BenchMaker) -> None:
    one, two = bench(), bench()
    one.train(steps=2)
    two.train(steps=2, rows=ROWS[::-1])
    assert one.rollouts == two.rollouts
