"""Answers in parts that are judged together."""

from collections.abc import Sequence


def batches(groups: Sequence[object], size: int, *, whole: bool) -> list[list[int]]:
    """The numbers 0 .. len(groups) - 1 in parts of `size`, in order.

    `whole`: numbers of equal `groups` stand together, where the first of them would, and no group is cut: parts of at
    least `size`.
    """
    if not whole:
        return [list(range(start, min(start + size, len(groups)))) for start in range(0, len(groups), size)]
    members: dict[object, list[int]] = {}
    for at, group in enumerate(groups):
        members.setdefault(group, []).append(at)
    parts: list[list[int]] = []
    for together in members.values():
        if not parts or len(parts[-1]) >= size:
            parts.append([])
        parts[-1] += together
    return parts
