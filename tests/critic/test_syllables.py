"""Syllables by rule, held against common words whose count everybody agrees on."""

import pytest

from rubric_anchors.critic.checks.reading import Spoken, syllables

KNOWN: dict[Spoken, dict[int, str]] = {
    "en": {
        1: "cat house time walked sounds flight through though clothes eyes name pieces'd",
        2: "table people water morning silent wanted faces boxes being flying lion poem quiet river almost",
        3: "banana media piano idea video various visited animal creation happily family",
        4: "information community American photography usually reality",
        5: "university communication possibility",
    },
    "de": {1: "Haus Tür Freund", 2: "Katze Freiheit Bäume liebe", 3: "Gemeinde Kartoffel", 4: "Gesellschaften"},
    "es": {1: "sol pan bien", 2: "día casa tierra agua", 3: "camino historia ciudades", 4: "universo medicina"},
    "ko": {2: "한국 나는", 3: "학교에"},
}


@pytest.mark.parametrize("language", KNOWN)
def test_common_words_are_counted_right(language: Spoken) -> None:
    words = [(word.lower(), count) for count, text in KNOWN[language].items() for word in text.split()]
    wrong = [(word, count, syllables(word, language)) for word, count in words if syllables(word, language) != count]
    assert len(wrong) <= len(words) / 10, wrong


def test_a_word_without_letters_has_none() -> None:
    assert [syllables(word, "en") for word in ("12", "-", "a1")] == [0, 0, 1]
