import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fakes import answer, close, fake_tools

from rubric_anchors.core.errors import CriticError, DataError, InputError, SetupError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.registry import check_registry
from rubric_anchors.models.chat import NoReply, ScriptedChatModel
from rubric_anchors.reward.failure import Fallback, LeaveOut, Raise, number
from rubric_anchors.reward.marks import row_json
from rubric_anchors.reward.scorer import Marks, Scorer
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Cause, Judged, Scored, Unjudged, Unscored, Verdict

WORDS = {"key": "words", "ask": "It has four words.", "critic": {"check": "word_count", "with": {"max": 4, "soft": 10}}}
SEA = {"key": "sea", "ask": "It names the sea.", "critic": {"check": "contains", "with": {"words": ["sea"]}}}
NO_BOAT = {"key": "no_boat", "ask": "No boat.", "critic": {"check": "avoids", "with": {"words": ["boat"]}}}
JUDGED = {"key": "warm", "ask": "It is warm.", "critic": "judge", "tiers": [{"means": "No."}, {"means": "Yes."}]}


def rubric(name: str, *criteria: Mapping[str, object], **fields: object) -> Rubric:
    return parse_rubric({"id": name, "criteria": list(criteria), **fields})


SHORT = rubric("short", WORDS, SEA)
CAPPED = rubric("capped", SEA, {**NO_BOAT, "weight": 0, "veto": {"below": 1.0, "reward": 0.2}})
FACTOR = rubric("factor", WORDS, {**NO_BOAT, "weight": 0, "veto": {"below": 1.0, "factor": 0.5}})
BOOK = {one.id: one for one in (SHORT, CAPPED, FACTOR)}


def scored(text: str, *names: str, weights: dict[str, float] | None = None) -> Marks:
    return Scorer(BOOK, fake_tools(), weights).score([answer(text)], [names])[0]


def reward_of(marks: Marks) -> float:
    assert marks.reward is not None
    return marks.reward


def test_one_rubric_gives_plain_keys_and_its_own_outcome() -> None:
    marks = scored("the sea", "short")
    assert tuple(marks.verdicts) == ("words", "sea")
    assert marks.reward == 1.0
    assert marks.rubrics == ("short",)


def test_several_rubrics_are_a_weighted_mean_with_keys_of_both() -> None:
    text = "one two three four five six seven eight nine"
    marks = scored(text, "short", "capped", weights={"short": 3.0})
    assert tuple(marks.verdicts) == ("short/words", "short/sea", "capped/sea", "capped/no_boat")
    assert close(reward_of(marks), 0.75 * reward_of(scored(text, "short")) + 0.25 * reward_of(scored(text, "capped")))


def test_a_cap_of_one_rubric_holds_for_all() -> None:
    assert reward_of(scored("the boat at sea", "short", "capped")) == pytest.approx(0.2)
    assert reward_of(scored("the boat at sea", "short", "capped", weights={"capped": 0.0})) == pytest.approx(0.2)


def test_a_factor_of_one_rubric_holds_for_all_and_caps_come_last() -> None:
    assert reward_of(scored("a boat at sea", "short", "factor")) == pytest.approx(0.5)
    assert reward_of(scored("a boat at sea", "short", "factor", "capped")) == pytest.approx(0.2)


def test_a_veto_is_one_contribution_that_says_why() -> None:
    outcome = scored("the boat at sea", "short", "capped").outcome
    assert isinstance(outcome, Scored)
    [veto] = [item for item in outcome.contributions if item.step == "veto"]
    assert veto.delta == pytest.approx(-0.8)
    assert "capped: no_boat" in veto.note


