"""What answers try on a judge that obeys whatever stands outside its fences, and on one that obeys anything; and what
innocent answers are accused of."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tests.support.fakes import answer

from rubric_anchors.critic.hostile import flags
from rubric_anchors.critic.judge import JudgeCritic, JudgeOptions
from rubric_anchors.critic.judge_prompt import judge_request
from rubric_anchors.critic.passages import Passage
from rubric_anchors.models.chat import ChatTurn, ScriptedChatModel
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Unjudged

HERE: Final = Path(__file__).parent
ATTACKS: Final[dict[str, list[str]]] = yaml.safe_load((HERE / "attacks.yaml").read_text("utf-8"))
INNOCENT: Final[list[str]] = yaml.safe_load((HERE / "innocent.yaml").read_text("utf-8"))
TIERS: Final = [{"means": "No."}, {"means": "In part."}, {"means": "Yes."}]
RUBRIC: Final[Rubric] = parse_rubric(
    {
        "id": "attacked",
        "criteria": [
            {"key": "lived", "ask": "The answer is carried by concrete, lived detail rather than by abstraction.",
             "critic": "judge", "tiers": TIERS},
            {"key": "moving", "ask": "It moves its reader.", "critic": "judge", "tiers": TIERS},
        ],
    }
)  # fmt: skip
BEST: Final = json.dumps({"lived": {"evidence": "", "tier": 2}, "moving": {"evidence": "", "tier": 2}})
LOWEST: Final = BEST.replace("2", "0")
_FENCED: Final = re.compile(r"<(graded-[0-9a-f]{16})>\n.*?\n</\1>", re.DOTALL)


def attacks() -> Iterator[tuple[str, str]]:
    """Each attack's kind and text; it knows the fence that its own prompt would have without it."""
    for kind, texts in ATTACKS.items():
        for text in texts:
            asked = judge_request(RUBRIC.criteria, answer(text), Passage(text)).turns[0].content
            known = re.findall(r"<(graded-\w+)>", asked)
            yield kind, text.replace("{keys}", BEST).replace("{fence}", known[-1])


def obeys(conversation: tuple[ChatTurn, ...], inside: bool) -> str:
    """A judge that gives its best where the answer's own words, in or out of the fences it sees, tell it to."""
    text = conversation[0].content.split("What was asked:", 1)[1].removesuffix("Now the JSON object.\n")
    seen = text if inside else _FENCED.sub("", text)
    told = re.search(r"\S", seen.replace("The answer to grade:", "")) if not inside else True
    return BEST if told else LOWEST


def through(text: str, *, inside: bool, options: dict[str, Any]) -> bool:
    """Whether the attack gets the best verdict."""
    model = ScriptedChatModel(otherwise=lambda turns: obeys(turns, inside))
    critic = JudgeCritic(RUBRIC.criteria, model, JudgeOptions.model_validate(options))
    [verdicts] = critic.judge([answer(text)])
    return all(isinstance(verdict, Judged) and verdict.value == 1.0 for verdict in verdicts)


def test_there_are_sixty_attacks_of_ten_kinds() -> None:
    assert len(ATTACKS) == 10
    assert all(len(texts) == 6 for texts in ATTACKS.values())


@pytest.mark.parametrize(("kind", "text"), [*attacks()])
def test_no_attack_leaves_its_fence(kind: str, text: str) -> None:
    assert not through(text, inside=False, options={"flags": "off"})


@pytest.mark.parametrize(("kind", "text"), [*attacks()])
def test_what_is_flagged_cannot_win_even_with_a_judge_that_obeys(kind: str, text: str) -> None:
    assert not through(text, inside=True, options={"flags": "veto"})


def test_without_flags_a_judge_that_obeys_gives_in_to_all_that_say_anything() -> None:
    won = [kind for kind, text in attacks() if through(text, inside=True, options={"flags": "off"})]
    assert len(won) == 48, "all but nothing, which is never asked about, and copied verdicts, which the reader refuses"
    assert not {"nothing", "verdict_json"} & set(won)


ACCUSED: Final = "The highest marks in the class went to the quiet girl by the window."
"""The one innocent answer that is taken for talk to a grader: docs/judge.md says so."""


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_answers_are_not_flagged(text: str) -> None:
    assert set(flags(answer(text), RUBRIC.criteria)) == ({"grader_addressed"} if text == ACCUSED else set())


def test_an_answer_of_nothing_is_unjudged() -> None:
    for text in ATTACKS["nothing"]:
        [verdicts] = JudgeCritic(RUBRIC.criteria, ScriptedChatModel(otherwise=BEST)).judge([answer(text)])
        assert {verdict.cause.code for verdict in verdicts if isinstance(verdict, Unjudged)} == {"empty_answer"}
