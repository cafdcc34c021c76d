"""The two functions that TRL calls in a step: one that samples answers, one that rewards them.

Both are handed to `trl.GRPOTrainer` through its public arguments `rollout_func` and `reward_funcs`. The second writes
every judged answer to disk before its reward is used.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.models.sampler import sample
from rubric_anchors.reward.diversity import own_pairs
from rubric_anchors.reward.record import answer_to, rollout
from rubric_anchors.reward.scorer import Marks, Scorer
from rubric_anchors.rubric.outcome import Judged
from rubric_anchors.runs.records import PromptRow, Rollout

Turns = tuple[tuple[str, str], ...]


@dataclass
class GroupSampler:
    """`rollout_func`: samples a group of answers to each prompt with `rubric_anchors.models.sampler`."""

    policy: LocalPolicy
    stage: str
    seed: int
    group: int
    max_tokens: int
    temperature: float
    batch: int = 64

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """TRL's contract: prompts as message lists, each repeated group-size times in a row; token ids out."""
        asked: list[Turns] = [
            tuple((turn["role"], turn["content"]) for turn in prompt) for prompt in prompts[:: self.group]
        ]
        model = trainer.accelerator.unwrap_model(trainer.model)
        step = int(trainer.state.global_step)
        how = self.policy.decoding(self.max_tokens, self.temperature)
        encoded = [self.policy.encode(turns) for turns in asked]
        tokens, logps = sample(model, encoded, self._seeds(asked, step), self.group, how, self.batch)
        return {
            "prompt_ids": [ids for ids in encoded for _ in range(self.group)],
            "completion_ids": tokens,
            "logprobs": None,
            "answer_logp": logps,
            "answer_truncated": [ids[-1] not in how.end_ids for ids in tokens],
        }

    def _seeds(self, asked: Sequence[Turns], step: int) -> list[int]:
        """A seed a group: of what is asked and the step; a prompt that stands twice in a step gets two."""
        seen: Counter[Turns] = Counter()
        seeds = []
        for turns in asked:
            texts = (text for pair in turns for text in pair)
            seeds.append(derive_seed(self.seed, self.stage, step, seen[turns], *texts))
            seen[turns] += 1
        return seeds


@dataclass
class StageReward:
    """`reward_funcs`: judges a step's answers, records them, and returns their rewards (None where unscored)."""

    scorer: Scorer
    rows: Mapping[str, PromptRow]
    rubrics: tuple[str, ...]
    stage: str
    policy: str
    group: int
    judge_reasoning: bool
    record: Callable[[int, Sequence[Rollout]], None]
    observe: Callable[[Sequence[Marks]], None] | None = None
    """Told of each step's marks after its rewards are settled: adaptive weights."""
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
        applied = [row.judged_by(self.rubrics) for row in rows]
        marks = self.scorer.score(answers, applied)
        lengths = [len(ids) for ids in columns["completion_ids"]]
        rollouts = [
            rollout(f"{self.stage}-{step}-{index}", self.stage, step, f"{self.policy}+{step - 1}", *item)
            for index, item in enumerate(zip(rows, texts, lengths, columns["answer_logp"], applied, marks, strict=True))
        ]
        self.record(step, rollouts)
        metrics = step_metrics(marks, self.group)
        metrics["truncated"] = float(np.mean(columns["answer_truncated"]))
        metrics["diversity"] = float(np.mean(own_pairs([answer.text for answer in answers])))
        for name, value in metrics.items():
            columns["log_metric"](name, value)
        if self.observe:
            self.observe(marks)
        return [mark.reward for mark in marks]


def step_metrics(marks: Sequence[Marks], group: int) -> dict[str, float]:
    """What a step logs beside the reward: the mean value of each criterion over the answers it was judged on, the share
    of answers unscored, and the share of groups (`group` answers in a row) in which no two scored answers differ.
    """
    values: dict[str, list[float]] = {}
    for mark in marks:
        for key, verdict in mark.verdicts.items():
            if isinstance(verdict, Judged):
                values.setdefault(key, []).append(verdict.value)
    rewards = [mark.reward for mark in marks]
    groups = [[one for one in rewards[at : at + group] if one is not None] for at in range(0, len(rewards), group)]
    flat = [max(found, default=0.0) - min(found, default=0.0) < 1e-6 for found in groups]
    return {
        **{f"criteria/{key}": float(np.mean(found)) for key, found in sorted(values.items())},
        "unscored": sum(reward is None for reward in rewards) / max(len(rewards), 1),
        "no_signal": sum(flat) / max(len(flat), 1),
    }
