"""One training stage: TRL's GRPO on a policy, with a rubric as the reward.

The policy gradient itself is TRL's. What is added: answers are sampled by `rubric_anchors.models.sampler`, rewards come
from rubrics with unscored answers left out of their group, bfloat16 weights have float32 masters, gates can stop or
roll back, and a killed stage goes on from its last whole checkpoint to the same numbers.
"""

import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.models.folder import weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.models.quiet import quiet
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.records import PromptRow, Rollout, StageResult, StepRecord
from rubric_anchors.train.adapt import AdaptiveWeights, adaptive_weights
from rubric_anchors.train.config import LoraSettings, StageConfig
from rubric_anchors.train.optim import learning_rate_schedule, optimizer_for
from rubric_anchors.train.order import prompt_order
from rubric_anchors.train.rollout import GroupSampler, StageReward
from rubric_anchors.train.save import forget_adapter, restore_weights, save_policy, with_adapter
from rubric_anchors.train.watch import (
    Probe,
    Watcher,
    drop_torn_checkpoints,
    past_readings,
    step_of,
    step_record,
    whole_checkpoints,
)

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
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    """The rubrics whose weights follow the training, where the stage says `adapt`."""
    extra_rubrics: tuple[str, ...] = ()
    """Rubrics beside the stage's own: the drafted defence."""


@quiet()
def train_stage(job: StageJob) -> StageResult:
    """Train one stage, or finish one that was interrupted. Raises SetupError where the disk is too small.

    The checkpoints stay: whoever has put the result on record lets go of them (`forget_checkpoints`), so that a process
    killed between the two loses nothing.
    """
    started = time.perf_counter()
    stage = job.stage
    if len(job.rows) < stage.prompts:
        raise SetupError(
            f"stage {stage.name!r} has {len(job.rows)} prompts to train on and needs {stage.prompts} a step;"
            " widen the selection's band, add data, or lower `prompts`"
        )
    with os_errors("make the folder", job.checkpoints):
        job.checkpoints.mkdir(parents=True, exist_ok=True)
    drop_torn_checkpoints(job.checkpoints)
    saved = whole_checkpoints(job.checkpoints)
    last = saved[-1] if saved else None
    job.forget_after(step_of(last) if last else 0)
    policy = LocalPolicy.load(job.start, job.dtype)
    _require_disk(job, policy, len(saved))
    probes = {name: probe for name, probe in (job.probes or {}).items() if any(g.watch == name for g in stage.gates)}
    adaptive = adaptive_weights(stage.adapt, job.scorer, job.rubrics)
    if adaptive and last:
        adaptive.restore(last)
    watcher = Watcher(
        stage.gates,
        probes,
        _kept(stage),
        job.progress,
        past_readings(last) if last else (),
        adaptive.save if adaptive else None,
    )
    trainer = _trainer(job, policy, watcher, adaptive)
    model = trainer.accelerator.unwrap_model(trainer.model)
    if last is not None and (watcher.stopped or step_of(last) >= job.steps):
        # Killed after its last step: the stock trainer would take one more.
        restore_weights(model, last, job.dtype, job.adapter)
        history = TrainerState.load_from_json(str(last / TRAINER_STATE_NAME)).log_history
    else:
        trainer.train(resume_from_checkpoint=str(last) if last else None)
        history = trainer.state.log_history
    if watcher.roll_back_before is not None:
        _roll_back(job, model, watcher.roll_back_before)
    save_policy(model, policy.tokenizer, job.out, job.adapter)
    return StageResult(
        name=stage.name,
        steps=tuple(step_record(log, int(log["step"])) for log in history if "reward" in log),
        gates=tuple(watcher.checks),
        ended="rolled_back" if watcher.roll_back_before is not None else "stopped" if watcher.stopped else "done",
        model=job.out.name,
        seconds=time.perf_counter() - started,
    )


