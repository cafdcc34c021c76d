"""Before against after: planted effects are found, no effect is no finding, and mismatched sides are refused."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rubric_anchors.core.errors import InputError
from rubric_anchors.evaluate.measures import Sample
from rubric_anchors.evaluate.run import Sides, by_family, compare
from rubric_anchors.evaluate.verdicts import measure_kept


class Planted:
    """Reads the score off the answer: the instrument is perfect, so that only the comparison is tested."""

    name = "planted"
    family = "test"
    higher_is_better = True
    margin: float | None = 0.05

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return np.array([float(sample.response) for sample in samples])


def side(prompts: int, effect: float, seed: int, answers: int = 2) -> list[Sample]:
    """Answers whose planted scores vary more between prompts than within one."""
    hard = np.random.default_rng(99).normal(0.5, 0.3, prompts)
    noise = np.random.default_rng(seed).normal(0, 0.1, (prompts, answers))
    return [
        Sample(
            f"p{at:03d}", "odd" if at % 2 else "even", f"question {at}", str(float(hard[at] + noise[at, k] + effect))
        )
        for at in range(prompts)
        for k in range(answers)
    ]


def rewards(samples: Sequence[Sample]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for sample in samples:
        found.setdefault(sample.prompt_id, []).append(float(sample.response))
    return found


def test_a_planted_effect_is_found_in_reward_and_measure_alike() -> None:
    before, after = side(60, 0.0, 1), side(60, 0.1, 2)
    sides = Sides(rewards(before), rewards(after))
    reward, unshaped, planted = compare(before, after, reward=sides, unshaped=sides, measures=[Planted()], seed=0)
    assert [row.name for row in (reward, unshaped, planted)] == ["reward", "reward_unshaped", "planted"]
    assert reward.in_reward
    assert unshaped.in_reward
    assert not planted.in_reward
    assert planted.low > 0.05
    assert planted.low < 0.1 < planted.high
    assert planted.delta == pytest.approx(planted.after - planted.before)
    assert (planted.n, planted.margin) == (60, 0.05)


def test_no_effect_is_kept_with_enough_prompts_and_not_shown_with_few() -> None:
    verdicts = []
    for prompts in (200, 10):
        before, after = side(prompts, 0.0, 1), side(prompts, 0.0, 2)
        sides = Sides(rewards(before), rewards(after))
        planted = compare(before, after, reward=sides, measures=[Planted()], seed=0)[-1]
        assert planted.low < 0 < planted.high
        verdicts.append(measure_kept(planted))
    assert verdicts == [True, None]


def test_a_planted_loss_is_not_kept() -> None:
    before, after = side(60, 0.0, 1), side(60, -0.2, 2)
    planted = compare(before, after, reward=Sides(rewards(before), rewards(after)), measures=[Planted()], seed=0)[-1]
    assert measure_kept(planted) is False


def test_swapping_the_sides_flips_every_figure() -> None:
    before, after = side(40, 0.0, 1), side(40, 0.05, 2)
    forth = compare(before, after, reward=Sides(rewards(before), rewards(after)), measures=[Planted()], seed=3)
    back = compare(after, before, reward=Sides(rewards(after), rewards(before)), measures=[Planted()], seed=3)
    for there, here in zip(forth, back, strict=True):
        assert (here.before, here.after) == (there.after, there.before)
        assert here.delta == pytest.approx(-there.delta)
        assert here.low == pytest.approx(-there.high)
        assert here.high == pytest.approx(-there.low)


def test_the_order_of_rows_changes_nothing() -> None:
    before, after = side(30, 0.0, 1), side(30, 0.05, 2)
    sides = Sides(rewards(before), rewards(after))
    turned = Sides(dict(reversed(list(sides.before.items()))), sides.after)
    first = compare(before, after, reward=sides, measures=[Planted()], seed=3)
    assert compare(before[::-1], after, reward=turned, measures=[Planted()], seed=3)[-1].delta == pytest.approx(
        first[-1].delta
    )
    assert compare(before, after, reward=turned, measures=[], seed=3)[0] == first[0]


def test_a_prompt_with_no_scored_answer_on_one_side_is_left_out_of_the_reward_and_counted() -> None:
    before, after = side(30, 0.0, 1), side(30, 0.05, 2)
    scored = rewards(after)
    scored["p000"] = []
    reward = compare(before, after, reward=Sides(rewards(before), scored), measures=[], seed=0)[0]
    assert reward.n == 29


def test_sides_that_do_not_match_are_refused() -> None:
    before, after = side(4, 0.0, 1), side(4, 0.0, 2)
    sides = Sides(rewards(before), rewards(after))
    with pytest.raises(InputError, match=r"'p003' has 2 answers before and 1 after"):
        compare(before, after[:-1], reward=sides, measures=[], seed=0)
    with pytest.raises(InputError, match="at least 2 prompts"):
        compare(before[:2], after[:2], reward=Sides({"p000": [1.0]}, {"p000": [1.0]}), measures=[], seed=0)


def test_the_seesaw_table_has_a_row_for_each_family() -> None:
    before, after = rewards(side(40, 0.0, 1)), rewards(side(40, 0.0, 2))
    for prompt_id in after:
        shift = 0.2 if int(prompt_id[1:]) % 2 else -0.2
        after[prompt_id] = [value + shift for value in after[prompt_id]]
    families = {sample.prompt_id: sample.family for sample in side(40, 0.0, 1)} | {"p000": "alone"}
    table = by_family(families, Sides(before, after), seed=0)
    assert set(table) == {"odd", "even"}  # a family of one prompt has no interval
    assert table["odd"][0].low > 0.1
    assert table["even"][0].high < -0.1
    assert (table["odd"][0].n, table["even"][0].n) == (20, 19)
