"""The checks by themselves: what there is, and what one says of a text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.core.nodes import DocumentProblem, plain
from rubric_anchors.core.yamltree import read_yaml
from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.base import Finding, Tools
from rubric_anchors.critic.check_critic import ready_check
from rubric_anchors.critic.checks.registry import check_registry
from rubric_anchors.critic.reference import CheckInfo, check_info
from rubric_anchors.reward.tools import default_tools

_OPTION: Final = re.compile(r"([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)


def list_checks() -> tuple[list[CheckInfo], list[str]]:
    """All checks, those of installed packages too, by name; and a line for each that cannot be loaded."""
    found, broken = [], []
    for name in check_registry:
        try:
            found.append(check_info(check_registry.get(name)))
        except SetupError as error:
            broken.append(str(error))
        except Exception as error:  # noqa: BLE001  # anybody's class: one that cannot be described harms no other
            broken.append(f"the check {name!r} cannot be described ({type(error).__name__}: {error})")
    return found, broken


def try_check(
    name: str,
    text: str,
    options: Sequence[str] = (),
    *,
    prompt: str = "",
    reference: str | None = None,
    allow_code: bool = False,
    tools: Tools | None = None,
) -> Finding:
    """What the check `name` finds in `text`. `options`: `KEY=VALUE` each, the value as it would stand in a rubric.

    Raises InputError for an option that cannot be read, RubricError for an unknown check or option, CriticError where
    the check cannot do without a prompt or reference that is not given.
    """
    tools = tools or default_tools()
    check = ready_check(name, key_values(options, "--with"), replace(tools, allow_code=allow_code))
    asked = (Message("user", prompt),) if prompt else ()
    return check.decide_all([Answer(asked, text, reference)], tools)[0]


def key_values(written: Sequence[str], flag: str) -> dict[str, JsonValue]:
    """`KEY=VALUE` each, given after `flag`. Raises InputError, for a key that stands twice too."""
    given: dict[str, JsonValue] = {}
    for key, value in (_key_value(one, flag) for one in written):
        if key in given:
            raise InputError(f"{flag} {key} is given twice; give it once, a list as '{key}=[one, two]'")
        given[key] = value
    return given


def _key_value(written: str, flag: str) -> tuple[str, JsonValue]:
    parts = _OPTION.fullmatch(written)
    if parts is None:
        raise InputError(f"{flag} takes KEY=VALUE, e.g. max=120 or 'words=[one, two]'; seen {written[:60]!r}")
    key, value = parts.groups()
    try:
        node = read_yaml(value)
    except DocumentProblem as problem:
        raise InputError(f"{flag} {key}: {problem}") from problem
    return key, plain(node) if node is not None else None
