"""The two functions that TRL calls in a step: one that samples answers, one that rewards them.

Both are handed to `trl.GRPOTrainer` through its public arguments `rollout_func` and `reward_funcs`. The second writes every
judged answer to disk before its reward is used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.models.sampler import sample
from rubric_anchors.reward.record import answer_to, rollout
from rubric_anchors.reward.scorer import Marks, Scorer
from rubric_anchors.rubric.outcome import Judged, Scored
from rubric_anchors.runs.records import PromptRow, Rollout

Turns = tuple[tuple[str, str], ...]


@dataclass
class GroupSampler:
    """`rollout_func`: samples a group of answers to each prompt with `rubric_anchors.models.sampler`."""

    policy: LocalPolicy
    stage: str
    seed: int
    max_tokens: int
    temperature: float
    batch: int = 64

    def __call__(self, prompts: Sequence[Sequence[Mapping[str, str]]], trainer: Any) -> dict[str, Any]:
        """TRL's contract: prompts as message lists, each repeated group-size times in a row; token ids out."""
        turns: list[Turns] = [tuple((turn["role"], turn["content"]) for turn in prompt) for prompt in prompts]
        groups = [(turn, len(list(same))) for turn, same in groupby(turns)]
        model = trainer.accelerator.unwrap_model(trainer.model)
        step = int(trainer.state.global_step)
        how = self.policy.decoding(self.max_tokens, self.temperature)
        prompt_ids: list[list[int]] = []
        completion_ids: list[list[int]] = []
        logps: list[float] = []
        for size in sorted({size for _, size in groups}):
            part = [turn for turn, count in groups if count == size]
            seeds = [derive_seed(self.seed, self.stage, step, *(text for pair in turn for text in pair)) for turn in part]
            encoded = [self.policy.encode(turn) for turn in part]
            tokens, sums = sample(model, encoded, seeds, size, how, self.batch)
            prompt_ids += [ids for ids in encoded for _ in range(size)]
            completion_ids += tokens
            logps += sums
        if len({size for _, size in groups}) > 1:
            raise ValueError("a prompt stands twice in one step, so its groups cannot be told apart; raise the prompts")
        truncated = [ids[-1] not in how.end_ids for ids in completion_ids]
        return {
            "prompt_ids": prompt_ids,
            "completion_ids": completion_ids,
            "logprobs": None,
            "answer_logp": logps,
            "answer_truncated": truncated,
        }


@dataclass
class StageReward:
    """`reward_funcs`: judges a step's answers, records them, and returns their rewards (None where unscored)."""

    scorer: Scorer
    rows: Mapping[str, PromptRow]
    rubrics: tuple[str, ...]
    stage: str
    policy: str
    judge_reasoning: bool
    record: Callable[[int, Sequence[Rollout]], None]
    __name__: str = field(default="rubric", init=False)

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """TRL's contract for reward functions; `row_id` names each answer's prompt."""
        del prompts
        texts = [turns[-1]["content"] for turns in completions]
        rows = [self.rows[row_id] for row_id in columns["row_id"]]
        step = int(columns["trainer_state"].global_step) + 1
        answers = [
            answer_to(row, text, judge_reasoning=self.judge_reasoning) for row, text in zip(rows, texts, strict=True)
        ]
        applied = [tuple(dict.fromkeys((*self.rubrics, *row.rubrics))) for row in rows]
        marks = self.scorer.score(answers, applied)
        lengths = [len(ids) for ids in columns["completion_ids"]]
        rollouts = [
            rollout(f"{self.stage}-{step}-{index}", self.stage, step, f"{self.policy}+{step - 1}", *item)
            for index, item in enumerate(
                zip(rows, texts, lengths, columns["answer_logp"], applied, marks, strict=True)
            )
        ]
        self.record(step, rollouts)
        for name, value in step_metrics(marks).items():
            columns["log_metric"](name, value)
        return [mark.outcome.reward if isinstance(mark.outcome, Scored) else None for mark in marks]


def step_metrics(marks: Sequence[Marks]) -> dict[str, float]:
    """What a step logs beside the reward: the mean value of each criterion and the share of answers unscored."""
    values: dict[str, list[float]] = {}
    for mark in marks:
        for key, verdict in mark.verdicts.items():
            if isinstance(verdict, Judged):
                values.setdefault(key, []).append(verdict.value)
    unscored = sum(not isinstance(mark.outcome, Scored) for mark in marks) / max(len(marks), 1)
    return {**{f"criteria/{key}": float(np.mean(found)) for key, found in sorted(values.items())}, "unscored": unscored}
