"""Answers before and after, side by side, each with its scorecard and the way to its reward."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from rubric_anchors.critic.answer import without_reasoning
from rubric_anchors.report.figures import Fall, waterfall
from rubric_anchors.report.text import Passage, as_float, passages
from rubric_anchors.rubric.model import NO_AND_YES, Criterion, Rubric
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import SamplePair, SampleSide

SHOWN: Final = 60
"""Pairs on the page; the rest stay in samples.json, and the page says so."""
OPEN: Final = 6
"""Pairs that start unfolded."""
MOVED: Final = 0.05
"""A change in a criterion's value that the scorecard sets in bold."""


@dataclass(frozen=True, slots=True)
class Verdict:
    key: str
    value: float | None
    tier: int | None
    means: str
    """What the tier says, where the rubric is at hand."""
    critic: str
    notes: tuple[str, ...]
    cause: str


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    delta: float
    note: str
    fall: Fall


@dataclass(frozen=True, slots=True)
class Side:
    title: str
    reward: float | None
    passages: tuple[Passage, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A criterion of a pair's scorecard; a side is None where that answer has no verdict on it."""

    key: str
    label: str
    """The key without its rubric's id, where that is enough to tell the rows of the card apart."""
    ask: str
    before: Verdict | None
    after: Verdict | None

    @property
    def moved(self) -> bool:
        """Whether the change is large enough to catch the eye."""
        before, after = (side.value if side else None for side in (self.before, self.after))
        return before is not None and after is not None and abs(after - before) >= MOVED


@dataclass(frozen=True, slots=True)
class Pair:
    prompt_id: str
    family: str
    prompt: str
    change: float | None
    sides: tuple[Side, Side]
    card: tuple[Row, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Samples:
    pairs: tuple[Pair, ...]
    left_out: int


def samples(run: RunFolder) -> Samples:
    criteria = criteria_by_key(run.rubrics())
    pairs = run.samples()
    return Samples(
        pairs=tuple(_pair(pair, criteria, index < OPEN) for index, pair in enumerate(pairs[:SHOWN])),
        left_out=max(0, len(pairs) - SHOWN),
    )


def criteria_by_key(rubrics: Sequence[Rubric]) -> dict[str, Criterion]:
    """Criteria as verdicts name them: by `rubric/key`, and by `key` alone where one rubric has it."""
    found = {f"{rubric.id}/{criterion.key}": criterion for rubric in rubrics for criterion in rubric.criteria}
    plain = [criterion.key for rubric in rubrics for criterion in rubric.criteria]
    for rubric in rubrics:
        found.update({each.key: each for each in rubric.criteria if plain.count(each.key) == 1})
    return found


def _pair(pair: SamplePair, criteria: Mapping[str, Criterion], is_open: bool) -> Pair:
    before, after = pair.before.reward, pair.after.reward
    return Pair(
        prompt_id=pair.prompt_id,
        family=pair.family,
        prompt=pair.prompt,
        change=after - before if after is not None and before is not None else None,
        sides=(_side("Before", pair.before), _side("After", pair.after)),
        card=_card(pair, criteria),
        open=is_open,
    )


def _card(pair: SamplePair, criteria: Mapping[str, Criterion]) -> tuple[Row, ...]:
    def read(side: SampleSide, key: str) -> Verdict | None:
        return _verdict(key, side.verdicts[key], criteria.get(key)) if key in side.verdicts else None

    keys = dict.fromkeys((*pair.before.verdicts, *pair.after.verdicts))
    short = Counter(key.rpartition("/")[2] for key in keys)
    return tuple(
        Row(
            key=key,
            label=last if last and short[last] == 1 else key,
            ask=criteria[key].ask if key in criteria else "",
            before=read(pair.before, key),
            after=read(pair.after, key),
        )
        for key in keys
        for last in [key.rpartition("/")[2]]
    )


def _side(title: str, side: SampleSide) -> Side:
    deltas = [as_float(item.get("delta")) or 0.0 for item in side.contributions]
    return Side(
        title=title,
        reward=side.reward,
        passages=passages(side.response, side.verdicts, len(side.response) - len(without_reasoning(side.response))),
        steps=tuple(
            Step(str(item.get("step", "")), delta, str(item.get("note", "")), fall)
            for item, delta, fall in zip(side.contributions, deltas, waterfall(deltas), strict=True)
        ),
    )


def _verdict(key: str, verdict: JsonValue, criterion: Criterion | None) -> Verdict:
    seen = verdict if isinstance(verdict, dict) else {}
    tier, evidence, cause = seen.get("tier"), seen.get("evidence"), seen.get("cause")
    place = tier if isinstance(tier, int) else None
    means = [tier.means for tier in criterion.tiers] if criterion else []
    found = [item for item in evidence if isinstance(item, dict)] if isinstance(evidence, list) else []
    # What has a place is marked in the answer itself.
    notes = [str(item["note"]) for item in found if item.get("note") and item.get("start") is None]
    return Verdict(
        key=key,
        value=as_float(seen.get("value")),
        tier=place,
        # "No." beside 0.91 would mislead: the plain ladder of a check says nothing that its value does not.
        means=means[place] if place is not None and place in range(len(means)) and tuple(means) != NO_AND_YES else "",
        critic=str(seen.get("critic", "")),
        notes=tuple(dict.fromkeys(notes)),
        cause=f"{cause.get('code', 'unknown')}: {cause.get('detail', '')}".rstrip(": ")
        if isinstance(cause, dict)
        else "",
    )
