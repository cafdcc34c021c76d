"""One training stage: TRL's GRPO on a policy, with a rubric as the reward.

The policy gradient itself is TRL's. What is added: answers are sampled by `rubric_anchors.models.sampler`, rewards come from
rubrics with unscored answers left out of their group, bfloat16 weights have float32 masters, gates can stop or roll back, and
a killed stage goes on from its last whole checkpoint to the same numbers.
"""

import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.models.folder import weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.runs.records import PromptRow, Rollout, StageResult, StepRecord
from rubric_anchors.train.config import LoraSettings, StageConfig
from rubric_anchors.train.optim import learning_rate_schedule, optimizer_for
from rubric_anchors.train.rollout import GroupSampler, StageReward
from rubric_anchors.train.save import save_policy
from rubric_anchors.train.watch import Probe, Watcher, drop_torn_checkpoints, step_of, step_record, whole_checkpoints

BYTES_A_PARAMETER = 14
"""Of a checkpoint: bfloat16 weights (2), float32 master (4) and two float32 moments (8)."""


@dataclass(frozen=True)
class StageJob:
    """Everything one stage needs, with every choice already made."""

    stage: StageConfig
    steps: int
    start: Path
    """Folder of the policy to start from."""
    out: Path
    """Folder for the trained policy."""
    checkpoints: Path
    rows: Sequence[PromptRow]
    scorer: Scorer
    seed: int
    dtype: torch.dtype
    record: Callable[[int, Sequence[Rollout]], None]
    """Makes a step's rollouts durable; called before their rewards are used."""
    forget_after: Callable[[int], None]
    """Drops rollouts of steps past the given one, when a stage resumes from an earlier checkpoint."""
    adapter: LoraSettings | None = None
    judge_reasoning: bool = False
    probes: Mapping[str, Probe] | None = None
    progress: Callable[[StepRecord], None] | None = None
    trackers: tuple[str, ...] = ()
    extra_rubrics: tuple[str, ...] = ()
    """Rubrics beside the stage's own: the drafted defence."""


def train_stage(job: StageJob) -> StageResult:
    """Train one stage, or finish one that was interrupted. Raises SetupError where the disk is too small."""
    started = time.perf_counter()
    stage = job.stage
    if len(job.rows) < stage.prompts:
        raise SetupError(
            f"stage {stage.name!r} has {len(job.rows)} prompts to train on and needs {stage.prompts} a step;"
            " widen the selection's band, add data, or lower `prompts`"
        )
    job.checkpoints.mkdir(parents=True, exist_ok=True)
    drop_torn_checkpoints(job.checkpoints)
    saved = whole_checkpoints(job.checkpoints)
    job.forget_after(step_of(saved[-1]) if saved else 0)
    policy = LocalPolicy.load(job.start, job.dtype)
    _require_disk(job, policy)
    probes = {name: probe for name, probe in (job.probes or {}).items() if any(g.watch == name for g in stage.gates)}
    watcher = Watcher(stage.gates, probes, _kept(stage), job.progress)
    trainer = _trainer(job, policy, watcher)
    trainer.train(resume_from_checkpoint=str(saved[-1]) if saved else None)
    steps = tuple(step_record(log, log["step"]) for log in trainer.state.log_history if "reward" in log)
    if watcher.roll_back_before is not None:
        _roll_back(job, policy, trainer, watcher.roll_back_before)
    save_policy(trainer.accelerator.unwrap_model(trainer.model), policy.tokenizer, job.out, job.adapter)
    shutil.rmtree(job.checkpoints)
    ended = "rolled_back" if watcher.roll_back_before is not None else "stopped" if watcher.stopped else "done"
    return StageResult(
        name=stage.name,
        steps=steps,
        gates=tuple(watcher.checks),
        ended=ended,
        model=job.out.name,
        seconds=time.perf_counter() - started,
    )


