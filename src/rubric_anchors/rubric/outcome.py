"""What judging gives: verdicts, scorecards, outcomes. A failed judgement is a value here and never a number.

    Verdict   = Judged | Unjudged(cause)          one criterion, one answer
    Scorecard = a verdict for every criterion     one rubric, one answer
    Outcome   = Scored | Unscored(cause)          what an aggregator makes of a scorecard

Plain slotted dataclasses, since a training run makes millions of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

CauseKind = Literal["infrastructure", "answer", "skipped"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something could not be judged."""

    kind: CauseKind
    """`infrastructure`: the endpoint, the budget, the machine; says nothing about the answer, which leaves its group.
    `answer`: this answer cannot be judged, again and again; it gets the worst by the rubric's policy. `skipped`: it was
    not asked about, since a veto that leaves nothing had fired already; it can change nothing."""
    code: str
    """A stable word: `timeout`, `unparseable`, `no_judge`, ..."""
    detail: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        return {"kind": self.kind, "code": self.code, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found, and where in the answer: characters start..end, both None where the finding has no place."""

    note: str
    start: int | None = None
    end: int | None = None

    def to_json(self) -> dict[str, JsonValue]:
        return {"note": self.note, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class Judged:
    """A criterion decided: `value` in 0..1 on the criterion's scale, `tier` the highest tier whose value is <= it."""

    value: float
    tier: int
    critic: str
    evidence: tuple[Evidence, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "status": "judged",
            "tier": self.tier,
            "value": self.value,
            "critic": self.critic,
            "evidence": [item.to_json() for item in self.evidence],
            "cause": None,
        }


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A criterion that could not be decided."""

    cause: Cause
    critic: str

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "status": "unjudged",
            "tier": None,
            "value": None,
            "critic": self.critic,
            "evidence": [],
            "cause": self.cause.to_json(),
        }


Verdict = Judged | Unjudged


@dataclass(frozen=True, slots=True)
class Scorecard:
    """One verdict for every criterion of a rubric on one answer, in the rubric's order."""

    rubric: str
    """Content id of the rubric."""
    keys: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.verdicts):
            raise ValueError(f"{len(self.verdicts)} verdicts for {len(self.keys)} criteria: {', '.join(self.keys)}")

    def __iter__(self) -> Iterator[tuple[str, Verdict]]:
        return iter(zip(self.keys, self.verdicts, strict=True))

    def __getitem__(self, key: str) -> Verdict:
        return self.verdicts[self.keys.index(key)]

    def to_json(self) -> dict[str, JsonValue]:
        return {key: verdict.to_json() for key, verdict in self}


Step = Literal["weighted", "saturation", "interaction", "shape", "veto"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """One step on the way to a reward; the deltas of an outcome add up to its reward to 1e-9."""

    step: Step
    delta: float
    note: str

    def to_json(self) -> dict[str, JsonValue]:
        return {"step": self.step, "delta": self.delta, "note": self.note}


@dataclass(frozen=True, slots=True)
class Scored:
    reward: float
    contributions: tuple[Contribution, ...]

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "status": "scored",
            "reward": self.reward,
            "cause": None,
            "contributions": [item.to_json() for item in self.contributions],
        }


@dataclass(frozen=True, slots=True)
class Unscored:
    cause: Cause

    def to_json(self) -> dict[str, JsonValue]:
        return {"status": "unscored", "reward": None, "cause": self.cause.to_json(), "contributions": []}


Outcome = Scored | Unscored
