"""The critic of kind `judge`: language models decide all judge criteria of a rubric, by default in one call an answer.

Options, under `with`, stand in `judge_options`. What becomes of failures: a call that failed is a cause of kind
`infrastructure`, and the answer leaves its group. An answer that cannot be judged on repeated tries, that floods the
context, is empty, or (with `flags: veto`) tries something on the judge, is a cause of kind `answer`: the rubric's
`unjudgeable` policy gives it the worst. So it never pays to break the judge.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random

from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.core.words import near
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.hostile import Flag, flags
from rubric_anchors.critic.judge_asking import CRITIC, Ask, Reading, decide, unjudged
from rubric_anchors.critic.judge_expected import expected, tier_places
from rubric_anchors.critic.judge_group import alone, groups, ranked, read_places
from rubric_anchors.critic.judge_ladder import comparison, placed, read_comparison, rungs
from rubric_anchors.critic.judge_merge import merged
from rubric_anchors.critic.judge_options import JudgeOptions as JudgeOptions
from rubric_anchors.critic.judge_options import judge_options
from rubric_anchors.critic.judge_prompt import ALTERNATIVES, judge_request
from rubric_anchors.critic.kinds import critic_registry
from rubric_anchors.critic.passages import Passage, passages
from rubric_anchors.critic.verdict_reply import read_reply, supported, verdict_start
from rubric_anchors.models.anew import Anew
from rubric_anchors.models.chat import SEEDS, ChatModel, Reply
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Cause, Evidence, Unjudged, Verdict

Stretches = Mapping[int, tuple[Passage, ...]]
"""The passages of each answer that a model is asked about, by the answer's number."""


