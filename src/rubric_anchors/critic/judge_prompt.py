"""What a judge is asked: the prompt, the schema of its reply, the turns of a repair.

Laid out for prefix caches: what all calls share, the criteria, the conversation, the answer last; where the criteria
are asked about in several calls: what all share, the conversation, the answer, the criteria last. Fences are hashes of
what stands inside them: no text can hold its own hash, so none can close its fence.
"""

import json
import string
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.ids import content_id
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.passages import Passage
from rubric_anchors.critic.shown import shown
from rubric_anchors.models.chat import ChatTurn, Request
from rubric_anchors.rubric.model import Criterion

REPAIR: Final = (
    "That could not be read as a verdict: {fault}. Reply again with the JSON object alone, with exactly the keys that"
    " were asked for."
)
ALTERNATIVES: Final = 20
"""How many likely tokens are asked for at each place: the most that common endpoints give."""


def judge_request(
    criteria: Sequence[Criterion],
    answer: Answer,
    passage: Passage,
    *,
    wording: str = "plain",
    apart: bool = False,
    seed: int | None = None,
    alternatives: int = 0,
) -> Request:
    """The request that decides `criteria`, in that order, on a passage of `answer`. `apart`: other calls ask about the
    rest of the criteria, so these stand last."""
    stated, shape, schema = _asked(tuple(criteria))
    filled = template("judge_apart" if apart else "judge_together").substitute(
        intro=template(f"judge_{wording}").template.strip(),
        criteria=stated,
        shape=shape,
        asked=f"What was asked:\n{fenced(conversation(answer))}",
        answer=_answer_block(answer, passage),
    )
    return Request((ChatTurn("user", filled),), schema=schema, seed=seed, alternatives=alternatives)


def repair_request(request: Request, said: str, fault: str) -> Request:
    """The same once more, with what was said and what is wrong with it."""
    turns = (*request.turns, ChatTurn("assistant", shown(said[:4000])), ChatTurn("user", REPAIR.format(fault=fault)))
    return Request(turns, schema=request.schema, seed=request.seed, alternatives=request.alternatives)


def fenced(text: str, *known_by: str) -> str:
    """`text`, made harmless, between marks that carry a hash of it and of `known_by`."""
    harmless = shown(text)
    mark = f"graded-{content_id([*known_by, harmless])}"
    return f"<{mark}>\n{harmless}\n</{mark}>"


def _answer_block(answer: Answer, passage: Passage) -> str:
    prompt = conversation(answer)
    fences = [fenced(part, prompt) for part in passage.parts]
    if passage.left_out:
        # Said outside the fences, where no answer can say it.
        note = f"[Here {passage.left_out} characters of the answer are left out.]"
        return f"The answer to grade:\nIts beginning:\n{fences[0]}\n{note}\nIts end:\n{fences[1]}"
    if passage.of > 1:
        return f"Part {passage.number} of {passage.of} of the answer; grade this part alone:\n{fences[0]}"
    return f"The answer to grade:\n{fences[0]}"


def conversation(answer: Answer) -> str:
    """What was asked, turn by turn."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in answer.prompt)


def reply_schema(criteria: Sequence[Criterion]) -> str:
    """The JSON Schema of a reply, as JSON; its keys stand in the order in which the reply should have them."""
    return schema_of(
        {
            criterion.key: {
                "evidence": {"type": "string"},
                "tier": {"type": "integer", "enum": list(range(len(criterion.tiers)))},
            }
            for criterion in criteria
        }
    )


def schema_of(entries: Mapping[str, Mapping[str, JsonValue]]) -> str:
    """The JSON Schema of an object of objects: key -> field -> what the field is."""

    def closed(properties: dict[str, JsonValue]) -> JsonValue:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    whole = closed({key: closed(dict(fields)) for key, fields in entries.items()})
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


@cache
def template(name: str) -> string.Template:
    """A shipped prompt, to be filled in one pass."""
    return string.Template(files("rubric_anchors.critic").joinpath(f"prompts/{name}.txt").read_text("utf-8"))


@lru_cache(maxsize=256)
def _asked(criteria: tuple[Criterion, ...]) -> tuple[str, str, str]:
    """The criteria as they are stated, the shape of a reply and its schema: the same for every answer."""
    shape = json.dumps({criterion.key: {"evidence": "...", "tier": 0} for criterion in criteria})
    return "\n\n".join(map(stated, criteria)), shape, reply_schema(criteria)


def stated(criterion: Criterion) -> str:
    """The criterion as a judge reads it, with its tiers and their anchors."""
    lines = [f"{criterion.key}: {shown(criterion.ask)}"]
    for index, tier in enumerate(criterion.tiers):
        lines.append(f"  tier {index}: {shown(tier.means)}")
        lines += [f"    such as: {json.dumps(shown(anchor), ensure_ascii=False)}" for anchor in tier.anchors]
    return "\n".join(lines)
