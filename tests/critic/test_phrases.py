"""How words and phrases are found."""

import pytest

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.phrases import PhraseSet, only_at
from rubric_anchors.critic.text import TextView
from rubric_anchors.critic.wordlists import list_names, word_list


def found(entries: list[str], text: str) -> list[str]:
    view = TextView(text)
    return [view.norm[hit.start : hit.end] for hit in PhraseSet(entries).find(view)]


@pytest.mark.parametrize(
    ("entry", "text", "expected"),
    [
        ("testament to", "A TESTAMENT, to hope.", ["TESTAMENT, to"]),
        ("as an ai", "as an *AI*", ["as an *AI"]),
        ("as an ai", "as an\nAI", ["as an\nAI"]),
        ("as an ai", "as an\n\nAI", []),
        ("as an ai", "as an. AI", []),
        ("don't stop", "don’t stop", ["don’t stop"]),
        ("don't", "don t", []),
        ("i", "I'm here, i.e. I'll go", ["I", "i", "I"]),
        ("s", "it's", []),
        ("t", "can't", []),
        ("été", "l'été", ["été"]),
        ("game-changer", "a game changer", ["game changer"]),
        ("Sure!", "Sure, yes. Sure!", ["Sure!"]),
        ("10/10", "10/10 and 10 10", ["10/10"]),
        ("#tag", "tag #tag", ["#tag"]),
        ("*", "2 * 3", ["*"]),
        ("^yes", "Yes, yes", ["Yes"]),
        ("yes$", "Yes, yes.", ["yes"]),
        ("^—", "— so — on", ["—"]),
        ("a * of", "a sea of, a of, a big sea of", ["a sea of"]),
        ("synerg*", "synergy Synergies syn", ["synergy", "Synergies"]),
        ("人工", "人工智能", ["人工"]),
        ("학교", "학교에서 학교 학교생활", ["학교에서", "학교"]),
        ("ai", "AI는 AI AI생활", ["AI는", "AI"]),
        ("인공 지능", "인공 지능은 지능 인공", ["인공 지능은"]),
        ("a * of the", "a sea of the, a sea of a", ["a sea of the"]),
        ("out of reach", "out of sight out of reach out of", ["out of reach"]),
        ("aa aa", "aa aa aa aa", ["aa aa", "aa aa"]),
    ],
)
def test_an_entry_is_found_where_a_reader_sees_it(entry: str, text: str, expected: list[str]) -> None:
    assert found([entry], text) == expected


def test_overlapping_hits_are_one_passage() -> None:
    view = TextView("as an ai language model")
    phrases = PhraseSet(["as an ai", "ai language model", "language"])
    assert [(hit.start, hit.end) for hit in phrases.passages(view)] == [(0, len(view.norm))]


@pytest.mark.parametrize(("entry", "message"), [("", "empty"), ("  ", "empty"), ("* of", "cannot begin")])
def test_an_entry_that_would_match_everything_is_refused(entry: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PhraseSet([entry])


def test_an_unknown_list_is_refused_with_the_near_name() -> None:
    with pytest.raises(ValueError, match=r"did you mean 'hedges'"):
        word_list("hedge")


@pytest.mark.parametrize("name", list_names())
def test_a_shipped_list_is_readable_and_has_no_entry_twice(name: str) -> None:
    entries = word_list(name)
    assert len(entries) > 20
    assert len(set(entries)) == len(entries)
    phrases = PhraseSet(entries)
    missed = [entry for entry in entries if "*" not in entry and not phrases.find(TextView(entry.strip("^$")))]
    assert missed == []


def test_concrete_and_abstract_words_are_apart_and_many() -> None:
    concrete, abstract = set(word_list("concrete_words")), set(word_list("abstract_words"))
    assert len(concrete) >= 600
    assert not concrete & abstract


@pytest.mark.parametrize("entry", ["", " ", "\u200b", "\ufeff \u2060", "^\u200b$"])
def test_an_entry_that_nobody_can_see_is_refused_and_not_found_for_ever(entry: str) -> None:
    with pytest.raises(ValueError, match="an empty word or phrase matches everything"):
        PhraseSet(["a", entry])


def test_a_sign_may_stand_at_an_end() -> None:
    assert len(only_at("^", ["$"]).find(TextView("$ 5 and $ 6"))) == 1
    assert only_at("^", ["$"]).find(TextView("5 $")) == []
    assert len(only_at("$", ["%"]).find(TextView("5 % of 6 %"))) == 1
    assert len(PhraseSet(["$"]).find(TextView("$ 5 and $ 6"))) == 2


@pytest.mark.parametrize("check", ["starts_with", "ends_with", "paragraph_starts", "at_position", "every"])
@pytest.mark.parametrize("phrase", ["^", "\u200b", " "])
def test_an_end_of_nothing_is_refused_when_the_rubric_is_read(check: str, phrase: str) -> None:
    options = {"where": "starts"} if check in ("at_position", "every") else {}
    with pytest.raises(RubricError, match="an empty word or phrase"):
        make_check(check, {"phrases": ["a", phrase], **options})


@pytest.mark.parametrize(
    "text", ["HTTP://X.ORG/a Don't U.S. 3.14 well-known a_b R&D x", "https://A.b/C, d", "", "I'm\rhere"]
)
def test_words_are_folded_the_same_with_and_without_their_places(text: str) -> None:
    placed = TextView(text)
    assert len(placed.words) == len(TextView(text).folded)
    assert placed.folded == TextView(text).folded
