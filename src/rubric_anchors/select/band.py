"""Which prompts a stage trains on: the central band of the score distribution, after filters on the prompts themselves.

The order is the paper's: before each stage the current policy answers every candidate prompt, the critics of that stage
score the answers, and prompts that are too easy or too hard for it are left out. Every prompt left out has its reason.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.runs.records import Dropped, PromptRow, Selection
from rubric_anchors.select.config import SelectConfig
from rubric_anchors.select.scripts import script_share

ROUNDING: Final = 1e-9
"""Means that differ by less are the same mean: a quantile is interpolated, and may miss the mean it stands on by a
hair."""


def prefilter(
    rows: Sequence[PromptRow], config: SelectConfig, count_tokens: Callable[[PromptRow], int], seed: int
) -> tuple[list[PromptRow], list[Dropped]]:
    """Rows worth answering, and why the others are not: length, language, duplicates. Then at most `limit`, by seed.

    `count_tokens` gives the length of a row as the policy sees it. Both lists keep the order of `rows`, except that
    rows over the limit are the last to be dropped.
    """
    kept: list[PromptRow] = []
    dropped: list[Dropped] = []
    seen = _Seen(config.duplicate_overlap)
    for row in rows:
        tokens = count_tokens(row)
        share = script_share(row.text, config.script) if config.script else 1.0
        if tokens > config.max_prompt_tokens:
            dropped.append(Dropped(prompt_id=row.id, reason="length", detail=f"{tokens} tokens"))
        elif share < 0.5:
            dropped.append(Dropped(prompt_id=row.id, reason="language", detail=f"{share:.0%} {config.script}"))
        elif (twin := seen.twin(row)) is not None:
            dropped.append(Dropped(prompt_id=row.id, reason="duplicate", detail=f"of {twin}"))
        else:
            kept.append(row)
            seen.add(row)
    if config.limit is not None and len(kept) > config.limit:
        chosen = {row.id for row in sorted(kept, key=lambda row: derive_seed(seed, row.id))[: config.limit]}
        over = [
            Dropped(prompt_id=row.id, reason="limit", detail=f"{config.limit} drawn of {len(kept)}") for row in kept
        ]
        dropped += [one for one in over if one.prompt_id not in chosen]
        kept = [row for row in kept if row.id in chosen]
    return kept, dropped


def select_band(
    stage: str,
    rows: Sequence[PromptRow],
    rewards: Mapping[str, Sequence[float | None]],
    config: SelectConfig,
    dropped: Sequence[Dropped] = (),
) -> Selection:
    """Keep the rows whose mean reward lies between the band's quantiles and whose rewards differ.

    `rewards` has, for each row's id, the reward of each of its answers, None where unscored; a prompt with fewer than
    two scored answers is dropped as unscored (with one answer asked for, fewer than one). Quantiles are NumPy's linear
    ones over the prompts that were scored; both ends of the band belong to it.
    """
    reasons = list(dropped)
    scored: dict[str, list[float]] = {}
    for row in rows:
        found = [reward for reward in rewards.get(row.id, ()) if reward is not None]
        if len(found) < min(2, config.answers):
            reasons.append(Dropped(prompt_id=row.id, reason="unscored", detail=f"{len(found)} answers scored"))
        else:
            scored[row.id] = found
    means = {row: float(np.mean(found)) for row, found in scored.items()}
    spreads = {row: float(np.std(found)) for row, found in scored.items()}
    low, high = (float(cut) for cut in np.quantile(list(means.values()), config.band)) if means else (0.0, 1.0)
    kept: list[str] = []
    for row_id, mean in means.items():
        if mean < low - ROUNDING:
            reasons.append(Dropped(prompt_id=row_id, reason="below_band", detail=f"{mean:.3f} < {low:.3f}"))
        elif mean > high + ROUNDING:
            reasons.append(Dropped(prompt_id=row_id, reason="above_band", detail=f"{mean:.3f} > {high:.3f}"))
        elif config.answers > 1 and spreads[row_id] < config.least_spread:
            reasons.append(Dropped(prompt_id=row_id, reason="no_spread", detail=f"sd {spreads[row_id]:.4f}"))
        else:
            kept.append(row_id)
    return Selection(
        stage=stage,
        answers=config.answers,
        band=config.band,
        cuts=(low, high),
        means=means,
        spreads=spreads,
        kept=tuple(kept),
        dropped=tuple(reasons),
    )


class _Seen:
    """Prompts seen, by the word trigrams of all their turns but the system's, which many prompts share."""

    def __init__(self, overlap: float) -> None:
        self._overlap = overlap
        self._ids: list[str] = []
        self._sizes: list[int] = []
        self._holders: dict[str, list[int]] = defaultdict(list)

    def add(self, row: PromptRow) -> None:
        grams = _trigrams(row)
        for gram in grams:
            self._holders[gram].append(len(self._ids))
        self._ids.append(row.id)
        self._sizes.append(len(grams))

    def twin(self, row: PromptRow) -> str | None:
        """The id of the first prompt seen whose trigrams have a Jaccard overlap with the row's of at least the
        limit."""
        grams = _trigrams(row)
        shared = Counter(at for gram in grams for at in self._holders.get(gram, ()))
        twins = [
            at
            for at, both in shared.items()
            if both >= self._overlap * (len(grams) + self._sizes[at] - both) - ROUNDING
        ]
        return self._ids[min(twins)] if twins else None


def _trigrams(row: PromptRow) -> frozenset[str]:
    words = " ".join(text for role, text in row.messages if role != "system").casefold().split()
    return frozenset(" ".join(words[at : at + 3]) for at in range(max(len(words) - 2, 1)))
