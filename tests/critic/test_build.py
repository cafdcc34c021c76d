"""From a rubric to its critics."""

from typing import Any

import pytest

from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.build import build_critics
from rubric_anchors.rubric.model import Rubric

TIERS = [{"means": "no", "anchors": ["No."]}, {"means": "yes", "anchors": ["Yes."]}]


def nothing() -> Any:
    raise AssertionError("building critics loads no model")


TOOLS = Tools(encoder=nothing, likelihood=nothing)


def rubric(*critics: object) -> Rubric:
    criteria = [{"key": f"c{at}", "ask": "a", "critic": critic, "tiers": TIERS} for at, critic in enumerate(critics)]
    return Rubric.model_validate({"id": "r", "criteria": criteria})


def test_each_criterion_has_one_critic_and_each_kind_one() -> None:
    critics = build_critics(rubric({"check": "quoted"}, "exemplar", {"check": "title"}), TOOLS)
    assert [critic.keys for critic in critics] == [("c0", "c2"), ("c1",)]


def test_an_unknown_kind_is_refused_with_the_near_name() -> None:
    with pytest.raises(
        RubricError, match=r"rubric 'r', criterion 'c0': no kind of critic 'exemplr'; did you mean 'exemplar'"
    ):
        build_critics(rubric("exemplr"), TOOLS)


def test_an_unknown_check_names_rubric_and_criterion() -> None:
    with pytest.raises(RubricError, match=r"rubric 'r': criterion 'c1': no check 'titel'; did you mean 'title'"):
        build_critics(rubric({"check": "quoted"}, {"check": "titel"}), TOOLS)


def test_a_rubric_that_needs_a_judge_stops_where_there_is_none() -> None:
    with pytest.raises(SetupError, match=r"need one, and none is configured \(c0\)"):
        build_critics(rubric("judge"), TOOLS)
