"""Wordings whose share of answers rises while a policy trains, found by weighted log-odds.

For a wording that stands in y_l of n_l late and y_e of n_e early answers, with a prior of a_w out of a_0 made from all
answers, the log-odds ratio and its variance are those of Monroe, Colaresi and Quinn (2008), "Fightin' Words", equations
15-22; counts are of answers that hold the wording, not of occurrences, so that one answer cannot repeat itself into a
signature.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rubric_anchors.reward.diversity import folded_words
from rubric_anchors.runs.records import Rollout, Signature

Kind = Literal["opener", "closer", "phrase"]

OPENER_WORDS: Final = 3
PHRASE_WORDS: Final = (2, 3, 4)
PRIOR_WEIGHT: Final = 50.0
LEAST_Z: Final = 3.0
LEAST_SHARE: Final = 0.1
LEAST_PROMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class Window:
    """The first and the last steps of a stage, which are held against each other."""

    early: frozenset[int]
    late: frozenset[int]


def window(rollouts: Sequence[Rollout], share: float = 0.25) -> Window:
    """The first and last quarter of the steps, at least one each; empty where there are fewer than two steps."""
    steps = sorted({rollout.step for rollout in rollouts})
    count = max(1, round(len(steps) * share)) if len(steps) > 1 else 0
    return Window(frozenset(steps[:count]), frozenset(steps[len(steps) - count :]))


def wordings(text: str, truncated: bool) -> dict[Kind, set[str]]:
    """The opener, the closer (where the answer ended by itself) and all phrases of two to four words."""
    words = folded_words(text)
    phrases = {" ".join(words[at : at + size]) for size in PHRASE_WORDS for at in range(max(len(words) - size + 1, 0))}
    opener = {" ".join(words[:OPENER_WORDS])} if len(words) >= OPENER_WORDS else set()
    closer = {" ".join(words[-OPENER_WORDS:])} if len(words) >= OPENER_WORDS and not truncated else set()
    return {"opener": opener, "closer": closer, "phrase": phrases}


def rising(rollouts: Sequence[Rollout], max_tokens: int) -> list[Signature]:
    """Wordings that rose from the early to the late steps by at least 3 standard deviations, strongest first.

    Each is in at least a tenth of the late answers, over at least three prompts (a wording that belongs to one prompt
    is its topic), and goes with higher reward than the other answers to the same prompts get.
    """
    span = window(rollouts)
    holders: dict[tuple[Kind, str], list[Rollout]] = defaultdict(list)
    for rollout in rollouts:
        for kind, found in wordings(rollout.response, rollout.tokens >= max_tokens).items():
            for wording in found:
                holders[kind, wording].append(rollout)
    n_early = sum(rollout.step in span.early for rollout in rollouts)
    n_late = sum(rollout.step in span.late for rollout in rollouts)
    if not n_early or not n_late:
        return []
    base = _baselines(rollouts)
    answers_of = Counter(rollout.step for rollout in rollouts)
    found_signatures = [
        signature
        for (kind, wording), held in holders.items()
        if (signature := _signature(kind, wording, held, span, n_early, n_late, answers_of, base)) is not None
    ]
    return _without_parts(sorted(found_signatures, key=_rank))


def _signature(
    kind: Kind,
    wording: str,
    held: Sequence[Rollout],
    span: Window,
    n_early: int,
    n_late: int,
    answers_of: Counter[int],
    base: Mapping[str, float],
) -> Signature | None:
    late = [rollout for rollout in held if rollout.step in span.late]
    early = sum(rollout.step in span.early for rollout in held)
    if len(late) < LEAST_SHARE * n_late or len({rollout.prompt_id for rollout in late}) < LEAST_PROMPTS:
        return None
    z = log_odds_z(len(late), n_late, early, n_early, len(held) / answers_of.total())
    gains = [r.reward - base[r.prompt_id] for r in held if r.reward is not None and r.prompt_id in base]
    if z < LEAST_Z or not gains or sum(gains) <= 0:
        return None
    rewards = [rollout.reward for rollout in held if rollout.reward is not None]
    mean = sum(rewards) / len(rewards)
    per_step = Counter(rollout.step for rollout in held)
    return Signature(
        kind=kind,
        pattern=wording,
        early=early / n_early,
        late=len(late) / n_late,
        strength=z,
        reward_with=mean,
        reward_without=mean - sum(gains) / len(gains),
        onset=_onset({step: per_step[step] / count for step, count in answers_of.items()}, early / n_early),
        examples=tuple(rollout.id for rollout in late[:3]),
    )


def log_odds_z(late: int, n_late: int, early: int, n_early: int, prior_share: float) -> float:
    """The z-score of the log-odds ratio of a wording between late and early answers, under an informative prior."""
    prior = max(prior_share, 1e-6) * PRIOR_WEIGHT
    rest = PRIOR_WEIGHT - prior + 1e-6
    up, down = late + prior, n_late - late + rest
    up0, down0 = early + prior, n_early - early + rest
    delta = math.log(up / down) - math.log(up0 / down0)
    return delta / math.sqrt(1 / up + 1 / up0)


def _baselines(rollouts: Iterable[Rollout]) -> dict[str, float]:
    rewards: dict[str, list[float]] = defaultdict(list)
    for rollout in rollouts:
        if rollout.reward is not None:
            rewards[rollout.prompt_id].append(rollout.reward)
    return {prompt: sum(found) / len(found) for prompt, found in rewards.items()}


def _onset(share_at: Mapping[int, float], early_share: float) -> int | None:
    """The first step from which the wording's share stays above twice its early one, judged from the last step back."""
    onset = None
    for step in sorted(share_at, reverse=True):
        if share_at[step] <= 2 * early_share:
            break
        onset = step
    return onset


def _rank(signature: Signature) -> tuple[float, int, int, str]:
    """Strongest first; of equals openers and closers before phrases, then the longest: the same order in every
    process."""
    words = len(signature.pattern.split())
    kind = ("opener", "closer", "phrase").index(signature.kind)
    return (-round(signature.strength, 9), kind, -words, signature.pattern)


def _without_parts(signatures: Sequence[Signature]) -> list[Signature]:
    """Drop a wording that is part of one already kept, or holds one: the stronger speaks for it.

    A pair of words is left to a longer wording that has at least four fifths of its late answers: the longer says more,
    and a veto on it hits less by accident.
    """
    kept: list[Signature] = []
    for signature in signatures:
        longer = (other for other in signatures if _holds(other, signature) and other.pattern != signature.pattern)
        if len(signature.pattern.split()) < OPENER_WORDS and any(
            other.late >= 0.8 * signature.late for other in longer
        ):
            continue
        if not any(_holds(other, signature) or _holds(signature, other) for other in kept):
            kept.append(signature)
    return kept


def _holds(signature: Signature, part: Signature) -> bool:
    return f" {part.pattern} " in f" {signature.pattern} "
