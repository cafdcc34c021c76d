"""The check `relevance`: whether an answer is about what was asked, by cosine in an embedding space."""

from collections.abc import Sequence
from typing import Annotated, Final, Self

import numpy as np
from pydantic import Field, model_validator

from rubric_anchors.core.errors import CriticError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.echo import shared_words
from rubric_anchors.critic.edges import rise
from rubric_anchors.critic.text import TextView, view_of
from rubric_anchors.rubric.outcome import Evidence

Cosine = Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)]

ECHO_RUN: Final = 4
FEWEST_WORDS: Final = 3
WINDOW_WORDS: Final = 160
ECHO_SLOPE: Final = 0.1


@check("relevance")
class Relevance(Check):
    """Cosine of the answer to the last user turn, on soft edges.

    What the answer repeats of the question word for word (runs of four words) is taken out first, so that saying the
    question back says nothing. A long answer is read in windows of 160 words, whose cosines are averaged by length.

    The defaults are for all-MiniLM-L6-v2, measured on everyday questions: to their own question plain answers by people
    have 0.40 to 0.60 (10% to 90%; least 0.29), SmolLM2-135M's 0.22 to 0.75; to other questions of the same
    kind -0.05 to 0.29; shuffled words 0.04 to 0.28; questions said back 0.86 to 0.98.
    """

    needs = ("local",)

    low: Cosine = 0.15
    """The cosine at and below which the value is 0."""
    high: Cosine = 0.4
    """The cosine from which the value is 1."""
    echo: Cosine | None = 0.95
    """The cosine from which an answer is the question in other words, value 0; the value falls over the 0.1 before
    it."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low must be below high; seen {self.low:g} and {self.high:g}")
        if self.echo is not None and self.echo - ECHO_SLOPE < self.high:
            raise ValueError(f"echo must lie at least {ECHO_SLOPE:g} above high; seen {self.echo:g} and {self.high:g}")
        return self

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        """The findings, all texts embedded in one batch. Raises CriticError where there is no user turn to hold to."""
        if any(not answer.question.strip() for answer in answers):
            raise CriticError("relevance needs a question, and the prompt has no user turn with text")
        pieces = [_windows(_own_words(answer)) for answer in answers]
        texts = list(
            dict.fromkeys([answer.question for answer in answers] + [text for part in pieces for text, _ in part])
        )
        if not texts:
            return []
        vectors = dict(zip(texts, tools.encoder().encode(texts), strict=True))
        findings = []
        for answer, part in zip(answers, pieces, strict=True):
            if not part:
                findings.append(Finding(0.0, (Evidence("nothing beside the question's own words"),)))
                continue
            asked = vectors[answer.question]
            cosine = float(
                np.average([float(vectors[text] @ asked) for text, _ in part], weights=[words for _, words in part])
            )
            findings.append(self._finding(cosine))
        return findings

    def _finding(self, cosine: float) -> Finding:
        value = rise(cosine, self.low, self.high)
        note = f"cosine to the question {cosine:.2f}, wanted {self.high:g}"
        if self.echo is not None and cosine > self.echo - ECHO_SLOPE:
            value *= rise(cosine, self.echo, self.echo - ECHO_SLOPE)
            note = f"cosine to the question {cosine:.2f}: near to saying it back"
        return Finding(value, (Evidence(note),))


def _own_words(answer: Answer) -> TextView:
    """The answer without the runs of words that it repeats of the question."""
    view, asked = answer.view, view_of(answer.question).folded
    shared = shared_words(view.folded, asked, max(2, min(ECHO_RUN, len(asked))))
    if not any(shared):
        return view
    kept, at = [], 0
    for (start, end), gone in zip(view.words, shared, strict=True):
        if gone:
            kept.append(view.norm[at:start])
            at = end
    return TextView("".join([*kept, view.norm[at:]]))


def _windows(view: TextView) -> list[tuple[str, int]]:
    """The text in pieces of at most 160 words, each with its number of words; none where hardly a word is left."""
    words = view.words
    if len(words) < FEWEST_WORDS:
        return []
    parts = -(-len(words) // WINDOW_WORDS)
    cuts = [len(words) * part // parts for part in range(parts + 1)]
    starts = [0, *(words[cut].start for cut in cuts[1:-1]), len(view.norm)]
    return [(view.norm[starts[part] : starts[part + 1]].strip(), cuts[part + 1] - cuts[part]) for part in range(parts)]
