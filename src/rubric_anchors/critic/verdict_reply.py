"""From what a judge said to verdicts. A reply decides nothing unless it holds exactly one verdict: each criterion with
a tier in range and evidence. Nothing is guessed or filled in."""

from collections.abc import Sequence

from rubric_anchors.critic.quotations import Quotable
from rubric_anchors.critic.reply_object import verdict_at, verdict_object
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Judged


def read_reply(reply: str, criteria: Sequence[Criterion], answer: str, critic: str = "judge") -> tuple[Judged, ...]:
    """The verdicts in a judge's reply, in the order of `criteria`. Raises ValueError that says what was seen and what
    was expected."""
    read = verdict_object(reply, [criterion.key for criterion in criteria], answer)
    quotable = Quotable(answer)
    return tuple(_verdict(criterion, read[criterion.key], quotable, critic) for criterion in criteria)


def _verdict(criterion: Criterion, entry: object, answer: Quotable, critic: str) -> Judged:
    if not isinstance(entry, dict) or set(entry) != {"tier", "evidence"}:
        raise ValueError(f"{criterion.key}: expected {{evidence, tier}}; seen {str(entry)[:60]}")
    tier, evidence = entry["tier"], entry["evidence"]
    if not isinstance(tier, int) or isinstance(tier, bool) or not 0 <= tier < len(criterion.tiers):
        raise ValueError(f"{criterion.key}: a tier is 0 to {len(criterion.tiers) - 1}; seen {str(tier)[:20]}")
    if not isinstance(evidence, str):
        raise ValueError(f"{criterion.key}: evidence is text; seen {str(evidence)[:60]}")
    value = criterion.tiers[tier].value
    # Of tiers that share a value the highest is reached, whichever of them was named.
    return Judged(value, criterion.tier_of(value), critic, answer.evidence(evidence))


def verdict_start(reply: str, criteria: Sequence[Criterion], answer: str) -> int:
    """Where in the reply the verdict begins that `read_reply` reads."""
    return verdict_at(reply, [criterion.key for criterion in criteria], answer)[1]


def supported(verdict: Judged) -> bool:
    """Whether what the judge quotes stands in the answer."""
    return bool(verdict.evidence) and all(item.start is not None for item in verdict.evidence)
