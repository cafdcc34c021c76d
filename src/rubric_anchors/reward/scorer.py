"""Answers in, marks out: critics in batches, a rubric at a time, then arithmetic."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rubric_anchors.aggregate import Plan, aggregate, vetoed_already
from rubric_anchors.core.errors import DataError, InputError, SetupError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Critic, Sparing, Tools
from rubric_anchors.critic.build import build_critics
from rubric_anchors.reward.combine import Part, combine
from rubric_anchors.reward.marks import Marks
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Outcome, Scorecard, Unjudged, Verdict

__all__ = ["Marks", "Scorer"]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A rubric with its critics and its plan."""

    rubric: Rubric
    plan: Plan
    critics: tuple[Critic, ...]

    def free(self, answers: Sequence[Answer]) -> list[dict[str, Verdict]]:
        """What the critics say that cost nothing to ask, by key."""
        verdicts: list[dict[str, Verdict]] = [{} for _ in answers]
        for critic in self.critics:
            if not isinstance(critic, Sparing):
                _enter(verdicts, critic, _judged(critic, answers))
        return verdicts

    def vetoed(self, found: Mapping[str, Verdict]) -> str | None:
        """The criterion whose veto has left nothing, by what was found so far; None where there is none."""
        return vetoed_already(self.plan, {key: one.value for key, one in found.items() if isinstance(one, Judged)})

    def finish(
        self, answers: Sequence[Answer], verdicts: Sequence[dict[str, Verdict]], causes: Sequence[Cause | None]
    ) -> list[tuple[Scorecard, Outcome]]:
        """Asks the other critics, which are spared the answers that have a cause in `causes`; adds up."""
        for critic in self.critics:
            if isinstance(critic, Sparing):
                spared = [cause if critic.spares else None for cause in causes]
                rows = iter(
                    _judged(critic, [answer for answer, cause in zip(answers, spared, strict=True) if not cause])
                )
                name = getattr(critic, "name", type(critic).__name__)
                _enter(
                    verdicts,
                    critic,
                    [tuple(Unjudged(cause, name) for _ in critic.keys) if cause else next(rows) for cause in spared],
                )
        keys = self.rubric.keys
        cards = [Scorecard(self.rubric.content_id, keys, tuple(found[key] for key in keys)) for found in verdicts]
        return [(card, aggregate(self.plan, card)) for card in cards]


def _enter(verdicts: Sequence[dict[str, Verdict]], critic: Critic, rows: Sequence[tuple[Verdict, ...]]) -> None:
    for found, row in zip(verdicts, rows, strict=True):
        found.update(zip(critic.keys, row, strict=True))