def forget_checkpoints(folder: Path) -> None:
    """Remove a finished stage's checkpoints; they hold gigabytes."""
    shutil.rmtree(folder, ignore_errors=True)


def _trainer(job: StageJob, policy: LocalPolicy, watcher: Watcher, adaptive: AdaptiveWeights | None) -> Any:
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # `rollout_func` warns at each use that it may change
    from datasets import Dataset  # here, where a stage starts: these imports take seconds
    from transformers import PrinterCallback

    from rubric_anchors.train.trainer import Trainer

    stage = job.stage
    reward = StageReward(
        scorer=job.scorer,
        rows={row.id: row for row in job.rows},
        rubrics=(*stage.rubrics, *job.extra_rubrics),
        stage=stage.name,
        policy=weights_fingerprint(job.start),
        group=stage.group,
        judge_reasoning=job.judge_reasoning,
        record=job.record,
        observe=adaptive.observe if adaptive else None,
    )
    data = Dataset.from_list(
        [
            {"prompt": [{"role": role, "content": text} for role, text in row.messages], "row_id": row.id}
            for row in prompt_order(job.rows, job.steps, stage.prompts, job.seed, stage.name)
        ]
    )
    model = with_adapter(policy.model.train(), job.adapter, derive_seed(job.seed, stage.name, "adapter"))
    optimizer = optimizer_for(model, stage.learning_rate)
    trainer = Trainer(
        model=model,
        reward_funcs=reward,
        args=_arguments(job),
        train_dataset=data,
        processing_class=policy.tokenizer,
        optimizers=(optimizer, learning_rate_schedule(optimizer, stage, job.steps)),
        callbacks=[watcher],
        rollout_func=GroupSampler(policy, stage.name, job.seed, stage.group, stage.max_tokens, stage.temperature),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _arguments(job: StageJob) -> Any:
    from trl import GRPOConfig

    stage = job.stage
    # The option's name changed in transformers 5.24, and the old one warns there.
    names = ("activation_checkpointing", "gradient_checkpointing")
    recomputing: dict[str, Any] = {next(name for name in names if hasattr(GRPOConfig, name)): False}
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
        shuffle_dataset=False,  # the rows already stand in the order of the steps
        seed=derive_seed(job.seed, stage.name) % 2**31,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,  # the weights are already of the chosen dtype; autocast would copy them at every use
        **recomputing,
        logging_steps=1,
        save_steps=stage.checkpoint_every,
        save_total_limit=None,  # the watcher lets go of old ones, after the new one is whole
        report_to=list(job.trackers) or "none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


def _kept(stage: StageConfig) -> int:
    """Checkpoints to keep: enough that one from before the first bad reading is still there when a gate acts."""
    back = [gate.every * gate.patience for gate in stage.gates if gate.action == "rollback"]
    return 1 + max((math.ceil(steps / stage.checkpoint_every) for steps in back), default=0)


def _roll_back(job: StageJob, model: Any, before: int) -> None:
    """Put back the weights of the last checkpoint from before step `before`, or those that the stage started from."""
    good = [path for path in whole_checkpoints(job.checkpoints) if step_of(path) < before]
    if good or job.adapter is None:
        restore_weights(model, good[-1] if good else job.start, job.dtype, job.adapter)
    else:
        forget_adapter(model)


def _require_disk(job: StageJob, policy: LocalPolicy, there: int) -> None:
    parameters = sum(weight.numel() for weight in policy.model.parameters())
    trained = parameters * BYTES_A_PARAMETER if job.adapter is None else parameters
    needed = trained * max(_kept(job.stage) + 1 - there, 0) + parameters * 4
    free = shutil.disk_usage(job.checkpoints).free
    if free < needed:
        raise SetupError(
            f"stage {job.stage.name!r} needs {needed / 1e9:.1f} GB for checkpoints and its model and"
            f" {job.checkpoints} has"
            f" {free / 1e9:.1f} GB free; free some room or choose another --out"
        )
