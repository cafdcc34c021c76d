"""Shrinking: the formula, what is left out, what stays for a veto or a relation, and what is refused."""

from typing import Any

import pytest

from rubric_anchors.core.errors import InputError, Refused
from rubric_anchors.evaluate.calibration import Calibration, Target
from rubric_anchors.evaluate.resample import Figure
from rubric_anchors.evaluate.shrink import shrink, shrink_factor
from rubric_anchors.rubric.dump import dump_rubric
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric


def rubric(*criteria: dict[str, Any], **more: Any) -> Rubric:
    filled = [{"ask": "It is so.", "critic": {"check": "word_count", "with": {"min": 1}}, **each} for each in criteria]
    return parse_rubric({"id": "mine", "criteria": filled, **more})


def target(key: str, low: float | None) -> Target:
    order = Figure(value=None, n=0, reason="silent") if low is None else Figure(value=0.9, low=low, high=1.0, n=50)
    return Target(key=key, kind="reward" if key == "reward" else "criterion", used=50, unlabelled=0, raters=1,
                  figures={"order": order})  # fmt: skip


def found(of: Rubric, **lows: float | None) -> Calibration:
    targets = tuple(target(key, low) for key, low in lows.items())
    return Calibration(
        data="d.jsonl", rubric=of.id, rubric_content_id=of.content_id, kind="scores", rows=50, left_out=0,
        clusters="prompt", seed=0, targets=targets,
    )  # fmt: skip


@pytest.mark.parametrize(("low", "factor"), [(1.0, 1.0), (0.75, 0.5), (0.5, 0.0), (0.2, 0.0), (None, 0.0)])
def test_the_factor_is_twice_the_lower_end_less_one_and_never_below_0(low: float | None, factor: float) -> None:
    assert shrink_factor(target("a", low)) == pytest.approx(factor)


def test_weights_are_multiplied_and_a_criterion_that_nobody_labelled_keeps_its_own() -> None:
    mine = rubric({"key": "a", "weight": 2}, {"key": "b", "weight": -3}, {"key": "c", "weight": 4})
    made = shrink(mine, found(mine, a=0.75, b=0.6, reward=0.5))
    assert {each.key: each.weight for each in made.criteria} == {"a": 1.0, "b": pytest.approx(-0.6), "c": 4.0}
    assert made.id == "mine-shrunk"
    assert mine.content_id in made.provenance.source
    assert "d.jsonl" in made.provenance.source
    assert parse_rubric(dump_rubric(made)) == made


def test_what_has_no_weight_left_is_left_out_but_for_a_veto_or_a_relation() -> None:
    mine = rubric(
        {"key": "a"}, {"key": "b"}, {"key": "c", "veto": {"below": 0.5}}, {"key": "d"}, {"key": "e"},
        relations=[{"interact": {"keys": ["a", "d"], "kind": "gate"}}],
    )  # fmt: skip
    made = shrink(mine, found(mine, b=0.4, c=0.4, d=None, e=0.9))
    assert {each.key: each.weight for each in made.criteria} == {"a": 1.0, "c": 0.0, "d": 0.0, "e": 0.8}


def test_a_rubric_of_which_nothing_is_left_is_refused() -> None:
    mine = rubric({"key": "a"}, {"key": "b", "veto": {"below": 0.5}})
    with pytest.raises(Refused, match="no criterion is shown to agree"):
        shrink(mine, found(mine, a=0.5, b=0.1))


def test_a_formula_that_needs_what_was_left_out_is_refused_in_one_line() -> None:
    mine = rubric({"key": "a"}, {"key": "b", "weight": -1}, reward={"formula": "healthbench"})
    with pytest.raises(Refused, match=r"cannot be shrunk: .*positive weight"):
        shrink(mine, found(mine, a=0.3, b=0.9))


def test_figures_of_another_rubric_are_refused() -> None:
    mine, other = rubric({"key": "a"}), rubric({"key": "a", "weight": 2})
    with pytest.raises(InputError, match="the calibration is of rubric"):
        shrink(mine, found(other, a=0.9))
