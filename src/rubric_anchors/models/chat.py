"""The seam to a language model that is talked to, and its scripted fake, which tests, docs and dry runs share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from rubric_anchors.core.ids import content_id

SEEDS: Final = 1 << 31
"""Endpoints take seeds of 31 bits."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked: a conversation, and what its reply should be like. Equal requests may share a reply."""

    turns: tuple[ChatTurn, ...]
    schema: str = ""
    """JSON Schema that the reply should meet, as JSON, its keys in the order of the reply; empty: free text. A model
    that cannot be held to a schema replies as it likes: whoever asks reads the reply all the same."""
    seed: int | None = None
    """Another seed is another try; None: the endpoint's own."""
    alternatives: int = 0
    """How many of the likeliest tokens to give at each place of the reply, with their log-probabilities; 0: none."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply."""

    text: str
    logp: float
    """Natural-log probability."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """The likeliest tokens at its place with their natural-log probabilities, likeliest first; it may be among them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a call took, as the endpoint counted them."""

    prompt: int = 0
    """Tokens in, those read from a prefix cache included."""
    cached: int = 0
    """Tokens in that the endpoint had in its prefix cache."""
    completion: int = 0
    """Tokens out, reasoning included."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str
    finish: str = "stop"
    """Why it ended: `stop`, `length` (cut off), `content_filter`, ..."""
    tokens: tuple[Token, ...] = ()
    """The tokens of `text`, where alternatives were asked for and the endpoint gives them."""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class NoReply:
    """Why a model said nothing: the endpoint, the budget or the machine; says nothing about what it was asked."""

    code: str
    """A stable word: `timeout`, `refused_connection`, `over_budget`, ..."""
    detail: str = ""


Said = Reply | NoReply
Follow = Callable[[int, Said], Request | None]
"""Given the number of a request and what was said to it: the next request in its place, or None where that will do."""


class ChatModel(Protocol):
    """A language model behind a chat interface."""

    @property
    def fingerprint(self) -> str:
        """Id of the model and its sampling settings: equal fingerprints may share a cache."""
        ...

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """For each request what was said last, in order. A call that failed is a `NoReply`, its siblings stand.

        `follow` is called as each reply comes, for one at a time, so that one answer's second try does not wait for the
        first tries of all others.
        """
        ...


Conversation = tuple[ChatTurn, ...]
Line = str | NoReply | Callable[[Conversation], str]
NOTHING_SCRIPTED: Final = "not_scripted"


@dataclass
class ScriptedChatModel:
    """A chat model that says what it was told to say: the first line of `script` whose cue stands in the conversation.

    A cue is looked for as plain text in all turns; a line is a text, a failure, or a function of the conversation. A
    line may be a list: its items are said one after the other, the last again and again. Without a matching cue
    `otherwise` is said.

    >>> model = ScriptedChatModel({"ping": "pong"})
    >>> [reply] = model.ask([Request((ChatTurn("user", "ping"),))])
    >>> reply.text
    'pong'
    """

    script: Mapping[str, Line | Sequence[Line]] = field(default_factory=dict)
    otherwise: Line | Sequence[Line] = field(
        default_factory=lambda: NoReply(NOTHING_SCRIPTED, "no cue of the script stands in the conversation")
    )
    calls: list[tuple[ChatTurn, ...]] = field(default_factory=list)
    """Every conversation it was asked, in order."""
    requests: list[Request] = field(default_factory=list)
    """The same, with what the reply should have been like."""
    _said: dict[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Id of the cues and of the lines that are text."""
        lines = {
            cue: [str(line)] if isinstance(line, str) or not isinstance(line, Sequence) else [str(one) for one in line]
            for cue, line in self.script.items()
        }
        return content_id({"scripted": {cue: [*texts] for cue, texts in lines.items()}})

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """What the script says to each request, and to those that `follow` puts in its place."""
        return [self._settle(at, request, follow) for at, request in enumerate(requests)]

    def _settle(self, at: int, request: Request, follow: Follow | None) -> Said:
        said = self._say(request)
        while follow is not None and (after := follow(at, said)) is not None:
            said = self._say(after)
        return said

    def _say(self, request: Request) -> Said:
        conversation = request.turns
        self.calls.append(conversation)
        self.requests.append(request)
        whole = "\n".join(turn.content for turn in conversation)
        cue = next((cue for cue in self.script if cue in whole), None)
        line = self.otherwise if cue is None else self.script[cue]
        if isinstance(line, Sequence) and not isinstance(line, str):
            at = self._said.get(str(cue), 0)
            self._said[str(cue)] = at + 1
            line = line[min(at, len(line) - 1)]
        if isinstance(line, NoReply):
            return line
        return Reply(line if isinstance(line, str) else line(conversation))
