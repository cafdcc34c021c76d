"""The kinds of critic that a rubric can name, and who makes each: `check`, `exemplar`, `judge`, and other packages'
own."""

from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.registry import Registry
from rubric_anchors.core.words import near
from rubric_anchors.critic.base import CriticFactory
from rubric_anchors.rubric.model import Criterion

Options = TypeVar("Options", bound=BaseModel)

critic_registry: Final[Registry[CriticFactory]] = Registry(
    "kind of critic", "rubric_anchors.critics", accepts=callable, error=RubricError
)


def read_options(criterion: Criterion, options: type[Options]) -> Options:
    """What stands under `with` of a criterion's critic. Raises RubricError that names the criterion and the option, and
    says what was seen and what there is."""
    try:
        return options.model_validate(criterion.critic.options)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "value_error":
            what = str(first["ctx"]["error"])
        elif first["type"] == "extra_forbidden":
            there = ", ".join(options.model_fields)
            what = f"there is no such option{near(place, options.model_fields)}; there are: {there}"
        else:
            what = f"{first['msg'][:1].lower()}{first['msg'][1:]}; seen {str(first['input'])[:60]!r}"
        named = f"option {place!r}" if place else "options"
        raise RubricError(f"criterion {criterion.key!r}: {criterion.critic.kind} {named}: {what}") from error
