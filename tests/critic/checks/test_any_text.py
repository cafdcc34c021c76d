"""What holds for every check on any text whatever."""

import math
import unicodedata
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.critic.checks.table import answer
from tests.critic.checks.test_cases import TABLE

from rubric_anchors.critic.checks.registry import make_check

OPTIONS: Final[dict[str, dict[str, JsonValue]]] = {name: cases[0][0] for name, cases in TABLE.items()}
# Texts near what answers are made of, so that the checks' rules meet each other, and any text at all.
PIECES: Final = (
    "I ", "we ", "don't ", "as an ai ", "stone ", "wisdom ", ". ", "? ", "! ", ", ", "… ", "\n", "\n\n", "\r\n", "\r",
    "# ", "- ", "1. ", "**", "`", "```\n", "|", "[", "](", ")", "<<", ">>", '"', "“", "”", "—", "--", "{", "}", "P.S. ",
    "'", "’", "U.S. ", "🙂", "👩‍👩‍👧", "🇰🇷", "é", "e\u0301", "한국어", "\u1112\u1161\u11ab", "中文。", "かな", "が",
    "ภาษา", "हिन्दी", "عربي", "\u200b", "\u200d", "\u00ad", "\ud800", "\x00", "\u2028", "\ufeff", "ﬁ", "ß", "İ",
)  # fmt: skip
TEXTS: Final = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.text(st.characters(), max_size=80),
    st.text(st.characters(categories=("Cs", "Mn", "Cf", "Zs", "Lo")), max_size=30),
)
NAMES: Final = sorted(OPTIONS)
QUICK: Final = settings(max_examples=60, deadline=None, database=None)


def value_of(name: str, text: str) -> float:
    return make_check(name, OPTIONS[name]).decide(answer(text)).value


@pytest.mark.parametrize("name", NAMES)
@QUICK
@given(text=TEXTS)
def test_no_text_makes_a_check_raise_or_leave_the_unit_interval(name: str, text: str) -> None:
    finding = make_check(name, OPTIONS[name]).decide(answer(text))
    assert math.isfinite(finding.value)
    assert 0.0 <= finding.value <= 1.0
    assert all(item.start is None or 0 <= item.start <= (item.end or 0) <= len(text) for item in finding.evidence)


@pytest.mark.parametrize("name", NAMES)
@QUICK
@given(text=TEXTS)
def test_line_endings_change_no_value(name: str, text: str) -> None:
    unix = text.replace("\r\n", "\n").replace("\r", "\n")
    values = {
        value_of(name, unix),
        value_of(name, unix.replace("\n", "\r\n")),
        value_of(name, unix.replace("\n", "\r")),
    }
    assert len(values) == 1


@pytest.mark.parametrize("name", NAMES)
@QUICK
@given(text=TEXTS)
def test_the_unicode_normal_form_changes_no_value(name: str, text: str) -> None:
    assert value_of(name, unicodedata.normalize("NFC", text)) == value_of(name, unicodedata.normalize("NFD", text))


HOSTILE: Final = {
    "combining marks": "a" + "\u0301\u0323" * 100_000,
    "open brackets": "[" * 300_000,
    "open braces": "{" * 300_000,
    "bracketed letters": "[a" * 150_000,
    "exclamation marks": "!" * 300_000 + "a",
    "emoji": "🙂" * 100_000,
    "straight quotes": '"' * 300_000,
    "open quotes": "“" * 300_000,
    "open bold": "**a " * 75_000,
    "mixed marks": "*_`" * 100_000,
    "bullets in a line": "- " * 150_000,
    "addresses": "http://" * 43_000,
    "initials": "a." * 150_000,
    "ellipses": "...a" * 75_000,
    "half of a pattern": "it's not just " * 21_000,
    "half of a phrase": "as an " * 50_000,
    "pronouns": "I " * 150_000,
    "particles": "가는" * 150_000,
    "dashes": "—" * 300_000,
    "empty lines": "\n" * 300_000,
    "open angles": "<<" * 150_000,
    "apostrophes": "'" * 300_000,
    "one long word": "a" * 300_000,
    "one long line": "word " * 60_000,
}


@pytest.mark.parametrize("name", NAMES)
def test_no_hostile_text_takes_forever(name: str) -> None:
    # That it ends is the claim: a pattern in quadratic time would need hours here.
    check = make_check(name, OPTIONS[name])
    assert all(0.0 <= check.decide(item).value <= 1.0 for item in HOSTILE_ANSWERS)


HOSTILE_ANSWERS: Final = [answer(text) for text in HOSTILE.values()]