class JudgeCritic:
    """Decides criteria by asking chat models; all answers are asked about together.

    `model`: one judge, or several by name, which decide together. `again`: as in `Tools`.
    """

    name = CRITIC

    def __init__(
        self,
        criteria: Sequence[Criterion],
        model: ChatModel | Mapping[str, ChatModel],
        options: JudgeOptions | None = None,
        again: int = 0,
    ) -> None:
        self._criteria = tuple(criteria)
        models = dict(model) if isinstance(model, Mapping) else {"judge": model}
        self._models = {name: Anew(one, again) for name, one in models.items()} if again else models
        self._again = again
        self.options = options or JudgeOptions()

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(criterion.key for criterion in self._criteria)

    @property
    def spares(self) -> bool:
        """Whether it need not be asked about answers that are worth nothing anyhow."""
        return not self.options.always

    @property
    def relative(self) -> bool:
        """Whether a verdict depends on the other answers to the prompt, so that they must come together."""
        return self.options.mode == "group"

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """For each answer a verdict for each criterion. Raises SetupError where a model cannot be asked at all."""
        marks = [flags(answer, self._criteria) for answer in answers]
        found: dict[int, tuple[Verdict, ...]] = {}
        stretches: dict[int, tuple[Passage, ...]] = {}
        for at, answer in enumerate(answers):
            cause = self._beforehand(answer, marks[at])
            try:
                stretches[at] = passages(answer.text, self.options.long, self.options.longest)
            except ValueError as error:
                cause = cause or Cause("answer", "too_long", str(error))
            if cause is not None:
                stretches.pop(at, None)
                found[at] = unjudged(cause, self._criteria)
        ways = {"compare": self._compared, "group": self._grouped}
        decided = ways.get(self.options.mode, self._asked)(answers, stretches)
        for at, verdicts in decided.items():
            marked = tuple(item for flag, item in marks[at].items() if self.options.act(flag) == "mark")
            found[at] = tuple(_with(verdict, marked) for verdict in verdicts)
        return [found[at] for at in range(len(answers))]

    def _beforehand(self, answer: Answer, marks: Mapping[Flag, Evidence]) -> Cause | None:
        """Why no model need be asked about the answer; None: one is asked."""
        if not answer.view.norm.strip():  # what only holds characters that cannot be seen is empty too
            return Cause("answer", "empty_answer", "there is nothing to judge")
        vetoed = (Cause("answer", flag, mark.note) for flag, mark in marks.items() if self.options.act(flag) == "veto")
        return next(vetoed, None)

    def _asked(self, answers: Sequence[Answer], stretches: Stretches) -> dict[int, tuple[Verdict, ...]]:
        """By verdicts on tiers: chunks merged first, then those who judged."""
        read: dict[tuple[int, str, str], list[Verdict]] = {}
        for name, model in self._models.items():
            asks = list(self._asks(name, answers, stretches))
            for ask, verdicts in zip(asks, decide(model, asks, self._read), strict=True):
                for criterion, verdict in zip(ask.criteria, verdicts, strict=True):
                    read.setdefault((ask.answer, criterion.key, ask.voter), []).append(_moved(verdict, ask.passage))
        voted: dict[tuple[int, str], list[tuple[str, Verdict]]] = {}
        by_key = {criterion.key: criterion for criterion in self._criteria}
        for (at, key, voter), parts in read.items():
            named = [(f"part {number}", verdict) for number, verdict in enumerate(parts, 1)]
            one = merged(by_key[key], named, self.options.chunks, "parts")
            voted.setdefault((at, key), []).append((voter.rpartition("#")[0], one))
        return {
            at: tuple(merged(one, voted[at, one.key], self.options.merge, "judgements") for one in self._criteria)
            for at in stretches
        }

    def _asks(self, model: str, answers: Sequence[Answer], stretches: Stretches) -> Iterator[Ask]:
        """Requests that share a beginning stand next to each other: of one prompt, then of one order of criteria."""
        size = self.options.per_call or len(self._criteria)
        alternatives = ALTERNATIVES if self.options.mode == "expected" else 0
        by_prompt: dict[object, list[int]] = {}
        for at in stretches:
            by_prompt.setdefault(answers[at].prompt, []).append(at)
        votes = [(wording, sample) for wording in self.options.wordings for sample in range(self.options.samples)]
        for group in by_prompt.values():
            for wording, sample in votes:
                voter = f"{model}/{wording}" if len(self.options.wordings) > 1 else model
                order = self._order(sample)
                parts = [order[start : start + size] for start in range(0, len(order), size)]
                seed = derive_seed("judge", sample) % SEEDS if sample else None
                shared = [(at, passage) for at in group for passage in stretches[at]]
                for at, passage in shared:
                    for part in parts:
                        request = judge_request(
                            part,
                            answers[at],
                            passage,
                            wording=wording,
                            apart=len(parts) > 1,
                            seed=seed,
                            alternatives=alternatives,
                        )
                        yield Ask(at, part, passage, f"{voter}#{sample}", request)

    def _order(self, sample: int) -> tuple[Criterion, ...]:
        """The criteria as they are asked about: shuffled by their own content, whatever order a file has them in, and
        moved on by one for each sample, so that each stands everywhere in turn."""
        start = sample % len(self._criteria)
        return self._shuffled[start:] + self._shuffled[:start]

    @cached_property
    def _shuffled(self) -> tuple[Criterion, ...]:
        order = sorted(self._criteria, key=lambda one: one.key)
        random = Random(derive_seed("order", *(one.content_id for one in order)))
        random.shuffle(order)
        for _ in range(self._again if len(order) > 1 else 0):
            before = [*order]
            while order == before:
                random.shuffle(order)
        return tuple(order)

    def _read(self, ask: Ask, reply: Reply) -> Reading:
        """What a reply decides. Raises ValueError where it holds no verdict."""
        text = ask.passage.text
        judged = read_reply(reply.text, ask.criteria, text)
        verdicts: list[Verdict] = list(judged)
        if self.options.mode == "expected":
            places = tier_places(reply.text, verdict_start(reply.text, ask.criteria, text))
            verdicts = [
                expected(criterion, named, reply.tokens, reply.text, places[criterion.key], self.options.mass)
                for criterion, named in zip(ask.criteria, judged, strict=True)
            ]
        loose: list[str] = []
        if self.options.support == "demand":
            for at, (criterion, named) in enumerate(zip(ask.criteria, judged, strict=True)):
                if named.value > criterion.tiers[0].value and not supported(named):
                    loose.append(criterion.key)
                    cause = Cause("answer", "unsupported", "what is quoted does not stand in the answer")
                    verdicts[at] = Unjudged(cause, CRITIC)
        if loose:
            fault = f"what is quoted for {', '.join(loose)} does not stand in the answer"
            return Reading(tuple(verdicts), fault, attempts=2)
        shaky = [one.cause for one in verdicts if isinstance(one, Unjudged) and one.cause.kind == "answer"]
        return Reading(tuple(verdicts), shaky[0].detail if shaky else "")

    def _compared(self, answers: Sequence[Answer], stretches: Stretches) -> dict[int, tuple[Verdict, ...]]:
        """By comparisons with every anchor, in both orders."""
        asks = [
            Ask(at, (criterion,), passage, "", comparison(criterion, answers[at], passage, rung, answer_first=first))
            for at, [passage] in stretches.items()
            for criterion in self._shuffled
            for rung in range(len(rungs(criterion)))
            for first in (True, False)
        ]
        [model] = self._models.values()
        said: dict[tuple[int, str], list[Verdict]] = {}
        for ask, [verdict] in zip(asks, decide(model, asks, read_comparison), strict=True):
            said.setdefault((ask.answer, ask.criteria[0].key), []).append(verdict)
        return {at: tuple(placed(one, said[at, one.key]) for one in self._criteria) for at in stretches}

    def _grouped(self, answers: Sequence[Answer], stretches: Stretches) -> dict[int, tuple[Verdict, ...]]:
        """By places among the answers to the same prompt, in two orders."""
        size = self.options.per_call or len(self._criteria)
        parts = [self._shuffled[start : start + size] for start in range(0, len(self._shuffled), size)]
        found = groups(answers, stretches, self.options.longest, self._again)
        shown = [order for group in found if len(group.answers) > 1 for order in (group, group.backwards)]
        asks = [order.asks(answers[order.answers[0]], part, at) for at, order in enumerate(shown) for part in parts]

        def read(ask: Ask, reply: Reply) -> Reading:
            return read_places(ask, reply, shown[ask.answer])

        [model] = self._models.values()
        rows: list[list[Verdict]] = [[] for _ in shown]
        for ask, verdicts in zip(asks, decide(model, asks, read), strict=True):
            rows[ask.answer] += verdicts
        pairs = iter(zip(rows[::2], rows[1::2], strict=True))
        decided: dict[int, tuple[Verdict, ...]] = {}
        for group in found:
            many = len(group.answers) > 1
            table = ranked(self._shuffled, *next(pairs)) if many else [alone(self._shuffled)]
            for at, row in zip(group.answers, table, strict=True):
                by_key = {one.key: verdict for one, verdict in zip(self._shuffled, row, strict=True)}
                decided[at] = tuple(by_key[key] for key in self.keys)
        return decided


