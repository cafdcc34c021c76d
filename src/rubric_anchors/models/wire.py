"""One request to a chat endpoint as bytes, and what came back as a reply or a failure. No network in here."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final, Literal

from pydantic import JsonValue

from rubric_anchors.models.chat import NoReply, Reply, Request, Token, Usage
from rubric_anchors.models.endpoint_config import EndpointConfig

LATER: Final = frozenset({408, 409, 425, 429})
"""Refusals that say nothing about the request. Errors of the server's own (5xx) are tried again too."""
NOBODY: Final = frozenset({502, 503, 521, 522, 523, 529})
"""What stands before a server says that nobody is there, or that it is full: no request is to blame for it."""
LATE: Final = frozenset({504, 524})
"""What stands before a server has lost patience; the server may have done the work."""
HOPELESS: Final = {
    401: "the key was refused; check the variable named by key_env",
    402: "the account's quota or credit is used up; top it up, then run the same again: what was answered is kept",
    403: "access was refused; check the key and its rights",
    404: "there is no such path or model; check the URL (it ends in /v1 for most servers) and the model's name",
}
"""What no other request would be spared either."""
BYTES_A_TOKEN: Final = 3.0
"""For estimates before a call: fewer than English has, and a character of Korean or Chinese for one token, so that
estimates are rather too high."""
DETAIL: Final = 200
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum (?:context|model|input)|too (?:long|many tokens)|max_model_len"
    r"|exceed\w* the (?:available|maximum)|prompt is too",
    re.IGNORECASE,
)
ENDED_EARLY: Final = ("length", "content_filter")
"""Why a reply may hold nothing although the endpoint did its work."""
Way = Literal["schema", "tools", "text"]
WAYS: Final[tuple[Way, ...]] = ("schema", "tools", "text")
"""How a reply can be held to a schema, best first."""
_WAY_REFUSED: Final = {
    "schema": re.compile(r"response_?format|json_?schema|structured|guided|grammar", re.IGNORECASE),
    "tools": re.compile(r"\btools?\b|tool_|function", re.IGNORECASE),
}
TOOL: Final = "reply"
"""The function that stands for the reply."""
# OpenAI's word for an empty account, and others' words for the same; then what messages say where no word is given. A
# message of a rate limit may mention billing too, as advice: it speaks of a time, or asks to try again.
_EMPTY_ACCOUNT = re.compile(
    r"insufficient_(?:quota|credits?|balance|funds)|billing_|out_of_credits?|credits?_exhausted|payment_required",
    re.IGNORECASE,
)
_SAYS_EMPTY = re.compile(
    r"insufficient (?:quota|credits?|balance|funds)|exceeded your current quota|billing|credit balance"
    r"|(?:no|out of|not enough|run out of|more) credits?",
    re.IGNORECASE,
)
_PASSES = re.compile(
    r"rate.?limit|\bper[ -](?:second|minute|hour|day)|try again|retry|too many requests", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Again:
    """A failure that another try may mend."""

    failure: NoReply
    after: float | None = None
    """Seconds that the endpoint asks to wait; None: it does not say."""
    nobody: bool = False
    """Whether it shows that nobody is there, whatever was asked."""
    maybe_billed: bool = False
    """Whether the endpoint may have done the work, and charge for it."""


@dataclass(frozen=True, slots=True)
class Unstructured:
    """The endpoint does not hold replies to a schema in the way that it was asked to."""

    way: Way


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No request to this endpoint can succeed."""

    why: str


Came = Reply | NoReply | Again | Unstructured | Hopeless


def body_of(config: EndpointConfig, request: Request, way: Way) -> bytes:
    """The request's JSON body; `way`: how its reply is held to its schema, where it has one."""
    body: dict[str, Any] = {
        "model": config.model,
        "messages": [{"role": turn.role, "content": turn.content} for turn in request.turns],
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        **config.extra,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.alternatives:
        body |= {"logprobs": True, "top_logprobs": request.alternatives}
    if request.schema and way == "schema":
        schema = {"name": TOOL, "schema": _parsed(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.schema and way == "tools":
        function = {"name": TOOL, "description": "Gives the reply.", "parameters": _parsed(request.schema)}
        body["tools"] = [{"type": "function", "function": function}]
        body["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
    # A lone surrogate is no character: no server would take it.
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


@lru_cache(maxsize=256)
def _parsed(schema: str) -> Any:
    return json.loads(schema)


def estimated_tokens(request: Request, way: Way = "text") -> int:
    """Tokens of the prompt, from its bytes; a function that must be called is part of it."""
    said = sum(len(turn.content.encode("utf-8", "replace")) for turn in request.turns)
    said += len(request.schema) if way == "tools" else 0
    return math.ceil(said / BYTES_A_TOKEN) + 8 * len(request.turns)


def read_response(status: int, headers: Mapping[str, str], body: bytes, way: Way) -> Came:
    """What came back. `way`: how the reply was to be held to a schema; `text` where it was not."""
    if status == 200:
        return _reply(body, headers, way)
    return _refusal(status, headers, *_error(body), way)


def _refusal(status: int, headers: Mapping[str, str], words: str, said: str, way: Way) -> Came:
    detail = f"HTTP {status}{f': {said[:DETAIL]}' if said else ''}"
    after = _retry_after(headers)
    if status == 402 or (status == 429 and _used_up(words, said, after)):
        return Hopeless(f"{detail}; {HOPELESS[402]}")
    if way != "text" and (status in (400, 404, 422) or status >= 500) and _WAY_REFUSED[way].search(said):
        # Some servers fail on a format that they do not know.
        return Unstructured(way)
    if status in LATER or (status >= 500 and status != 501):
        late = status == 408 or status in LATE
        code = "rate_limited" if status == 429 else "timeout" if late else "server_error"
        return Again(NoReply(code, detail), after, nobody=status in NOBODY, maybe_billed=status in LATE)
    if status in HOPELESS:
        return Hopeless(f"{detail}; {HOPELESS[status]}")
    if status == 413 or _TOO_LONG.search(said):
        return NoReply("context_length", detail)
    return NoReply("refused_request", detail)


def _used_up(words: str, said: str, after: float | None) -> bool:
    """Whether a refusal for too many requests is for good: the account is empty."""
    if _EMPTY_ACCOUNT.search(words):
        return True
    return after is None and _SAYS_EMPTY.search(said) is not None and not _PASSES.search(said)


def _reply(body: bytes, headers: Mapping[str, str], way: Way) -> Came:
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return Again(NoReply("malformed_body", f"no JSON in {len(body)} bytes"), maybe_billed=True)
    choices = read.get("choices") if isinstance(read, dict) else None
    if isinstance(read, dict) and not choices and isinstance(read.get("error"), dict):
        # An error as if all were well, as from gateways that had begun to answer.
        status = read["error"].get("code")
        known = isinstance(status, int) and 400 <= status < 600
        return _refusal(status if known else 500, headers, *_error(body), way)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Again(NoReply("malformed_body", "no choices with a message"), maybe_billed=True)
    content = _called(message.get("tool_calls")) or message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) and finish != "tool_calls" else "stop"
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        content, finish = refusal, "refusal"
    if not isinstance(content, str) or not content.strip():
        if finish not in ENDED_EARLY:
            return Again(NoReply("empty_reply", f"finish: {finish}"), maybe_billed=True)
        # All tokens spent on reasoning, or held back: what was asked did that, and the endpoint works.
        content = ""
    return Reply(content, finish, _tokens(choice.get("logprobs")), _usage(read.get("usage")))


def _called(calls: object) -> str:
    """The arguments of the functions that were called, a line each."""
    found: list[str] = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if arguments:
            found.append(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))
    return "\n".join(found)


def _tokens(read: object) -> tuple[Token, ...]:
    content = read.get("content") if isinstance(read, dict) else None
    found = []
    for one in content if isinstance(content, list) else ():
        if not (isinstance(one, dict) and isinstance(one.get("token"), str) and _finite(one.get("logprob"))):
            return ()
        others = [
            (other["token"], float(other["logprob"]))
            for other in one.get("top_logprobs") or ()
            if isinstance(other, dict) and isinstance(other.get("token"), str) and _finite(other.get("logprob"))
        ]
        found.append(Token(one["token"], float(one["logprob"]), tuple(others)))
    return tuple(found)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _usage(read: object) -> Usage:
    if not isinstance(read, dict):
        return Usage()
    details = read.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    prompt = _count(read.get("prompt_tokens"))
    return Usage(prompt, min(cached, prompt), _count(read.get("completion_tokens")))


def _count(value: JsonValue | object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _error(body: bytes) -> tuple[str, str]:
    """Of an error's body, its words for programs and its message on one line."""
    text, words = body[:4000].decode("utf-8", "replace"), ""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict):
        inner = read.get("error", read)
        if isinstance(inner, dict):
            words = " ".join(str(inner.get(name, "")) for name in ("code", "type", "status"))
        message = inner.get("message", inner.get("detail")) if isinstance(inner, dict) else inner
        text = message if isinstance(message, str) else text
    return words, " ".join(text.split())


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None