def _trainer(job: StageJob, policy: LocalPolicy, watcher: Watcher) -> Any:
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # `rollout_func` warns at each use that it may change
    from datasets import Dataset  # here, where a stage starts: these imports take seconds
    from transformers import PrinterCallback
    from trl import GRPOTrainer

    stage = job.stage
    reward = StageReward(
        scorer=job.scorer,
        rows={row.id: row for row in job.rows},
        rubrics=(*stage.rubrics, *job.extra_rubrics),
        stage=stage.name,
        policy=weights_fingerprint(job.start),
        judge_reasoning=job.judge_reasoning,
        record=job.record,
    )
    data = Dataset.from_list(
        [
            {"prompt": [{"role": role, "content": text} for role, text in row.messages], "row_id": row.id}
            for row in job.rows
        ]
    )
    model = _with_adapter(policy.model.train(), job.adapter)
    optimizer = optimizer_for(model, stage.learning_rate)
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=_arguments(job),
        train_dataset=data,
        processing_class=policy.tokenizer,
        optimizers=(optimizer, learning_rate_schedule(optimizer, stage, job.steps)),
        callbacks=[watcher],
        rollout_func=GroupSampler(policy, stage.name, job.seed, stage.max_tokens, stage.temperature),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _arguments(job: StageJob) -> Any:
    from trl import GRPOConfig

    stage = job.stage
    return GRPOConfig(
        output_dir=str(job.checkpoints),
        max_steps=job.steps,
        per_device_train_batch_size=stage.micro_batch,
        gradient_accumulation_steps=stage.prompts * stage.group // stage.micro_batch,
        num_generations=stage.group,
        max_completion_length=stage.max_tokens,
        temperature=stage.temperature,
        learning_rate=stage.learning_rate,
        beta=stage.kl,
        scale_rewards=stage.scale,
        seed=derive_seed(job.seed, stage.name) % 2**31,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,  # the weights are already of the chosen dtype; autocast would copy them at every use
        gradient_checkpointing=False,
        logging_steps=1,
        save_steps=stage.checkpoint_every,
        save_total_limit=None,  # the watcher lets go of old ones, after the new one is whole
        report_to=list(job.trackers) or "none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


def _with_adapter(model: Any, adapter: LoraSettings | None) -> Any:
    if adapter is None:
        return model
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(
        r=adapter.rank, lora_alpha=adapter.alpha, target_modules=adapter.target, lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    return get_peft_model(model, settings)


def _kept(stage: StageConfig) -> int:
    """Checkpoints to keep: enough that one from before the first bad reading is still there when a gate acts."""
    back = [gate.every * gate.patience for gate in stage.gates if gate.action == "rollback"]
    return 1 + max((math.ceil(steps / stage.checkpoint_every) for steps in back), default=0)


def _roll_back(job: StageJob, policy: LocalPolicy, trainer: Any, before: int) -> None:
    good = [path for path in whole_checkpoints(job.checkpoints) if step_of(path) < before]
    model = trainer.accelerator.unwrap_model(trainer.model)
    if not good and job.adapter is not None:
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.data.zero_()
        return
    source = good[-1] if good else job.start
    if job.adapter is not None:
        model.load_adapter(str(source), adapter_name=model.active_adapter, is_trainable=False)
        return
    model.load_state_dict(LocalPolicy.load(source, job.dtype).model.state_dict())


def _require_disk(job: StageJob, policy: LocalPolicy) -> None:
    parameters = sum(weight.numel() for weight in policy.model.parameters())
    trained = parameters * BYTES_A_PARAMETER if job.adapter is None else parameters
    needed = trained * (_kept(job.stage) + 1) + parameters * 4
    free = shutil.disk_usage(job.checkpoints).free
    if free < needed:
        raise SetupError(
            f"stage {job.stage.name!r} needs {needed / 1e9:.1f} GB for checkpoints and its model and {job.checkpoints} has"
            f" {free / 1e9:.1f} GB free; free some room or choose another --out"
        )
