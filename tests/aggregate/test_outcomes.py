"""From one scorecard to one outcome that can be read."""

import math
from typing import Any

import numpy as np
import pytest

from rubric_anchors.aggregate import Plan, aggregate, explain, worst
from rubric_anchors.core.errors import InputError
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Scorecard, Scored, Unjudged, Unscored

UNPARSEABLE, TIMEOUT = Cause("answer", "unparseable"), Cause("infrastructure", "timeout", "no reply in 30 s")
LEVELS = [{"means": "Not at all."}, {"means": "In part."}, {"means": "Fully."}]


def narrative(**reward: object) -> Rubric:
    """Detail (weight 3, saturating), a cliche pitfall (weight -1), a voice that vetoes, a synergy and a stretch."""
    criteria: list[dict[str, Any]] = [
        {"key": "detail", "weight": 3},
        {"key": "cliche", "weight": -1},
        {"key": "voice", "weight": 0, "veto": {"below": 0.5, "reward": 0.1}},
    ]
    relations = [
        {"saturate": {"key": "detail", "beyond": 0.5}},
        {"interact": {"keys": ["detail", "cliche"], "kind": "synergy", "strength": 0.2}},
    ]
    full = [{"ask": "It is so.", "critic": "judge", "tiers": LEVELS, **criterion} for criterion in criteria]
    shape = {"shape": {"from": 0.7}}
    return Rubric.model_validate({"id": "n", "criteria": full, "relations": relations, "reward": shape | reward})


def card(of: Rubric, *verdicts: float | Cause) -> Scorecard:
    return Scorecard(
        of.content_id,
        of.keys,
        tuple(
            Unjudged(given, "t") if isinstance(given, Cause) else Judged(given, criterion.tier_of(given), "t")
            for given, criterion in zip(verdicts, of.criteria, strict=True)
        ),
    )


def scored(of: Rubric, *verdicts: float | Cause) -> Scored:
    outcome = aggregate(of, card(of, *verdicts))
    assert isinstance(outcome, Scored)
    return outcome


def test_an_outcome_says_which_criterion_weighed_how_much() -> None:
    outcome = scored(narrative(), 0.5, 1.0, 0.0)
    assert [part.step for part in outcome.contributions] == [
        "weighted", "weighted", "saturation", "interaction", "shape", "veto",
    ]  # fmt: skip
    notes = [part.note for part in outcome.contributions]
    assert notes[0] == "detail: goodness 0.5 x weight 3 of 4"
    assert notes[1] == "cliche (pitfall): goodness 0 x weight 1 of 4"
    assert notes[2].startswith("detail counts at 0.25 beyond 0.5")
    assert notes[3] == "synergy of detail and cliche +0.000; brought back from 0..1.2 to 0..1"
    assert notes[4].startswith("stretched from 0.7")
    assert notes[5] == "voice: value 0 below 0.5: reward at most 0.1"
    assert outcome.contributions[0].delta == pytest.approx(0.375)
    assert outcome.reward == 0.1


def test_a_veto_that_does_not_fire_says_so() -> None:
    last = scored(narrative(), 0.5, 0.0, 0.5).contributions[-1]
    assert (last.delta, last.note) == (0.0, "no veto fires")


def test_an_answer_that_broke_its_judging_is_counted_at_its_worst() -> None:
    of = narrative()
    outcome = scored(of, UNPARSEABLE, 0.0, 1.0)
    assert outcome.reward == pytest.approx(scored(of, 0.0, 0.0, 1.0).reward)
    assert "unjudged (unparseable), counted at its worst" in outcome.contributions[0].note


def test_an_unjudged_pitfall_counts_as_fully_there() -> None:
    of = narrative()
    assert scored(of, 1.0, UNPARSEABLE, 1.0).reward == pytest.approx(scored(of, 1.0, 1.0, 1.0).reward)


def test_a_veto_that_an_answer_made_unjudgeable_fires() -> None:
    outcome = scored(narrative(), 1.0, 0.0, UNPARSEABLE)
    assert outcome.reward == 0.1
    assert outcome.contributions[-1].note.startswith("voice: unjudged (unparseable), counted as below 0.5")


