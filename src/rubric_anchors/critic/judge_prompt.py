"""What a judge is asked: the prompt, the schema of its reply, the turns of a repair.

Laid out for prefix caches: what all calls share, the criteria, the conversation, the answer last. Fences are hashes of
what stands inside them: no text can hold its own hash, so none can close its fence.
"""

import json
import string
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.ids import canonical, content_id
from rubric_anchors.critic.answer import Answer
from rubric_anchors.models.chat import ChatTurn, Request
from rubric_anchors.rubric.model import Criterion

LEFT_OUT: Final = "\n\n[Here {count} characters of the answer are left out.]\n\n"
REPAIR: Final = (
    "That could not be read as a verdict: {fault}. Reply again with the JSON object alone, with exactly the keys that"
    " were asked for, a tier of each criterion's range, and the evidence as text."
)


def judge_request(criteria: Sequence[Criterion], answer: Answer, longest: int, seed: int | None = None) -> Request:
    """The request that decides `criteria` on `answer`, of which `longest` characters are shown: a longer one's head and
    tail, and between them how much is missing."""
    prompt = "\n\n".join(f"[{message.role}]\n{message.content}" for message in answer.prompt)
    shown = head_and_tail(answer.text, longest)
    stated, shape, schema = _asked(tuple(criteria))
    filled = _template().substitute(
        criteria=stated,
        shape=shape,
        asked=f"graded-{content_id([prompt])}",
        prompt=prompt,
        graded=f"graded-{content_id([prompt, shown])}",
        answer=shown,
    )
    return Request((ChatTurn("user", filled),), schema=schema, seed=seed)


def repair_request(request: Request, said: str, fault: str) -> Request:
    """The same once more, with what was said and what is wrong with it."""
    turns = (*request.turns, ChatTurn("assistant", said[:4000]), ChatTurn("user", REPAIR.format(fault=fault)))
    return Request(turns, schema=request.schema, seed=request.seed)


def head_and_tail(text: str, longest: int) -> str:
    """`text`, or its first two thirds and last third of `longest` characters with a note of what is missing."""
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    tail = longest - head
    return text[:head] + LEFT_OUT.format(count=len(text) - longest) + text[len(text) - tail :]


def reply_schema(criteria: Sequence[Criterion]) -> str:
    """The JSON Schema of a reply, as canonical JSON."""
    properties: dict[str, JsonValue] = {
        criterion.key: {
            "type": "object",
            "properties": {
                "evidence": {"type": "string"},
                "tier": {"type": "integer", "enum": list(range(len(criterion.tiers)))},
            },
            "required": ["evidence", "tier"],
            "additionalProperties": False,
        }
        for criterion in criteria
    }
    schema: JsonValue = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return canonical(schema)


@cache
def _template() -> string.Template:
    return string.Template(files("rubric_anchors.critic").joinpath("prompts/judge.txt").read_text("utf-8"))


@lru_cache(maxsize=256)
def _asked(criteria: tuple[Criterion, ...]) -> tuple[str, str, str]:
    """The criteria as they are stated, the shape of a reply and its schema: the same for every answer."""
    shape = json.dumps({criterion.key: {"evidence": "...", "tier": 0} for criterion in criteria})
    return _stated(criteria), shape, reply_schema(criteria)


def _stated(criteria: tuple[Criterion, ...]) -> str:
    blocks = []
    for criterion in criteria:
        lines = [f"{criterion.key}: {criterion.ask}"]
        for index, tier in enumerate(criterion.tiers):
            lines.append(f"  tier {index}: {tier.means}")
            lines += [f"    such as: {json.dumps(anchor, ensure_ascii=False)}" for anchor in tier.anchors]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
