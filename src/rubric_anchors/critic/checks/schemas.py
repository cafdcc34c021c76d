"""The check that holds JSON against a schema."""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from pydantic import JsonValue, field_validator
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from rubric_anchors.core.errors import CriticError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.formats import only_block, read_json
from rubric_anchors.critic.checks.options import Positive, falling, finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.patterns import compiled, matches
from rubric_anchors.rubric.outcome import Evidence

SHOWN = 8
FOLLOWED: Final = 10_000
"""References that are followed for one answer: thirty that each name the next one twice would be a billion."""
_REFERENCES: Final = ("$ref", "$dynamicRef")
_followed: ContextVar[int] = ContextVar("followed")


@check("json_schema")
class JsonFitsSchema(Check):
    """1 where the whole answer, a code fence around it aside, is JSON that a JSON Schema (2020-12) allows. Falls with
    the number of places that it does not allow; 0 for what is no JSON."""

    json_schema: dict[str, JsonValue]
    """The schema. References to other documents are not followed; patterns are as those of `pattern`."""
    faults: Positive = 4.0
    """How many faults give 0."""

    @field_validator("json_schema")
    @classmethod
    def _a_schema(cls, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"no JSON Schema ({' '.join(error.message.split())[:120]})") from error
        _refuse_references(schema)
        parts = list(_parts(schema))
        for part in parts:
            named = part.get("patternProperties")
            for pattern in [part.get("pattern"), *(named if isinstance(named, Mapping) else ())]:
                if isinstance(pattern, str):
                    compiled(pattern)
        if all(any(key in part for part in parts) for key in ("patternProperties", "unevaluatedProperties")):
            raise ValueError("`unevaluatedProperties` beside `patternProperties` is not read; name the properties")
        return schema

    @cached_property
    def _validator(self) -> Any:
        return _Validator(self.json_schema, registry=Registry())

    def decide(self, answer: Answer) -> Finding:
        """Raises CriticError where a pattern takes too long, or the schema's references grow without end."""
        try:
            value = read_json(only_block(answer.view))
        except (ValueError, RecursionError) as error:
            return finding(0.0, f"not JSON ({' '.join(str(error).split())[:120]})")
        _followed.set(0)
        try:
            faults = sorted(f"{fault.json_path}: {fault.message[:100]}" for fault in self._validator.iter_errors(value))
        except RecursionError:
            return finding(0.0, "nested too deep to be held against a schema")
        except OverflowError:
            return finding(0.0, "a number is too large to be held against a schema")
        made = finding(falling(len(faults), self.faults), f"{len(faults)} faults" if faults else "it fits the schema")
        return Finding(made.value, (*made.evidence, *map(Evidence, faults[:SHOWN])))


def _refuse_references(schema: dict[str, JsonValue]) -> None:
    """Raises ValueError for a reference that leaves the schema or points to nothing in it."""
    references = [str(part[key]) for part in _parts(schema) for key in _REFERENCES if isinstance(part.get(key), str)]
    if any(not one.startswith("#") for one in references):
        raise ValueError("a `$ref` may only point into the schema itself: it begins with `#`")
    if references and sum("$id" in part for part in _parts(schema)) > ("$id" in schema):
        raise ValueError("an `$id` inside a schema with references is not read; leave it out")
    base = str(schema.get("$id", ""))
    resolver = Registry().with_resource(base, DRAFT202012.create_resource(schema)).resolver(base)
    for one in references:
        try:
            resolver.lookup(one)
        except Unresolvable as error:
            raise ValueError(f"the reference {one[:60]!r} points to nothing in the schema") from error


def _parts(schema: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """Every mapping in a schema."""
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in inner:
        yield from _parts(part)


_compiled = lru_cache(maxsize=256)(compiled)


def _found(pattern: str, text: str) -> bool:
    return next(matches(_compiled(pattern), text), None) is not None


def _pattern(_: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    if isinstance(instance, str) and not _found(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    for pattern, wanted in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if _found(pattern, name):
                yield from validator.descend(value, wanted, path=name, schema_path=pattern)


def _additional(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in schema.get("properties", {}) or any(_found(pattern, name) for pattern in patterns):
            continue
        if wanted is False:
            yield ValidationError(f"the property {name!r} is not allowed", path=(name,))
        else:
            yield from validator.descend(value, wanted, path=name)


def _reference(validator: Any, name: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    del schema
    _followed.set(_followed.get() + 1)
    if _followed.get() > FOLLOWED:
        raise CriticError(f"the schema's references were followed more than {FOLLOWED} times for this answer")
    yield from validator._validate_reference(ref=name, instance=instance)


_Validator: Any = extend(  # type: ignore[no-untyped-call]  # its stub has no types
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional,
        **dict.fromkeys(_REFERENCES, _reference),
    },
)
