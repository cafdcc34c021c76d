"""Less weight for what a critic cannot judge.

The factor of a criterion is max(0, 2 low - 1), where low is the lower end of the 95% interval of `order`: the share of
pairs of answers that the critic puts in people's order. 1 is always right, 1/2 a coin, so the factor is the surplus of
right over wrong pairs that the data can vouch for. Order and not kappa, since a reward only has to rank: a critic that
sees all differences and uses half of the scale trains as well as one that uses all of it. Where there is no interval
nothing is vouched for, and the factor is 0.
"""

from pydantic import ValidationError

from rubric_anchors.core.errors import InputError, Refused
from rubric_anchors.evaluate.calibration import Calibration, Target
from rubric_anchors.rubric.criterion import SMALLEST_WEIGHT
from rubric_anchors.rubric.model import Criterion, Rubric

ENDING = "-shrunk"


def shrink_factor(target: Target) -> float:
    """0..1, see above."""
    low = target.figures["order"].low
    return max(0.0, 2 * low - 1) if low is not None else 0.0


def shrink_factors(calibration: Calibration) -> dict[str, float]:
    """Criterion key to its factor; criteria without labels are not in it."""
    return {each.key: shrink_factor(each) for each in calibration.targets if each.kind == "criterion"}


def shrink(rubric: Rubric, calibration: Calibration) -> Rubric:
    """`rubric` with each weight times its criterion's factor, four digits kept; criteria without labels keep theirs.

    A criterion whose factor is 0 is left out, unless a veto or a relation needs it: then its weight is 0. The id ends
    in `-shrunk`, and the provenance says where the weights come from. Raises InputError where `calibration` is of
    another rubric, Refused where no weight is left.
    """
    if calibration.rubric_content_id != rubric.content_id:
        seen = f"{calibration.rubric!r} ({calibration.rubric_content_id})"
        raise InputError(f"the calibration is of rubric {seen}, and this is {rubric.id!r} ({rubric.content_id})")
    factors = shrink_factors(calibration)
    needed = {key for relation in rubric.relations for key in relation.keys}
    kept = [_weighted(each, factors.get(each.key, 1.0)) for each in rubric.criteria]
    kept = [each for each in kept if each.weight or each.veto or each.key in needed]
    if not any(each.weight for each in kept):
        raise Refused(
            f"rubric {rubric.id!r}: no criterion is shown to agree with people, so no weight is left; "
            "give more labels, or other critics"
        )
    note = f"weights of {rubric.id} ({rubric.content_id}) shrunk by agreement with people in {calibration.data}"
    source = f"{rubric.provenance.source}; {note}" if rubric.provenance.source else note
    try:
        return rubric.with_changes(
            id=f"{rubric.id[: 128 - len(ENDING)]}{ENDING}",
            criteria=kept,
            provenance=rubric.provenance.with_changes(source=source),
        )
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise Refused(f"rubric {rubric.id!r} cannot be shrunk: {reason}") from error


def _weighted(criterion: Criterion, factor: float) -> Criterion:
    weight = float(f"{criterion.weight * factor:.4g}")
    return criterion.with_changes(weight=weight if abs(weight) >= SMALLEST_WEIGHT else 0.0)
