"""How many steps fit into a stage's budget on this machine: measured once, then frozen in the run's manifest."""

import time
from collections.abc import Callable, Sequence

import torch

from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.runs.records import PromptRow
from rubric_anchors.train.config import AutoSteps, StageConfig

Score = Callable[[Sequence[PromptRow], Sequence[str]], object]
"""Scores texts, each an answer to the row at its place."""


def step_seconds(policy: LocalPolicy, stage: StageConfig, rows: Sequence[PromptRow], score: Score) -> float:
    """Wall seconds that one step of `stage` takes here: one step's answers, their scoring, and the passes over a
    micro-batch (forward and backward; with a KL term the reference's forward too) times the number of micro-batches.
    The policy's weights do not change."""
    rows = rows[: stage.prompts]
    asked = [row.messages for row in rows]
    started = time.perf_counter()
    written = policy.generate(
        asked,
        answers=stage.group,
        max_tokens=stage.max_tokens,
        temperature=stage.temperature,
        seeds=list(range(len(asked))),
    )
    writing = time.perf_counter() - started
    answered = [row for row in rows for _ in range(stage.group)]
    texts = [one.text for answers in written for one in answers]
    score(answered[:1], texts[:1])  # loads what scoring needs, which is no part of a step
    started = time.perf_counter()
    score(answered, texts)
    scoring = time.perf_counter() - started
    width = max(len(policy.encode(turns)) for turns in asked) + stage.max_tokens
    ids = torch.full((stage.micro_batch, width), int(policy.tokenizer.pad_token_id))
    ids = ids.to(policy.model.device)
    policy.model.train()
    learning = min(_pass_seconds(policy, ids, stage.max_tokens) for _ in range(2))
    if stage.kl:
        with torch.no_grad():
            learning += min(_reading_seconds(policy, ids, stage.max_tokens) for _ in range(2))
    policy.model.eval()
    policy.model.zero_grad(set_to_none=True)
    return writing + scoring + learning * (stage.prompts * stage.group // stage.micro_batch)


def _pass_seconds(policy: LocalPolicy, ids: torch.Tensor, answer_tokens: int) -> float:
    started = time.perf_counter()
    logits = policy.model(input_ids=ids, logits_to_keep=answer_tokens).logits.float()
    torch.autograd.backward(torch.log_softmax(logits, dim=-1).gather(-1, ids[:, -answer_tokens:, None]).mean())
    return time.perf_counter() - started


def _reading_seconds(policy: LocalPolicy, ids: torch.Tensor, answer_tokens: int) -> float:
    started = time.perf_counter()
    torch.log_softmax(policy.model(input_ids=ids, logits_to_keep=answer_tokens).logits.float(), dim=-1)
    return time.perf_counter() - started


def steps_for(steps: int | AutoSteps, seconds_a_step: float) -> int:
    """A fixed number of steps as it stands; otherwise as many as fit into the budget, within its bounds."""
    if isinstance(steps, int):
        return steps
    return max(steps.least, min(steps.most, round(steps.minutes * 60 / seconds_a_step)))
