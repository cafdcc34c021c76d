"""Models that tests can afford: quick, deterministic, and near enough to the real ones in what the tests rest on."""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.text import TextView
from rubric_anchors.models.chat import ChatModel

DIMENSION = 64
COMMON = frozenset("the a an and or of to in on at it is was i my me you your for with that this what how do".split())


class FakeEncoder:
    """Bags of words hashed to 64 coordinates: texts that share words are near, others are not. Counts its batches."""

    fingerprint = "fake-encoder"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, [len(texts), 64]."""
        self.batches.append(len(texts))
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, DIMENSION), np.float32)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(DIMENSION, 1e-3)
        for word, count in Counter(TextView(text).folded).items():
            if word not in COMMON:
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
                vector += count * np.random.default_rng(seed).standard_normal(DIMENSION)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class FakeLikelihood:
    """-2 nats for a word; -9 for one of no vowels, as if no language held it; -0.01 for one said three times before."""

    fingerprint = "fake-likelihood"

    def __init__(self) -> None:
        self.prompts: list[tuple[Message, ...]] = []

    def token_logps(self, answers: Sequence[Answer]) -> list[NDArray[np.float32]]:
        """A logp a word."""
        self.prompts += [answer.prompt for answer in answers]
        return [self._logps(answer.view.folded) for answer in answers]

    def _logps(self, words: Sequence[str]) -> NDArray[np.float32]:
        seen: Counter[str] = Counter()
        logps = []
        for word in words:
            odd = not set(word) & set("aeiouy")
            logps.append(-9.0 if odd else -0.01 if seen[word] > 2 else -2.0)
            seen[word] += 1
        return np.array(logps, dtype=np.float32)


def fake_tools(judge: ChatModel | None = None) -> Tools:
    """Tools over one fake encoder and one fake likelihood each."""
    encoder, likelihood = FakeEncoder(), FakeLikelihood()
    return Tools(
        encoder=lambda: encoder, likelihood=lambda: likelihood, judge=(lambda: judge) if judge is not None else None
    )


def answer(text: str, prompt: str = "What did you do on Sunday?") -> Answer:
    """An answer to one user turn."""
    return Answer((Message("user", prompt),), text)


def close(value: float, to: float) -> bool:
    """Equal to 1e-9, as contributions must be."""
    return math.isclose(value, to, abs_tol=1e-9)
