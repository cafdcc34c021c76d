"""All checks by name, and how a check is made from what stands in a rubric."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from pydantic import JsonValue, ValidationError

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.registry import Registry
from rubric_anchors.core.words import near
from rubric_anchors.critic.base import Check


def _is_check(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Check) and isinstance(getattr(thing, "name", None), str)


check_registry: Final[Registry[type[Check]]] = Registry(
    "check", "rubric_anchors.checks", accepts=_is_check, error=RubricError
)

CheckType = TypeVar("CheckType", bound=type[Check])


def check(name: str) -> Callable[[CheckType], CheckType]:
    """A decorator that gives a Check class its name and registers it."""

    def add(kind: CheckType) -> CheckType:
        kind.name = name
        check_registry.add(name, kind)
        return kind

    return add


def make_check(name: str, options: Mapping[str, JsonValue]) -> Check:
    """The check called `name` with `options`. Raises RubricError that says what was seen and what is allowed."""
    kind = check_registry.get(name)
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        raise RubricError(f"check {name!r}: {'; '.join(_reasons(kind, error))}") from error


def _reasons(kind: type[Check], error: ValidationError) -> list[str]:
    reasons = []
    allowed = [field.alias or key for key, field in kind.model_fields.items()]
    for item in error.errors(include_url=False):
        place = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            reasons.append(f"no option {place!r}{near(place, allowed)}; it takes {', '.join(allowed) or 'no options'}")
        elif item["type"] == "value_error":
            reasons.append(f"{place}: {item['ctx']['error']}" if place else str(item["ctx"]["error"]))
        elif item["type"] == "missing":
            reasons.append(f"the option {place!r} is missing")
        else:
            reasons.append(f"{place}: {item['msg'][:1].lower()}{item['msg'][1:]}; seen {str(item['input'])[:60]!r}")
    return reasons