@given(
    st.lists(st.sampled_from(["sea", "boat", "stone", "wind"]), max_size=20),
    st.permutations(["short", "capped", "factor"]),
    st.tuples(st.floats(0.1, 9), st.floats(0, 9), st.floats(0, 9)),
)
def test_joint_contributions_add_up_and_the_order_of_rubrics_does_not_matter(
    words: list[str], names: list[str], weights: tuple[float, float, float]
) -> None:
    given_weights = dict(zip(BOOK, weights, strict=True))
    marks = scored(" ".join(words), *names, weights=given_weights)
    assert isinstance(marks.outcome, Scored)
    assert close(math.fsum(item.delta for item in marks.outcome.contributions), reward_of(marks))
    assert 0.0 <= reward_of(marks) <= 1.0
    assert close(reward_of(marks), reward_of(scored(" ".join(words), *BOOK, weights=given_weights)))


def test_rubrics_may_differ_from_answer_to_answer() -> None:
    marks = Scorer(BOOK, fake_tools()).score(
        [answer("the sea"), answer("a boat"), answer("the sea")], [("short",), ("capped",), ("capped", "short")]
    )
    assert [mark.rubrics for mark in marks] == [("short",), ("capped",), ("capped", "short")]
    assert [mark.reward for mark in marks] == [1.0, 0.0, 1.0]


class Counting(Check):
    """Notes what it is asked."""

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        SEEN.append([one.text for one in answers])
        if any(one.text == "break" for one in answers):
            raise CriticError("out of order")
        return [Finding(0.5) for _ in answers]


SEEN: list[list[str]] = []


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Scorer:
    SEEN.clear()
    monkeypatch.setitem(check_registry._things, "counting", Counting)
    monkeypatch.setattr(Counting, "name", "counting", raising=False)
    one = {"key": "one", "ask": "One.", "critic": {"check": "counting"}}
    return Scorer({"a": rubric("a", one), "b": rubric("b", one, {**one, "key": "two"})}, fake_tools())


def test_equal_answers_are_judged_once_and_in_one_batch(counting: Scorer) -> None:
    marks = counting.score([answer("x"), answer("y"), answer("x"), answer("x", "Else?")], [("a",)] * 4)
    assert SEEN == [["x", "y", "x"]]
    assert marks[0] is marks[2]
    assert marks[0] is not marks[3]


def test_a_check_that_breaks_leaves_only_its_answers_unscored(counting: Scorer) -> None:
    broken, fine = counting.score([answer("break"), answer("x")], [("a",)] * 2)
    assert isinstance(broken.outcome, Unscored)
    assert broken.outcome.cause.kind == "infrastructure"
    assert fine.reward == 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 1.5])
def test_a_critic_s_value_off_the_scale_is_no_verdict(counting: Scorer, value: float) -> None:
    class Off:
        keys = ("one",)

        def judge(self, answers: Sequence[Answer]) -> list[tuple[Verdict, ...]]:
            return [(Judged(value if one.text == "off" else 0.5, 0, "off"),) for one in answers]

    counting._ready["a"] = replace(counting._ready["a"], critics=(Off(),))
    off, fine = counting.score([answer("off"), answer("x")], [("a",)] * 2)
    assert isinstance(off.verdicts["one"], Unjudged)
    assert isinstance(off.outcome, Unscored)
    assert (off.outcome.cause.kind, off.outcome.cause.code) == ("infrastructure", "critic_error")
    assert fine.reward == 0.5


def test_unscored_by_one_rubric_is_unscored() -> None:
    judge = ScriptedChatModel(otherwise=NoReply("timeout"))
    scorer = Scorer({"short": SHORT, "warm": rubric("warm", JUDGED)}, fake_tools(judge))
    [marks] = scorer.score([answer("the sea")], [("short", "warm")])
    assert isinstance(marks.outcome, Unscored)
    assert marks.outcome.cause == Cause("infrastructure", "timeout", "warm: warm")
    assert isinstance(marks.verdicts["short/sea"], Judged)


