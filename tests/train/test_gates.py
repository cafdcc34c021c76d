from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.training import Bench, BenchMaker, Interrupted, same_weights
from transformers import TrainerControl, TrainerState

from rubric_anchors.runs.records import GateCheck, StepRecord
from rubric_anchors.train.config import Gate, LoraSettings
from rubric_anchors.train.stage import train_stage
from rubric_anchors.train.watch import (
    WHOLE,
    Watcher,
    drop_torn_checkpoints,
    past_readings,
    step_record,
    whole_checkpoints,
)

LENGTH = "completions/mean_length"


def watcher(*gates: dict[str, Any], **options: Any) -> Watcher:
    settings: dict[str, Any] = {"probes": {}, "keep": 1, "progress": None}
    return Watcher(tuple(Gate.model_validate(gate) for gate in gates), **(settings | options))


def fed(watch: Watcher, values: Sequence[float | None], name: str = LENGTH) -> list[int]:
    """Feeds a figure a step, and gives the steps at which the watcher asked to stop."""
    stops = []
    for step, value in enumerate(values, start=1):
        control = TrainerControl()
        state = TrainerState(global_step=step)
        arguments: Any = SimpleNamespace(output_dir="")
        watch.on_log(arguments, state, control, logs={"reward": 0.5, name: value}, model="the model")
        if control.should_training_stop:
            stops.append(step)
    return stops


def test_a_gate_warns_and_lets_the_stage_go_on() -> None:
    watch = watcher({"watch": "length", "above": 10, "action": "warn"})
    assert fed(watch, [5, 11, 12, 9]) == []
    assert [check.action for check in watch.checks] == ["none", "warn", "warn", "none"]
    assert [check.passed for check in watch.checks] == [True, False, False, True]
    assert not watch.stopped


def test_a_gate_stops_at_its_line_and_not_on_it() -> None:
    above = watcher({"watch": "length", "above": 10})
    assert fed(above, [10, 10.5]) == [2]
    below = watcher({"watch": "entropy", "below": 0.3})
    assert fed(below, [0.3, 0.29], "entropy") == [2]
    assert (below.stopped, below.roll_back_before) == (True, None)


def test_patience_wants_its_readings_in_a_row() -> None:
    watch = watcher({"watch": "length", "above": 10, "patience": 3})
    assert fed(watch, [11, 11, 9, 11, 11, 11]) == [6]
    assert [check.action for check in watch.checks] == ["none"] * 5 + ["stop"]


def test_a_rollback_goes_to_before_the_first_reading_across_the_line() -> None:
    watch = watcher({"watch": "length", "above": 10, "every": 2, "patience": 3, "action": "rollback"})
    assert fed(watch, [99, 9, 99, 11, 9, 12, 9, 13]) == [8]
    assert watch.roll_back_before == 4
    assert [check.step for check in watch.checks] == [2, 4, 6, 8]


def test_of_two_rollbacks_the_earlier_holds() -> None:
    watch = watcher(
        {"watch": "length", "above": 10, "patience": 3, "action": "rollback"},
        {"watch": "length", "above": 20, "action": "rollback"},
    )
    assert fed(watch, [9, 11, 12, 21]) == [4]
    assert watch.roll_back_before == 2


def test_a_figure_that_no_step_has_is_not_read() -> None:
    watch = watcher({"watch": "kl", "above": 0.1})
    assert fed(watch, [None, None, 0.2], "kl") == [3]
    assert [check.step for check in watch.checks] == [3]


@pytest.mark.parametrize(("figure", "line"), [("kl", "above"), ("entropy", "below")])
def test_a_policy_whose_kl_or_entropy_is_not_a_number_has_diverged(figure: str, line: str) -> None:
    watch = watcher({"watch": figure, line: 0.5})
    inside = 0.1 if line == "above" else 0.9
    assert fed(watch, [inside, float("nan")], figure) == [2]
    assert abs(watch.checks[-1].value) > 1e300


def test_a_step_in_which_nothing_was_scored_trips_no_gate_on_the_reward() -> None:
    assert fed(watcher({"watch": "reward", "below": 0.5}), [float("nan"), 0.6], "reward") == []


def test_a_probe_measures_the_model_itself() -> None:
    seen: list[object] = []

    def perplexity(model: object) -> float:
        seen.append(model)
        return 1.0 + len(seen) / 10

    watch = watcher({"watch": "perplexity", "above": 1.15, "every": 2}, probes={"perplexity": perplexity})
    assert fed(watch, [1, 1, 1, 1]) == [4]
    assert seen == ["the model", "the model"]
    assert [check.value for check in watch.checks] == [1.1, 1.2]


def test_logs_that_are_no_steps_are_passed_over() -> None:
    told: list[StepRecord] = []
    watch = watcher({"watch": "length", "above": 10}, progress=told.append)
    arguments: Any = SimpleNamespace(output_dir="")
    watch.on_log(arguments, TrainerState(global_step=3), TrainerControl(), logs={"train_runtime": 1.0, LENGTH: 99})
    watch.on_log(arguments, TrainerState(global_step=3), TrainerControl())
    assert (watch.checks, told) == ([], [])


