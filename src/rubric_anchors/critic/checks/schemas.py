"""The check that holds JSON against a schema."""

import json
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import JsonValue, field_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.formats import only_block
from rubric_anchors.critic.checks.options import Positive, falling, finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.rubric.outcome import Evidence

SHOWN = 8


@check("json_schema")
class JsonFitsSchema(Check):
    """1 where the whole answer, a code fence around it aside, is JSON that a JSON Schema (2020-12) allows. Falls with
    the number of places that it does not allow; 0 for what is no JSON."""

    json_schema: dict[str, JsonValue]
    """The schema. References to other documents are not followed."""
    faults: Positive = 4.0
    """How many faults give 0."""

    @field_validator("json_schema")
    @classmethod
    def _a_schema(cls, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"no JSON Schema ({' '.join(error.message.split())[:120]})") from error
        if "$ref" in json.dumps(schema) and not all(ref.startswith("#") for ref in _references(schema)):
            raise ValueError("a `$ref` may only point into the schema itself: it begins with `#`")
        return schema

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.json_schema)

    def decide(self, answer: Answer) -> Finding:
        try:
            value: Any = json.loads(only_block(answer.view))
        except (ValueError, RecursionError) as error:
            return finding(0.0, f"not JSON ({' '.join(str(error).split())[:120]})")
        try:
            faults = sorted(f"{fault.json_path}: {fault.message[:100]}" for fault in self._validator.iter_errors(value))
        except RecursionError:
            return finding(0.0, "nested too deep to be held against a schema")
        made = finding(falling(len(faults), self.faults), f"{len(faults)} faults" if faults else "it fits the schema")
        return Finding(made.value, (*made.evidence, *map(Evidence, faults[:SHOWN])))


def _references(schema: JsonValue) -> list[str]:
    """Every `$ref` in a schema."""
    if isinstance(schema, dict):
        own = [value for key, value in schema.items() if key == "$ref" and isinstance(value, str)]
        return own + [ref for value in schema.values() for ref in _references(value)]
    return [ref for value in schema for ref in _references(value)] if isinstance(schema, list) else []
