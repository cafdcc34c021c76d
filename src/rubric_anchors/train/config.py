"""What a recipe says about the policy and about one training stage. Few fields, each documented under it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rubric_anchors.core.frozen import Frozen

Watch = Literal["reward", "kl", "entropy", "diversity", "length", "truncated", "no_signal", "perplexity", "choices"]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class LoraSettings(Frozen):
    """Low-rank adapters in place of all weights: far less memory; on a CPU slower than training everything."""

    rank: int = Field(default=16, ge=1, le=1024)
    alpha: Positive = 32.0
    target: str = "all-linear"
    """Which layers get adapters, as PEFT's `target_modules` takes it."""
    merge: bool = True
    """Save the model with the adapters merged in; otherwise the adapters alone."""


class PolicyConfig(Frozen):
    """The model that is trained."""

    model: str = "embedded"
    """`embedded` (SmolLM2-135M-Instruct), a Hugging Face folder, or a hub id. Safetensors only; no remote code."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Of the weights. `auto` measures the machine once and is frozen in the manifest. bfloat16 weights are trained with
    float32 master copies in the optimiser, without which small updates would round away."""
    adapter: LoraSettings | None = None
    """Absent: all weights are trained."""
    system: str | None = None
    """A system message put before every prompt that has none. Absent: the chat template's own."""
    judge_reasoning: bool = False
    """Judge what stands in `<think>` too. Off, because rewarding reasoning for its looks teaches it to pose."""


class Gate(Frozen):
    """A line that a stage must not cross."""

    watch: Watch
    """A figure of the step, or `perplexity` (of held text, relative to the stage's start: 1.0 = unchanged) or `choices`
    (accuracy on multiple choice, minus that at the stage's start), which are measured on the policy itself."""
    above: Finite | None = None
    below: Finite | None = None
    every: int = Field(default=1, ge=1)
    """Steps between readings. Measuring the policy costs time: every 10 steps is a fair start."""
    patience: int = Field(default=1, ge=1)
    """Readings in a row that must be across the line before the gate acts: single steps are noisy."""
    action: Literal["warn", "stop", "rollback"] = "stop"
    """`rollback` returns to the last checkpoint from before the first reading across the line, and ends the stage."""

    @model_validator(mode="after")
    def _one_line(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise ValueError("a gate has one line, above or below")
        return self

    def crossed(self, value: float) -> bool:
        """Whether `value` is on the wrong side."""
        return value > self.above if self.above is not None else value < (self.below or 0.0)


class AutoSteps(Frozen):
    """A number of steps fitted to the machine's measured speed when the run starts, then frozen in the manifest."""

    minutes: Positive
    """Wall time the stage may take."""
    least: int = Field(default=4, ge=1)
    most: int = Field(default=1000, ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"least {self.least} is above most {self.most}")
        return self


class StageConfig(Frozen):
    """One training phase: data, rubrics, budget, gates."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$")
    rubrics: tuple[str, ...] = Field(min_length=1)
    """Ids of the rubrics that judge every answer of this stage, beside those that a prompt's row carries."""
    data: tuple[str, ...] = Field(min_length=1)
    """Names under the recipe's `data.train`."""
    defend: bool = False
    """Add the veto drafted from the stages before, where one was drafted."""
    select: bool = True
    """Filter the prompts before this stage (the recipe's `select`)."""
    steps: int | AutoSteps = Field(default=20)
    """Optimiser steps, or `{minutes: M, least: A, most: B}`."""
    group: int = Field(default=8, ge=2, le=512)
    """Answers to one prompt, judged against each other."""
    prompts: int = Field(default=4, ge=1)
    """Prompts in one step."""
    max_tokens: int = Field(default=80, ge=1)
    temperature: Positive = 0.7
    """At 1.0 the embedded policy's text falls apart and it learns slowly."""
    learning_rate: Positive = 3e-5
    warmup: int = Field(default=2, ge=0)
    """Steps over which the learning rate rises from 0."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    kl: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Strength of the pull towards the stage's starting policy. 0 needs no reference model; fluency under the frozen
    base in the rubric does the same work where it matters."""
    scale: Literal["group", "batch", "none"] = "group"
    """What advantages are divided by: their group's standard deviation, the batch's, or nothing (Dr. GRPO)."""
    adapt: Literal["none", "headroom", "contrast"] = "none"
    """Criterion weights that follow the training: `headroom` takes weight from what all answers already have,
    `contrast` from what does not tell them apart. Selection and measuring always use the rubric as written."""
    micro_batch: int = Field(default=8, ge=1)
    """Answers in one forward and backward pass; must divide prompts x group."""
    checkpoint_every: int = Field(default=10, ge=1)
    """Steps between checkpoints. One checkpoint is kept, and where a gate may roll back, as many more as its
    `every` x `patience` steps hold; a full one holds weights and optimiser, 14 bytes a parameter (1.9 GB for the
    embedded policy)."""
    gates: tuple[Gate, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.prompts * self.group) % self.micro_batch:
            raise ValueError(
                f"micro_batch {self.micro_batch} must divide prompts x group = {self.prompts} x {self.group} ="
                f" {self.prompts * self.group}"
            )
        if any(gate.watch == "kl" for gate in self.gates) and self.kl == 0:
            raise ValueError("a gate on kl needs kl above 0: at 0 no reference model is kept to measure it against")
        if isinstance(self.steps, int) and self.steps < 1:
            raise ValueError(f"steps must be at least 1; seen {self.steps}")
        return self
