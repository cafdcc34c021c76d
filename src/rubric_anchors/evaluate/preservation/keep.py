"""What the model could do before and must still do: perplexity on held text, and accuracy on multiple-choice items."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import InputError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.evaluate.paired import accuracy_interval, ratio_interval
from rubric_anchors.evaluate.preservation.loglik import Item, Model, Tokenizer, choice_logps, passage_logps
from rubric_anchors.evaluate.verdicts import ACCURACY_MARGIN, PERPLEXITY_MARGIN, kept, ratio_kept
from rubric_anchors.runs.records import Preserved


@dataclass(frozen=True, slots=True)
class Held:
    """How one model fares on the held sets: made before training, and again after; the two are then compared."""

    logps: tuple[float, ...]
    """Sum of natural-log probabilities of each passage."""
    tokens: tuple[int, ...]
    """Tokens of each passage."""
    right: tuple[bool, ...]
    """Whether each item was answered rightly."""

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log probability of a token, over all passages."""
        return float(np.exp(-sum(self.logps) / sum(self.tokens)))

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.right))


def hold(model: Model, tokenizer: Tokenizer, passages: Sequence[str], items: Sequence[Item]) -> Held:
    """Runs the model over both sets. An empty passage is refused; either set may be empty."""
    scored = passage_logps(model, tokenizer, passages) if passages else []
    empty = next((place for place, logps in enumerate(scored) if len(logps) == 0), None)
    if empty is not None:
        raise InputError(f"passage {empty + 1} has no tokens; a held passage needs text")
    right = answered_rightly(choice_logps(model, tokenizer, items), items) if items else np.zeros(0, dtype=bool)
    return Held(
        tuple(float(logps.sum()) for logps in scored), tuple(len(logps) for logps in scored), tuple(right.tolist())
    )


def answered_rightly(logps: Sequence[NDArray[np.float64]], items: Sequence[Item]) -> NDArray[np.bool_]:
    """Whether the choice with the highest log probability for each of its characters is the right one, shape [items].

    Divided by characters, as the common harness's `acc_norm`, so that a short choice has no head start.
    """
    picks = [
        int(np.argmax([logp / max(len(choice.strip()), 1) for logp, choice in zip(found, item.choices, strict=True)]))
        for found, item in zip(logps, items, strict=True)
    ]
    return np.array([pick == item.answer for pick, item in zip(picks, items, strict=True)], dtype=bool)


def preserved(before: Held, after: Held, seed: int) -> tuple[Preserved, ...]:
    """Perplexity as a ratio (kept: the interval's high end under 1.05) and accuracy as a difference (low end above
    -0.03).

    The perplexity ratio is exp of the token-weighted mean change in negative log probability, bootstrapped over
    passages; accuracy's interval is Bonett and Price's. A set that is empty on both sides gives no row. Raises
    InputError where the sides did not read the same passages and items.
    """
    if before.tokens != after.tokens or len(before.right) != len(after.right):
        raise InputError(
            "before and after were held against different sets; both sides need the same passages and items"
        )
    rows: list[Preserved] = []
    if before.tokens:
        tokens = np.array(before.tokens, dtype=np.float64)
        worse = (np.array(before.logps) - np.array(after.logps)) / tokens
        ratio = ratio_interval(worse, derive_seed("perplexity", seed), weights=tokens)
        rows.append(
            Preserved(
                name="perplexity",
                before=before.perplexity,
                after=after.perplexity,
                delta=ratio.delta,
                low=ratio.low,
                high=ratio.high,
                margin=PERPLEXITY_MARGIN,
                kept=ratio_kept(ratio, PERPLEXITY_MARGIN, len(tokens)),
                n=len(tokens),
            )
        )
    if before.right:
        change, n = accuracy_interval(before.right, after.right), len(before.right)
        rows.append(
            Preserved(
                name="accuracy",
                before=before.accuracy,
                after=after.accuracy,
                delta=change.delta,
                low=change.low,
                high=change.high,
                margin=ACCURACY_MARGIN,
                kept=kept(change, ACCURACY_MARGIN, n),
                n=n,
            )
        )
    return tuple(rows)
