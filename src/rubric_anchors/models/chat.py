"""The seam to a language model that is talked to, and its scripted fake, which tests, docs and dry runs share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from rubric_anchors.core.ids import content_id


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str


@dataclass(frozen=True, slots=True)
class NoReply:
    """Why a model said nothing: the endpoint, the budget or the machine; says nothing about what it was asked."""

    code: str
    """A stable word: `timeout`, `refused_connection`, `over_budget`, ..."""
    detail: str = ""


Said = Reply | NoReply
Conversation = Sequence[ChatTurn]


class ChatModel(Protocol):
    """A language model behind a chat interface."""

    @property
    def fingerprint(self) -> str:
        """Id of the model and its sampling settings: equal fingerprints may share a cache."""
        ...

    def ask(self, conversations: Sequence[Conversation]) -> list[Said]:
        """For each conversation what was said, in order. A call that failed is a `NoReply`, its siblings stand."""
        ...


Line = str | NoReply | Callable[[Conversation], str]
NOTHING_SCRIPTED: Final = "not_scripted"


@dataclass
class ScriptedChatModel:
    """A chat model that says what it was told to say: the first line of `script` whose cue stands in the conversation.

    A cue is looked for as plain text in all turns; a line is a text, a failure, or a function of the conversation. A
    line may be a list: its items are said one after the other, the last again and again. Without a matching cue
    `otherwise` is said.

    >>> model = ScriptedChatModel({"ping": "pong"})
    >>> model.ask([[ChatTurn("user", "ping")]])
    [Reply(text='pong')]
    """

    script: dict[str, Line | list[Line]] = field(default_factory=dict)
    otherwise: Line = field(
        default_factory=lambda: NoReply(NOTHING_SCRIPTED, "no cue of the script stands in the conversation")
    )
    calls: list[tuple[ChatTurn, ...]] = field(default_factory=list)
    """Every conversation it was asked, in order."""
    _said: dict[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Id of the cues and of the lines that are text."""
        lines = {
            cue: [str(line)] if not isinstance(line, list) else [str(one) for one in line]
            for cue, line in self.script.items()
        }
        return content_id({"scripted": {cue: [*texts] for cue, texts in lines.items()}})

    def ask(self, conversations: Sequence[Conversation]) -> list[Said]:
        """What the script says to each conversation."""
        return [self._answer(tuple(conversation)) for conversation in conversations]

    def _answer(self, conversation: tuple[ChatTurn, ...]) -> Said:
        self.calls.append(conversation)
        whole = "\n".join(turn.content for turn in conversation)
        cue = next((cue for cue in self.script if cue in whole), None)
        line = self.otherwise if cue is None else self.script[cue]
        if isinstance(line, list):
            at = self._said.get(str(cue), 0)
            self._said[str(cue)] = at + 1
            line = line[min(at, len(line) - 1)]
        if isinstance(line, NoReply):
            return line
        return Reply(line if isinstance(line, str) else line(conversation))
