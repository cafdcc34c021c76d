"""The cells of a row as what they stand for. A CSV has only text, so lists and mappings may come as JSON."""

import math
from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue

from rubric_anchors.core.errors import DataError, RubricError
from rubric_anchors.core.files import whole_text
from rubric_anchors.core.ids import content_id
from rubric_anchors.core.jsonl import read_value
from rubric_anchors.core.words import kind_of
from rubric_anchors.data.tables import Row
from rubric_anchors.rubric.ifeval import ifeval_rubric
from rubric_anchors.rubric.load import parse_carried
from rubric_anchors.rubric.model import Rubric

ROLES: Final = ("system", "user", "assistant", "tool")


class Cells:
    """Reads a row's cells by name. Each method raises DataError, naming file and row, for a wrong cell."""

    def __init__(self, row: Row) -> None:
        self._row = row

    def whole(self, name: str) -> str | None:
        """The text in `name`, empty text included; None where there is none."""
        value = self._row.values.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return whole_text(value)
        raise self._error(f"{name}: expected text, seen {kind_of(value)}")

    def text(self, name: str) -> str | None:
        """The text in `name`; None where it is empty or missing. A whole number is taken as its digits, for ids."""
        value = self._row.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and name == "id":
            return str(value)
        return self.whole(name) or None

    def messages(self) -> tuple[tuple[str, str], ...]:
        """The prompt as (role, content) turns; the last is the user's."""
        value = self._row.values.get("prompt")
        turns_in_text = _unpacked(value)
        if isinstance(turns_in_text, list) and turns_in_text and all(_is_turn(turn) for turn in turns_in_text):
            value = turns_in_text
        if isinstance(value, str):
            if not value.strip():
                raise self._error("the prompt is empty; remove the row or write one")
            return (("user", whole_text(value)),)
        if not isinstance(value, list | tuple) or not value:
            raise self._error(f"prompt: expected text or a list of {{role, content}} messages, seen {kind_of(value)}")
        turns = tuple(self._turn(at, turn) for at, turn in enumerate(value))
        if turns[-1][0] != "user":
            raise self._error(f"prompt: the last message is the {turns[-1][0]}'s; expected the user's")
        return turns

    def _turn(self, at: int, turn: object) -> tuple[str, str]:
        if not isinstance(turn, Mapping):
            raise self._error(f"prompt: message {at + 1}: expected {{role, content}}, seen {kind_of(turn)}")
        role, content = turn.get("role"), turn.get("content")
        if role not in ROLES:
            raise self._error(f"prompt: message {at + 1}: expected a role of {', '.join(ROLES)}, seen {kind_of(role)}")
        if not isinstance(content, str):
            raise self._error(f"prompt: message {at + 1}: expected text as content, seen {kind_of(content)}")
        return str(role), whole_text(content)

    def rubric_ids(self) -> tuple[str, ...]:
        """The ids under `rubrics`, in order, each once."""
        value = _unpacked(self._row.values.get("rubrics"))
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self._error(f"rubrics: expected a list of ids, seen {kind_of(value)}")
        bad = next((item for item in value if not isinstance(item, str) or not item), None)
        if bad is not None:
            raise self._error(f"rubrics: expected a list of ids, seen {kind_of(bad)} in it")
        return tuple(dict.fromkeys(str(item) for item in value))

    def rubric(self) -> Rubric | None:
        """The rubric that the row carries; one without an id gets `row-` and the content id of its fields."""
        value = _unpacked(self._row.values.get("rubric"))
        where = f"{self._row.where}, rubric"
        try:
            if isinstance(value, str):
                return parse_carried(value, where) if value.strip() else None
            if isinstance(value, Mapping):
                fields = without_nulls(value)
                return parse_carried({"id": f"row-{content_id(plain_json(fields))}", **fields}, where)
        except RubricError as error:
            raise DataError(str(error)) from error
        if value is None:
            return self._instructions()
        raise self._error(f"rubric: expected the fields of a rubric, seen {kind_of(value)}")

    def _instructions(self) -> Rubric | None:
        """The rubric of a row in IFEval's form: `instruction_id_list` and `kwargs`."""
        names = _unpacked(self._row.values.get("instruction_id_list"))
        if names is None:
            return None
        given = _unpacked(self._row.values.get("kwargs"))
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise self._error(f"instruction_id_list: expected a list of names, seen {kind_of(names)}")
        if not isinstance(given, list | tuple) or not all(one is None or isinstance(one, Mapping) for one in given):
            raise self._error(f"kwargs: expected a list with a mapping for each instruction, seen {kind_of(given)}")
        arguments = [{str(key): plain_json(item) for key, item in (one or {}).items()} for one in given]
        try:
            return ifeval_rubric([str(name) for name in names], arguments)
        except RubricError as error:
            raise self._error(str(error)) from error

    def content_id(self, *more: str) -> str:
        """The content id of the prompt, and of `more`."""
        turns: list[JsonValue] = [list(turn) for turn in self.messages()]
        return content_id([turns, *more] if more else turns)

    def _error(self, message: str) -> DataError:
        return DataError(f"{self._row.where}: {message}")


def _is_turn(value: object) -> bool:
    return isinstance(value, dict) and {"role", "content"} <= value.keys()


def _unpacked(value: object) -> object:
    """A text that is a JSON list or mapping as what it holds; everything else as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return read_value(value)
        except ValueError:
            return value
    return value


def without_nulls(value: Mapping[Any, object]) -> dict[str, object]:
    """`value` without the fields that are null. Arrow gives every struct the fields of all rows: what is null there
    was written by nobody."""

    def clean(item: object) -> object:
        if isinstance(item, Mapping):
            return without_nulls(item)
        return [clean(one) for one in item] if isinstance(item, list | tuple) else item

    return {str(key): clean(item) for key, item in value.items() if item is not None}


def plain_json(value: object) -> JsonValue:
    """`value` as JSON: numbers that are not finite become None, what JSON does not know its text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return whole_text(str(value))
