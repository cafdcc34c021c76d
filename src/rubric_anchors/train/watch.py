"""What watches a stage while it trains: step records, gates, checkpoints that are whole, progress."""

import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from rubric_anchors.runs.records import GateCheck, StepRecord
from rubric_anchors.train.config import Gate

WHOLE: Final = "whole"
"""Marks a checkpoint that was written to its end: a process killed while saving leaves a folder without it."""

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
        length=figure("completions/mean_length") or 0.0,
        truncated=figure("completions/clipped_ratio") or 0.0,
        no_signal=figure("frac_reward_zero_std") or 0.0,
        unscored=figure("unscored") or 0.0,
        loss=figure("loss"),
        grad_norm=figure("grad_norm"),
        seconds=figure("step_time") or 0.0,
    )


class Watcher(TrainerCallback):  # type: ignore[misc]
    """Reads gates after each step, keeps whole checkpoints, and reports progress."""

    def __init__(
        self,
        gates: tuple[Gate, ...],
        probes: Mapping[str, Probe],
        keep: int,
        progress: Callable[[StepRecord], None] | None,
        past: tuple[GateCheck, ...] = (),
    ) -> None:
        self.gates = gates
        self.probes = probes
        self.keep = keep
        self.progress = progress
        self.checks = list(past)
        self.stopped = False
        self.roll_back_before: int | None = None

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
                self._read(number, gate, record, kwargs.get("model"))
        if self.stopped:
            control.should_training_stop = True
        if self.progress:
            self.progress(record)
        return control

    def _read(self, number: int, gate: Gate, record: StepRecord, model: Any) -> None:
        value = self.probes[gate.watch](model) if gate.watch in self.probes else getattr(record, gate.watch)
        if value is None:
            return
        name = f"{number}:{gate.watch}"
        crossed = gate.crossed(value)
        run = [check for check in self.checks if check.gate == name]
        streak = 1
        for check in reversed(run):
            if check.passed:
                break
            streak += 1
        acts = crossed and streak >= gate.patience
        limit = gate.above if gate.above is not None else gate.below or 0.0
        self.checks.append(
            GateCheck(
                gate=name,
                step=record.step,
                value=float(value),
                limit=limit,
                passed=not crossed,
                action=gate.action if acts else "none",
            )
        )
        if acts and gate.action != "warn":
            self.stopped = True
            if gate.action == "rollback":
                first = run[-(streak - 1)].step if streak > 1 else record.step
                self.roll_back_before = min(first, self.roll_back_before or first)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Mark the checkpoint as whole, only then let go of older ones."""
        folder = Path(args.output_dir)
        (folder / f"checkpoint-{state.global_step}" / WHOLE).touch()
        for old in whole_checkpoints(folder)[: -self.keep]:
            shutil.rmtree(old)
        return control


def whole_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints under `folder` that were written to their end, oldest first."""
    found = [path for path in folder.glob("checkpoint-*") if (path / WHOLE).exists()]
    return sorted(found, key=step_of)


def drop_torn_checkpoints(folder: Path) -> None:
    """Remove checkpoints that a killed process left half-written."""
    for path in folder.glob("checkpoint-*"):
        if not (path / WHOLE).exists():
            shutil.rmtree(path)


def step_of(checkpoint: Path) -> int:
    """The step a checkpoint was saved at."""
    return int(checkpoint.name.rsplit("-", 1)[1])
