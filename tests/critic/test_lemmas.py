import pytest
from tests.critic.checks.table import decide

from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic import lemmas
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.lemmas import LemmaSet
from rubric_anchors.critic.text import TextView


@pytest.mark.parametrize(
    ("language", "word", "text", "found"),
    [
        ("en", "run", "She ran; he RUNS, and both were running. A runner.", ["ran", "RUNS", "running"]),
        ("en", "goose", "Geese flew. One goose did not.", ["Geese", "goose"]),
        ("en", "child", "The children’s child", ["children", "child"]),
        ("de", "Haus", "Die Häuser am Haus. HÄUSER!", ["Häuser", "Haus", "HÄUSER"]),
        ("de", "gehen", "Wir sind gegangen, er ging.", ["gegangen", "ging"]),
        ("es", "hablar", "Ella habló y nosotros hablamos.", ["habló", "hablamos"]),
        ("fr", "manger", "Il mangeait, elle mange.", ["mangeait", "mange"]),
    ],
)
def test_a_word_is_found_in_its_forms(language: lemmas.LemmaLanguage, word: str, text: str, found: list[str]) -> None:
    view = TextView(text)
    assert [view.norm[hit.start : hit.end] for hit in LemmaSet([word], language).find(view)] == found


def test_without_a_language_a_word_is_itself() -> None:
    assert decide("contains", {"words": ["run"]}, "She ran.").value == 0.0
    assert decide("contains", {"words": ["run"], "lemmas": "en"}, "She ran.").value == 1.0
    assert decide("avoids", {"words": ["run"], "lemmas": "en"}, "She ran.").value == 0.0
    assert decide("occurrences", {"words": ["run"], "lemmas": "en", "min": 2, "max": 2}, "Ran, running.").value == 1.0


def test_phrases_are_found_as_they_stand() -> None:
    assert decide("contains", {"phrases": ["run away"], "lemmas": "en"}, "They ran away.").value == 0.0
    assert decide("contains", {"phrases": ["run away"], "lemmas": "en"}, "They run away.").value == 1.0


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 ran", "a" * 5000, "12 3.4 don't", "🙂", "走り出した"])
def test_any_text_has_lemmas(text: str) -> None:
    assert decide("contains", {"words": ["run"], "lemmas": "en"}, text).value == float("ran" in text)


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"forms of words need simplemma: pip install 'rubric-anchors\[languages\]'"):
        make_check("contains", {"words": ["run"], "lemmas": "en"}).ready()
