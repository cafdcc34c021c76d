"""What a run leaves behind, as types: the contract between the rooms that write a run and those that read it.

Which file holds which of them: `rubric_anchors.runs.folder`.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field, JsonValue

from rubric_anchors.core.frozen import Frozen

Status = Literal["scored", "unscored"]


class PromptRow(Frozen):
    """A prompt to answer: a row of a data file."""

    id: str
    messages: tuple[tuple[str, str], ...]
    """(role, content) turns; the last is the user's."""
    family: str = ""
    """The kind of task, e.g. `memory`, `advice`, `instruction`; figures are also given per family."""
    rubrics: tuple[str, ...] = ()
    """Ids of the rubrics that judge its answers; empty: the stage's own."""
    reference: str | None = None

    @property
    def text(self) -> str:
        """The last user turn."""
        return self.messages[-1][1]

    def judged_by(self, own: Iterable[str]) -> tuple[str, ...]:
        """The rubrics that judge an answer to it: `own`, then the row's, each once."""
        return tuple(dict.fromkeys((*own, *self.rubrics)))


class Rollout(Frozen):
    """One answer of the policy with its judgement. A row of rollouts.parquet has these fields, JSON ones as text."""

    id: str
    stage: str
    step: int
    policy: str
    """Content id of the policy's starting weights and the step."""
    prompt_id: str
    prompt: tuple[tuple[str, str], ...]
    response: str
    tokens: int
    logp: float | None
    """Sum of the natural-log probabilities of the answer's tokens as sampled."""
    rubric: tuple[str, ...]
    """Ids of the rubrics applied."""
    verdicts: dict[str, JsonValue]
    """Criterion key to verdict; keys are `rubric/criterion` where several rubrics apply."""
    contributions: list[dict[str, JsonValue]]
    reward: float | None
    status: Status
    cause: dict[str, JsonValue] | None = None


class Dropped(Frozen):
    prompt_id: str
    reason: Literal["below_band", "above_band", "no_spread", "duplicate", "language", "length", "unscored", "limit"]
    detail: str = ""


class Selection(Frozen):
    """The filter before one stage: answers of the policy scored, the central band of prompts kept."""

    stage: str
    answers: int
    """Answers for each prompt."""
    band: tuple[float, float]
    """The quantiles kept."""
    cuts: tuple[float, float]
    """The mean rewards at those quantiles."""
    means: dict[str, float]
    """Mean reward of each scored prompt."""
    spreads: dict[str, float]
    """Standard deviation of each scored prompt's rewards."""
    kept: tuple[str, ...]
    dropped: tuple[Dropped, ...]


class StepRecord(Frozen):
    """One optimiser step."""

    step: int
    reward: float | None
    """Mean over the scored answers; None where none was."""
    reward_std: float | None
    criteria: dict[str, float]
    """Mean value of each criterion over the answers it was judged on."""
    kl: float | None
    entropy: float | None
    diversity: float | None = None
    """Mean share of an answer's word pairs that no other answer of the step holds; None where it was not measured."""
    length: float
    """Mean answer length, tokens."""
    truncated: float
    """Share of answers cut at the length limit."""
    no_signal: float
    """Share of groups whose rewards are all the same."""
    unscored: float
    """Share of answers left out of their group."""
    loss: float | None
    grad_norm: float | None
    seconds: float


class GateCheck(Frozen):
    """One reading of one gate."""

    gate: str
    step: int
    value: float
    limit: float
    passed: bool
    action: Literal["none", "warn", "stop", "rollback"]


class StageResult(Frozen):
    name: str
    steps: tuple[StepRecord, ...]
    gates: tuple[GateCheck, ...] = ()
    ended: Literal["done", "stopped", "rolled_back"]
    model: str
    """Folder of the trained model, relative to the run."""
    seconds: float


class Signature(Frozen):
    """A pattern whose frequency rose with the reward."""

    kind: Literal["opener", "phrase", "closer", "length", "diversity", "repetition", "copying"]
    pattern: str
    """The words, or the name of the drifting quantity."""
    early: float
    """Its frequency (or value) in the first steps."""
    late: float
    strength: float
    """Log-odds with an informative prior, in standard deviations, for words; an effect size elsewhere."""
    reward_with: float | None
    reward_without: float | None
    onset: int | None
    """The step from which it stays above its early level."""
    examples: tuple[str, ...] = ()
    """Ids of rollouts that show it."""


class FirstLook(Frozen):
    stage: str
    signatures: tuple[Signature, ...]
    veto: dict[str, JsonValue] | None
    """The drafted defence rubric, as a rubric file's content; None where nothing called for one."""
    note: str


class Measured(Frozen):
    """One measure, before against after, paired by held-out prompt."""

    name: str
    family: str
    in_reward: bool
    higher_is_better: bool
    before: float
    after: float
    delta: float
    low: float
    high: float
    """The 95% bootstrap interval of delta."""
    margin: float | None
    """How much worse it may get, as a positive number; None for what has no bar."""
    n: int
    """Held-out prompts."""


class Preserved(Frozen):
    name: str
    before: float
    after: float
    delta: float
    """after - before; for perplexity after / before."""
    low: float
    high: float
    margin: float
    kept: bool | None
    """True: non-inferior; False: inferior; None: not shown, the interval is too wide to say."""
    n: int


class Evaluation(Frozen):
    measures: tuple[Measured, ...]
    preservation: tuple[Preserved, ...]
    families: dict[str, tuple[Measured, ...]] = Field(default_factory=dict)
    """The reward per family of prompts: the seesaw table."""
    wall_seconds: float
    peak_rss_mb: float
    answers: int
    """Answers for each held-out prompt on each side."""
    seed: int
    cost: dict[str, float] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a reader must know, e.g. a measure left out because its package is missing."""


class SampleSide(Frozen):
    response: str
    reward: float | None
    verdicts: dict[str, JsonValue]
    contributions: list[dict[str, JsonValue]]


class SamplePair(Frozen):
    prompt_id: str
    family: str
    prompt: str
    before: SampleSide
    after: SampleSide


class Manifest(Frozen):
    """What was run, and every choice that was made by measuring: a resumed run reuses it instead of measuring again."""

    name: str
    seed: int
    recipe: dict[str, JsonValue]
    recipe_id: str
    rubrics: dict[str, str]
    """Rubric id to content id."""
    data: dict[str, str]
    """Data file, as the recipe names it, to the SHA-256 of its bytes."""
    versions: dict[str, str]
    git: str | None
    machine: dict[str, JsonValue]
    threads: int
    choices: dict[str, JsonValue]
    """Chosen by measuring: dtype, micro-batch, steps of each stage, measured seconds a step."""
    started: str
    finished: str | None = None
    seconds: dict[str, float] = Field(default_factory=dict)
    """Wall time of each part of the road."""
