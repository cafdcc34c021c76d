"""How a text is read: words, sentences, paragraphs, lines, in any script, with the way back to the text as it came."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubric_anchors.critic.fold import fold, normal
from rubric_anchors.critic.text import EVIDENCE_LIMIT, Span, TextView, view_of


def words(text: str) -> list[str]:
    view = TextView(text)
    return [view.slice(span) for span in view.words]


def sentences(text: str) -> list[str]:
    view = TextView(text)
    return [view.slice(span) for span in view.sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("Don't stop: it's well-known.", ["Don't", "stop", "it's", "well-known"]),
        ("so--yes, or—no", ["so", "yes", "or", "no"]),
        ("3.14, 1,000 and 10:30.", ["3.14", "1,000", "and", "10:30"]),
        ("The U.S. and e.g. this", ["The", "U.S.", "and", "e.g.", "this"]),
        ("see https://a.example/x?y=1.", ["see", "https://a.example/x?y=1"]),
        ("l’été d'hier", ["l’été", "d'hier"]),
        ("我是学生", ["我", "是", "学", "生"]),
        ("カレー2つ", ["カ", "レ", "ー", "2", "つ"]),
        ("나는 학교에 간다.", ["나는", "학교에", "간다"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("اللغة العربية", ["اللغة", "العربية"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("🙂 ok 👩‍👩‍👧", ["ok"]),
        ("a\x00b \ud800c", ["a", "b", "c"]),
    ],
)
def test_words_are_what_readers_count(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Lee met Mrs. Kim. They sat.", ["Dr. Lee met Mrs. Kim.", "They sat."]),
        ("Am 3. Oktober 1990 regnete es. Es war kalt.", ["Am 3. Oktober 1990 regnete es.", "Es war kalt."]),
        ("Im 19. Jahrhundert war das so.", ["Im 19. Jahrhundert war das so."]),
        ("Es waren 3. Oktopusse sind selten.", ["Es waren 3.", "Oktopusse sind selten."]),
        ("El Sr. López llegó. La Dra. Ruiz no.", ["El Sr. López llegó.", "La Dra. Ruiz no."]),
        ("It costs 3.50 now. Good.", ["It costs 3.50 now.", "Good."]),
        ("At 5 p.m. We left.", ["At 5 p.m.", "We left."]),
        ("J. K. Smith wrote it.", ["J. K. Smith wrote it."]),
        ("“Why?” she asked. “So.”", ["“Why?” she asked.", "“So.”"]),
        ("Well… maybe. Yes…", ["Well… maybe.", "Yes…"]),
        ("one two. three four.", ["one two.", "three four."]),
        ("你好。你好吗？好！", ["你好。", "你好吗？", "好！"]),
        ("मैं यहाँ हूँ। तुम?", ["मैं यहाँ हूँ।", "तुम?"]),
        (
            "# Title\n\nText goes\non here.\n- item one\n- item two",
            ["Title", "Text goes\non here.", "item one", "item two"],
        ),
        ("Good. 🙂 Bad.", ["Good.", "🙂 Bad."]),
        ("Good. 🙂\n\nBad.", ["Good. 🙂", "Bad."]),
        ("...", []),
        ("> Quoted line.", ["Quoted line."]),
    ],
)
def test_sentences_end_where_readers_stop(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_each_line_has_its_kind() -> None:
    text = "# a\n\nprose\n- b\n2. c\n> d\n---\n| e | f |\n```py\n# g\n\n```\n**h**"
    kinds = [line.kind for line in TextView(text).lines]
    assert kinds == [
        "heading", "blank", "prose", "bullet", "number", "quote", "rule", "table",
        "fence", "code", "code", "fence", "prose",
    ]  # fmt: skip


def test_a_fence_closes_only_with_its_own_mark() -> None:
    assert [line.kind for line in TextView("```\n~~~\n```\nx").lines] == ["fence", "code", "fence", "prose"]


def test_paragraphs_stand_between_blank_lines_and_rules() -> None:
    view = TextView("One\ntwo.\n\n \nThree.\n***\nFour.")
    assert [view.slice(span) for span in view.paragraphs] == ["One\ntwo.", "Three.", "Four."]


def test_quoted_passages_stay_in_their_line() -> None:
    view = TextView('He said "one" and “two”, then "three\nand "four".')
    assert [view.slice(span) for span in view.quoted] == ['"one"', "“two”", '"four"']


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("abc", 3), ("e\u0301", 1), ("👍🏽👩‍👩‍👧🇰🇷", 3), ("한국", 2), ("\u1112\u1161\u11ab", 1), ("\r\n", 1)],
)
def test_graphemes_are_what_readers_see(text: str, count: int) -> None:
    assert TextView(text).graphemes == count


def test_evidence_points_into_the_text_as_it_came() -> None:
    text = "cafe\u0301\r\n\u200bbar"
    view = TextView(text)
    assert view.norm == "café\nbar"
    places = [view.evidence("word", *span) for span in view.words]
    assert [text[place.start : place.end].strip("\r\n\u200b") for place in places] == ["cafe\u0301", "bar"]


def test_evidence_is_cut_short_and_says_so() -> None:
    notes = [item.note for item in TextView("abc").evidences([("x", 0, 1)] * (EVIDENCE_LIMIT + 3))]
    assert notes == ["x"] * EVIDENCE_LIMIT + ["and 3 more"]


def test_words_in_a_span_are_those_that_start_there() -> None:
    view = TextView("one two three")
    assert list(view.words_in(Span(4, 7))) == [1]


def test_short_answers_count_as_a_hundred_words() -> None:
    assert TextView("one two").hundreds == 1.0
    assert TextView("word " * 250).hundreds == 2.5


def test_shared_views_are_shared() -> None:
    assert view_of("the same") is view_of("the same")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "straße"),
        ("ＡＩ", "ai"),
        ("𝐀𝐈", "ai"),
        ("don’t", "DON'T"),
        ("ﬁne", "fine"),
        ("می\u200cخواهم", "میخواهم"),
    ],
)
def test_folding_makes_variants_of_a_word_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text(st.characters(), max_size=60))
def test_the_normal_form_is_the_same_from_any_form_and_maps_back(text: str) -> None:
    norm, origins = normal(text)
    assert norm == normal(unicodedata.normalize("NFD", text))[0] == normal(unicodedata.normalize("NFC", text))[0]
    assert "\r" not in norm
    if origins is None:
        assert norm == text
    else:
        assert len(origins) == len(norm) + 1
        assert list(origins) == sorted(origins)
        assert origins[-1] == len(text)
