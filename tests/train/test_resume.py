from typing import Any

import pytest
from tests.support.training import Bench, BenchMaker, Interrupted, same_weights, without_seconds

from rubric_anchors.runs.records import StageResult
from rubric_anchors.train import stage as stage_module
from rubric_anchors.train.config import LoraSettings
from rubric_anchors.train.watch import WHOLE, whole_checkpoints

STEPS = 7
"""More than two rounds over the five prompts, so that a resumed stage goes on in the middle of one."""
LORA = LoraSettings(rank=4)


def killed_then_resumed(here: Bench, at: int, stage: dict[str, Any] | None = None, **changes: Any) -> StageResult:
    here.die_at = at
    with pytest.raises(Interrupted):
        here.train(stage, steps=STEPS, **changes)
    here.die_at = None
    return here.train(stage, steps=STEPS, **changes)


@pytest.mark.parametrize("adapter", [None, LORA], ids=["full", "lora"])
@pytest.mark.parametrize("at", [1, 4, 7])
def test_a_killed_stage_ends_with_the_numbers_of_one_that_was_not(
    bench: BenchMaker, at: int, adapter: LoraSettings | None
) -> None:
    whole, cut = bench(), bench()
    expected = whole.train(steps=STEPS, adapter=adapter)
    result = killed_then_resumed(cut, at, adapter=adapter)
    assert without_seconds(result.steps) == without_seconds(expected.steps)
    assert cut.rollouts == whole.rollouts
    assert cut.forgotten == [0, (at - 1) // 2 * 2]
    assert same_weights(cut.folder / "model", whole.folder / "model")


def test_a_killed_stage_in_bfloat16_goes_on_with_its_float32_masters(bench: BenchMaker) -> None:
    import torch

    whole, cut = bench(), bench()
    expected = whole.train(steps=STEPS, dtype=torch.bfloat16)
    result = killed_then_resumed(cut, 6, dtype=torch.bfloat16)
    assert without_seconds(result.steps) == without_seconds(expected.steps)
    assert same_weights(cut.folder / "model", whole.folder / "model")


@pytest.mark.parametrize("adapter", [None, LORA], ids=["full", "lora"])
def test_the_kl_reference_of_a_resumed_stage_is_its_start(bench: BenchMaker, adapter: LoraSettings | None) -> None:
    whole, cut = bench(), bench()
    expected = whole.train({"kl": 0.1}, steps=STEPS, adapter=adapter)
    result = killed_then_resumed(cut, 6, {"kl": 0.1}, adapter=adapter)
    assert without_seconds(result.steps) == without_seconds(expected.steps)


def test_a_checkpoint_without_its_mark_is_ignored_and_removed(bench: BenchMaker) -> None:
    whole, cut = bench(), bench()
    whole.train(steps=STEPS)
    cut.die_at = 5
    with pytest.raises(Interrupted):
        cut.train({"checkpoint_every": 1}, steps=STEPS)
    [last] = whole_checkpoints(cut.job().checkpoints)
    assert last.name == "checkpoint-4"
    (last / WHOLE).unlink()
    (last / "model.safetensors").write_bytes(b"half")
    cut.die_at = None
    cut.train(steps=STEPS)
    assert cut.forgotten == [0, 0]
    assert cut.rollouts == whole.rollouts


@pytest.mark.parametrize("adapter", [None, LORA], ids=["full", "lora"])
def test_a_stage_killed_while_its_model_is_saved_takes_no_step_twice(
    bench: BenchMaker, adapter: LoraSettings | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut = bench(), bench()
    expected = whole.train(steps=4, adapter=adapter)

    def killed(*_: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(stage_module, "save_policy", killed)
        with pytest.raises(Interrupted):
            cut.train(steps=4, adapter=adapter)
    result = cut.train(steps=4, adapter=adapter)
    assert without_seconds(result.steps) == without_seconds(expected.steps)
    assert cut.rollouts == whole.rollouts
    assert cut.forgotten == [0, 4]
    assert same_weights(cut.folder / "model", whole.folder / "model")


def test_a_stage_that_a_gate_stopped_stays_stopped_when_it_is_resumed(
    bench: BenchMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = bench()
    stage = {"gates": [{"watch": "length", "above": 0, "every": 2}]}

    def killed(*_: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(stage_module, "save_policy", killed)
        with pytest.raises(Interrupted):
            here.train(stage, steps=6)
    result = here.train(stage, steps=6)
    assert result.ended == "stopped"
    assert [step.step for step in result.steps] == [1, 2]
    assert [check.step for check in result.gates] == [2]


def test_patience_counts_on_across_a_kill(bench: BenchMaker) -> None:
    here = bench()
    stage = {"gates": [{"watch": "length", "above": 0, "patience": 4}]}
    result = killed_then_resumed(here, 3, stage)
    assert result.ended == "stopped"
    assert [check.step for check in result.gates] == [1, 2, 3, 4]


def test_checkpoints_are_kept_sparsely(bench: BenchMaker) -> None:
    here = bench()
    here.die_at = 6
    with pytest.raises(Interrupted):
        here.train({"checkpoint_every": 1}, steps=STEPS)
    assert [path.name for path in whole_checkpoints(here.job().checkpoints)] == ["checkpoint-5"]
    here.die_at = None
    here.train({"checkpoint_every": 1}, steps=STEPS)
    assert [path.name for path in whole_checkpoints(here.job().checkpoints)] == [f"checkpoint-{STEPS}"]
