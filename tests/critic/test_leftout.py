import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.fakes import answer, fake_tools

from rubric_anchors.app.exemplars import rubric_left_out
from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.exemplar import AnchorSpace
from rubric_anchors.critic.kernel import beyond_chance, fit
from rubric_anchors.critic.leftout import leave_one_out
from rubric_anchors.critic.style import WIDTH
from rubric_anchors.rubric.model import Criterion, Rubric

PLAIN_NARRATIVE = Path(__file__).parents[2] / "recipes" / "rubrics" / "plain-narrative.yaml"
WORDS = "river stone lamp bread window road garden letter cup winter hand chair".split()


def told_at_random(seed: int, tiers: int = 3, anchors: int = 5) -> Criterion:
    """Tiers whose anchors are drawn from one bag of words, all of one form: nothing tells them apart."""
    random = np.random.default_rng(seed)
    texts = [
        [f"The {' and the '.join(random.choice(WORDS, 6))} were there." for _ in range(anchors)] for _ in range(tiers)
    ]
    return Criterion.model_validate(
        {
            "key": "nothing",
            "ask": "Nothing.",
            "critic": "exemplar",
            "tiers": [{"means": str(at), "anchors": found} for at, found in enumerate(texts)],
        }
    )


def test_good_anchors_are_told_apart_and_better_than_by_the_nearest_one() -> None:
    found = rubric_left_out(PLAIN_NARRATIVE, tools=fake_tools())["lived_detail"]
    assert found is not None
    assert found.apart
    assert found.interval[0] <= found.agreement <= found.interval[1]
    assert found.interval[0] > 0.9
    assert found.nearest_anchor < found.interval[0]
    assert len(found.anchors) == 24
    assert found.right == sum(anchor.nearest == anchor.tier for anchor in found.anchors) / 24


def test_verdicts_by_anchors_that_say_nothing_say_so() -> None:
    spaces = [AnchorSpace(told_at_random(seed), fake_tools()) for seed in range(4)]
    found = [leave_one_out(space) for space in spaces]
    unsure = next(at for at, one in enumerate(found) if one is not None and not one.apart)
    [verdict] = spaces[unsure].verdicts([answer("The lamp and the road were there.")])
    assert any("do not tell their tiers apart" in note.note for note in verdict.evidence)  # type: ignore[union-attr]


def test_verdicts_by_good_anchors_give_their_confidence() -> None:
    space = AnchorSpace(Rubric.load(PLAIN_NARRATIVE).criterion("lived_detail"), fake_tools())
    told = "I was nine, in the market, and I had stopped to look at the eels. My mother was gone."
    [verdict] = space.verdicts([answer(f"{told} I walked up and down the fish row twice and stood by a pillar.")])
    notes = [note.note for note in verdict.evidence]  # type: ignore[union-attr]
    assert any(re.fullmatch(r"nearest to tier 2, with confidence 0\.9\d", note) for note in notes)
    assert not any("do not tell" in note for note in notes)


def test_confidence_is_the_share_of_a_tier_in_a_linear_discriminant() -> None:
    random = np.random.default_rng(0)
    values = np.repeat([0.0, 1.0], 3)
    fitted = fit(random.standard_normal((6, WIDTH)), np.zeros((6, 0)), values)
    # Means 0.2 and 0.8, squares within 2 * 0.02, four degrees of freedom: variance 0.01.
    known = replace(fitted, left_out=np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]))
    assert known.confidence(0.5, 1) == pytest.approx(0.5)
    likely = 1 / (1 + np.exp(-(0.4**2 - 0.2**2) / 0.02))
    assert known.confidence(0.6, 1) == pytest.approx((6 * likely + 0.5) / 7)
    # Without the anchor at 0.9: mean 0.75, squares 0.02 + 0.005, three degrees of freedom.
    likely = 1 / (1 + np.exp(-(0.4**2 - 0.15**2) / (2 * 0.025 / 3)))
    assert known.confidence(0.6, 1, without=5) == pytest.approx((5 * likely + 0.5) / 6)


def test_confidence_is_right_as_often_as_it_says() -> None:
    said, right = [], []
    for seed in range(30):
        random = np.random.default_rng(seed)
        values = np.repeat([0.0, 0.5, 1.0], 8)
        style = random.standard_normal((24, WIDTH))
        style[:, :3] += 1.5 * values[:, None]
        fitted = fit(style, np.zeros((24, 0)), values)
        fresh = random.standard_normal((24, WIDTH))
        fresh[:, :3] += 1.5 * values[:, None]
        for place, value in zip(fitted.place(fresh, np.zeros((24, 0)), 0.0), values, strict=True):
            if place.support == 1.0 and place.confidence is not None:
                said.append(place.confidence)
                right.append(fitted.levels[place.nearest] == value)
    assert len(said) > 200
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.08)


def test_too_few_anchors_say_nothing_of_themselves() -> None:
    criterion = told_at_random(0, anchors=2)
    assert leave_one_out(AnchorSpace(criterion, fake_tools())) is None
    [verdict] = AnchorSpace(criterion, fake_tools()).verdicts([answer("The lamp and the road were there.")])
    assert not any("confidence" in note.note for note in verdict.evidence)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("guess", "beyond"),
    [
        ([1, 2, 3, 4, 5, 6], True),  # all nine pairs: z = 4.5 / sqrt(5.25) = 1.96
        ([1, 2, 4, 3, 5, 6], False),  # eight of nine: z = 1.53 falls short of 1.645
        ([6, 5, 4, 3, 2, 1], False),
        ([1, 1, 1, 1, 1, 1], False),
    ],
)
def test_order_beyond_chance_by_hand(guess: list[float], beyond: bool) -> None:
    assert beyond_chance(np.array(guess, dtype=float), np.repeat([0.0, 1.0], 3)) is beyond


def test_a_rubric_without_anchors_is_refused(tmp_path: Path) -> None:
    rubric = tmp_path / "plain.yaml"
    rubric.write_text(
        "id: plain\ncriteria:\n  - {key: short, ask: Short., critic: {check: word_count, with: {max: 9}}}\n"
    )
    with pytest.raises(RubricError, match="no criterion is decided by anchors"):
        rubric_left_out(rubric, tools=fake_tools())