def _moved(verdict: Verdict, passage: Passage) -> Verdict:
    """The verdict on a passage with its evidence's places in the whole answer."""
    if isinstance(verdict, Unjudged) or not passage.start:
        return verdict
    evidence = tuple(
        Evidence(item.note, item.start + passage.start, item.end + passage.start)
        if item.start is not None and item.end is not None
        else item
        for item in verdict.evidence
    )
    return replace(verdict, evidence=evidence)


def _with(verdict: Verdict, marks: tuple[Evidence, ...]) -> Verdict:
    if not marks or isinstance(verdict, Unjudged):
        return verdict
    return replace(verdict, evidence=(*verdict.evidence, *marks))


class JudgeCritics:
    """Several judge critics as one: a part for each set of options."""

    name = CRITIC

    def __init__(self, parts: Sequence[JudgeCritic]) -> None:
        self._parts = tuple(parts)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for part in self._parts for key in part.keys)

    @property
    def spares(self) -> bool:
        """Whether no part wants to be asked anyhow."""
        return all(part.spares for part in self._parts)

    @property
    def relative(self) -> bool:
        """Whether a part judges answers against each other."""
        return any(part.relative for part in self._parts)

    def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
        """As each part does."""
        columns = [part.judge(answers) for part in self._parts]
        return [tuple(verdict for row in rows for verdict in row) for rows in zip(*columns, strict=True)]


@critic_registry.register("judge")
def make_judge_critic(criteria: Sequence[Criterion], tools: Tools) -> JudgeCritic | JudgeCritics:
    """The critic for all judge criteria of a rubric. No judge, no pretending: raises SetupError where none is
    configured, and RubricError for an option, or the name of a judge, that it does not know."""
    options: dict[JudgeOptions, list[Criterion]] = {}
    for criterion in criteria:
        options.setdefault(judge_options(criterion), []).append(criterion)
    parts = [JudgeCritic(part, _models(part, chosen, tools), chosen, tools.again) for chosen, part in options.items()]
    return parts[0] if len(parts) == 1 else JudgeCritics(parts)


def _models(criteria: Sequence[Criterion], options: JudgeOptions, tools: Tools) -> dict[str, ChatModel]:
    unknown = next((name for name in options.models if name not in tools.judges), None)
    if unknown is not None:
        there = f"{near(unknown, tools.judges)}; there are: {', '.join(tools.judges) or 'none'}"
        raise RubricError(f"criterion {criteria[0].key!r}: no judge is called {unknown!r}{there}")
    if options.models:
        return {name: tools.judges[name]() for name in options.models}
    if tools.judge is None:
        keys = ", ".join(criterion.key for criterion in criteria)
        raise SetupError(
            f"criteria decided by a judge need one, and none is configured ({keys}): "
            "name an endpoint under `judge` in the recipe or with --judge, or give these criteria a check or an"
            " exemplar critic"
        )
    return {"judge": tools.judge()}