@pytest.mark.parametrize(("policy", "expected"), [("worst", 0.5), ("veto", 0.0)])
def test_an_answer_that_breaks_its_judging_gets_the_worst_or_a_veto_for_all(policy: str, expected: float) -> None:
    judge = ScriptedChatModel(otherwise="I refuse.")
    warm = rubric("warm", JUDGED, reward={"unjudgeable": policy})
    [marks] = Scorer({"short": SHORT, "warm": warm}, fake_tools(judge)).score([answer("the sea")], [("short", "warm")])
    assert reward_of(marks) == pytest.approx(expected)
    assert isinstance(marks.verdicts["warm/warm"], Unjudged)


def test_what_a_rubric_cannot_have_is_said_when_the_scorer_is_made() -> None:
    with pytest.raises(SetupError, match=r"'warm'.*need"):
        Scorer({"warm": rubric("warm", JUDGED)}, fake_tools())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no rubric to be scored by"),
        (("shrt",), "no rubric 'shrt'; there are: capped, factor, short"),
        (("short", "short"), "stands twice"),
    ],
)
def test_rubric_names_that_cannot_be_used_are_refused(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        scored("the sea", *names)


def test_rubrics_that_all_weigh_nothing_are_refused() -> None:
    with pytest.raises(DataError, match="all have weight 0"):
        scored("the sea", "short", "capped", weights={"short": 0.0, "capped": 0.0})
    with pytest.raises(InputError, match="finite and not negative"):
        Scorer(BOOK, fake_tools(), {"short": math.nan})


def test_a_number_is_had_only_by_a_policy() -> None:
    failed = Unscored(Cause("infrastructure", "timeout", "60 s"))
    assert number(failed, LeaveOut()) is None
    assert number(failed, Fallback(0.25)) == 0.25
    assert number(Scored(0.7, ()), Raise()) == 0.7
    with pytest.raises(CriticError, match=r"timeout: 60 s.*LeaveOut\(\)"):
        number(failed, Raise())
    with pytest.raises(InputError, match=r"in 0\.\.1"):
        Fallback(-1.0)


def test_the_row_of_a_scored_answer_has_these_fields() -> None:
    row = row_json("p1", "short", scored("the sea", "short"))
    assert list(row) == ["id", "rubric", "status", "reward", "cause", "criteria", "contributions"]
    assert (row["id"], row["rubric"], row["status"], row["reward"], row["cause"]) == (
        "p1",
        "short",
        "scored",
        1.0,
        None,
    )
    assert isinstance(row["criteria"], dict)
    assert set(row["criteria"]["sea"]) == {"status", "tier", "value", "critic", "evidence", "cause"}  # type: ignore[arg-type]
    assert isinstance(row["contributions"], list)
    assert set(row["contributions"][0]) == {"step", "delta", "note"}  # type: ignore[arg-type]


def test_the_row_of_an_unscored_answer_has_no_number() -> None:
    row = row_json("p1", "r", Marks({"a": Unjudged(Cause("answer", "x"), "judge")}, Unscored(Cause("answer", "x"))))
    assert (row["status"], row["reward"], row["contributions"]) == ("unscored", None, [])
    assert row["cause"] == {"kind": "answer", "code": "x", "detail": ""}


def test_marks_print_every_criterion_and_step_without_control_codes() -> None:
    shown = repr(scored("a \x1b[31m boat at sea", "capped", "short"))
    assert "reward 0.200   capped, short" in shown
    assert "short/words" in shown
    assert "veto: capped: no_boat" in shown
    assert "\x1b" not in shown
    assert "unscored: timeout" in repr(Marks({}, Unscored(Cause("infrastructure", "timeout"))))


SPARED: Rubric = parse_rubric(
    {
        "id": "judged",
        "criteria": [
            {"key": "clean", "ask": "Clean.", "critic": {"check": "avoids", "with": {"words": ["bad"]}},
             "veto": {"below": 1.0}},
            {"key": "warm", "ask": "Warm.", "critic": "judge", "tiers": [{"means": "No."}, {"means": "Yes."}]},
        ],
    }
)  # fmt: skip
WARM = '{"warm": {"evidence": "", "tier": 1}}'


def test_an_answer_that_a_check_has_vetoed_costs_no_call() -> None:
    judge = ScriptedChatModel(otherwise=WARM)
    scorer = Scorer({"judged": SPARED}, fake_tools(judge))
    good, bad = scorer.score([answer("good"), answer("bad")], [("judged",)] * 2)
    assert len(judge.calls) == 1
    assert isinstance(good.outcome, Scored)
    assert isinstance(bad.outcome, Scored)
    assert (good.outcome.reward, bad.outcome.reward) == (1.0, 0.0)
    assert sum(step.delta for step in bad.outcome.contributions) == pytest.approx(0.0)
    skipped = bad.verdicts["warm"]
    assert isinstance(skipped, Unjudged)
    assert skipped.cause == Cause("skipped", "vetoed", "the veto on clean of judged leaves nothing: nobody was asked")
    assert "not asked" in bad.outcome.contributions[1].note


@pytest.mark.parametrize(
    "veto", [{"below": 1.0, "reward": 0.2}, {"below": 1.0, "factor": 0.5}], ids=["capped", "scaled"]
)
def test_a_veto_that_leaves_something_does_not_spare_the_judge(veto: dict[str, float]) -> None:
    first, second = SPARED.criteria
    rubric = SPARED.with_changes(criteria=(first.with_changes(veto=veto), second))
    judge = ScriptedChatModel(otherwise=WARM)
    Scorer({"judged": rubric}, fake_tools(judge)).score([answer("bad")], [("judged",)])
    assert len(judge.calls) == 1


def test_a_rubric_may_ask_its_judge_all_the_same() -> None:
    first, second = SPARED.criteria
    rubric = SPARED.with_changes(
        criteria=(first, second.with_changes(critic={"kind": "judge", "with": {"always": True}}))
    )
    judge = ScriptedChatModel(otherwise=WARM)
    [marks] = Scorer({"judged": rubric}, fake_tools(judge)).score([answer("bad")], [("judged",)])
    assert len(judge.calls) == 1
    assert isinstance(marks.verdicts["warm"], Judged)
    assert marks.outcome.reward == 0.0  # type: ignore[union-attr]


def test_a_veto_of_one_rubric_spares_the_judge_of_another() -> None:
    judge = ScriptedChatModel(otherwise=WARM)
    warm = rubric("warm", JUDGED)
    scorer = Scorer({"judged": SPARED, "warm": warm, "sea": SHORT}, fake_tools(judge))
    marks = scorer.score([answer("bad"), answer("good")], [("judged", "warm")] * 2)
    assert len(judge.calls) == 2
    assert marks[0].reward == 0.0
    assert isinstance(marks[0].outcome, Scored)
    assert sum(step.delta for step in marks[0].outcome.contributions) == pytest.approx(0.0)
    assert {one.cause.kind for one in marks[0].verdicts.values() if isinstance(one, Unjudged)} == {"skipped"}
    # Where the same answer stands under a rubric without that veto too, it is asked about, and each gets its due.
    alone, vetoed = scorer.score([answer("bad")] * 2, [("warm",), ("judged", "warm")])
    assert isinstance(alone.verdicts["warm"], Judged)
    assert vetoed.reward == 0.0


def test_what_was_skipped_for_a_veto_that_then_could_not_be_scored_is_no_number() -> None:
    first, second = SPARED.criteria
    always = SPARED.with_changes(
        criteria=(first, second.with_changes(critic={"kind": "judge", "with": {"always": True}}))
    )
    judge = ScriptedChatModel(otherwise=NoReply("timeout"))
    scorer = Scorer({"warm": rubric("warm", JUDGED), "judged": always}, fake_tools(judge))
    [marks] = scorer.score([answer("bad")], [("warm", "judged")])
    assert isinstance(marks.outcome, Unscored)
    assert (marks.outcome.cause.kind, marks.outcome.cause.code) == ("infrastructure", "timeout")