class Scorer:
    """Scores answers by rubrics.

    `rubrics`: name to rubric; critics are made at once, so that what a rubric asks for and cannot have is said now, and
    models are loaded at the first answer. `weights`: name to the rubric's share in the mean where several judge one
    answer (1 where not named; 0: only its vetoes count).
    """

    def __init__(self, rubrics: Mapping[str, Rubric], tools: Tools, weights: Mapping[str, float] | None = None) -> None:
        self._tools = tools
        self._weights = dict(weights or {})
        for name, weight in self._weights.items():
            if not (math.isfinite(weight) and weight >= 0):
                raise InputError(f"the weight of rubric {name!r} must be finite and not negative; seen {weight}")
        self._ready: dict[str, _Ready] = {}
        for name, rubric in rubrics.items():
            self.add(name, rubric)

    def __contains__(self, name: object) -> bool:
        return name in self._ready

    def add(self, name: str, rubric: Rubric) -> None:
        """Make `rubric` known under `name`. Raises RubricError or SetupError for what it asks for and cannot have."""
        self._ready[name] = _Ready(rubric, Plan.compile(rubric), tuple(build_critics(rubric, self._tools)))

    @property
    def light(self) -> bool:
        """Whether all critics are light (`Check.light`), so that answers may be shared out among processes."""
        return all(getattr(critic, "light", False) for ready in self._ready.values() for critic in ready.critics)

    @property
    def relative(self) -> bool:
        """Whether a critic judges the answers to one prompt against each other, so that they must come together."""
        return any(getattr(critic, "relative", False) for ready in self._ready.values() for critic in ready.critics)

    def use_plan(self, name: str, plan: Plan) -> None:
        """Aggregate `name` by `plan`, the same rubric's with other weights, from now on. Else raises InputError."""
        ready = self._ready[name]
        if plan.rubric != ready.rubric.content_id:
            raise InputError(f"the plan is of rubric {plan.rubric}, and {name!r} is {ready.rubric.content_id}")
        self._ready[name] = _Ready(ready.rubric, plan, ready.critics)

    def forget(self, name: str) -> None:
        """The opposite of `add`."""
        self._ready.pop(name, None)

    def score(self, answers: Sequence[Answer], rubric_ids: Sequence[tuple[str, ...]]) -> list[Marks]:
        """The marks of each answer by the rubrics named for it, in order.

        The same answer to the same prompt is judged once; each rubric's critics see all its answers in one batch.
        Raises DataError for an answer without a rubric or with an unknown one, SetupError where a model cannot be had.
        """
        if len(answers) != len(rubric_ids):
            raise InputError(
                f"{len(answers)} answers and {len(rubric_ids)} tuples of rubric ids; one an answer is needed"
            )
        for names in dict.fromkeys(rubric_ids):
            self._refuse_unusable(names)
        # One object for equal answers, so that checks of several rubrics share what was read of it.
        same: dict[Answer, Answer] = {}
        asked = [(same.setdefault(answer, answer), names) for answer, names in zip(answers, rubric_ids, strict=True)]
        of_rubric: dict[str, dict[Answer, None]] = {}
        for answer, names in asked:
            for name in names:
                of_rubric.setdefault(name, {})[answer] = None
        judged = self._judged_all(asked, of_rubric)
        made: dict[tuple[Answer, tuple[str, ...]], Marks] = {}
        for answer, names in asked:
            if (answer, names) not in made:
                made[answer, names] = self._marks(names, [judged[name][answer] for name in names])
        return [made[key] for key in asked]

    def _judged_all(
        self, asked: Sequence[tuple[Answer, tuple[str, ...]]], of_rubric: Mapping[str, Mapping[Answer, None]]
    ) -> dict[str, dict[Answer, tuple[Scorecard, Outcome]]]:
        """Critics that cost nothing first, over all rubrics: any one's veto holds for all, and what it has brought to
        nothing no judge is asked about."""
        free = {
            name: dict(zip(group, self._ready[name].free(list(group)), strict=True))
            for name, group in of_rubric.items()
        }
        causes: dict[tuple[str, Answer], Cause | None] = {}
        for answer, names in asked:
            fired = ((name, self._ready[name].vetoed(free[name][answer])) for name in names)
            cause = next((_skipped(name, key) for name, key in fired if key), None)
            for name in names:
                # The same answer may stand under other rubrics too, where nothing has vetoed it.
                known = causes.get((name, answer), cause)
                causes[name, answer] = cause and known
        return {
            name: dict(
                zip(
                    group,
                    self._ready[name].finish(
                        list(group), list(free[name].values()), [causes[name, answer] for answer in group]
                    ),
                    strict=True,
                )
            )
            for name, group in of_rubric.items()
        }

    def _marks(self, names: tuple[str, ...], found: Sequence[tuple[Scorecard, Outcome]]) -> Marks:
        parts = [
            Part(name, self._weights.get(name, 1.0), self._ready[name].plan, card, outcome)
            for name, (card, outcome) in zip(names, found, strict=True)
        ]
        several = len(parts) > 1
        verdicts = {f"{part.name}/{key}" if several else key: verdict for part in parts for key, verdict in part.card}
        return Marks(verdicts, combine(parts), names)

    def _refuse_unusable(self, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self._ready]
        if unknown:
            there = ", ".join(sorted(self._ready)[:8]) or "none"
            raise DataError(f"no rubric {unknown[0]!r}; there are: {there}")
        if not names:
            raise DataError("an answer has no rubric to be scored by; name one for its prompt, or one for all")
        if len(set(names)) < len(names):
            raise DataError(f"a rubric stands twice for one answer: {', '.join(names)}")
        if len(names) > 1 and not any(self._weights.get(name, 1.0) for name in names):
            raise DataError(f"rubrics {', '.join(names)} all have weight 0; one of them must carry weight")


def _skipped(rubric: str, key: str) -> Cause:
    return Cause("skipped", "vetoed", f"the veto on {key} of {rubric} leaves nothing: nobody was asked")


def _judged(critic: Critic, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
    """The critic's verdicts. What it raises, and a value that is no number in 0..1, is a fault of its own: the criteria
    are then unjudged."""
    if not answers:
        return []
    try:
        rows = critic.judge(answers)
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001  other packages' critics too: their faults say nothing of the answers
        cause = Cause("infrastructure", "critic_error", " ".join(f"{type(error).__name__}: {error}".split())[:200])
        return [tuple(Unjudged(cause, type(critic).__name__) for _ in critic.keys) for _ in answers]
    if len(rows) != len(answers) or any(len(row) != len(critic.keys) for row in rows):
        raise InputError(
            f"{type(critic).__name__} gave {len(rows)} rows of verdicts for {len(answers)} answers and the criteria "
            f"{', '.join(critic.keys)}; a critic gives one verdict for each of its keys on each answer"
        )
    return [tuple(_sound(verdict) for verdict in row) for row in rows]


def _sound(verdict: Verdict) -> Verdict:
    if isinstance(verdict, Unjudged) or 0.0 <= verdict.value <= 1.0:
        return verdict
    detail = f"the critic gave {verdict.value!r}, which is no number in 0..1"
    return Unjudged(Cause("infrastructure", "critic_error", detail), verdict.critic)
