"""Asking a model for verdicts until its replies can be read: the first try, one repair, one fresh try."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.critic.judge_prompt import repair_request
from rubric_anchors.critic.passages import Passage
from rubric_anchors.models.chat import SEEDS, ChatModel, Follow, NoReply, Reply, Request, Said
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Cause, CauseKind, Unjudged, Verdict

CRITIC: Final = "judge"
ATTEMPTS: Final = 3
"""The first try, one repair, one fresh try with another seed."""
ANSWERS_FAULT: Final = frozenset({"context_length"})
"""Failures of a call that are the answer's own."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: which criteria on which passage of which answer, and who is asked."""

    answer: int
    criteria: tuple[Criterion, ...]
    passage: Passage
    voter: str
    request: Request


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply decides, and what is wrong with it."""

    verdicts: tuple[Verdict, ...]
    fault: str = ""
    """Why to ask again; empty: the reply will do."""
    attempts: int = ATTEMPTS
    """How many tries in all that fault is worth."""


Read = Callable[[Ask, Reply], Reading]


def unjudged(cause: Cause, criteria: Sequence[Criterion]) -> tuple[Verdict, ...]:
    """That cause for each criterion."""
    return tuple(Unjudged(cause, CRITIC) for _ in criteria)


def decide(model: ChatModel, asks: Sequence[Ask], read: Read) -> list[tuple[Verdict, ...]]:
    """For each of `asks` its criteria's verdicts, in its order; all are asked together. `read` raises ValueError for a
    reply that decides nothing. Raises SetupError where the model cannot be asked at all."""
    tries = [1] * len(asks)
    # Read once: by `follow`, as each reply comes, and not again when all are there.
    last: list[tuple[Said, Reading] | None] = [None] * len(asks)

    def reading(at: int, said: Said) -> Reading:
        known = last[at]
        if known is None or known[0] is not said:
            known = last[at] = (said, _reading(asks[at], said, read))
        return known[1]

    def follow(at: int, said: Said) -> Request | None:
        found = reading(at, said)
        # A repair is longer than what it repairs: where it no longer fits, the fresh try may.
        spoilt = isinstance(said, NoReply) and not (said.code in ANSWERS_FAULT and tries[at] == 2)
        if spoilt or not found.fault or tries[at] >= found.attempts:
            return None
        tries[at] += 1
        request = asks[at].request
        if tries[at] == 2 and isinstance(said, Reply) and said.text.strip():
            return repair_request(request, said.text, found.fault)
        return replace(request, seed=derive_seed("again", request.seed or 0, tries[at]) % SEEDS)

    replies = _asked(model, [ask.request for ask in asks], follow)
    return [reading(at, said).verdicts for at, said in enumerate(replies)]


def _reading(ask: Ask, said: Said, read: Read) -> Reading:
    if isinstance(said, NoReply):
        kind: CauseKind = "answer" if said.code in ANSWERS_FAULT else "infrastructure"
        return Reading(unjudged(Cause(kind, said.code, said.detail), ask.criteria), said.code)
    if said.finish == "length":
        return _failed(ask, "cut_off", "the reply was cut off before its end (if it is for all: raise max_tokens)")
    if said.finish in ("content_filter", "refusal"):
        return _failed(ask, "refused", f"no verdict was given ({said.finish})")
    try:
        return read(ask, said)
    except ValueError as error:
        return _failed(ask, "unparseable", str(error))


def _failed(ask: Ask, code: str, detail: str) -> Reading:
    """A reply that decides nothing, by the answer's fault: else an answer could leave its group by spoiling replies."""
    cause = Cause("answer", code, " ".join(detail.split())[:200])
    return Reading(unjudged(cause, ask.criteria), cause.detail)


def _asked(model: ChatModel, requests: list[Request], follow: Follow) -> list[Said]:
    if not requests:
        return []
    try:
        said = model.ask(requests, follow)
        if len(said) != len(requests):
            raise ValueError(f"{len(said)} replies to {len(requests)} requests")
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001  whatever a client raises, no answer is to blame for it
        # Only the type: a message may hold a URL with a key in it.
        return [NoReply("judge_failed", type(error).__name__) for _ in requests]
    return said
