"""Checks that hold an answer against other texts: the row's reference, given points, the rubric itself."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.fakes import answer, fake_tools

from rubric_anchors.core.errors import CriticError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Likelihood, Tools
from rubric_anchors.critic.build import build_critics
from rubric_anchors.critic.checks.likeness import longest_common
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.models.chat import ScriptedChatModel
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged


class Letters:
    """An encoder whose vectors are the shares of `a` and `b`, as unit vectors."""

    fingerprint = "letters"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)
        vectors: NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return vectors


def no_likelihood() -> Likelihood:
    raise AssertionError("nobody needs a likelihood here")


TOOLS = Tools(encoder=Letters, likelihood=no_likelihood)


def value_of(text: str, reference: str | None, **options: str | float) -> float:
    check = make_check("similar_to_reference", options)
    return check.decide_all([Answer((), text, reference)], TOOLS)[0].value


@pytest.mark.parametrize(
    ("text", "reference", "value"),
    [
        ("The cat sat.", "the CAT sat", 1.0),
        ("cat", "the cat sat", 2 * 1 * (1 / 3) / (1 + 1 / 3)),
        ("the the the", "the cat", 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),
        ("dog", "cat", 0.0),
        ("", "cat", 0.0),
    ],
)
def test_words_are_compared_as_bags(text: str, reference: str, value: float) -> None:
    assert value_of(text, reference) == pytest.approx(value)


def test_characters_are_compared_by_chrf() -> None:
    assert value_of("Abc def", "abcdef", by="characters") == pytest.approx(1.0)
    # runs of 1: ab against abc: precision 1, recall 2/3; of 2: ab against ab, bc: 1 and 1/2; of 3: none against abc
    ones, twos = 5 * (2 / 3) / (4 + 2 / 3), 5 * (1 / 2) / (4 + 1 / 2)
    assert value_of("ab", "abc", by="characters") == pytest.approx((ones + twos + 0.0) / 3)


def test_meaning_is_the_cosine_between_the_edges() -> None:
    assert value_of("aaa", "a", by="meaning") == pytest.approx(1.0)
    assert value_of("b", "a", by="meaning") == 0.0
    half = value_of("ab", "a", by="meaning", low=0.5, high=0.9)
    assert 0.0 < half < 1.0


def test_without_a_reference_nothing_is_judged() -> None:
    with pytest.raises(CriticError, match="needs a reference"):
        value_of("text", None)


@pytest.mark.parametrize(
    ("reference", "text", "value"),
    [
        ("police killed the gunman", "police kill the gunman", 0.75),  # Lin 2004, section 3.1: 3 of 4 and 4
        ("police killed the gunman", "the gunman kill police", 0.5),  # 2 of 4 and 4
        ("police killed the gunman", "", 0.0),
        ("a b c d e", "a x c x e x", 6 / 11),
    ],
)
def test_rouge_l_is_that_of_its_paper(reference: str, text: str, value: float) -> None:
    given = Answer((), text, reference=reference)
    assert make_check("similar_to_reference", {"by": "sequence"}).decide(given).value == pytest.approx(value)


@given(st.text("abc", max_size=12), st.text("abcd", max_size=12))
def test_the_longest_common_subsequence_is_that_of_the_plain_table(one: str, other: str) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    assert longest_common(one, other) == table[-1][-1]


def test_a_point_may_be_made_in_other_words_where_an_encoder_is_there() -> None:
    check = make_check("covers_points", {"points": ["the river flooded", "boats sank"], "by": "meaning", "near": 0.6})
    assert not check.light
    [found] = check.decide_all([answer("Flooded was the river, they say. We had lunch.")], fake_tools())
    assert found.value == 0.5
    assert [item.start for item in found.evidence if item.start is not None] == [0]
    assert "missing: boats sank" in found.evidence[0].note


def test_copying_may_be_held_against_the_rubric_itself() -> None:
    tiers = [
        {"means": "It is bare."},
        {"means": "Things are seen.", "anchors": ["We rowed out before the sun was up that day."]},
    ]
    seen = {"key": "seen", "ask": "The answer is full of things seen.", "critic": "judge", "tiers": tiers}

    def value(of: list[str], text: str) -> float:
        copying = {"key": "own", "ask": "Own words.", "critic": {"check": "copying", "with": {"of": of}}}
        rubric = Rubric.model_validate({"id": "r", "criteria": [copying, seen]})
        critic = next(one for one in build_critics(rubric, fake_tools(ScriptedChatModel())) if "own" in one.keys)
        [[verdict]] = critic.judge([answer(text)])
        assert isinstance(verdict, Judged)
        return verdict.value

    anchor, ask = "We rowed out before the sun was up that day.", "The answer is full of things seen."
    assert value(["prompt"], anchor) == value(["prompt"], ask) == 1.0
    assert (value(["anchors"], anchor), value(["anchors"], ask)) == (0.0, 1.0)
    assert (value(["asks"], anchor), value(["asks"], ask)) == (1.0, 0.0)
