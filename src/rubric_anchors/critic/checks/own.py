"""The check that is a function of the user's."""

import importlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, field_validator

from rubric_anchors.core.errors import CriticError, RubricError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.rubric.criterion import RUNS_CODE
from rubric_anchors.rubric.outcome import Evidence


@check(RUNS_CODE)
class PythonFunction(Check):
    """What a function of your own says: it takes the prompt (a list of {role, content}), the answer's text and the
    other options by name, and returns a number from 0 to 1, or that and a note.

    It runs in this process with all its rights, so it has to be allowed: `allow_code: true` in the recipe,
    `--allow-code` for `anchors score`, `Reward(..., allow_code=True)`. Rubrics that data rows carry can never run code.
    Where the function raises, or returns anything else, the criterion is unjudged.
    """

    model_config = ConfigDict(extra="allow")
    runs_code = True

    function: str
    """Where it is: `package.module.function`, found as Python finds modules."""

    @field_validator("function")
    @classmethod
    def _dotted(cls, function: str) -> str:
        if "." not in function or not all(part.isidentifier() for part in function.split(".")):
            raise ValueError(f"function is a dotted path such as mypackage.checks.brevity; seen {function[:60]!r}")
        return function

    def ready(self) -> None:
        """Imports the function. Raises RubricError where there is none."""
        _ = self._called

    @cached_property
    def _called(self) -> Callable[..., Any]:
        module, _, name = self.function.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (Exception, SystemExit) as error:
            cause = " ".join(f"{type(error).__name__}: {error}".split())[:160]
            raise RubricError(
                f"the function {self.function!r} cannot be had ({cause}); is its folder on PYTHONPATH?"
            ) from error
        if not callable(found):
            raise RubricError(f"{self.function!r} is {type(found).__name__}, which cannot be called")
        return found  # type: ignore[no-any-return]  # checked above

    def decide(self, answer: Answer) -> Finding:
        """Raises CriticError where the function returns anything but a number from 0 to 1, or that and a text."""
        prompt = [{"role": turn.role, "content": turn.content} for turn in answer.prompt]
        given = self._called(prompt, answer.text, **(self.model_extra or {}))
        value, note = given if isinstance(given, tuple) and len(given) == 2 else (given, "")
        if isinstance(value, bool):
            value = float(value)
        if not isinstance(value, int | float) or not 0.0 <= value <= 1.0 or not isinstance(note, str):
            raise CriticError(
                f"{self.function} returned {str(given)[:60]!r}; wanted a number from 0 to 1, or that and a text"
            )
        return Finding(float(value), (Evidence(note or f"{self.function}: {value:.4g}"),))
