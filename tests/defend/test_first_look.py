import random

import pytest
from tests.defend.rollouts import MAX_TOKENS, prose, stage
from tests.defend.test_wordings import PLANTED, planted
from tests.support.fakes import answer, fake_tools

from rubric_anchors.defend.first_look import draft_veto, first_look
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.records import FirstLook

BASE = parse_rubric(
    {
        "id": "base",
        "criteria": [
            {"key": "words", "ask": "It has words.", "critic": {"check": "word_count", "with": {"min": 1}}},
        ],
    }
)
HABITS = ("When I was young", "It was a", "I remember the", "In the end", "There was a")


def habitual(dice: random.Random, step: int) -> str:
    """A model's honest habits: a third of its answers share a few openers, from first to last."""
    text = prose(dice)
    return f"{dice.choice(HABITS)} {text[0].lower()}{text[1:]}" if dice.random() < 0.35 else text


def defence(look: FirstLook) -> Rubric:
    assert look.veto is not None
    return parse_rubric(look.veto, "the drafted defence")


def reward(text: str, veto: Rubric) -> float | None:
    scorer = Scorer({"base": BASE, veto.id: veto}, fake_tools(), weights={veto.id: 0.0})
    return scorer.score([answer(text)], [("base", veto.id)])[0].reward


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("correlated", [False, True])
def test_a_healthy_stage_gives_no_template(seed: int, correlated: bool) -> None:
    # Where a habit goes with reward, it is still no template unless it spreads.
    rollouts = stage(habitual, seed, gain=lambda text: 0.1 * correlated * text.startswith(HABITS[0]))
    look = first_look("style", rollouts, MAX_TOKENS)
    assert [criterion.key for criterion in defence(look).criteria] == ["flattery", "self_praise"]
    assert "No wording became a template" in look.note


def test_a_planted_opener_becomes_a_drafted_veto_that_halves_the_reward() -> None:
    look = first_look("style", planted(), MAX_TOKENS)
    veto = defence(look)
    assert [criterion.key for criterion in veto.criteria] == ["flattery", "self_praise", "template"]
    assert "became templates" in look.note
    assert veto.id == "defence-style"
    assert reward("The sea was grey that day.", veto) == 1.0
    assert reward(f"{PLANTED}. The sea was grey.", veto) == 0.5
    assert reward("LET ME BE honest with you: it rained.", veto) == 0.5


@pytest.mark.parametrize("text", ["What a great question! It rained.", "This comprehensive guide is about rain."])
def test_the_known_tricks_give_no_reward_at_all(text: str) -> None:
    assert reward(text, defence(first_look("style", [], MAX_TOKENS))) == 0.0


def test_a_flattering_template_is_capped_and_not_merely_halved() -> None:
    veto = parse_rubric(draft_veto("style", ["let me be"]))
    assert reward("Great question! Let me be clear.", veto) == 0.0


@pytest.mark.parametrize(
    "phrase",
    ["it's a long", "안녕 하세요 여러분", "naïve à la", "don\u2019t you think", "x: {y} - #z", "'quoted' \"twice\" a"],
)
def test_a_phrase_of_any_script_or_sign_drafts_a_rubric_that_sees_it(phrase: str) -> None:
    veto = parse_rubric(draft_veto("style-2_b", [phrase]))
    assert reward(f"Well, {phrase} and more.", veto) == 0.5
    assert reward("Nothing of the kind.", veto) == 1.0


def test_a_drafted_veto_is_marked_as_made_by_program_from_the_stage() -> None:
    veto = parse_rubric(draft_veto("style", []))
    assert veto.provenance is not None
    assert veto.provenance.by == "model"
    assert veto.tags == ("defence",)


def test_a_wording_below_three_words_or_a_quarter_of_the_answers_is_no_template() -> None:
    def rare(dice: random.Random, step: int) -> str:
        return f"{PLANTED}. {prose(dice)}" if step >= 9 and dice.random() < 0.18 else prose(dice)

    look = first_look("style", stage(rare, gain=lambda text: 0.2 * text.startswith(PLANTED)), MAX_TOKENS)
    assert [signature.kind for signature in look.signatures if signature.pattern == "let me be"] == ["opener"]
    assert "template" not in defence(look).keys
