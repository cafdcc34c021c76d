"""The critic of kind `exemplar`: how near an answer is to the anchors of each tier. See `critic.kernel` for the method.

Options, under `with`:

    space: both       both | style: how it is written and what it says, or the first alone, which needs no encoder
    copies: worst     worst | flag: what an answer gets that has half of an anchor in it word for word, or is half made
                      of one
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.frozen import Frozen
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.echo import shared_share
from rubric_anchors.critic.kernel import Fitted, Placed, fit
from rubric_anchors.critic.kinds import critic_registry, read_options
from rubric_anchors.critic.style import NAMES, style_rows
from rubric_anchors.critic.text import view_of
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Evidence, Judged, Verdict

COPY_RUN: Final = 5
COPY_SHARE: Final = 0.5
FIRST_WORDS: Final = 7
CRITIC: Final = "exemplar"


class ExemplarOptions(Frozen):
    """What may stand under `with` of an exemplar critic."""

    space: Literal["both", "style"] = "both"
    """`both`: how it is written and what it says; `style`: only how it is written, without a model."""
    copies: Literal["worst", "flag"] = "worst"
    """`worst`: an answer copied from an anchor gets the value that is worst for the reward; `flag`: evidence only."""


class AnchorSpace:
    """The anchors of one criterion, fitted at the first use."""

    def __init__(self, criterion: Criterion, tools: Tools) -> None:
        self.criterion = criterion
        self.options = read_options(criterion, ExemplarOptions)
        self._tools = tools
        self.anchors = tuple((at, text) for at, tier in enumerate(criterion.tiers) for text in tier.anchors)
        values = [tier.value for tier in criterion.tiers]
        self._worst = values[-1] if criterion.weight < 0 else values[0]

    @cached_property
    def fitted(self) -> Fitted:
        """The regression; its `agreement` says how well the anchors tell their own tiers apart."""
        texts = [text for _, text in self.anchors]
        values = np.array([self.criterion.tiers[at].value for at, _ in self.anchors])
        return fit(style_rows([view_of(text) for text in texts]), self._meaning(texts), values)

    def verdicts(self, answers: Sequence[Answer]) -> list[Verdict]:
        """A verdict for each answer."""
        written = [answer for answer in answers if answer.view.words]
        style = style_rows([answer.view for answer in written])
        places = iter(self.fitted.place(style, self._meaning([answer.text for answer in written]), self._worst))
        rows = iter(style)
        return [
            self._verdict(answer, next(places), next(rows))
            if answer.view.words
            else self._judged(self._worst, Evidence("no words to hold against the anchors"))
            for answer in answers
        ]

    def _meaning(self, texts: Sequence[str]) -> NDArray[np.float64]:
        if self.options.space == "style" or not texts:
            return np.zeros((len(texts), 0 if self.options.space == "style" else self._dimension))
        return self._tools.encoder().encode(texts).astype(np.float64)

    @cached_property
    def levels(self) -> list[int]:
        """The tiers that have a value of their own; of tiers that share one the highest."""
        return [self.criterion.tier_of(value) for value in sorted({tier.value for tier in self.criterion.tiers})]

    @property
    def _dimension(self) -> int:
        return int(self.fitted.meaning.shape[1])

    def _verdict(self, answer: Answer, place: Placed, style: NDArray[np.float64]) -> Verdict:
        copied = self._copied(answer)
        if copied is not None:
            tier, text, share = copied
            note = Evidence(f"{share:.0%} word for word as the anchor of tier {tier}: {_first_words(text)}")
            return self._judged(self._worst if self.options.copies == "worst" else place.value, note)
        tier, text = self.anchors[place.anchor]
        notes = [Evidence(f"most like an anchor of tier {tier}, {place.likeness:.2f}: {_first_words(text)}")]
        if place.confidence is not None:
            level = self.levels[place.nearest]
            notes.append(Evidence(f"nearest to tier {level}, with confidence {place.confidence:.2f}"))
        if self.fitted.apart is False:
            notes.append(
                Evidence(
                    f"the anchors do not tell their tiers apart ({self.fitted.agreement:.2f} of pairs in order, each"
                    " left out): no ground for a verdict"
                )
            )
        if place.support < 1.0:
            notes.append(
                Evidence(f"unlike the anchors as a whole (support {place.support:.2f}), so held towards the worst")
            )
        return self._judged(place.value, *notes, *self._reason(style))

    def _judged(self, value: float, *evidence: Evidence) -> Judged:
        value = min(max(float(value), 0.0), 1.0)
        return Judged(value, self.criterion.tier_of(value), CRITIC, evidence)

    def _reason(self, style: NDArray[np.float64]) -> tuple[Evidence, ...]:
        """The two style columns in which the answer is furthest from the best tier's anchors, by their weight."""
        tiers = np.array([tier for tier, _ in self.anchors])
        best = 0 if self.criterion.weight < 0 else len(self.criterion.tiers) - 1
        gap = style * self.fitted.scale - self.fitted.style[tiers == best].mean(axis=0)
        largest = np.argsort(-np.abs(gap), kind="stable")[:2]
        words = [f"{'more' if gap[at] > 0 else 'less'} {NAMES[at]}" for at in largest if abs(gap[at]) > 0.15]
        return (Evidence(f"against the best tier: {', '.join(words)}"),) if words else ()

    def _copied(self, answer: Answer) -> tuple[int, str, float] | None:
        words = answer.view.folded
        if len(words) < COPY_RUN:
            return None
        shares = [
            (shared_share(words, view_of(text).folded, COPY_RUN), tier, text)
            for tier, text in self.anchors
            if len(view_of(text).folded) >= COPY_RUN
        ]
        share, tier, text = max(shares, key=lambda one: one[0], default=(0.0, 0, ""))
        return (tier, text, share) if share >= COPY_SHARE else None


class ExemplarCritic:
    """Decides criteria by nearness to the anchors of their tiers."""

    def __init__(self, criteria: Sequence[Criterion], tools: Tools) -> None:
        self.spaces = tuple(AnchorSpace(criterion, tools) for criterion in criteria)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(space.criterion.key for space in self.spaces)

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """For each answer a verdict for each criterion. Raises SetupError only: the encoder is not there."""
        columns = [space.verdicts(answers) for space in self.spaces]
        return [tuple(row) for row in zip(*columns, strict=True)]


def _first_words(text: str) -> str:
    words = text.split()
    return f"'{' '.join(words[:FIRST_WORDS])}{'…' if len(words) > FIRST_WORDS else ''}'"


@critic_registry.register("exemplar")
def make_exemplar_critic(criteria: Sequence[Criterion], tools: Tools) -> ExemplarCritic:
    """The critic for all exemplar criteria of a rubric. Raises RubricError for an option that it does not know."""
    return ExemplarCritic(criteria, tools)
