"""Breaking the judge never pays: whichever criteria an answer keeps from being judged, in whatever rubric."""

import json
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aggregate.test_properties import answers, rubrics
from tests.support.fakes import answer

from rubric_anchors.aggregate import Plan, aggregate, rewards
from rubric_anchors.critic.judge import JudgeCritic, JudgeOptions
from rubric_anchors.models.chat import ChatTurn, ScriptedChatModel
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Scorecard, Scored, Unjudged

WAYS = ("no", "", "{", '{"k0": {"tier": 2}}', "<think>it will not end", "[" * 5000)


def advantage(own: float, others: np.ndarray) -> float:
    """GRPO's: the distance from the group's mean in its standard deviations."""
    group = np.append(others, own)
    return float((own - group.mean()) / (group.std() + 1e-4))


@given(rubrics(), st.data())
@settings(max_examples=80, deadline=None, derandomize=True, database=None)
def test_no_answer_gains_in_its_group_by_breaking_the_judge_on_any_of_its_criteria(
    rubric: Rubric, data: st.DataObject
) -> None:
    plan = Plan.compile(rubric)
    broken = data.draw(st.sets(st.sampled_from(rubric.keys), min_size=1))
    tiers = {key: data.draw(st.integers(0, 2)) for key in rubric.keys}
    way = data.draw(st.sampled_from(WAYS))

    def says(turns: tuple[ChatTurn, ...]) -> str:
        [key] = json.loads(re.findall(r"^\{.*\}$", turns[0].content, re.MULTILINE)[-1])
        return way if key in broken else json.dumps({key: {"evidence": "", "tier": tiers[key]}})

    critic = JudgeCritic(rubric.criteria, ScriptedChatModel(otherwise=says), JudgeOptions(per_call=1))
    [verdicts] = critic.judge([answer("An answer that breaks its judge.")])
    assert {key for key, one in zip(rubric.keys, verdicts, strict=True) if isinstance(one, Unjudged)} == broken
    outcome = aggregate(rubric, Scorecard(rubric.content_id, rubric.keys, verdicts))
    assert isinstance(outcome, Scored)
    known = np.array([one.value if isinstance(one, Judged) else 0.0 for one in verdicts])
    missing = np.array([isinstance(one, Unjudged) for one in verdicts])
    least = float(rewards(plan, np.where(missing, answers(data.draw, plan, 20), known)).min())
    assert outcome.reward <= least + 1e-12
    others = rewards(plan, answers(data.draw, plan, 7))
    assert advantage(outcome.reward, others) <= advantage(least, others) + 1e-9
