"""The shape of case tables, and how a case is decided."""

from typing import Final

from pydantic import JsonValue

from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.base import Finding
from rubric_anchors.critic.checks.registry import make_check

Case = tuple[dict[str, JsonValue], str, float]
Table = dict[str, list[Case]]

PROMPT: Final = "Tell me about a morning that you remember well."


def answer(text: str, prompt: str = PROMPT) -> Answer:
    """An answer to a prompt of one user turn."""
    return Answer((Message("user", prompt),), text)


def decide(name: str, options: dict[str, JsonValue], text: str, prompt: str = PROMPT) -> Finding:
    """What the check `name` finds in `text`."""
    return make_check(name, options).decide(answer(text, prompt))
