from pathlib import Path

import numpy as np
import pytest
from tests.support.fakes import FakeEncoder, answer, fake_tools

from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.build import build_critics
from rubric_anchors.critic.exemplar import ExemplarCritic
from rubric_anchors.critic.kernel import GRID, fit, order_agreement
from rubric_anchors.critic.style import NAMES, WIDTH, spread_of, style_row, style_rows
from rubric_anchors.critic.text import TextView
from rubric_anchors.rubric.model import Criterion, Rubric
from rubric_anchors.rubric.outcome import Judged

PLAIN_NARRATIVE = Path(__file__).parents[2] / "recipes" / "rubrics" / "plain-narrative.yaml"
ADVICE = (
    "It is important to establish a consistent sleep schedule. Avoiding stimulation before bedtime can significantly "
    "improve the overall quality of rest. Additionally, creating a relaxing environment is essential for emotional "
    "well-being."
)
TOLD = (
    "I was nine, in the market, and I had stopped to look at the eels. When I turned round my mother's coat was gone. "
    "I walked up and down the fish row twice and stood by a pillar. A man gave me a toffee. She came after ten minutes "
    "and held my wrist all the way home."
)
GUSHED = (
    "It was a truly magical Sunday. The golden sunlight danced upon my face and a wonderful feeling of peace filled my "
    "grateful heart. I will always treasure the beautiful memories of that unforgettable and precious day with my "
    "loving family."
)


@pytest.fixture(scope="module")
def lived_detail() -> Criterion:
    return Rubric.load(PLAIN_NARRATIVE).criterion("lived_detail")


@pytest.fixture(scope="module")
def critic(lived_detail: Criterion) -> ExemplarCritic:
    return ExemplarCritic([lived_detail], fake_tools())


def changed(criterion: Criterion, **fields: object) -> Criterion:
    return Criterion.model_validate({**criterion.model_dump(by_alias=True), **fields})


def verdicts(critic: ExemplarCritic, *texts: str) -> list[Judged]:
    found = [row[0] for row in critic.judge([answer(text) for text in texts])]
    assert all(isinstance(verdict, Judged) for verdict in found)
    return [verdict for verdict in found if isinstance(verdict, Judged)]


def test_answers_are_put_in_the_order_of_the_tiers_on_subjects_no_anchor_has(critic: ExemplarCritic) -> None:
    advice, gushed, told = (verdict.value for verdict in verdicts(critic, ADVICE, GUSHED, TOLD))
    assert advice < gushed < told
    assert advice < 0.25
    assert told > 0.6


def test_the_anchors_left_one_out_are_put_in_order(critic: ExemplarCritic) -> None:
    agreement = critic.spaces[0].fitted.agreement
    assert agreement is not None
    assert agreement > 0.95


def test_the_value_and_the_tier_agree(critic: ExemplarCritic, lived_detail: Criterion) -> None:
    for verdict in verdicts(critic, ADVICE, GUSHED, TOLD, "", "Yes."):
        assert 0.0 <= verdict.value <= 1.0
        assert verdict.tier == lived_detail.tier_of(verdict.value)


def test_the_value_does_not_depend_on_the_company(critic: ExemplarCritic) -> None:
    together = verdicts(critic, ADVICE, "", GUSHED, TOLD)
    apart = [verdicts(critic, text)[0] for text in (ADVICE, "", GUSHED, TOLD)]
    assert [one.value for one in together] == pytest.approx([one.value for one in apart], abs=1e-9)


