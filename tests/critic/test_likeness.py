"""The check that holds an answer against the row's reference."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.core.errors import CriticError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Likelihood, Tools
from rubric_anchors.critic.checks.registry import make_check


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
