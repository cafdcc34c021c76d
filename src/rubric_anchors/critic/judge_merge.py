"""Several verdicts on one criterion as one: of samples, models and wordings; of the chunks of one answer."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Final, Literal

from rubric_anchors.critic.judge_asking import CRITIC
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Evidence, Judged, Unjudged, Verdict

How = Literal["mean", "median", "lowest"]
SHOWN: Final = 12
"""Single values that the evidence shows."""


def merged(criterion: Criterion, verdicts: Sequence[tuple[str, Verdict]], how: How, what: str) -> Verdict:
    """One verdict from several, each with the name of who gave it. `what` they are: `judgements`, `parts`.

    One that failed fails them all, by infrastructure first: nothing is averaged over what could be judged, or an answer
    could lose the verdicts that it does not like. The evidence says how they spread, and what the nearest one quotes.
    """
    if len(verdicts) == 1:
        return verdicts[0][1]
    if (failed := first_failure([verdict for _, verdict in verdicts])) is not None:
        return failed
    judged = [(name, verdict) for name, verdict in verdicts if isinstance(verdict, Judged)]
    values = [verdict.value for _, verdict in judged]
    ways: Mapping[How, Callable[[list[float]], float]] = {
        "mean": fmean,
        "median": median,
        "lowest": max if worst_is_most(criterion) else min,
    }
    # The mean of equal values may miss them by its last digit.
    value = min(max(ways[how](values), min(values)), max(values))
    agree = fmean(float(one.tier == other.tier) for (_, one), (_, other) in combinations(judged, 2))
    spread = f"{how} of {len(values)} {what} from {min(values):.2f} to {max(values):.2f}, agreement {agree:.2f}"
    notes = [Evidence(spread)]
    if len({name for name, _ in judged}) > 1:
        single = ", ".join(f"{name} {verdict.value:.2f}" for name, verdict in judged[:SHOWN])
        notes.append(Evidence(single + (", ..." if len(judged) > SHOWN else "")))
    nearest = min((verdict for _, verdict in judged), key=lambda one: abs(one.value - value))
    return Judged(value, criterion.tier_of(value), CRITIC, (*notes, *nearest.evidence))


def first_failure(verdicts: Sequence[Verdict]) -> Unjudged | None:
    """The first that failed by infrastructure, or else the first that failed at all."""
    failed = [verdict for verdict in verdicts if isinstance(verdict, Unjudged)]
    return min(failed, key=lambda one: one.cause.kind != "infrastructure", default=None)


def worst_is_most(criterion: Criterion) -> bool:
    """Whether the greatest value is the least good: of a pitfall, and of what only a veto on too much looks at."""
    veto = criterion.veto
    return criterion.weight < 0 or (criterion.weight == 0 and veto is not None and veto.above is not None)
