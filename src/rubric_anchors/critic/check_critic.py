"""The critic of kind `check`: runs programs and turns their findings into verdicts, failures into Unjudged."""

import math
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.kinds import critic_registry
from rubric_anchors.rubric.model import Criterion, Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Unjudged, Verdict


class CheckCritic:
    """Decides each of `criteria` by the check that it names.

    A check that raises, or gives anything but a number in 0..1, has a bug: that says nothing of the answer, so the
    verdict is Unjudged for an `infrastructure` cause, and only for the answers that bring the bug out.
    """

    def __init__(self, criteria: Sequence[Criterion], checks: Sequence[Check], tools: Tools) -> None:
        if len(criteria) != len(checks):
            raise ValueError(f"{len(checks)} checks for {len(criteria)} criteria")
        self._pairs = tuple(zip(criteria, checks, strict=True))
        self._tools = tools

    def within(self, rubric: Rubric) -> "CheckCritic":
        """The critic with its checks as they stand in `rubric`."""
        criteria = [criterion for criterion, _ in self._pairs]
        return CheckCritic(criteria, [check.within(rubric) for _, check in self._pairs], self._tools)

    @property
    def light(self) -> bool:
        """Whether all its checks are."""
        return all(check.light for _, check in self._pairs)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(criterion.key for criterion, _ in self._pairs)

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """For each answer a verdict for each criterion. Raises SetupError only: what a check needs is not there."""
        columns = [self._column(criterion, check, answers) for criterion, check in self._pairs]
        return [tuple(row) for row in zip(*columns, strict=True)]

    def _column(self, criterion: Criterion, check: Check, answers: Sequence[Answer]) -> list[Verdict]:
        try:
            findings = check.decide_all(answers, self._tools)
            if len(findings) != len(answers):
                raise ValueError(f"{len(findings)} findings for {len(answers)} answers")
            return [_verdict(criterion, check, finding) for finding in findings]
        except SetupError:
            raise
        except Exception as error:  # noqa: BLE001  # a check is anybody's code, and a bug in it is a verdict here
            if len(answers) == 1:
                return [_failed(check, f"{type(error).__name__}: {error}")]
            # One answer may have brought the whole batch down: the others keep their verdicts.
            return [self._column(criterion, check, [answer])[0] for answer in answers]


def _verdict(criterion: Criterion, check: Check, finding: Finding) -> Verdict:
    if not isinstance(finding, Finding):
        raise TypeError(f"the check gave {type(finding).__name__}, which is no Finding")
    if not (math.isfinite(finding.value) and 0.0 <= finding.value <= 1.0):
        return _failed(check, f"the check gave {finding.value!r}, which is no number in 0..1")
    value = float(finding.value)
    return Judged(value, criterion.tier_of(value), f"check:{check.name}", finding.evidence)


def _failed(check: Check, detail: str) -> Unjudged:
    one_line = " ".join(detail.split())[:200]
    return Unjudged(Cause("infrastructure", "critic_error", one_line), f"check:{check.name}")


@critic_registry.register("check")
def make_check_critic(criteria: Sequence[Criterion], tools: Tools) -> CheckCritic:
    """The critic for all check criteria of a rubric. Raises RubricError that names the criterion."""
    checks = []
    for criterion in criteria:
        try:
            checks.append(ready_check(criterion.critic.name, criterion.critic.options, tools))
        except (RubricError, SetupError) as error:
            raise type(error)(f"criterion {criterion.key!r}: {error}") from error
    return CheckCritic(criteria, checks, tools)


def ready_check(name: str, options: Mapping[str, JsonValue], tools: Tools) -> Check:
    """The check called `name`, allowed and with all that it needs. Raises RubricError or SetupError."""
    check = make_check(name, options)
    if check.runs_code and not tools.allow_code:
        raise RubricError(
            f"the check {name!r} runs code that the rubric names; where you trust it, write `allow_code: true` in the"
            " recipe, or give --allow-code to `anchors score`, or allow_code=True to Reward"
        )
    check.ready()
    return check
