"""The critic of kind `judge`: a language model decides all judge criteria of a rubric in one call.

The seam and its law only: the prompt, the strict reading of the reply, and what becomes of failures. Panels, caches and
endpoints are the business of a `ChatModel` and of what wraps it.
"""

import json
import string
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files
from typing import Final

from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.ids import content_id
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.kinds import critic_registry
from rubric_anchors.models.chat import ChatModel, ChatTurn, Follow, NoReply, Request, Said
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Cause, Evidence, Judged, Unjudged, Verdict

CRITIC: Final = "judge"
ATTEMPTS: Final = 2


class JudgeCritic:
    """Decides criteria by asking a chat model. A reply that is not exactly what was asked for is asked for once more;
    then the answer is Unjudged for a cause of kind `answer`. A call that failed is a cause of kind `infrastructure`."""

    def __init__(self, criteria: Sequence[Criterion], model: ChatModel) -> None:
        self._criteria = tuple(criteria)
        self._model = model

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(criterion.key for criterion in self._criteria)

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """For each answer a verdict for each criterion; all answers are asked about together."""
        requests = [self._request(answer) for answer in answers]
        tries = [1] * len(answers)

        def follow(at: int, said: Said) -> Request | None:
            if tries[at] >= ATTEMPTS or not _unreadable(self._read(answers[at], said)):
                return None
            tries[at] += 1
            return replace(requests[at], seed=tries[at])

        return [self._read(answer, said) for answer, said in zip(answers, self._ask(requests, follow), strict=True)]

    def _ask(self, requests: list[Request], follow: Follow) -> list[Said]:
        if not requests:
            return []
        try:
            said = self._model.ask(requests, follow)
            if len(said) != len(requests):
                raise ValueError(f"{len(said)} replies to {len(requests)} requests")
        except SetupError:
            raise
        except Exception as error:  # noqa: BLE001  whatever a client raises, no answer is to blame for it
            # Only the type: a message may hold a URL with a key in it.
            return [NoReply("judge_failed", type(error).__name__) for _ in requests]
        return said

    def _request(self, answer: Answer) -> Request:
        prompt = "\n\n".join(f"[{message.role}]\n{message.content}" for message in answer.prompt)
        # The fence is a hash of what stands inside it: no text can hold its own hash, so none can close its fence.
        fence = f"graded-{content_id([prompt, answer.text])}"
        filled = self._template.substitute(
            fence=fence, prompt=prompt, answer=answer.text, criteria=self._stated, shape=self._shape
        )
        return Request((ChatTurn("user", filled),))

    @cached_property
    def _template(self) -> string.Template:
        return string.Template(files("rubric_anchors.critic").joinpath("prompts/judge.txt").read_text("utf-8"))

    @cached_property
    def _stated(self) -> str:
        blocks = []
        for criterion in self._criteria:
            lines = [f"{criterion.key}: {criterion.ask}"]
            for index, tier in enumerate(criterion.tiers):
                lines.append(f"  tier {index}: {tier.means}")
                lines += [f"    such as: {json.dumps(anchor, ensure_ascii=False)}" for anchor in tier.anchors]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)

    @cached_property
    def _shape(self) -> str:
        return json.dumps({key: {"tier": 0, "evidence": "..."} for key in self.keys})

    def _read(self, answer: Answer, reply: Said) -> tuple[Verdict, ...]:
        if isinstance(reply, NoReply):
            return self._unjudged(Cause("infrastructure", reply.code, reply.detail))
        try:
            return read_reply(reply.text, self._criteria, answer.text)
        except ValueError as error:
            return self._unjudged(Cause("answer", "unparseable", " ".join(str(error).split())[:200]))

    def _unjudged(self, cause: Cause) -> tuple[Verdict, ...]:
        return tuple(Unjudged(cause, CRITIC) for _ in self._criteria)


def read_reply(reply: str, criteria: Sequence[Criterion], answer: str) -> tuple[Verdict, ...]:
    """The verdicts in a judge's reply: one JSON object {key: {tier, evidence}}, exactly the criteria, tiers in range.

    Raises ValueError that says what was seen and what was expected; nothing is guessed and nothing is filled in.
    """
    try:
        read = json.loads(reply, object_pairs_hook=_once)
    except RecursionError as error:
        raise ValueError("the reply is nested beyond reading") from error
    keys = [criterion.key for criterion in criteria]
    if not isinstance(read, dict) or sorted(read) != sorted(keys):
        seen = ", ".join(sorted(read)) if isinstance(read, dict) else type(read).__name__
        raise ValueError(f"expected an object with the keys {', '.join(keys)}; seen: {seen or 'none'}")
    return tuple(_verdict(criterion, read[criterion.key], answer) for criterion in criteria)


def _verdict(criterion: Criterion, entry: object, answer: str) -> Judged:
    if not isinstance(entry, dict) or set(entry) != {"tier", "evidence"}:
        raise ValueError(f"{criterion.key}: expected {{tier, evidence}}; seen {str(entry)[:60]}")
    tier, evidence = entry["tier"], entry["evidence"]
    if not isinstance(tier, int) or isinstance(tier, bool) or not 0 <= tier < len(criterion.tiers):
        raise ValueError(f"{criterion.key}: a tier is 0 to {len(criterion.tiers) - 1}; seen {str(tier)[:20]}")
    if not isinstance(evidence, str):
        raise ValueError(f"{criterion.key}: evidence is text; seen {str(evidence)[:60]}")
    start = answer.find(evidence) if evidence else -1
    note = Evidence(evidence, start, start + len(evidence)) if start >= 0 else Evidence(evidence)
    value = criterion.tiers[tier].value
    # Of tiers that share a value the highest is reached, whichever of them was named.
    return Judged(value, criterion.tier_of(value), CRITIC, (note,) if evidence else ())


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key stands twice in the reply")
    return read


def _unreadable(verdicts: tuple[Verdict, ...]) -> bool:
    return any(isinstance(verdict, Unjudged) and verdict.cause.kind == "answer" for verdict in verdicts)


@critic_registry.register("judge")
def make_judge_critic(criteria: Sequence[Criterion], tools: Tools) -> JudgeCritic:
    """The critic for all judge criteria of a rubric. No judge, no pretending: raises SetupError where none is
    configured."""
    if tools.judge is None:
        keys = ", ".join(criterion.key for criterion in criteria)
        raise SetupError(
            f"criteria decided by a judge need one, and none is configured ({keys}): "
            "name an endpoint under `judge` in the recipe, or give these criteria a check or an exemplar critic"
        )
    return JudgeCritic(criteria, tools.judge())
