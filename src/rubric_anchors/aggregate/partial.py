"""Answers that broke their own judging: the lowest reward that any verdicts on the missing criteria could give."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from rubric_anchors.aggregate.plan import Plan
from rubric_anchors.aggregate.relations import SEARCH_LIMIT, BoolArray, FloatArray, Line, Values, in_conflict
from rubric_anchors.aggregate.steps import fired, levels
from rubric_anchors.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Worst:
    """The point at which an answer with missing verdicts is counted."""

    values: FloatArray
    """[K] the known values, and for the missing ones those that give the least."""
    fired: BoolArray
    """[V] the vetoes that fire there."""
    reward: float
    exact: bool
    """True: `reward` is the exact minimum. False: too many missing criteria are in conflicts to search; `reward` is
    0."""


def worst(plan: Plan, values: Values, missing: BoolArray) -> Worst:
    """The least reward over all verdicts on the missing criteria: the infimum of the chain over [0, 1]^missing.

    `values` [K] in 0..1 (whatever stands at missing places is not read), `missing` [K]. Ours. Why a search of corners
    is exact: a veto splits its criterion's values into those that fire it and those that do not; with that settled,
    veto and shape never fall as the interaction step rises, and that step is linear in each saturated goodness when
    the others are held, so its least lies at a corner. Outside conflicts it never falls in goodness, so there only
    the low end counts, and a veto that fires at the low end leaves nothing lower elsewhere. More than 4096 corners
    are not searched; 0 stands in. Raises InputError for known values outside 0..1.
    """
    known = values[~missing]
    if values.shape != plan.stated.shape or not ((known >= 0) & (known <= 1)).all():
        raise InputError(f"known values must be in 0..1, one a criterion; seen {values.tolist()}")
    places: list[int] = np.flatnonzero(missing).tolist()
    torn = in_conflict(plan.pairs)
    lines = {line.at: (index, line) for index, line in enumerate(plan.vetoes)}
    choices = [_choices(bool(plan.pitfall[at]), at in torn, lines[at][1] if at in lines else None) for at in places]
    least = np.where(missing, np.where(plan.pitfall, 1.0, 0.0), values).astype(values.dtype)
    if np.prod([float(len(options)) for options in choices]) > SEARCH_LIMIT:
        return Worst(least.astype(np.float64), fired(plan, least[None])[0], 0.0, exact=False)
    corners = list(product(*choices))
    values_CK = np.tile(least, (len(corners), 1))
    fired_CV = fired(plan, values_CK)
    for column, at in enumerate(places):
        values_CK[:, at] = [corner[column][0] for corner in corners]
        if at in lines:
            fired_CV[:, lines[at][0]] = [corner[column][1] for corner in corners]
    rewards_C = levels(plan, values_CK, fired_CV)[-1]
    lowest = int(rewards_C.argmin())
    return Worst(values_CK[lowest].astype(np.float64), fired_CV[lowest], float(rewards_C[lowest]), exact=True)


def _choices(pitfall: bool, torn: bool, line: Line | None) -> list[tuple[float, bool]]:
    """(value, fires) pairs of one missing criterion among which the least must be; ends of open intervals included."""
    worst_first = (1.0, 0.0) if pitfall else (0.0, 1.0)
    if line is None:
        return [(value, False) for value in (worst_first if torn else worst_first[:1])]
    firing, silent = (
        ((0.0, line.line), (line.line, 1.0)) if line.side == "below" else ((line.line, 1.0), (0.0, line.line))
    )
    intervals = [(firing, True), (silent, False)] if line.possible else [(silent, False)]
    if torn:
        return [(value, fires) for ends, fires in intervals for value in ends]
    chosen = [((max if pitfall else min)(ends), fires) for ends, fires in intervals]
    return chosen[:1] if chosen[0] == (worst_first[0], True) else chosen
