"""How well the anchors of a rubric tell their own tiers apart."""

from pathlib import Path

from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.exemplar import AnchorSpace
from rubric_anchors.critic.leftout import LeftOut, leave_one_out
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.load import load_rubric


def rubric_left_out(rubric: str | Path, *, tools: Tools | None = None) -> dict[str, LeftOut | None]:
    """Each exemplar criterion of the rubric file with its anchors left one out; None where they are too few.

    Raises RubricError where no criterion is decided by anchors, SetupError where the encoder cannot be had.
    """
    read, tools = load_rubric(rubric), tools or default_tools()
    criteria = [criterion for criterion in read.criteria if criterion.critic.kind == "exemplar"]
    if not criteria:
        raise RubricError(f"{rubric}: no criterion is decided by anchors; `critic: exemplar` makes one so")
    return {criterion.key: leave_one_out(AnchorSpace(criterion, tools)) for criterion in criteria}
