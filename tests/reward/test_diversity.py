"""How far the answers of a step differ: right values by hand."""

import pytest

from rubric_anchors.reward.diversity import folded_words, own_pairs


def test_a_pair_that_another_answer_holds_is_not_its_own() -> None:
    # pairs: (it was)(was a)(a dog) | (it was)(was a)(a cat) | (nobody came)
    assert own_pairs(["It was a dog.", "it was a CAT", "Nobody came."]) == pytest.approx([1 / 3, 1 / 3, 1.0])


def test_equal_answers_have_nothing_of_their_own() -> None:
    assert own_pairs(["one two three", "One, two, three!"]) == [0.0, 0.0]


def test_a_pair_said_twice_in_one_answer_counts_once_and_is_still_its_own() -> None:
    assert own_pairs(["so it goes so it", "and on"]) == [1.0, 1.0]


@pytest.mark.parametrize("text", ["", "word", "🙂 !", "\ud800", "\x00"])
def test_an_answer_without_a_pair_has_nothing_of_its_own(text: str) -> None:
    assert own_pairs([text, "two words"]) == [0.0, 1.0]


def test_an_apostrophe_joins_a_word() -> None:
    assert folded_words("Don’t stop — it's 3 o'clock.") == ["don’t", "stop", "it's", "3", "o'clock"]
