"""Before against after on held-out prompts: the reward, the unshaped reward and every measure outside it, paired by
prompt.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import InputError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.evaluate.measures.base import Measure, Sample
from rubric_anchors.evaluate.paired import difference_interval, prompt_means
from rubric_anchors.runs.records import Measured

REWARD: Final = "reward"
UNSHAPED: Final = "reward_unshaped"

Rewards = Mapping[str, Sequence[float]]
"""Prompt id to the rewards of its scored answers; an unscored answer has no place in it."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The rewards of both sides under one frozen rubric."""

    before: Rewards
    after: Rewards


def compare(
    before: Sequence[Sample],
    after: Sequence[Sample],
    *,
    reward: Sides,
    unshaped: Sides | None = None,
    measures: Sequence[Measure],
    seed: int,
) -> tuple[Measured, ...]:
    """`reward`, `reward_unshaped` where given, then each measure, in order, each with its paired 95% interval.

    Both sides must answer the same prompts with as many answers each: measures such as distinctness depend on how
    many are compared. Reward figures leave out prompts with no scored answer on one side, and say so in `n`. Raises
    InputError where the sides do not match or fewer than 2 prompts are left.
    """
    _check_sides(before, after)
    rows = [_of_rewards(REWARD, reward, seed)]
    if unshaped is not None:
        rows.append(_of_rewards(UNSHAPED, unshaped, seed))
    rows.extend(_of_measure(measure, before, after, seed) for measure in measures)
    return tuple(rows)


def by_family(families: Mapping[str, str], reward: Sides, seed: int) -> dict[str, tuple[Measured, ...]]:
    """The reward of each family of prompts: the seesaw table. `families`: prompt id to family.

    A family with fewer than 2 prompts scored on both sides has no interval and is left out.
    """
    members: defaultdict[str, set[str]] = defaultdict(set)
    for prompt_id, family in families.items():
        if reward.before.get(prompt_id) and reward.after.get(prompt_id):
            members[family].add(prompt_id)
    return {
        family: (_of_rewards(REWARD, _only(reward, prompts), derive_seed(family, seed)),)
        for family, prompts in sorted(members.items())
        if len(prompts) >= 2
    }


def _only(reward: Sides, prompts: set[str]) -> Sides:
    kept = sorted(prompts)
    return Sides({key: reward.before[key] for key in kept}, {key: reward.after[key] for key in kept})


def _of_rewards(name: str, reward: Sides, seed: int) -> Measured:
    return _measured(
        prompt_means(reward.before),
        prompt_means(reward.after),
        seed,
        name=name,
        family="reward",
        in_reward=True,
        higher_is_better=True,
        margin=None,
    )


def _of_measure(measure: Measure, before: Sequence[Sample], after: Sequence[Sample], seed: int) -> Measured:
    return _measured(
        prompt_means(_grouped(before, measure(before))),
        prompt_means(_grouped(after, measure(after))),
        seed,
        name=measure.name,
        family=measure.family,
        in_reward=False,
        higher_is_better=measure.higher_is_better,
        margin=measure.margin,
    )


def _grouped(samples: Sequence[Sample], values: NDArray[np.float64]) -> dict[str, list[float]]:
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for sample, value in zip(samples, values, strict=True):
        groups[sample.prompt_id].append(float(value))
    return groups


def _measured(
    before: Mapping[str, float],
    after: Mapping[str, float],
    seed: int,
    *,
    name: str,
    family: str,
    in_reward: bool,
    higher_is_better: bool,
    margin: float | None,
) -> Measured:
    """One row from the means of prompts; prompts are taken in order of id, so that no order of rows changes a
    figure.
    """
    shared = sorted(before.keys() & after.keys())
    first = np.array([before[key] for key in shared])
    second = np.array([after[key] for key in shared])
    interval = difference_interval(second - first, derive_seed("measure", name, seed))
    return Measured(
        name=name,
        family=family,
        in_reward=in_reward,
        higher_is_better=higher_is_better,
        before=float(first.mean()),
        after=float(second.mean()),
        delta=interval.delta,
        low=interval.low,
        high=interval.high,
        margin=margin,
        n=len(shared),
    )


def _check_sides(before: Sequence[Sample], after: Sequence[Sample]) -> None:
    first, second = (Counter(sample.prompt_id for sample in side) for side in (before, after))
    odd = sorted(key for key in first.keys() | second.keys() if first[key] != second[key])
    if odd:
        raise InputError(
            f"prompt {odd[0]!r} has {first[odd[0]]} answers before and {second[odd[0]]} after; "
            "a paired comparison needs as many on both sides"
        )
