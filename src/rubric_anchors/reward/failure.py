"""What becomes of an answer that could not be scored, where somebody needs a number. A choice that is made in sight."""

from dataclasses import dataclass
from typing import Protocol

from rubric_anchors.core.errors import CriticError, InputError
from rubric_anchors.rubric.outcome import Cause, Outcome, Scored


class FailurePolicy(Protocol):
    """What stands in for the reward of an answer that is Unscored."""

    def stand_in(self, cause: Cause) -> float | None:
        """A number, or None: the answer is left out."""
        ...


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """None: TRL leaves the answer out of its group's baseline and gives it no advantage. The default."""

    def stand_in(self, cause: Cause) -> float | None:
        return None


@dataclass(frozen=True, slots=True)
class Fallback:
    """A stated number. It trains the policy on something that nobody judged; for trainers that cannot leave out."""

    value: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise InputError(f"a fallback reward lies in 0..1, as rewards do; seen {self.value}")

    def stand_in(self, cause: Cause) -> float | None:
        return self.value


@dataclass(frozen=True, slots=True)
class Raise:
    """Stop: raises CriticError that names the cause."""

    def stand_in(self, cause: Cause) -> float | None:
        raise CriticError(
            f"an answer could not be scored ({cause.code}: {cause.detail}); mend the cause, "
            "or choose LeaveOut() or Fallback(value)"
        )


def number(outcome: Outcome, policy: FailurePolicy) -> float | None:
    """The reward, or what `policy` puts in its place."""
    return outcome.reward if isinstance(outcome, Scored) else policy.stand_in(outcome.cause)
