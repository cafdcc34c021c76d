"""Stages that tests can afford: a tiny policy, a rubric of plain checks, a few steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support.fakes import fake_tools

from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.runs.records import PromptRow, Rollout, StageResult, StepRecord
from rubric_anchors.train.config import StageConfig
from rubric_anchors.train.stage import StageJob, train_stage

RUBRIC = parse_rubric(
    {
        "id": "plain",
        "criteria": [
            # A random policy writes random bytes: about half of its answers of 6 hold one of these.
            {
                "key": "quiet",
                "ask": "It has no letter from a to z.",
                "critic": {"check": "forbidden_characters", "with": {"characters": "abcdefghijklmnopqrstuvwxyz"}},
            },
            {"key": "words", "ask": "It is short.", "critic": {"check": "word_count", "with": {"max": 2, "soft": 8}}},
        ],
    }
)
ROWS = tuple(
    PromptRow(id=f"p{number}", messages=(("user", text),))
    for number, text in enumerate(["Tell me of the sea.", "What is a boat?", "Why?", "Name a stone.", "Who went home?"])
)


class Interrupted(Exception):
    """Stands in for a killed process."""


@dataclass
class Bench:
    """Runs stages in a folder and keeps what they record."""

    folder: Path
    start: Path
    rollouts: list[Rollout] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    progress: list[StepRecord] = field(default_factory=list)
    die_at: int | None = None
    """The step at which recording raises `Interrupted`, after the step's rollouts are durable."""

    def job(self, stage: Mapping[str, Any] | None = None, **changes: Any) -> StageJob:
        """A job of 3 steps of 2 prompts x 4 answers x 6 tokens."""
        import torch

        settings: dict[str, Any] = {
            "name": "style",
            "rubrics": ("plain",),
            "data": ("open",),
            "group": 4,
            "prompts": 2,
            "micro_batch": 4,
            "max_tokens": 6,
            "temperature": 1.0,
            "learning_rate": 1e-3,
            "warmup": 0,
            "checkpoint_every": 2,
        }
        job = StageJob(
            stage=StageConfig.model_validate(settings | dict(stage or {})),
            steps=3,
            start=self.start,
            out=self.folder / "model",
            checkpoints=self.folder / "checkpoints",
            rows=ROWS,
            scorer=Scorer({"plain": RUBRIC}, fake_tools()),
            seed=3,
            dtype=torch.float32,
            record=self._record,
            forget_after=self._forget,
            progress=self.progress.append,
        )
        return replace(job, **changes)

    def train(self, stage: Mapping[str, Any] | None = None, **changes: Any) -> StageResult:
        return train_stage(self.job(stage, **changes))

    def _record(self, step: int, rollouts: Sequence[Rollout]) -> None:
        self.rollouts += rollouts
        if step == self.die_at:
            raise Interrupted

    def _forget(self, after: int) -> None:
        self.forgotten.append(after)
        self.rollouts = [rollout for rollout in self.rollouts if rollout.step <= after]


def weights_of(folder: Path) -> dict[str, Any]:
    """Name to tensor, float32, of a saved model."""
    from safetensors.torch import load_file

    files = sorted(folder.glob("*.safetensors"))
    return {name: tensor.float() for file in files for name, tensor in load_file(file).items()}


def same_weights(left: Path, right: Path) -> bool:
    """Bit for bit."""
    mine, theirs = weights_of(left), weights_of(right)
    return mine.keys() == theirs.keys() and all(bool((mine[name] == theirs[name]).all()) for name in mine)


def without_seconds(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """Records that a second run must give again."""
    return [step.with_changes(seconds=0.0) for step in steps]


BenchMaker = Callable[..., Bench]