def test_the_veto_policy_gives_zero_with_its_reason() -> None:
    outcome = scored(narrative(unjudgeable="veto"), 1.0, UNPARSEABLE, 1.0)
    assert outcome.reward == 0.0
    assert outcome.contributions[-1].step == "veto"
    assert "cannot be judged" in outcome.contributions[-1].note
    assert sum(part.delta for part in outcome.contributions) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("verdicts", [(TIMEOUT, 0.0, 1.0), (1.0, 0.0, TIMEOUT), (UNPARSEABLE, TIMEOUT, 0.0)])
def test_infrastructure_failures_are_unscored_and_name_the_criterion(verdicts: tuple[float | Cause, ...]) -> None:
    of = narrative()
    outcome = aggregate(of, card(of, *verdicts))
    assert isinstance(outcome, Unscored)
    assert outcome.cause.code == "timeout"
    assert outcome.cause.detail == f"{of.keys[verdicts.index(TIMEOUT)]}: no reply in 30 s"


def test_a_verdict_that_can_change_nothing_may_be_missing() -> None:
    criteria = [
        {"key": key, "ask": "So.", "critic": "judge", "tiers": LEVELS, "weight": w} for key, w in (("a", 1), ("b", 0))
    ]
    of = Rubric.model_validate(
        {"id": "idle", "criteria": criteria, "relations": [{"saturate": {"key": "b", "beyond": 0.5}}]}
    )
    assert scored(of, 0.5, TIMEOUT).reward == 0.5


def test_the_worst_of_a_conflict_may_be_the_best_verdict() -> None:
    criteria = [{"key": key, "ask": "So.", "critic": "judge", "tiers": LEVELS} for key in "ab"]
    conflict = {"interact": {"keys": ["a", "b"], "kind": "conflict", "strength": 1.0}}
    of = Rubric.model_validate({"id": "torn", "criteria": criteria, "relations": [conflict]})
    assert scored(of, 1.0, UNPARSEABLE).reward == pytest.approx(scored(of, 1.0, 1.0).reward) == pytest.approx(0.0)


def test_too_many_conflicts_to_search_give_zero() -> None:
    keys = [f"k{at}" for at in range(14)]
    criteria = [{"key": key, "ask": "So.", "critic": "judge", "tiers": LEVELS} for key in keys]
    pairs = [{"interact": {"keys": keys[at : at + 2], "kind": "conflict"}} for at in range(0, 14, 2)]
    of = Rubric.model_validate({"id": "torn", "criteria": criteria, "relations": pairs})
    outcome = scored(of, *[UNPARSEABLE] * 14)
    assert outcome.reward == 0.0
    assert "too many of the 14 unjudged criteria" in outcome.contributions[-1].note
    assert not worst(Plan.compile(of), np.zeros(14), np.ones(14, dtype=np.bool_)).exact


def test_a_scorecard_of_another_rubric_or_off_the_scale_is_refused() -> None:
    of = narrative()
    with pytest.raises(InputError, match="is of rubric"):
        aggregate(of, card(narrative(unjudgeable="veto"), 1.0, 0.0, 1.0))
    for bad in (math.nan, 1.5, -0.1):
        with pytest.raises(InputError, match="'detail' has"):
            aggregate(of, card(of, bad, 0.0, 1.0))
        with pytest.raises(InputError, match=r"in 0\.\.1"):
            explain(Plan.compile(of), np.array([bad, 0.0, 1.0]))
        with pytest.raises(InputError, match=r"in 0\.\.1"):
            worst(Plan.compile(of), np.array([bad, 0.0, 1.0]), np.array([False, True, False]))


def test_gates_and_fading_curves_are_told_in_words() -> None:
    criteria = [{"key": key, "ask": "So.", "critic": "judge", "tiers": LEVELS} for key in "abc"]
    relations = [
        {"saturate": {"key": "a", "beyond": 0.4, "curve": "exponential"}},
        {"interact": {"keys": ["b", "c"], "kind": "gate", "strength": 1.0}},
        {"interact": {"keys": ["a", "b"], "kind": "conflict", "strength": 0.1}},
    ]
    of = Rubric.model_validate({"id": "words", "criteria": criteria, "relations": relations})
    notes = {part.step: part.note for part in scored(of, 1.0, 0.5, 1.0).contributions}
    assert notes["saturation"].startswith("a counts ever less beyond 0.4")
    assert "conflict of a and b -0.050" in notes["interaction"]
    assert "b lets c count 50%" in notes["interaction"]
