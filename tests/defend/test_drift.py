import random
from collections.abc import Callable

import numpy as np
import pytest
from tests.defend.rollouts import prose, stage

from rubric_anchors.defend.drift import cohens_d, drifts
from rubric_anchors.runs.records import Signature


def drift_of(write: Callable[[random.Random, int], str]) -> dict[str, Signature]:
    return {signature.kind: signature for signature in drifts(stage(write))}


def test_cohen_s_d_is_the_difference_over_the_pooled_deviation() -> None:
    before, after = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]
    assert cohens_d(before, after) == pytest.approx(2.0 / np.sqrt((1.0 + 4.0) / 2))
    assert cohens_d(after, before) == -cohens_d(before, after)
    assert cohens_d([1.0, 1.0], [1.0, 1.0]) == 0.0
    assert cohens_d([1.0, 1.0], [2.0, 2.0]) == 10.0


@pytest.mark.parametrize("sign", [1, -1])
def test_length_counts_in_both_directions(sign: int) -> None:
    found = drift_of(lambda dice, step: prose(dice, 4 + sign * (step > 10) * 2))
    assert set(found) == {"length"}
    assert found["length"].strength * sign > 0.8
    assert (found["length"].late - found["length"].early) * sign > 0


def test_answers_that_say_the_same_are_a_loss_of_diversity() -> None:
    found = drift_of(lambda dice, step: prose(random.Random(7) if step > 12 and dice.random() < 0.8 else dice))
    assert found["diversity"].strength < -0.8
    assert found["diversity"].late < found["diversity"].early


def test_answers_that_become_more_diverse_are_no_drift() -> None:
    assert "diversity" not in drift_of(lambda dice, step: prose(random.Random(7) if step < 8 else dice))


def test_repetition_and_copying_count_only_when_they_rise() -> None:
    def repeats(dice: random.Random, step: int) -> str:
        text = prose(dice, 2)
        return f"{text} {text}" if step > 12 else f"{text} {prose(dice, 2)}"

    def copies(dice: random.Random, step: int) -> str:
        copied = "What do you know of prompt 3, and who told you that? " if step > 12 else ""
        return copied + prose(dice, 1)

    assert drift_of(repeats)["repetition"].strength > 0.8
    assert drift_of(copies)["copying"].strength > 0.8
    assert not {"repetition", "copying"} & set(drift_of(lambda dice, step: repeats(dice, 21 - step)))
    assert not {"repetition", "copying"} & set(drift_of(lambda dice, step: copies(dice, 21 - step)))


@pytest.mark.parametrize("seed", range(8))
def test_a_stage_that_does_not_change_has_no_drift(seed: int) -> None:
    assert drifts(stage(lambda dice, step: prose(dice), seed)) == []


def test_empty_answers_and_a_single_step_are_no_fault() -> None:
    assert drifts([]) == []
    assert drifts(stage(lambda dice, step: "", steps=1)) == []
    assert drifts(stage(lambda dice, step: "")) == []
