"""The critic of kind `judge`: a language model decides all judge criteria of a rubric in one call.

Options, under `with`; criteria with equal options are asked about together:

    samples: 1           how often each answer is judged, with other seeds; the value is the mean
    support: mark        mark | demand: what becomes of a verdict whose quotation does not stand in the answer
    long: head_tail      head_tail | refuse: what is shown of an answer longer than `longest` characters
    longest: 24000
    flags: mark          mark | veto | off: what becomes of answers that try something on the judge (`critic.hostile`)
    apart: false         whether each criterion has a call of its own
    always: false        whether it is asked even where a check's veto has already brought the reward to 0

What becomes of failures: a call that failed is a cause of kind `infrastructure`, and the answer leaves its group. An
answer that cannot be judged on repeated tries, that floods the context, or that (with `flags: veto`) tries something on
the judge, is a cause of kind `answer`: the rubric's `unjudgeable` policy gives it the worst. So it never pays to break
the judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.core.frozen import Frozen
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.hostile import flags
from rubric_anchors.critic.judge_prompt import judge_request, repair_request
from rubric_anchors.critic.kinds import critic_registry
from rubric_anchors.critic.verdict_reply import read_reply, supported
from rubric_anchors.models.chat import ChatModel, Follow, NoReply, Request, Said
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Cause, Evidence, Judged, Unjudged, Verdict

CRITIC: Final = "judge"
ATTEMPTS: Final = 3
"""The first try, one repair, one fresh try with another seed."""
ANSWERS_FAULT: Final = frozenset({"context_length"})
"""Failures of a call that are the answer's own."""


class JudgeOptions(Frozen):
    """What may stand under `with` of a judge criterion."""

    samples: Annotated[int, Field(ge=1, le=64)] = 1
    """How often each answer is judged, with other seeds (at a temperature above 0 they differ); the value is the
    mean."""
    support: Literal["mark", "demand"] = "mark"
    """`demand`: a verdict above the lowest tier whose quotation does not stand in the answer is asked for again, and
    then decides nothing."""
    long: Literal["head_tail", "refuse"] = "head_tail"
    """What becomes of an answer of more than `longest` characters: its head and tail are shown, with a note of how much
    is missing, or it counts as one that cannot be judged."""
    longest: Annotated[int, Field(ge=200)] = 24_000
    """Characters of an answer that are shown."""
    flags: Literal["mark", "veto", "off"] = "mark"
    """What becomes of an answer that speaks to the judge, plays a turn, holds a verdict, hides text or copies the
    rubric: evidence, or it counts as one that cannot be judged."""
    apart: bool = False
    """Whether each criterion has a call of its own: dearer, and no criterion's verdict leans on another's."""
    always: bool = False
    """Whether the judge is asked even where a check's veto has already brought the reward to 0."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One request: which criteria on which answer, the how-manieth time."""

    answer: int
    criteria: tuple[Criterion, ...]
    request: Request


class JudgeCritic:
    name = CRITIC

    """Decides criteria by asking a chat model; all answers are asked about together."""

    def __init__(self, criteria: Sequence[Criterion], model: ChatModel, options: JudgeOptions | None = None) -> None:
        self._criteria = tuple(criteria)
        self._model = model
        self.options = options or JudgeOptions()

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(criterion.key for criterion in self._criteria)

    @property
    def spares(self) -> bool:
        """Whether it need not be asked about answers that are worth nothing anyhow."""
        return not self.options.always

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """For each answer a verdict for each criterion. Raises SetupError where the model cannot be asked at all."""
        found: list[tuple[Verdict, ...] | None] = [self._beforehand(answer) for answer in answers]
        tasks = [task for at, answer in enumerate(answers) if found[at] is None for task in self._tasks(at, answer)]
        read: dict[tuple[int, str], list[Verdict]] = {}
        for task, verdicts in zip(tasks, self._decided(answers, tasks), strict=True):
            for criterion, verdict in zip(task.criteria, verdicts, strict=True):
                read.setdefault((task.answer, criterion.key), []).append(verdict)
        for at, answer in enumerate(answers):
            if found[at] is None:
                marks = self._marks(answer)
                found[at] = tuple(_with(_mean(one, read[at, one.key]), marks) for one in self._criteria)
        return [verdicts for verdicts in found if verdicts is not None]

    def _beforehand(self, answer: Answer) -> tuple[Verdict, ...] | None:
        """The verdicts on an answer that the model need not be asked about: they say why."""
        if not answer.view.norm.strip():  # what only holds characters that cannot be seen is empty too
            return _unjudged(Cause("answer", "empty_answer", "there is nothing to judge"), self._criteria)
        if self.options.long == "refuse" and len(answer.text) > self.options.longest:
            detail = f"{len(answer.text)} characters, and at most {self.options.longest} are judged"
            return _unjudged(Cause("answer", "too_long", detail), self._criteria)
        if self.options.flags == "veto":
            for flag, evidence in flags(answer, self._criteria).items():
                return _unjudged(Cause("answer", flag, evidence.note), self._criteria)
        return None

    def _marks(self, answer: Answer) -> tuple[Evidence, ...]:
        return tuple(flags(answer, self._criteria).values()) if self.options.flags == "mark" else ()

    def _tasks(self, at: int, answer: Answer) -> list[_Task]:
        parts = [(criterion,) for criterion in self._criteria] if self.options.apart else [self._criteria]
        return [
            _Task(at, part, judge_request(_turned(part, sample), answer, self.options.longest, sample or None))
            for part in parts
            for sample in range(self.options.samples)
        ]

    def _decided(self, answers: Sequence[Answer], tasks: list[_Task]) -> list[tuple[Verdict, ...]]:
        """The verdicts of each task, tried again where its reply decides nothing."""
        tries = [1] * len(tasks)
        # Read once: by `follow`, as each reply comes, and not again when all are there.
        last: list[tuple[Said, tuple[Judged, ...] | Cause] | None] = [None] * len(tasks)

        def read(at: int, said: Said) -> tuple[Judged, ...] | Cause:
            known = last[at]
            if known is None or known[0] is not said:
                known = last[at] = (said, self._read(answers[tasks[at].answer], tasks[at], said))
            return known[1]

        def follow(at: int, said: Said) -> Request | None:
            found = read(at, said)
            if isinstance(said, NoReply) or not isinstance(found, Cause) or tries[at] >= ATTEMPTS:
                return None
            tries[at] += 1
            if tries[at] == 2:
                return repair_request(tasks[at].request, said.text, found.detail)
            return replace(tasks[at].request, seed=derive_seed("again", tasks[at].request.seed or 0) % (1 << 31))

        replies = _asked(self._model, [task.request for task in tasks], follow)
        decided: list[tuple[Verdict, ...]] = []
        for at, said in enumerate(replies):
            found = read(at, said)
            decided.append(_unjudged(found, tasks[at].criteria) if isinstance(found, Cause) else found)
        return decided

    def _read(self, answer: Answer, task: _Task, reply: Said) -> tuple[Judged, ...] | Cause:
        """What a reply decides, or why it decides nothing."""
        if isinstance(reply, NoReply):
            return Cause("answer" if reply.code in ANSWERS_FAULT else "infrastructure", reply.code, reply.detail)
        if reply.finish == "length":
            # The answer's fault too: else it could leave its group by making the judge talk on and on.
            return Cause(
                "answer", "cut_off", "the reply was cut off before its end (if it is for all: raise max_tokens)"
            )
        try:
            verdicts = read_reply(reply.text, task.criteria, answer.text)
        except ValueError as error:
            return Cause("answer", "unparseable", " ".join(str(error).split())[:200])
        if self.options.support == "demand":
            loose = [
                criterion.key
                for criterion, verdict in zip(task.criteria, verdicts, strict=True)
                if verdict.value > criterion.tiers[0].value and not supported(verdict)
            ]
            if loose:
                detail = f"what is quoted for {', '.join(loose)} does not stand in the answer"
                return Cause("answer", "unsupported", detail)
        return verdicts


