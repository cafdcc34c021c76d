"""Quantities of the answers that drift while a policy trains: length, diversity, repetition, copying of the prompt."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import numpy as np

from rubric_anchors.defend.wordings import window
from rubric_anchors.reward.diversity import folded_words, own_pairs
from rubric_anchors.runs.records import Rollout, Signature

LEAST_EFFECT: Final = 0.8
"""Cohen's d that counts as drift; 0.8 is the customary `large`."""

Drift = Literal["length", "diversity", "repetition", "copying"]


def _length(rollout: Rollout) -> float:
    return float(len(folded_words(rollout.response)))


def _repetition(rollout: Rollout) -> float:
    words = folded_words(rollout.response)
    grams = [tuple(words[at : at + 3]) for at in range(len(words) - 2)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def _copying(rollout: Rollout) -> float:
    words, asked = folded_words(rollout.response), folded_words(rollout.prompt[-1][1])
    grams = {tuple(words[at : at + 3]) for at in range(len(words) - 2)}
    known = {tuple(asked[at : at + 3]) for at in range(len(asked) - 2)}
    return len(grams & known) / len(grams) if grams else 0.0


def _diversity(rollouts: Sequence[Rollout]) -> list[float]:
    """For each answer, the share of its word pairs that no other answer of its step has."""
    steps = sorted({rollout.step for rollout in rollouts})
    return [share for step in steps for share in own_pairs([each.response for each in rollouts if each.step == step])]


PER_ANSWER: Final[dict[Drift, Callable[[Rollout], float]]] = {
    "length": _length,
    "repetition": _repetition,
    "copying": _copying,
}


def drifts(rollouts: Sequence[Rollout]) -> list[Signature]:
    """The quantities that moved by a large effect between the first and the last quarter of the steps.

    Length counts in both directions; diversity only when it falls; repetition and copying only when they rise.
    """
    span = window(rollouts)
    early = [rollout for rollout in rollouts if rollout.step in span.early]
    late = [rollout for rollout in rollouts if rollout.step in span.late]
    if len(early) < 2 or len(late) < 2:
        return []
    readings: list[tuple[Drift, Sequence[float], Sequence[float]]] = [
        (name, [measure(r) for r in early], [measure(r) for r in late]) for name, measure in PER_ANSWER.items()
    ]
    readings.append(("diversity", _diversity(early), _diversity(late)))
    found = []
    for name, before, after in readings:
        effect = cohens_d(before, after)
        matters = abs(effect) if name == "length" else -effect if name == "diversity" else effect
        if matters >= LEAST_EFFECT:
            found.append(
                Signature(
                    kind=name,
                    pattern=name,
                    early=float(np.mean(before)),
                    late=float(np.mean(after)),
                    strength=effect,
                    reward_with=None,
                    reward_without=None,
                    onset=None,
                    examples=tuple(rollout.id for rollout in late[:3]),
                )
            )
    return found


def cohens_d(before: Sequence[float], after: Sequence[float]) -> float:
    """The difference of means over the pooled standard deviation; 0 where both samples are constant and equal."""
    pooled = float(np.sqrt((np.var(before, ddof=1) + np.var(after, ddof=1)) / 2))
    difference = float(np.mean(after) - np.mean(before))
    if pooled == 0:
        return 0.0 if difference == 0 else float(np.copysign(10.0, difference))
    return difference / pooled