def test_copying_an_anchor_does_not_pay(lived_detail: Criterion, critic: ExemplarCritic) -> None:
    best = lived_detail.tiers[-1].anchors[0]
    half = " ".join(best.split()[: len(best.split()) * 2 // 3])
    for text in (best, best.upper(), f"{TOLD} {best}", f"{half} and so it went on, as these things do."):
        [verdict] = verdicts(critic, text)
        assert (verdict.value, verdict.tier) == (0.0, 0)
        assert "word for word" in verdict.evidence[0].note


def test_copies_may_be_flagged_only(lived_detail: Criterion) -> None:
    lenient = changed(lived_detail, critic={"kind": "exemplar", "with": {"copies": "flag"}})
    [verdict] = verdicts(ExemplarCritic([lenient], fake_tools()), lived_detail.tiers[-1].anchors[0])
    assert verdict.value > 0.8
    assert "word for word" in verdict.evidence[0].note


def test_for_a_pitfall_the_worst_is_the_last_tier(lived_detail: Criterion) -> None:
    pitfall = ExemplarCritic([changed(lived_detail, weight=-1.0)], fake_tools())
    copied, empty = verdicts(pitfall, lived_detail.tiers[0].anchors[0], "")
    assert copied.value == empty.value == 1.0


@pytest.mark.parametrize("text", ["", " \n\t", "?!…", "\x00", "\ud800", "🙂" * 50])
def test_without_words_there_is_nothing_to_judge(critic: ExemplarCritic, text: str) -> None:
    assert verdicts(critic, text)[0].value == 0.0


def test_what_is_unlike_every_anchor_is_held_to_the_worst(critic: ExemplarCritic) -> None:
    loop, shouting = verdicts(critic, "the the the the the the the the the the the", "I I I I! I! I! I! I! I! I! " * 9)
    assert loop.value < 0.3
    assert shouting.value < 0.3
    assert any("unlike the anchors" in note.note for note in loop.evidence)


def test_the_deciding_anchor_is_named(critic: ExemplarCritic) -> None:
    [verdict] = verdicts(critic, TOLD)
    assert verdict.evidence[0].note.startswith("most like an anchor of tier 2, 0.")


def test_style_alone_needs_no_encoder(lived_detail: Criterion) -> None:
    def no_model() -> FakeEncoder:
        raise AssertionError("an encoder was asked for")

    tools = Tools(encoder=no_model, likelihood=fake_tools().likelihood)
    style = changed(lived_detail, critic={"kind": "exemplar", "with": {"space": "style"}})
    low, high = verdicts(ExemplarCritic([style], tools), ADVICE, TOLD)
    assert low.value < high.value


def test_two_anchors_are_enough_to_say_something() -> None:
    criterion = Criterion.model_validate(
        {
            "key": "told",
            "ask": "It is told.",
            "critic": "exemplar",
            "tiers": [{"means": "No.", "anchors": [ADVICE]}, {"means": "Yes.", "anchors": [TOLD]}],
        }
    )
    critic = ExemplarCritic([criterion], fake_tools())
    other = "Exercise is essential for maintaining physical health. It provides numerous significant benefits."
    mine = "We got off at the wrong stop and walked. It rained. My sister sang all the way up the hill."
    low, high = verdicts(critic, other, mine)
    assert low.value < high.value
    assert critic.spaces[0].fitted.agreement is None


def test_an_unknown_option_is_named_with_its_criterion(lived_detail: Criterion) -> None:
    wrong = changed(lived_detail, critic={"kind": "exemplar", "with": {"kopies": "flag"}})
    with pytest.raises(RubricError, match=r"'lived_detail': exemplar option 'kopies'.*space.*copies"):
        ExemplarCritic([wrong], fake_tools())


def test_a_rubric_builds_it_from_the_short_form(lived_detail: Criterion) -> None:
    short = changed(lived_detail, critic={"exemplar": "tiers"})
    rubric = Rubric(id="short", criteria=(short,))
    [critic] = build_critics(rubric, fake_tools())
    assert isinstance(critic, ExemplarCritic)


def test_style_has_a_number_for_each_name_on_any_text() -> None:
    rows = style_rows(
        [TextView(text) for text in ("", "One.", "# T\n\n- a\n- b", "x" * 5000, "走り出した。", TOLD * 50)]
    )
    assert rows.shape == (6, WIDTH)
    assert len(set(NAMES)) == WIDTH
    assert np.isfinite(rows).all()


def test_style_is_blind_to_the_subject() -> None:
    one = style_row(TextView("We took the boat out early and I caught two fish."))
    other = style_row(TextView("We took the road home early and I fixed two cars."))
    assert np.abs(one - other).max() < 0.2


def test_order_agreement_counts_pairs_of_different_tiers() -> None:
    values = np.array([0.0, 0.0, 1.0, 1.0])
    assert order_agreement(np.array([0.1, 0.2, 0.8, 0.9]), values) == 1.0
    assert order_agreement(np.array([0.9, 0.8, 0.2, 0.1]), values) == 0.0
    assert order_agreement(np.zeros(4), values) == 0.5


def test_columns_that_tell_the_tiers_apart_carry_the_weight() -> None:
    random = np.random.default_rng(0)
    style = random.standard_normal((20, WIDTH))
    values = np.repeat([0.0, 1.0], 10)
    style[:, 3] = values * 4.0
    fitted = fit(style, np.zeros((20, 0)), values)
    weights = (fitted.scale * spread_of(style)) ** 2
    assert weights.argmax() == 3
    assert weights[3] > 0.3


def test_the_choice_is_the_same_whatever_the_order_of_the_anchors() -> None:
    random = np.random.default_rng(1)
    values = np.repeat([0.0, 0.5, 1.0], 5)
    style = random.standard_normal((15, WIDTH)) + values[:, None]
    meaning = random.standard_normal((15, 8))
    meaning /= np.linalg.norm(meaning, axis=1, keepdims=True)
    shuffled = random.permutation(15)
    one, other = fit(style, meaning, values), fit(style[shuffled], meaning[shuffled], values[shuffled])
    assert one.setting == other.setting
    assert one.setting in GRID
    places = [fitted.place(style[:3] + 0.1, meaning[:3], 0.0) for fitted in (one, other)]
    assert [p.value for p in places[0]] == pytest.approx([p.value for p in places[1]], abs=1e-6)


def test_the_embedded_encoder_puts_the_anchors_in_order(real_encoder: Path, lived_detail: Criterion) -> None:
    from rubric_anchors.models.encoder import SentenceEncoder

    encoder = SentenceEncoder(real_encoder)
    critic = ExemplarCritic([lived_detail], Tools(encoder=lambda: encoder, likelihood=fake_tools().likelihood))
    agreement = critic.spaces[0].fitted.agreement
    assert agreement is not None
    assert agreement > 0.95
    advice, gushed, told = (verdict.value for verdict in verdicts(critic, ADVICE, GUSHED, TOLD))
    assert advice < gushed < told
