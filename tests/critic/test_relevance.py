from pathlib import Path

import pytest
from tests.support.fakes import FakeEncoder, answer, fake_tools

from rubric_anchors.core.errors import CriticError, RubricError
from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.relevance import Relevance, _windows
from rubric_anchors.critic.text import TextView

KITCHEN = "Tell me about a kitchen that you remember from childhood."


def values(*texts: str, prompt: str = KITCHEN, check: Relevance | None = None) -> list[float]:
    found = (check or Relevance()).decide_all([answer(text, prompt) for text in texts], fake_tools())
    return [finding.value for finding in found]


def test_an_answer_on_the_subject_scores_above_one_that_is_not() -> None:
    on, off = values("The kitchen of my childhood: I remember a stove.", "Rates rose by half a point on Tuesday.")
    assert on > 0.9
    assert off == 0.0


def test_saying_the_question_back_scores_nothing() -> None:
    assert values(KITCHEN, f"{KITCHEN} {KITCHEN}", KITCHEN.upper()) == [0.0, 0.0, 0.0]


def test_what_is_said_beside_the_repeated_question_is_what_counts() -> None:
    beside, alone = values(f"{KITCHEN} Rates rose by half a point.", "Rates rose by half a point.")
    assert beside == alone == 0.0


def test_the_question_in_other_words_falls_off_at_the_far_end() -> None:
    scrambled = "remember kitchen childhood tell from about"
    strict, lenient = Relevance(), Relevance(echo=None)
    assert values(scrambled, check=strict)[0] < values(scrambled, check=lenient)[0] == 1.0


@pytest.mark.parametrize("text", ["", "  \n", "...", "Yes.", "\ud800"])
def test_hardly_a_word_is_not_relevant(text: str) -> None:
    assert values(text) == [0.0]


def test_a_batch_is_one_call_of_the_encoder() -> None:
    encoder = FakeEncoder()
    tools = Tools(encoder=lambda: encoder, likelihood=fake_tools().likelihood)
    Relevance().decide_all([answer(f"The kitchen had {n} doors.", KITCHEN) for n in range(9)], tools)
    assert encoder.batches == [10]


def test_the_value_does_not_depend_on_the_company() -> None:
    texts = ["The kitchen was small.", "A stove, I remember.", "Rates rose again today."]
    assert values(*texts) == [values(text)[0] for text in texts]


def test_long_answers_are_read_to_their_end() -> None:
    long = TextView("word " * 1000)
    windows = _windows(long)
    assert sum(words for _, words in windows) == 1000
    assert max(words for _, words in windows) <= 160
    on, strays = "The kitchen of my childhood, I remember. " * 20, "Rates rose by half a point on Tuesday. " * 60
    assert values(on + strays)[0] < values(on)[0]


def test_no_question_is_a_fault_of_the_data_not_of_the_answer() -> None:
    with pytest.raises(CriticError, match="no user turn"):
        Relevance().decide_all([Answer((Message("system", "Be kind."),), "Hello there, friend.")], fake_tools())


@pytest.mark.parametrize("options", [{"low": 0.5, "high": 0.4}, {"high": 0.9}, {"low": 2}, {"near": 1}])
def test_edges_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(RubricError, match="relevance"):
        make_check("relevance", options)


def test_the_default_edges_fit_the_embedded_encoder(real_encoder: Path) -> None:
    from rubric_anchors.models.encoder import SentenceEncoder

    encoder = SentenceEncoder(real_encoder)
    tools = Tools(encoder=lambda: encoder, likelihood=fake_tools().likelihood)
    texts = [
        "My grandmother's kitchen was the size of a wardrobe. The kettle sat on the back ring all day, and the window "
        "was always wet.",
        "I keep the bedroom cold and the phone in the hall. I also stopped drinking tea after three.",
        "kitchen a Tell remember me that you from about childhood. Tell me about a kitchen.",
    ]
    on, off, echo = Relevance().decide_all([answer(text, KITCHEN) for text in texts], tools)
    assert on.value > 0.9
    assert off.value < 0.4
    assert echo.value < on.value