def test_past_readings_stand_as_if_this_process_had_made_them() -> None:
    gate = {"watch": "length", "above": 10, "patience": 2, "action": "rollback"}
    first = watcher(gate)
    fed(first, [9, 11, 12])
    again = watcher(gate, past=tuple(first.checks))
    assert (again.stopped, again.roll_back_before, again.checks) == (True, 2, first.checks)


def test_a_step_without_a_scored_answer_has_no_reward() -> None:
    record = step_record({"reward": float("nan"), "unscored": 1.0, "criteria/words": 0.5, LENGTH: 7}, 4)
    assert (record.step, record.reward, record.unscored, record.criteria) == (4, None, 1.0, {"words": 0.5})
    assert (record.kl, record.loss, record.length) == (None, None, 7.0)


def test_older_checkpoints_go_only_when_the_new_one_is_whole(tmp_path: Path) -> None:
    watch = watcher({"watch": "length", "above": 10}, keep=2)
    fed(watch, [1, 11])
    for step in (2, 4, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
        watch.on_save(SimpleNamespace(output_dir=str(tmp_path)), TrainerState(global_step=step), TrainerControl())  # type: ignore[arg-type]
    assert [path.name for path in whole_checkpoints(tmp_path)] == ["checkpoint-4", "checkpoint-10"]
    assert past_readings(tmp_path / "checkpoint-10") == tuple(watch.checks)
    (tmp_path / "checkpoint-4" / WHOLE).unlink()
    drop_torn_checkpoints(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-10"]


def probe_from(values: Sequence[float]) -> Callable[[Any], float]:
    left = iter(values)
    return lambda model: next(left)


def rolled_back(here: Bench, adapter: LoraSettings | None) -> tuple[str, list[int]]:
    """Perplexity goes bad at step 4, and the gate acts at step 5; checkpoints stand at steps 2 and 4."""
    stage = {"gates": [{"watch": "perplexity", "above": 1.05, "patience": 2, "action": "rollback"}]}
    probes = {"perplexity": probe_from([1.0, 1.0, 1.0, 2.0, 2.0])}
    result = here.train(stage, steps=7, adapter=adapter, probes=probes)
    return result.ended, [step.step for step in result.steps]


@pytest.mark.parametrize("adapter", [None, LoraSettings(rank=4)], ids=["full", "lora"])
@pytest.mark.parametrize("merge", [True, False], ids=["merged", "alone"])
def test_a_rollback_leaves_the_weights_of_the_last_checkpoint_that_was_good(
    bench: BenchMaker, adapter: LoraSettings | None, merge: bool
) -> None:
    adapter = adapter and adapter.with_changes(merge=merge)
    back, two = bench(), bench()
    assert rolled_back(back, adapter) == ("rolled_back", [1, 2, 3, 4, 5])
    two.train(steps=2, adapter=adapter)
    assert same_weights(back.folder / "model", two.folder / "model")


@pytest.mark.parametrize("adapter", [None, LoraSettings(rank=4)], ids=["full", "lora"])
def test_a_rollback_without_a_good_checkpoint_leaves_the_policy_as_it_started(
    bench: BenchMaker, adapter: LoraSettings | None
) -> None:
    here = bench()
    gate = {"watch": "length", "above": 0, "patience": 3, "action": "rollback"}
    assert here.train({"gates": [gate]}, steps=5, adapter=adapter).ended == "rolled_back"
    assert same_weights(here.folder / "model", here.start)


def test_a_rollback_after_a_kill_ends_as_one_without(bench: BenchMaker) -> None:
    whole, cut = bench(), bench()
    adapter = LoraSettings(rank=4)
    rolled_back(whole, adapter)
    stage = {"gates": [{"watch": "perplexity", "above": 1.05, "patience": 2, "action": "rollback"}]}
    cut.die_at = 5
    with pytest.raises(Interrupted):
        cut.train(stage, steps=7, adapter=adapter, probes={"perplexity": probe_from([1.0, 1.0, 1.0, 2.0])})
    cut.die_at = None
    job = cut.job(stage, steps=7, adapter=adapter, probes={"perplexity": probe_from([2.0])})
    assert train_stage(job).ended == "rolled_back"
    assert same_weights(cut.folder / "model", whole.folder / "model")


@pytest.mark.parametrize("line", ["above", "below"])
def test_what_is_not_a_number_is_across_every_line_and_none_can_be_one(line: str) -> None:
    watch = watcher({"watch": "perplexity", line: 1.5}, probes={"perplexity": lambda model: float("nan")})
    assert fed(watch, [5.0]) == [1]
    assert GateCheck.model_validate_json(watch.checks[0].model_dump_json()) == watch.checks[0]
    with pytest.raises(ValueError, match="finite"):
        Gate.model_validate({"watch": "perplexity", line: float("nan")})
