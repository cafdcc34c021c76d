"""An answer as critics see it: text from a stranger, with what was asked, read once for all critics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from rubric_anchors.core.errors import DataError
from rubric_anchors.critic.text import TextView


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True)
class Answer:
    """One answer to one prompt. `text` is what is judged: the answer without its reasoning."""

    prompt: tuple[Message, ...]
    text: str
    reference: str | None = None

    @cached_property
    def view(self) -> TextView:
        """The answer's words, sentences, lines and the like, each worked out once, when first asked for."""
        return TextView(self.text)

    @cached_property
    def question(self) -> str:
        """The last user turn; empty where there is none."""
        return next((message.content for message in reversed(self.prompt) if message.role == "user"), "")


def read_prompt(prompt: JsonValue) -> tuple[Message, ...]:
    """A string (one user turn) or a list of {role, content} as messages. Raises DataError on anything else."""
    if isinstance(prompt, str):
        return (Message("user", prompt),)
    if isinstance(prompt, Sequence) and prompt and all(isinstance(turn, Mapping) for turn in prompt):
        turns = [(turn.get("role"), turn.get("content")) for turn in prompt if isinstance(turn, Mapping)]
        if all(isinstance(role, str) and isinstance(content, str) for role, content in turns):
            return tuple(Message(str(role), str(content)) for role, content in turns)
    raise DataError(f"a prompt is a string or a list of {{role, content}} messages; seen: {str(prompt)[:80]!r}")


THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"


def without_reasoning(text: str) -> str:
    """`text` without what stands in `<think>`; one never closed leaves nothing to judge: no answer was given."""
    if THINK_CLOSE in text:
        return text.rsplit(THINK_CLOSE, 1)[1].lstrip()
    return "" if text.lstrip().startswith(THINK_OPEN) else text
