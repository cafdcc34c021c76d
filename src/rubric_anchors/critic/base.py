"""The protocols of judging. A critic turns answers into verdicts; a check is the program behind a check critic."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.frozen import Frozen
from rubric_anchors.critic.answer import Answer
from rubric_anchors.models.chat import ChatModel
from rubric_anchors.rubric.model import Criterion, Rubric
from rubric_anchors.rubric.outcome import Evidence, Verdict


class Critic(Protocol):
    """Decides one or several criteria of one rubric."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The criteria that it decides."""
        ...

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """For each answer, a verdict for each of `keys`, in order. Never raises on any text."""
        ...


@runtime_checkable
class Sparing(Protocol):
    """A critic that costs something to ask: it is asked after all others."""

    @property
    def spares(self) -> bool:
        """Whether it need not be asked about answers that a veto has brought to nothing already."""
        ...


class Encoder(Protocol):
    """Texts to unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Id of the weights and settings: equal fingerprints give equal vectors."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape [len(texts), dimension]."""
        ...


class Likelihood(Protocol):
    """A frozen language model that says how likely a text is."""

    @property
    def fingerprint(self) -> str: ...

    def token_logps(self, answers: Sequence[Answer]) -> list[NDArray[np.float32]]:
        """For each answer, the natural-log probability of each of its tokens given the prompt and the tokens before."""
        ...


@dataclass(frozen=True)
class Tools:
    """What critics may lean on; each is made at its first use, so that a rubric of plain checks loads no model."""

    encoder: Callable[[], Encoder]
    likelihood: Callable[[], Likelihood]
    judge: Callable[[], ChatModel] | None = None
    """None: no judge is configured, and a rubric that needs one is refused."""
    judges: Mapping[str, Callable[[], ChatModel]] = field(default_factory=dict)
    """Further judges by name, for criteria that several models decide together."""
    allow_code: bool = False
    """Whether a rubric may name functions of its user's to be run."""
    again: int = 0
    """How often the same answers were judged before, to see whether verdicts stay the same: above 0 models are asked
    anew (`models.anew`), and whatever has an order gets another one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `value` in 0..1, how far the criterion's `ask` holds."""

    value: float
    evidence: tuple[Evidence, ...] = ()


class Check(Frozen):
    """A program that decides a criterion. Subclasses are their own options: fields are what stands under `with`."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    """Extras of the package that have to be installed for it."""
    runs_code: ClassVar[bool] = False
    """Whether its options name code to be run in this process; such a check has to be allowed."""

    @property
    def light(self) -> bool:
        """Whether answers may be shared out among processes: no model is loaded for them, nothing of the user's runs. A
        check that decides many at once with a reason of its own (`decide_all`) is not, unless it says so."""
        return type(self).decide_all is Check.decide_all and not self.runs_code

    def ready(self) -> None:
        """Called once, before the first answer. Raises RubricError or SetupError for what it needs and cannot have."""

    def within(self, rubric: Rubric) -> Self:
        """The check as it stands in `rubric`; called once, after `ready`. Overridden by checks that look at the rubric
        itself."""
        del rubric
        return self

    def decide(self, answer: Answer) -> Finding:
        """The finding on one answer. Pure; never raises on any text."""
        raise NotImplementedError

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        """The findings on many answers; overridden by checks that work in batches or need a model."""
        del tools
        return [self.decide(answer) for answer in answers]


class CriticFactory(Protocol):
    """Makes the critic for the criteria of one rubric that name its kind; registered under that kind."""

    def __call__(self, criteria: Sequence[Criterion], tools: Tools) -> Critic: ...
