"""The base of everything that is data: frozen, strict about unknown fields, hashable by content."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from rubric_anchors.core.ids import content_id


class Misfit(ValueError):
    """Raised by a validator that can say which part does not fit: `Misfit(message, "criteria", 2, "key")`.

    `where` is the path from the validated model to that part, so that the error of a file names the part's line.
    """

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.where = where


@dataclass(frozen=True, slots=True)
class Expected:
    """Put in a field's `Annotated`: what the field wants, in words, for the error message of a file."""

    words: str


class Frozen(BaseModel):
    """Immutable data whose hash and id follow from its content alone.

    The docstring under a field is its description in the exported JSON Schema.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, populate_by_name=True, use_attribute_docstrings=True
    )

    @cached_property
    def content_id(self) -> str:
        """Id over all fields, defaults included (see `rubric_anchors.core.ids.content_id`)."""
        return content_id(self.model_dump(mode="json", by_alias=True))

    def __hash__(self) -> int:
        return hash(self.content_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and type(other) is type(self) and self.content_id == other.content_id

    def with_changes(self, **changes: object) -> Self:
        """A validated copy with some fields replaced, each named by its field or its alias (`**{"from": 0.5}`).

        Fields that were never given are worked out anew, as in a file. Raises pydantic's ValidationError.
        """
        fields = type(self).model_fields
        names = {field.alias: name for name, field in fields.items() if field.alias}
        given = {name: getattr(self, name) for name in fields if name in self.model_fields_set}
        return type(self).model_validate(given | {names.get(name, name): value for name, value in changes.items()})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """`with_changes`: pydantic's own copies skip validation and would keep the id of the old content."""
        del deep
        return self.with_changes(**(update or {}))
