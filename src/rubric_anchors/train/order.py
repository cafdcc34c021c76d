"""Which prompts each step of a stage trains on: fixed before the first step, so that a resumed stage goes on with
it."""

from collections.abc import Sequence

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.runs.records import PromptRow


def prompt_order(rows: Sequence[PromptRow], steps: int, a_step: int, seed: int, stage: str) -> list[PromptRow]:
    """The prompts of all steps, `a_step` of `rows` for each of `steps`, in order.

    Rounds over all rows, each in an order of its own that depends on seed, stage and the rows' ids, not on how the file
    is sorted; what is left of a round that fills no step is passed over, so that no step asks one prompt twice.
    """
    order: list[PromptRow] = []
    number = 0
    while len(order) < steps * a_step:
        mixed = sorted(rows, key=lambda row: derive_seed(seed, stage, "order", number, row.id))
        order += mixed[: len(rows) // a_step * a_step]
        number += 1
    return order[: steps * a_step]
