"""A critic against people's preferences. See docs/calibrate.md for what each figure says.

All arithmetic is in goodness, since a preference says which answer is better: for a pitfall, that with the lower value.
"""

from typing import Final

import numpy as np

from rubric_anchors.evaluate import agreement as of
from rubric_anchors.evaluate.against_scores import NO_ROW, Rows, joined_alpha, one_against_others
from rubric_anchors.evaluate.calibration import mean_label
from rubric_anchors.evaluate.resample import Array, Figure, nothing

FIGURES: Final = ("order", "ties", "alpha", "length", "longer", "position")


def pair_figures(apart: Array, ratings: Array, rows: Rows) -> dict[str, Figure]:
    """The critic against people, by name. apart: goodness of the first answer less that of the second, shape [n], NaN
    where either is unjudged; ratings: [raters, n], 1 for the first, -1 for the second, 0 for a tie, NaN where there is
    none. The label of a pair is the sign of the mean of its ratings."""
    labels = sign(mean_label(ratings))
    used = ~np.isnan(apart) & ~np.isnan(labels)
    if not used.any():
        return {name: nothing(NO_ROW) for name in FIGURES}
    apart, label, here = apart[used], labels[used], rows.at(used)
    side, n = sign(apart), len(label)
    # Of `chosen` and `rejected` which stands first means nothing: no figure may rest on it.
    one_sided, on_one_side = len(np.unique(label)) == 1, nothing("the preferred answers all stand on one side", n)
    found = {
        "ties": here.figure(of.share(side == 0), "ties", NO_ROW, share=True),
        "alpha": on_one_side
        if one_sided
        else here.figure(joined_alpha(side, ratings[:, used]), "alpha", "all preferences are alike"),
    }
    if not side.any():
        silent = "the critic gives both answers of every pair the same"
        found |= {name: nothing(silent, n) for name in FIGURES if name not in found}
        return {name: found[name] for name in FIGURES}
    told, longer = label != 0, np.sign(here.lengths)
    uneven = longer != 0
    right = 0.5 + 0.5 * side * label
    lean = 0.5 * (side - label) * longer
    found["order"] = here.at(told).figure(of.share(right[told]), "order", "people prefer neither answer", share=True)
    found["longer"] = here.at(uneven).figure(of.share(lean[uneven]), "longer", "both answers are equally long")
    given = np.ones(n) if one_sided else label
    slope = of.slope(apart, here.lengths, given, through_zero=one_sided)
    found["length"] = here.figure(slope, "length", "the lengths do not vary beside the preferences")
    found["position"] = (
        on_one_side
        if one_sided
        else here.figure(of.intercept(apart, here.lengths, label), "position", "nothing varies beside the preferences")
    )
    return {name: found[name] for name in FIGURES}


def people_on_pairs(ratings: Array, rows: Rows) -> dict[str, Figure]:
    """People among themselves; nothing where there is one rater."""
    if len(ratings) < 2:
        return {}
    several = (~np.isnan(ratings)).sum(axis=0) >= 2
    alike = "all preferences are alike" if several.any() else "no pair was judged by two people"
    rated, here = ratings[:, several], rows.at(several)
    parts, count = [], 0
    for there, rater, others in one_against_others(rated):
        told = sign(others) != 0
        if told.any():
            parts.append((of.share(0.5 + 0.5 * np.sign(rater) * sign(others), told), there))
            count += int(told.sum())
    return {
        "alpha": here.figure(of.alpha(rated, ordinal=False), "alpha", alike),
        "order": here.figure(of.mean_of(parts), "people", alike, count, share=True) if parts else nothing(alike),
    }


def sign(values: Array) -> Array:
    """-1, 0 or 1; what rounding has left over of a difference is none."""
    return np.asarray(np.sign(np.round(values, 12)))
