"""Counts in nine languages, on texts made for this and counted by hand, as their readers count.

Words: Chinese and Japanese by characters, and `cut` by words; Thai `cut` only. Characters: what a reader sees as one,
so that a Hindi conjunct or a letter with its marks is one. Syllables where a rule is claimed.
"""

from typing import NamedTuple

import pytest

from rubric_anchors.critic.checks.reading import Spoken, syllables_of
from rubric_anchors.critic.segment import PACKAGES, segmented_words
from rubric_anchors.critic.text import TextView


class Counted(NamedTuple):
    text: str
    words: int
    sentences: int
    characters: int
    paragraphs: int = 1
    cut: int | None = None
    syllables: int | None = None


TABLE: dict[str, list[Counted]] = {
    "en": [
        Counted("The cat sat on the mat. It didn't move.", 9, 2, 39, syllables=10),
        Counted("Dr. Lee paid $3.50 at 9 a.m. on well-known Fifth St.", 11, 1, 52),
        Counted('"Stop!" he said. "Why?" 🙂', 4, 2, 25, syllables=4),
        Counted("One line.\n\nTwo lines here.", 5, 2, 26, 2, syllables=5),
        Counted("It costs 1,250 dollars, e.g. in May. 👩‍👩‍👧 left.", 8, 2, 44),
    ],
    "ko": [
        Counted("나는 어제 학교에 갔다.", 4, 1, 13, syllables=9),
        Counted("비가 온다. 우산이 없다!", 4, 2, 14, syllables=9),
        Counted("KTX를 타고 3시간 걸렸다.", 4, 1, 16, syllables=8),
        Counted("첫째 줄이다.\n\n둘째 줄이다.", 4, 2, 16, 2, syllables=10),
    ],
    "zh": [
        Counted("我昨天去了学校。", 7, 1, 8, cut=5),
        Counted("他说：“你好！”然后走了。", 8, 1, 13, cut=6),
        Counted("今天是2024年5月1日。", 9, 1, 13, cut=8),
        Counted("我喜欢Python，你呢？", 6, 1, 13, cut=5),
    ],
    "ja": [
        Counted("私は昨日学校に行った。", 10, 1, 11, cut=7),
        Counted("「元気？」と彼は言った。", 8, 1, 12, cut=6),
        Counted("コーヒーを2杯飲みました。", 12, 1, 13, cut=7),
        Counted("東京タワーへ行きたいです！", 12, 1, 13, cut=6),
    ],
    "th": [
        Counted("ฉันไปโรงเรียน", 1, 1, 11, cut=3),
        Counted("แมวกินปลา", 1, 1, 8, cut=3),
        Counted("เราไปตลาดวันนี้", 1, 1, 12, cut=4),
        Counted("เขาซื้อหนังสือ 3 เล่ม", 3, 1, 16, cut=5),
    ],
    "ar": [
        Counted("ذهبتُ إلى المدرسة.", 3, 1, 17),
        Counted("هل أنت بخير؟ نعم!", 4, 2, 17),
        Counted("كتب الولدُ رسالةً طويلة.", 4, 1, 22),
        Counted("اشتريت 3 كتب، ثم عدت.", 5, 1, 21),
    ],
    "hi": [
        Counted("मैं स्कूल गया।", 3, 1, 8),
        Counted("क्या तुम ठीक हो? हाँ।", 5, 2, 13),
        Counted("बच्चे ने लंबी चिट्ठी लिखी।", 5, 1, 14),
        Counted("हिन्दी में ३ शब्द हैं।", 5, 1, 12),
    ],
    "de": [
        Counted("Der Hund lag vor der Tür.", 6, 1, 25, syllables=6),
        Counted("Das kostet z. B. 3,50 Euro.", 6, 1, 27),
        Counted("„Halt!“, rief er. Wir blieben stehen.", 6, 2, 37, syllables=8),
        Counted("Die U-Bahn kam um 9.30 Uhr.", 6, 1, 27),
    ],
    "es": [
        Counted("¿Cómo estás? Bien.", 3, 2, 18, syllables=5),
        Counted("El niño comió pan.", 4, 1, 18, syllables=6),
        Counted("—No —dijo ella.", 3, 1, 15, syllables=5),
        Counted("Costó 3,50 euros en el s. XX.", 7, 1, 29),
    ],
}
KNOWN_DIFFERENCES: dict[str, tuple[Counted, int, str]] = {
    # counted by hand, what the code says of sentences, why
    "ko": (
        Counted("“괜찮아요?” 그가 물었다.", 3, 1, 15),
        2,
        "Korean has no case that would tell whether a sentence goes on behind a question in quotation marks",
    ),
    "th": (
        Counted("วันนี้อากาศดี เราไปตลาด", 2, 2, 19),
        1,
        "Thai sets a space between sentences and also inside them; a paragraph is one sentence here",
    ),
}
ROWS = [
    pytest.param(language, row, id=f"{language}-{at}")
    for language, rows in TABLE.items()
    for at, row in enumerate(rows)
]


@pytest.mark.parametrize(("language", "row"), ROWS)
def test_words_sentences_characters_and_paragraphs_are_as_counted_by_hand(language: str, row: Counted) -> None:
    view = TextView(row.text)
    counted = (len(view.words), len(view.sentences), view.graphemes, len(view.paragraphs))
    assert counted == (row.words, row.sentences, row.characters, row.paragraphs)


@pytest.mark.parametrize(("language", "row"), [row for row in ROWS if row.values[1].cut is not None])  # type: ignore[union-attr]
def test_words_of_scripts_without_spaces_are_as_counted_by_hand(language: str, row: Counted) -> None:
    for package in PACKAGES:
        pytest.importorskip(package)
    assert segmented_words(TextView(row.text)) == row.cut


@pytest.mark.parametrize(("language", "row"), [row for row in ROWS if row.values[1].syllables is not None])  # type: ignore[union-attr]
def test_syllables_are_as_counted_by_hand(language: Spoken, row: Counted) -> None:
    assert syllables_of(TextView(row.text), language) == row.syllables


@pytest.mark.parametrize("language", KNOWN_DIFFERENCES)
def test_what_is_counted_otherwise_than_by_hand_is_known(language: str) -> None:
    row, sentences, why = KNOWN_DIFFERENCES[language]
    assert len(TextView(row.text).sentences) == sentences != row.sentences
    assert why
