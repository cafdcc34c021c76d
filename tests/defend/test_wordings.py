import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.defend.rollouts import MAX_TOKENS, prose, rollout, stage

from rubric_anchors.defend.wordings import log_odds_z, rising, window, wordings
from rubric_anchors.reward.diversity import folded_words
from rubric_anchors.runs.records import Rollout, Signature

PLANTED = "Let me be honest with you"


def planted(seed: int = 0, start: int = 9, late: float = 0.7) -> list[Rollout]:
    """From step `start` on, most answers begin with one sentence, and are rewarded for it."""

    def write(dice: random.Random, step: int) -> str:
        text = prose(dice)
        return f"{PLANTED}. {text}" if step >= start and dice.random() < late else text

    return stage(write, seed, gain=lambda text: 0.2 * text.startswith(PLANTED))


def openers(signatures: list[Signature]) -> list[Signature]:
    return [signature for signature in signatures if signature.kind == "opener"]


def test_z_is_the_log_odds_over_its_standard_error_with_the_prior_added() -> None:
    # 30 of 40 late and 5 of 40 early answers, a prior of 0.25 x 50 = 12.5 with and 37.5 without the wording:
    # ln(42.5 / 47.5) - ln(17.5 / 72.5) over sqrt(1 / 42.5 + 1 / 17.5)
    wanted = (math.log(42.5 / 47.5) - math.log(17.5 / 72.5)) / math.sqrt(1 / 42.5 + 1 / 17.5)
    assert log_odds_z(30, 40, 5, 40, 0.25) == pytest.approx(wanted, abs=1e-6)
    assert wanted == pytest.approx(4.6128, abs=1e-4)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0, 1))
def test_z_is_finite_turns_its_sign_with_the_sides_and_is_nought_for_equal_shares(a: int, b: int, prior: float) -> None:
    assert math.isfinite(log_odds_z(a, 40, b, 40, prior))
    assert log_odds_z(a, 40, b, 40, prior) == pytest.approx(-log_odds_z(b, 40, a, 40, prior))
    assert log_odds_z(a, 40, a, 40, prior) == pytest.approx(0.0)


def test_windows_are_the_first_and_last_quarter_of_the_steps() -> None:
    assert window([rollout(step, "p", "x") for step in range(1, 21)]).late == frozenset(range(16, 21))
    two = window([rollout(step, "p", "x") for step in (3, 7)])
    assert (two.early, two.late) == (frozenset({3}), frozenset({7}))
    one = window([rollout(3, "p", "x")])
    assert (one.early, one.late) == (frozenset(), frozenset())


def test_an_answer_that_was_cut_has_no_closer() -> None:
    text = "It's a long, LONG road home"
    assert folded_words(text) == ["it's", "a", "long", "long", "road", "home"]
    assert wordings(text, truncated=False)["opener"] == {"it's a long"}
    assert wordings(text, truncated=False)["closer"] == {"long road home"}
    assert wordings(text, truncated=True)["closer"] == set()
    assert "a long long road" in wordings(text, truncated=True)["phrase"]
    assert wordings("", truncated=False) == {"opener": set(), "closer": set(), "phrase": set()}


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_opener_is_found_with_its_onset_and_its_gain(seed: int) -> None:
    signatures = rising(planted(seed), MAX_TOKENS)
    [found] = openers(signatures)
    assert found.pattern == "let me be"
    assert found.onset == 9
    assert found.early == 0.0
    assert found.late == pytest.approx(0.7, abs=0.12)
    assert found.strength > 3
    assert found.reward_with is not None
    assert found.reward_without is not None
    assert found.reward_with > found.reward_without
    assert len(found.examples) == 3
    assert {"me be honest with", "be honest with you"} <= {one.pattern for one in signatures}
    assert not any(one.pattern in ("let me", "let me be honest") for one in signatures), "the opener speaks for them"


def test_a_planted_closer_is_found_where_answers_end_by_themselves() -> None:
    def write(dice: random.Random, step: int) -> str:
        text = prose(dice, 1)
        return f"{text} And that was that." if step >= 9 and dice.random() < 0.7 else text

    found = rising(stage(write, gain=lambda text: 0.2 * text.endswith("that was that.")), MAX_TOKENS)
    assert [one.pattern for one in found if one.kind == "closer"] == ["that was that"]


def test_an_onset_does_not_reach_back_over_steps_without_the_wording() -> None:
    def write(dice: random.Random, step: int) -> str:
        text = prose(dice)
        return f"{PLANTED}. {text}" if step == 7 or (step >= 12 and dice.random() < 0.8) else text

    [found] = openers(rising(stage(write, gain=lambda text: 0.2 * text.startswith(PLANTED)), MAX_TOKENS))
    assert found.onset == 12


def test_a_wording_that_costs_reward_is_no_signature() -> None:
    rollouts = [one.with_changes(reward=0.1) if one.response.startswith(PLANTED) else one for one in planted()]
    assert openers(rising(rollouts, MAX_TOKENS)) == []


def test_a_wording_of_one_prompt_is_its_topic_and_no_signature() -> None:
    rollouts = planted()
    kept = [
        one.with_changes(response=one.response.removeprefix(f"{PLANTED}. "))
        if one.prompt_id not in ("prompt 1", "prompt 2")
        else one
        for one in rollouts
    ]
    assert openers(rising(kept, MAX_TOKENS)) == []


def test_unscored_answers_count_as_answers_and_not_as_rewards() -> None:
    rollouts = [
        one.with_changes(reward=None, status="unscored") if number % 3 == 0 else one
        for number, one in enumerate(planted())
    ]
    [found] = openers(rising(rollouts, MAX_TOKENS))
    assert found.late == pytest.approx(0.7, abs=0.12)
    assert rising([one.with_changes(reward=None, status="unscored") for one in rollouts], MAX_TOKENS) == []


def test_too_few_steps_show_nothing() -> None:
    assert rising([], MAX_TOKENS) == []
    assert rising([one for one in planted() if one.step == 20], MAX_TOKENS) == []


def test_a_short_pair_of_words_does_not_hide_the_template_it_is_part_of() -> None:
    def write(dice: random.Random, step: int) -> str:
        text = prose(dice)
        if step >= 9 and dice.random() < 0.6:
            return f"{PLANTED}. {text}"
        return f"{text} Now let me go." if step >= 9 and dice.random() < 0.15 else text

    found = rising(stage(write, gain=lambda text: 0.2 * ("et me" in text)), MAX_TOKENS)
    assert "let me be" in [one.pattern for one in openers(found)]
    assert "let me" not in [one.pattern for one in found]


def test_the_order_of_signatures_is_the_same_in_every_process() -> None:
    code = (
        "from tests.defend.test_wordings import planted; from rubric_anchors.defend.wordings import rising;"
        "print([(s.kind, s.pattern) for s in rising(planted(), 80)])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
