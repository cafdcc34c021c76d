"""A critic against people's ratings. See docs/calibrate.md for what each figure says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.evaluate import agreement as of
from rubric_anchors.evaluate.calibration import mean_label
from rubric_anchors.evaluate.resample import Array, Figure, Statistic, figure, nothing

NO_ROW: Final = "nothing has both a verdict and a label"
FIGURES: Final = ("kappa", "spearman", "order", "order_within_prompt", "alpha", "calibration_error", "length")


@dataclass(frozen=True, slots=True)
class Rows:
    """What the rows of a table (answers, or pairs of them) are beside their values and labels; shape [n] each."""

    clusters: tuple[str, ...]
    """What each is resampled with."""
    prompts: tuple[str, ...]
    lengths: Array
    """log2 of the characters of the judged text; for pairs the first's less the second's."""
    seed: int

    def at(self, rows: NDArray[np.bool_]) -> "Rows":
        """Those of the mask, shape [n]."""
        kept = np.flatnonzero(rows)
        clusters, prompts = (tuple(each[i] for i in kept) for each in (self.clusters, self.prompts))
        return Rows(clusters, prompts, self.lengths[kept], self.seed)

    def figure(
        self, statistic: Statistic, name: str, undefined: str, n: int | None = None, *, share: bool = False
    ) -> Figure:
        """`statistic` with its interval; its resamples are drawn with a seed of their own."""
        return figure(statistic, self.clusters, derive_seed(self.seed, name), undefined=undefined, n=n, share=share)


def score_figures(values: Array, ratings: Array, rows: Rows) -> dict[str, Figure]:
    """The critic against people, by name. values: [n], NaN where unjudged; ratings: [raters, n] on 0..1, NaN where
    there is none. The label of an answer is the mean of its ratings."""
    labels = mean_label(ratings)
    used = ~np.isnan(values) & ~np.isnan(labels)
    if not used.any():
        return {name: nothing(NO_ROW) for name in FIGURES}
    value, label, here = values[used], labels[used], rows.at(used)
    found = {
        "alpha": here.figure(joined_alpha(value, ratings[:, used]), "alpha", "all ratings are alike"),
        "calibration_error": here.figure(of.calibration_error(value, label), "calibration_error", NO_ROW),
    }
    flat = _flat(value, label)
    if flat:
        found |= {name: nothing(flat, len(value)) for name in FIGURES if name not in found}
        return {name: found[name] for name in FIGURES}
    found["kappa"] = here.figure(of.kappa(value, label), "kappa", "the values do not vary")
    found["spearman"] = here.figure(of.spearman(value, label), "spearman", "the values do not vary")
    _, codes = np.unique(np.asarray(here.prompts), return_inverse=True)
    for name, prompts in (("order", None), ("order_within_prompt", codes)):
        pairs = of.ordered_pairs(label, prompts, derive_seed(rows.seed, name))
        found[name] = _order(value, pairs, here, name, "no two answers to one prompt that people tell apart")
    slope = of.slope(value, here.lengths, label)
    found["length"] = here.figure(slope, "length", "the lengths do not vary beside the labels")
    return {name: found[name] for name in FIGURES}


def people_on_scores(ratings: Array, rows: Rows) -> dict[str, Figure]:
    """People among themselves; nothing where there is one rater."""
    if len(ratings) < 2:
        return {}
    several = (~np.isnan(ratings)).sum(axis=0) >= 2
    rated, here = ratings[:, several], rows.at(several)
    found = {
        name: here.figure(of.alpha(rated, ordinal=ordinal), name, _alike(several))
        for name, ordinal in (("alpha", False), ("alpha_ordinal", True))
    }
    parts, count = [], 0
    for nth, (there, rater, others) in enumerate(one_against_others(rated)):
        pairs = of.ordered_pairs(others, None, derive_seed(rows.seed, "people", nth))
        if len(pairs[0]):
            parts.append((of.order(rater, pairs), there))
            count += len(pairs[0])
    statistic = of.mean_of(parts)
    found["order"] = (
        here.figure(statistic, "people", _alike(several), count, share=True) if parts else nothing(_alike(several))
    )
    return found


def joined_alpha(values: Array, ratings: Array) -> Statistic:
    """Alpha of the critic with one rater, the mean over the raters: what `alpha` among people can be held against."""
    parts = [
        (of.alpha(np.stack([values[there], rater[there]]), ordinal=False), there)
        for rater in ratings
        if (there := ~np.isnan(rater)).any()
    ]
    return of.mean_of(parts)


def one_against_others(ratings: Array) -> Iterator[tuple[NDArray[np.bool_], Array, Array]]:
    """For each rater: the rows that another rated too, shape [n], and there the rater's and the others' mean."""
    for at, rater in enumerate(ratings):
        others = mean_label(np.delete(ratings, at, axis=0))
        there = ~np.isnan(rater) & ~np.isnan(others)
        if there.any():
            yield there, rater[there], others[there]


def _order(values: Array, pairs: of.Pairs, rows: Rows, name: str, none: str) -> Figure:
    if not len(pairs[0]):
        return nothing(none)
    # Only what stands in a pair is resampled: ten prompts are needed that have a pair, not ten prompts.
    kept, places = np.unique(np.concatenate(pairs), return_inverse=True)
    lower, higher = np.split(places, 2)
    here = rows.at(np.isin(np.arange(len(values)), kept))
    return here.figure(of.order(values[kept], (lower, higher)), name, none, len(lower), share=True)


def _flat(values: Array, labels: Array) -> str:
    """Why nothing can be said of two columns of which one is constant; empty where neither is."""
    if np.ptp(labels) < 1e-9:
        return "people give every answer the same"
    return f"the critic gives every answer the same, {values[0]:.3g}" if np.ptp(values) < 1e-9 else ""


def _alike(several: NDArray[np.bool_]) -> str:
    return "all ratings are alike" if several.any() else "nothing was rated by two people"
