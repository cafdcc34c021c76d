"""The check `fluency`: whether an answer is language, by its likelihood under a frozen model."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.edges import rise
from rubric_anchors.rubric.outcome import Evidence

LogP = Annotated[float, Field(le=0.0, allow_inf_nan=False)]

LIKELY_SLOPE: Final = 0.2


@check("fluency")
class Fluency(Check):
    """Mean log-probability a token in the *worst* stretch of the answer, on soft edges. The model is frozen, so a
    policy that breaks language cannot bring it round, and good stretches cannot pay for broken ones.

    Too likely is a fault too: a text that repeats itself becomes all but certain. So the *likeliest* stretch has an
    edge of its own.

    The defaults are for SmolLM2-135M-Instruct, given the prompt, windows of 24 tokens, nats a token. Worst windows: its
    own answers at temperature 0.7 have -2.5 to -1.3 (48 answers), plain answers by people -5.8 to -4.3 (12, and 12
    under the wrong question), the same words shuffled at most -7.3, answers with a shuffled quarter at most -6.7.
    Likeliest windows: own answers at most -0.49, people's at most -2.3, repetition loops -0.30 to -0.02. A larger model
    needs higher edges: answer some prompts by hand and shuffle them. To hold a small policy nearer to its own language,
    raise `low` and `high`.
    """

    needs = ("local",)

    low: LogP = -6.6
    """Nats a token in the worst window at and below which the value is 0."""
    high: LogP = -5.4
    """Nats a token in the worst window from which the value is 1."""
    too_likely: LogP | None = -0.25
    """Nats a token in the likeliest window from which the value is 0; it falls over the 0.2 before. None: no such
    edge."""
    window: Annotated[int, Field(ge=0)] = 24
    """Tokens in a window; 0: the whole answer is one."""
    given: Literal["prompt", "nothing"] = "prompt"
    """`prompt`: as the answer to its prompt; `nothing`: as a text by itself."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low must be below high; seen {self.low:g} and {self.high:g}")
        if self.too_likely is not None and self.too_likely - LIKELY_SLOPE <= self.high:
            raise ValueError(
                f"too_likely must lie more than {LIKELY_SLOPE:g} above high; seen {self.too_likely:g} and {self.high:g}"
            )
        return self

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        """The findings, all answers read in batches."""
        read = answers if self.given == "prompt" else [Answer((), answer.text) for answer in answers]
        return [self._finding(logps) for logps in tools.likelihood().token_logps(read)] if answers else []

    def _finding(self, logps: NDArray[np.float32]) -> Finding:
        if not len(logps):
            return Finding(0.0, (Evidence("an empty answer"),))
        means = window_means(logps, self.window)
        worst, likeliest = float(means.min()), float(means.max())
        value = rise(worst, self.low, self.high)
        notes = [Evidence(f"{worst:.2f} nats a token in the worst stretch, wanted {self.high:g}")]
        if self.too_likely is not None and likeliest > self.too_likely - LIKELY_SLOPE:
            value *= rise(likeliest, self.too_likely, self.too_likely - LIKELY_SLOPE)
            notes.insert(
                0, Evidence(f"{likeliest:.2f} nats a token in the likeliest stretch: it says itself over again")
            )
        return Finding(value, tuple(notes))


def window_means(logps: NDArray[np.float32], window: int) -> NDArray[np.float64]:
    """The mean of every stretch of `window` tokens; of the whole where it is no longer than that, or `window` is 0."""
    if window == 0 or len(logps) <= window:
        return np.array([logps.mean(dtype=np.float64)])
    sums = np.concatenate([[0.0], np.cumsum(logps, dtype=np.float64)])
    return np.asarray((sums[window:] - sums[:-window]) / window)