def _unjudged(cause: Cause, criteria: Sequence[Criterion]) -> tuple[Verdict, ...]:
    return tuple(Unjudged(cause, CRITIC) for _ in criteria)


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


def _turned(criteria: tuple[Criterion, ...], sample: int) -> tuple[Criterion, ...]:
    """The criteria in another order for each sample: what is asked first is judged otherwise than the last."""
    start = sample % len(criteria)
    return criteria[start:] + criteria[:start]


def _mean(criterion: Criterion, verdicts: list[Verdict]) -> Verdict:
    """Of several samples; one that failed fails the verdict, by infrastructure first: nothing is averaged over what
    could be judged."""
    for kind in ("infrastructure", "answer"):
        for verdict in verdicts:
            if isinstance(verdict, Unjudged) and verdict.cause.kind == kind:
                return verdict
    judged = [verdict for verdict in verdicts if isinstance(verdict, Judged)]
    if len(judged) == 1:
        return judged[0]
    values = [verdict.value for verdict in judged]
    value = fmean(values)
    note = Evidence(f"mean of {len(values)} judgements from {min(values):.2f} to {max(values):.2f}")
    return Judged(value, criterion.tier_of(value), CRITIC, (note, *judged[0].evidence))


def _with(verdict: Verdict, marks: tuple[Evidence, ...]) -> Verdict:
    if not marks or isinstance(verdict, Unjudged):
        return verdict
    return replace(verdict, evidence=(*verdict.evidence, *marks))


class JudgeCritics:
    name = CRITIC

    """Several judge critics as one: a part for each set of options."""

    def __init__(self, parts: Sequence[JudgeCritic]) -> None:
        self._parts = tuple(parts)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for part in self._parts for key in part.keys)

    @property
    def spares(self) -> bool:
        """Whether no part wants to be asked anyhow."""
        return all(part.spares for part in self._parts)

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """As each part does."""
        columns = [part.judge(answers) for part in self._parts]
        return [tuple(verdict for row in rows for verdict in row) for rows in zip(*columns, strict=True)]


@critic_registry.register("judge")
def make_judge_critic(criteria: Sequence[Criterion], tools: Tools) -> JudgeCritic | JudgeCritics:
    """The critic for all judge criteria of a rubric. No judge, no pretending: raises SetupError where none is
    configured, and RubricError for an option that it does not know."""
    options: dict[JudgeOptions, list[Criterion]] = {}
    for criterion in criteria:
        options.setdefault(_options(criterion), []).append(criterion)
    if tools.judge is None:
        keys = ", ".join(criterion.key for criterion in criteria)
        raise SetupError(
            f"criteria decided by a judge need one, and none is configured ({keys}): "
            "name an endpoint under `judge` in the recipe or with --judge, or give these criteria a check or an"
            " exemplar critic"
        )
    model = tools.judge()
    parts = [JudgeCritic(part, model, chosen) for chosen, part in options.items()]
    return parts[0] if len(parts) == 1 else JudgeCritics(parts)


def _options(criterion: Criterion) -> JudgeOptions:
    try:
        return JudgeOptions.model_validate(criterion.critic.options)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RubricError(
            f"criterion {criterion.key!r}: judge option {place!r}: {first['msg']}; there are: "
            f"{', '.join(JudgeOptions.model_fields)}"
        ) from error
