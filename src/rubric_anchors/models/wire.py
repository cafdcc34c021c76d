"""One request to a chat endpoint as bytes, and what came back as a reply or a failure. No network in here."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pydantic import JsonValue

from rubric_anchors.models.chat import NoReply, Reply, Request, Token, Usage
from rubric_anchors.models.endpoint_config import EndpointConfig

RETRIED: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
HOPELESS: Final = {
    401: "the key was refused; check the variable named by key_env",
    403: "access was refused; check the key and its rights",
    404: "there is no such path or model; check the URL (it ends in /v1 for most servers) and the model's name",
}
"""What no other request would be spared either."""
CHARACTERS_A_TOKEN: Final = 3.0
"""For estimates before a call: fewer than English has, so that estimates are rather too high."""
DETAIL: Final = 200
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum (?:context|model|input)|too (?:long|many tokens)|max_model_len"
    r"|exceed\w* the (?:available|maximum)|prompt is too",
    re.IGNORECASE,
)
ENDED_EARLY: Final = ("length", "content_filter")
"""Why a reply may hold nothing although the endpoint did its work."""
_SCHEMA_REFUSED = re.compile(r"response_format|json_schema|structured|guided|grammar", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Again:
    """A failure that another try may mend."""

    failure: NoReply
    after: float | None = None
    """Seconds that the endpoint asks to wait; None: it does not say."""


@dataclass(frozen=True, slots=True)
class Unstructured:
    """The endpoint does not hold replies to a schema; ask without."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No request to this endpoint can succeed."""

    why: str


Came = Reply | NoReply | Again | Unstructured | Hopeless


def body_of(config: EndpointConfig, request: Request, structured: bool) -> bytes:
    """The request's JSON body."""
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
    if request.schema and structured:
        schema = json.loads(request.schema)
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": True},
        }
    # A lone surrogate is no character: no server would take it.
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def estimated_tokens(request: Request) -> int:
    """Tokens of the prompt, from its characters."""
    return math.ceil(sum(len(turn.content) for turn in request.turns) / CHARACTERS_A_TOKEN) + 8 * len(request.turns)


def read_response(status: int, headers: Mapping[str, str], body: bytes, structured: bool) -> Came:
    """What came back. `structured`: whether the request asked to be held to a schema."""
    if status == 200:
        return _reply(body)
    said = _said(body)
    detail = f"HTTP {status}{f': {said}' if said else ''}"
    if status in RETRIED:
        code = {429: "rate_limited", 408: "timeout", 504: "timeout"}.get(status, "server_error")
        return Again(NoReply(code, detail), _retry_after(headers))
    if status in HOPELESS:
        return Hopeless(f"{detail}; {HOPELESS[status]}")
    if _TOO_LONG.search(said):
        return NoReply("context_length", detail)
    if structured and status in (400, 422, 501) and _SCHEMA_REFUSED.search(said):
        return Unstructured()
    return NoReply("refused_request", detail)


def _reply(body: bytes) -> Reply | NoReply | Again:
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return Again(NoReply("malformed_body", f"no JSON in {len(body)} bytes"))
    choices = read.get("choices") if isinstance(read, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Again(NoReply("malformed_body", "no choices with a message"))
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else "stop"
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        content, finish = refusal, "refusal"
    if not isinstance(content, str) or not content.strip():
        if finish not in ENDED_EARLY:
            return Again(NoReply("empty_reply", f"finish: {finish}"))
        # All tokens spent on reasoning, or held back: what was asked did that, and the endpoint works.
        content = ""
    return Reply(content, finish, _tokens(choice.get("logprobs")), _usage(read.get("usage")))


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


def _said(body: bytes) -> str:
    """The message in an error's body, on one line."""
    text = body[:4000].decode("utf-8", "replace")
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict):
        inner = read.get("error", read)
        message = inner.get("message", inner.get("detail")) if isinstance(inner, dict) else inner
        text = message if isinstance(message, str) else text
    return " ".join(text.split())[:DETAIL]


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
