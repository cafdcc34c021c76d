"""The held sets as files: JSON Lines, a row a passage or an item."""

from pathlib import Path

from rubric_anchors.core.errors import DataError
from rubric_anchors.core.jsonl import Row, read_jsonl
from rubric_anchors.evaluate.preservation.loglik import Item


def read_passages(path: Path) -> tuple[str, ...]:
    """The texts of rows `{id, text, register}`, in file order. Raises DataError that names file and line."""
    texts = []
    for where, row in _rows(path):
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{where}: a passage has `text`, a string that is not blank; seen: {str(text)[:60]!r}")
        texts.append(text)
    return tuple(texts)


def read_items(path: Path) -> tuple[Item, ...]:
    """The items of rows `{id, context, choices, answer}`; `answer` counts from 0. Raises DataError that names file
    and line.
    """
    items = []
    for where, row in _rows(path):
        context, choices, answer = row.get("context"), row.get("choices"), row.get("answer")
        if not isinstance(context, str):
            raise DataError(f"{where}: an item has `context`, a string; seen: {str(context)[:60]!r}")
        if (
            not isinstance(choices, list)
            or len(choices) < 2
            or not all(isinstance(c, str) and c.strip() for c in choices)
        ):
            raise DataError(f"{where}: an item has `choices`, at least two strings; seen: {str(choices)[:60]!r}")
        if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < len(choices):
            seen = f"0 to {len(choices) - 1}; seen: {str(answer)[:60]!r}"
            raise DataError(f"{where}: `answer` is the place of the right choice, {seen}")
        items.append(Item(str(row.get("id", where)), context, tuple(str(choice) for choice in choices), answer))
    return tuple(items)


def _rows(path: Path) -> list[tuple[str, Row]]:
    return [(f"{path}:{number}", row) for number, row in read_jsonl(path)]
