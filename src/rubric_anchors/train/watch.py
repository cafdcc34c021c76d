"""What watches a stage while it trains: step records, gates, checkpoints that are whole, progress."""

import json
import math
import shutil
import sys
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from rubric_anchors.runs.records import GateCheck, StepRecord
from rubric_anchors.train.config import Gate

WHOLE: Final = "whole"
"""Marks a checkpoint that was written to its end: a process killed while saving leaves a folder without it."""
READINGS: Final = "gates.json"
"""The gates' readings up to a checkpoint, beside its weights: a resumed stage goes on counting where it stood."""

OF_THE_POLICY: Final = ("kl", "entropy")
"""Figures that are NaN only where the policy has diverged; a reward is NaN also where nothing could be scored."""

Probe = Callable[[Any], float]
"""Measures the policy itself, e.g. its perplexity on held text."""


def step_record(log: Mapping[str, Any], step: int) -> StepRecord:
    """A StepRecord from what TRL logged at one step."""

    def figure(name: str) -> float | None:
        value = log.get(name)
        return None if value is None or not math.isfinite(value) else float(value)

    prefix = "criteria/"
    return StepRecord(
        step=step,
        reward=figure("reward"),
        reward_std=figure("reward_std"),
        criteria={name.removeprefix(prefix): float(value) for name, value in log.items() if name.startswith(prefix)},
        kl=figure("kl"),
        entropy=figure("entropy"),
        diversity=figure("diversity"),
        length=figure("completions/mean_length") or 0.0,
        truncated=figure("truncated") or 0.0,
        no_signal=figure("no_signal") or 0.0,
        unscored=figure("unscored") or 0.0,
        loss=figure("loss"),
        grad_norm=figure("grad_norm"),
        seconds=figure("step_time") or 0.0,
    )


class Watcher(TrainerCallback):
    """Reads gates after each step, keeps whole checkpoints, and reports progress.

    `past`: the readings up to the checkpoint that a resumed stage goes on from; where one of them ended the stage, it
    stays ended.
    """

    def __init__(
        self,
        gates: tuple[Gate, ...],
        probes: Mapping[str, Probe],
        keep: int,
        progress: Callable[[StepRecord], None] | None,
        past: tuple[GateCheck, ...] = (),
        save_more: Callable[[Path], None] | None = None,
    ) -> None:
        self.gates = gates
        self.probes = probes
        self.keep = keep
        self.progress = progress
        self.save_more = save_more
        self.checks: list[GateCheck] = []
        self.stopped = False
        self.roll_back_before: int | None = None
        for check in past:
            self._take(check)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Gates and progress. TRL logs once a step, after the optimiser has moved."""
        log = kwargs.get("logs") or {}
        if "reward" not in log:
            return control
        record = step_record(log, state.global_step)
        for number, gate in enumerate(self.gates):
            if state.global_step % gate.every == 0:
                self._read(number, gate, record, log, kwargs.get("model"))
        if self.stopped:
            control.should_training_stop = True
        if self.progress:
            self.progress(record)
        return control

    def _read(self, number: int, gate: Gate, record: StepRecord, log: Mapping[str, Any], model: Any) -> None:
        value = self.probes[gate.watch](model) if gate.watch in self.probes else getattr(record, gate.watch)
        if value is None and gate.watch in OF_THE_POLICY:
            value = log.get(gate.watch)  # a record cannot hold NaN; the gate must see it
        if value is None:
            return
        value = _writable(gate, value)
        name = f"{number}:{gate.watch}"
        crossed = gate.crossed(value)
        acts = crossed and len(self._streak(name)) + 1 >= gate.patience
        limit = gate.above if gate.above is not None else gate.below or 0.0
        self._take(
            GateCheck(
                gate=name,
                step=record.step,
                value=value,
                limit=limit,
                passed=not crossed,
                action=gate.action if acts else "none",
            )
        )

    def _streak(self, name: str) -> list[GateCheck]:
        """The last readings of a gate that are across its line, oldest first."""
        readings = [check for check in self.checks if check.gate == name]
        return list(takewhile(lambda check: not check.passed, reversed(readings)))[::-1]

    def _take(self, check: GateCheck) -> None:
        self.checks.append(check)
        if check.action in ("stop", "rollback"):
            self.stopped = True
        if check.action == "rollback":
            first = self._streak(check.gate)[0].step
            self.roll_back_before = min(first, self.roll_back_before or first)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Mark the checkpoint as whole, only then let go of older ones."""
        folder = Path(str(args.output_dir))
        checkpoint = folder / f"checkpoint-{state.global_step}"
        readings = [check.model_dump(mode="json") for check in self.checks]
        (checkpoint / READINGS).write_text(json.dumps(readings), encoding="utf-8")
        if self.save_more:
            self.save_more(checkpoint)
        (checkpoint / WHOLE).touch()
        for old in whole_checkpoints(folder)[: -self.keep]:
            shutil.rmtree(old)
        return control


def _writable(gate: Gate, value: float) -> float:
    """`value` as JSON can hold it. NaN is beyond the gate's line: a policy that cannot be measured has diverged."""
    if math.isnan(value):
        value = math.inf if gate.above is not None else -math.inf
    return max(-sys.float_info.max, min(sys.float_info.max, float(value)))


def whole_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints under `folder` that were written to their end, oldest first."""
    found = [path for path in folder.glob("checkpoint-*") if (path / WHOLE).exists()]
    return sorted(found, key=step_of)


def past_readings(checkpoint: Path) -> tuple[GateCheck, ...]:
    """The gates' readings up to a checkpoint."""
    found = json.loads((checkpoint / READINGS).read_text(encoding="utf-8"))
    return tuple(GateCheck.model_validate(reading) for reading in found)


def drop_torn_checkpoints(folder: Path) -> None:
    """Remove checkpoints that a killed process left half-written."""
    for path in folder.glob("checkpoint-*"):
        if not (path / WHOLE).exists():
            shutil.rmtree(path)


def step_of(checkpoint: Path) -> int:
    """The step a checkpoint was saved at."""
    return int(checkpoint.name.rsplit("-", 1)[1])
