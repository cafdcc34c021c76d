"""How findings become verdicts, and how options are refused."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from tests.critic.checks.table import answer
from tests.critic.checks.test_cases import TABLE

from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.check_critic import CheckCritic, make_check_critic
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Judged, Unjudged


def nothing() -> Any:
    raise AssertionError("a plain check asks for no model")


TOOLS = Tools(encoder=nothing, likelihood=nothing)
GOOD = Criterion.model_validate(
    {"key": "good", "ask": "It is good.", "critic": {"check": "word_count", "with": {"min": 2}}}
)


class Brittle(Check):
    """Raises on some answers and gives nonsense on others."""

    name: ClassVar[str] = "brittle"

    def decide(self, answer: Answer) -> Finding:
        if answer.text == "raise":
            raise IndexError("list index\nout of range")
        return Finding({"nan": math.nan, "two": 2.0}.get(answer.text, 0.5))


class Missing(Check):
    """Needs what is not there."""

    name: ClassVar[str] = "missing"

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        raise SetupError("the weights are not there: install them")


class Short(Check):
    """Loses an answer."""

    name: ClassVar[str] = "short"

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        return [Finding(1.0)] * (len(answers) - 1)


def test_a_finding_becomes_a_verdict_with_its_tier() -> None:
    tiers = [{"means": "none"}, {"means": "some"}, {"means": "all"}]
    criterion = Criterion.model_validate(
        {"key": "k", "ask": "a", "tiers": tiers, "critic": {"check": "word_count", "with": {"min": 4, "soft": 4}}}
    )
    rows = make_check_critic([criterion], TOOLS).judge([answer("one"), answer("one two"), answer("a b c d")])
    assert [(row[0].value, row[0].tier, row[0].critic) for row in rows if isinstance(row[0], Judged)] == [
        (0.25, 0, "check:word_count"),
        (0.5, 1, "check:word_count"),
        (1.0, 2, "check:word_count"),
    ]


def test_verdicts_stand_in_the_order_of_the_criteria() -> None:
    other = GOOD.with_changes(key="other", critic={"check": "avoids", "with": {"words": ["two"]}})
    critic = make_check_critic([GOOD, other], TOOLS)
    assert critic.keys == ("good", "other")
    (row,) = critic.judge([answer("one two")])
    assert [verdict.value for verdict in row if isinstance(verdict, Judged)] == [1.0, 0.0]
    assert critic.judge([]) == []


class Careless(Check):
    """Returns what is no finding."""

    name: ClassVar[str] = "careless"

    def decide(self, answer: Answer) -> Finding:
        wrong: Any = {"number": 0.5, "nothing": None}.get(answer.text, Finding(1.0))
        return wrong if answer.text != "none" else Finding(wrong and None)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["number", "nothing", "none"])
def test_what_is_no_finding_is_unjudged_for_that_answer_alone(text: str) -> None:
    rows = CheckCritic([GOOD], [Careless()], TOOLS).judge([answer("fine"), answer(text)])
    assert [type(row[0]) for row in rows] == [Judged, Unjudged]


@pytest.mark.parametrize("text", ["raise", "nan", "two"])
def test_a_bug_in_a_check_is_unjudged_for_that_answer_alone_and_never_a_number(text: str) -> None:
    rows = CheckCritic([GOOD], [Brittle()], TOOLS).judge([answer("fine"), answer(text), answer("fine too")])
    assert [type(row[0]) for row in rows] == [Judged, Unjudged, Judged]
    broken = rows[1][0]
    assert isinstance(broken, Unjudged)
    assert (broken.cause.kind, broken.cause.code) == ("infrastructure", "critic_error")
    assert "\n" not in broken.cause.detail


def test_a_check_that_loses_an_answer_is_unjudged() -> None:
    rows = CheckCritic([GOOD], [Short()], TOOLS).judge([answer("a"), answer("b")])
    assert all(isinstance(row[0], Unjudged) for row in rows)


def test_what_is_missing_on_the_machine_is_said_at_once() -> None:
    with pytest.raises(SetupError, match="install them"):
        CheckCritic([GOOD], [Missing()], TOOLS).judge([answer("a")])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("word_cuont", {}, r"no check 'word_cuont'; did you mean 'word_count'"),
        ("word_count", {"mn": 3}, r"no option 'mn'; did you mean 'min'.*it takes min, max, soft"),
        ("word_count", {}, r"give min, max or both"),
        ("word_count", {"min": 3, "max": 2}, r"min must not exceed max; seen 3 and 2"),
        ("word_count", {"min": "many"}, r"min: .*seen 'many'"),
        ("word_count", {"min": -1}, r"min: .*seen"),
        ("word_count", {"min": float("nan")}, r"min: .*finite"),
        ("avoids", {"phrases": "hedge"}, r"no shipped list 'hedge'; did you mean 'hedges'"),
        ("avoids", {"phrases": "grammar/function_words"}, r"no shipped list"),
        ("avoids", {"words": []}, r"the list is empty"),
        ("avoids", {"words": ["a"], "phrases": ["b"]}, r"either words or phrases"),
        ("contains", {}, r"either words or phrases"),
        ("letter_frequency", {"letter": "ab", "min": 1}, r"one character is wanted; seen 'ab'"),
        ("starts_with", {}, r"the option 'phrases' is missing"),
        ("json_schema", {"json_schema": {"type": "thing"}}, r"no JSON Schema"),
        ("json_schema", {"json_schema": {"$ref": "https://example.org/a.json"}}, r"begins with `#`"),
        ("is_yaml", {"x": 1}, r"no option 'x'; it takes no options"),
        ("script", {"scripts": ["Latn)"]}, r"no script 'Latn\)'; did you mean 'Latin'"),
        ("ai_tone", {"lists": ["hedge"]}, r"did you mean 'hedges'"),
    ],
)
def test_a_bad_option_is_refused_with_what_is_allowed(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RubricError, match=message) as caught:
        make_check(name, options)
    assert "\n" not in str(caught.value)


def test_a_bad_option_names_its_criterion() -> None:
    bad = GOOD.with_changes(critic={"check": "word_count", "with": {"least": 3}})
    with pytest.raises(RubricError, match=r"criterion 'good': check 'word_count': no option 'least'"):
        make_check_critic([bad], TOOLS)


def test_checks_with_equal_options_are_equal() -> None:
    assert make_check("word_count", {"min": 3}) == make_check("word_count", {"min": 3.0})
    assert make_check("word_count", {"min": 3}) != make_check("word_count", {"min": 4})


@pytest.mark.parametrize(
    ("check", "module", "name"),
    [
        ("math_answer", "rubric_anchors.critic.mathematics", "find_spec"),
        ("code_tests", "rubric_anchors.critic.checks.programs", "strongest"),
    ],
)
def test_what_a_check_needs_and_cannot_have_is_said_before_the_first_answer(
    check: str, module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing: Any = {"find_spec": lambda package: None, "strongest": lambda: (None, "no such thing here")}[name]
    monkeypatch.setattr(f"{module}.{name}", missing)
    criterion = GOOD.with_changes(critic={"check": check})
    with pytest.raises(SetupError, match=r"criterion 'good'.*(verify|bubblewrap)"):
        make_check_critic([criterion], TOOLS)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_light_check_asks_for_no_model(name: str) -> None:
    check = make_check(name, TABLE[name][0][0])
    assert check.light is (name not in ("code_tests", "python"))
    if check.light:
        check.decide_all([answer("The river was slow.")], TOOLS)


def test_checks_that_ask_for_models_are_not_light() -> None:
    assert not make_check("relevance", {}).light
    assert not make_check("fluency", {}).light
    assert not make_check("similar_to_reference", {"by": "meaning"}).light
