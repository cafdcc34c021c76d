"""Figures about style that carry no bar: they say how the answers changed, not whether they got better."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.evaluate.measures.base import Sample
from rubric_anchors.evaluate.measures.text import sentences, words

_NUMBER: Final = re.compile(
    r"\b\d+(?:[.,:]\d+)*\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|"
    r"hundred|half past)\b",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(r"^\s*\(?\d{1,3}[.)]\s", re.MULTILINE)
_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
_QUOTED: Final = re.compile(r"[\"“][^\"”\n]{2,}[\"”]")
_PAST: Final = re.compile(
    r"\b(?:\w{2,}ed|was|were|had|went|came|took|got|made|said|told|gave|found|left|sat|stood|ran|saw|heard|felt|held|kept|"
    r"brought|bought|caught|fell|grew|knew|lay|lost|met|paid|put|rode|sang|sent|slept|spoke|threw|tore|woke|wore|wrote|"
    r"drove|drank|ate|broke|began)\b",
    re.IGNORECASE,
)


class Particulars:
    """Signs of a told event for every hundred words: names, numbers, quoted speech, past-tense verbs. No bar.



    Sees: an account of something that happened, as against advice. Misses: whether the particulars are apt or true; a
    list of dates scores high.
    """

    name = "particulars"
    family = "style"
    higher_is_better = True
    margin: float | None = None

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return np.array([_particulars(sample.response) for sample in samples], dtype=np.float64)


class Length:
    """Words in the answer. No bar and no good direction: a drift is worth a look.

    Sees: answers that grow or shrink. Misses: everything else.
    """

    name = "length"
    family = "style"
    higher_is_better = True
    margin: float | None = None

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return np.array([len(words(sample.response)) for sample in samples], dtype=np.float64)


class SentenceLength:
    """Words in a sentence, mean over the answer. No bar and no good direction.

    Sees: run-ons and fragments, by their length only. Misses: everything else.
    """

    name = "sentence_length"
    family = "style"
    higher_is_better = True
    margin: float | None = None

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        counts = [(len(words(sample.response)), len(sentences(sample.response))) for sample in samples]
        return np.array([count / max(parts, 1) for count, parts in counts], dtype=np.float64)


def _particulars(text: str) -> float:
    text = _LISTED.sub("", text)
    found = sum(len(pattern.findall(text)) for pattern in (_NUMBER, _NAME, _QUOTED, _PAST))
    return 100.0 * found / max(len(words(text)), 1)
