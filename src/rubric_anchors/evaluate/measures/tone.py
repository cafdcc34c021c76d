"""`ai_tone`: how machine-like a text sounds, by words and shapes fitted on texts of people and of machines."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.evaluate.measures.base import Sample
from rubric_anchors.evaluate.measures.text import LIST_LINE, ngrams, sentences, words

WINDOW: Final = 60
"""Words judged at a time: the weights were fitted on runs of this length, so long and short answers stand on one
scale.
"""

_ABSTRACT: Final = re.compile(r"^\w{3,}(?:tion|sion|ment|ness|ity|ance|ence|ism|ship)s?$")
_CONTRAST: Final = re.compile(
    r"\bnot (?:only|just|merely|simply)\b|n['’]t (?:just|only|merely)\b|\brather than\b", re.IGNORECASE
)
_TRAILING: Final = re.compile(r", (?:\w+ly )?\w{3,}ing\b")
_OF: Final = re.compile(r"\b(?:the|a|an) \w+ of \w+", re.IGNORECASE)
_HEDGES: Final = frozenset("often typically generally usually sometimes various certain potentially".split())
_BOLD: Final = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")
_MARKS: Final = re.compile(r"[*_#`>|]+")


@dataclass(frozen=True, slots=True)
class _Weights:
    bias: float
    shapes: dict[str, float]
    terms: dict[str, float]


@cache
def _weights() -> _Weights:
    text = resources.files("rubric_anchors.evaluate.measures").joinpath("tone_weights.json").read_text("utf-8")
    table = json.loads(text)
    return _Weights(table["bias"], table["shapes"], table["terms"])


def shapes(text: str) -> dict[str, float]:
    """The structural features of a text, each a rate that does not grow with length. All 0 for a text without words."""
    lines = [line for line in text.splitlines() if line.strip()]
    plain = _MARKS.sub("", "\n".join(LIST_LINE.sub("", line) for line in lines))
    found, parts = words(plain), sentences(plain)
    count, spread = max(len(found), 1), max(len(parts), 1)
    return {
        "abstract_nouns": sum(bool(_ABSTRACT.match(word)) for word in found) / count,
        "adverbs": sum(len(word) > 4 and word.endswith("ly") for word in found) / count,
        "hedges": sum(word in _HEDGES for word in found) / count,
        "long_words": sum(len(word) > 8 for word in found) / count,
        "short_words": sum(len(word) < 4 for word in found) / count,
        "noun_of_noun": len(_OF.findall(plain)) / count,
        "contrasts": min(len(_CONTRAST.findall(plain)) / spread, 1.0),
        "trailing_participles": min(len(_TRAILING.findall(plain)) / spread, 1.0),
        "list_lines": sum(bool(LIST_LINE.match(line)) for line in lines) / max(len(lines), 1),
        "bold": float(bool(_BOLD.search(text))),
    }


def terms(text: str) -> set[str]:
    """The words and pairs of neighbouring words of a text: what the lexicon is matched against."""
    found = words(text)
    return {*found, *(" ".join(pair) for pair in ngrams(found, 2))}


def runs(text: str) -> list[str]:
    """`text` in consecutive runs of about WINDOW words that end with a sentence; a short rest joins the run before."""
    made: list[list[str]] = [[]]
    size = 0
    for line in text.splitlines():
        for sentence in sentences(line):
            if size >= WINDOW:
                made.append([])
                size = 0
            marker = LIST_LINE.match(line)
            made[-1].append((marker.group(0) if marker else "") + LIST_LINE.sub("", sentence))
            size += len(words(sentence))
    if len(made) > 1 and size < WINDOW / 2:
        made[-2].extend(made.pop())
    return ["\n".join(run) for run in made]


class AiTone:
    """How machine-like the answer sounds, 0..1; less is better. Margin 0.05.

    A logistic regression over rates of ten shapes (nominalisations, hedges, long words, trailing participles, list
    lines...) and the presence of words and pairs that machines' texts show more or less than people's do, fitted on
    public human and machine texts on the same prompts; `benchmarks/derive_ai_tone.py` derives the table and states
    its AUC on held-out texts. First-person words, contractions and anything on a critic's list are barred from the
    table. A text is judged in runs of 60 words; the score is the mean. An answer without a word scores 1: nothing is
    to be won by silence.

    Sees: register and habit. Misses: whether anything said is true, apt or well said; tells of models newer than its
    sources; any language but English. A score on one answer is weak evidence, the mean of sixty is not.
    """

    name = "ai_tone"
    family = "tone"
    higher_is_better = False
    margin: float | None = 0.05

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return np.array([self.score(sample.response) for sample in samples], dtype=np.float64)

    def score(self, text: str) -> float:
        """The score of one text, 0..1."""
        return float(np.mean([self._run(run) for run in runs(text)])) if words(text) else 1.0

    def _run(self, text: str) -> float:
        table = _weights()
        logit = table.bias + sum(table.shapes[name] * value for name, value in shapes(text).items())
        logit += math.fsum(table.terms.get(term, 0.0) for term in terms(text))  # in any order: terms are a set
        return float(1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0))))
