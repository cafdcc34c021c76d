"""How criteria can be judged: by one call or several, by samples, models, wordings, by probabilities, by comparing."""

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import answer, close, fake_tools

from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.build import build_critics
from rubric_anchors.critic.judge import JudgeCritic, JudgeOptions
from rubric_anchors.critic.judge_expected import tier_places
from rubric_anchors.critic.judge_ladder import place
from rubric_anchors.models.chat import ChatTurn, Follow, NoReply, Reply, Request, Said, ScriptedChatModel, Token
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Cause, Judged, Unjudged, Verdict

TIERS: Final = [{"means": "No.", "anchors": ["cold"]}, {"means": "In part."}, {"means": "Yes.", "anchors": ["dear"]}]


def criteria(*keys: str, **fields: Any) -> tuple[Criterion, ...]:
    entries = [{"key": key, "ask": f"It is {key}.", "critic": "judge", "tiers": TIERS, **fields} for key in keys]
    return parse_rubric({"id": "modes", "criteria": entries}).criteria


def verdicts(**tiers: int) -> str:
    return json.dumps({key: {"evidence": "", "tier": tier} for key, tier in tiers.items()})


def asked_for(conversation: tuple[ChatTurn, ...]) -> list[str]:
    """The keys that a prompt asks for, in order."""
    return list(json.loads(re.findall(r"^\{.*\}$", conversation[0].content, re.MULTILINE)[-1]))


def says(tier: int) -> Callable[[tuple[ChatTurn, ...]], str]:
    return lambda turns: verdicts(**dict.fromkeys(asked_for(turns), tier))


def judge(keys: Sequence[Criterion], model: Any, *answers: Answer, **options: object) -> list[tuple[Verdict, ...]]:
    return JudgeCritic(keys, model, JudgeOptions.model_validate(options)).judge(answers)


def value(verdict: Verdict) -> float:
    assert isinstance(verdict, Judged), verdict
    return verdict.value


def test_the_order_of_criteria_is_the_same_whatever_order_a_file_has_them_in() -> None:
    keys = criteria(*"abcdefgh")
    first, second = ScriptedChatModel(otherwise=says(1)), ScriptedChatModel(otherwise=says(1))
    judge(keys, first, answer("hello"))
    judge(keys[::-1], second, answer("hello"))
    assert first.calls == second.calls
    assert asked_for(first.calls[0]) != sorted("abcdefgh")
    other = ScriptedChatModel(otherwise=says(1))
    judge(criteria(*"abcdefgh", ask="Other."), other, answer("hello"))
    assert asked_for(other.calls[0]) != asked_for(first.calls[0]), "by their content"


def test_over_as_many_samples_as_criteria_each_stands_in_each_place_once() -> None:
    model = ScriptedChatModel(otherwise=says(1))
    judge(criteria(*"abcd"), model, answer("hello"), samples=4)
    orders = [asked_for(turns) for turns in model.calls]
    assert all({order[at] for order in orders} == set("abcd") for at in range(4))


@pytest.mark.parametrize(("per_call", "calls"), [(None, 1), (1, 4), (2, 2), (3, 2), (9, 1)])
def test_so_many_criteria_share_a_call(per_call: int | None, calls: int) -> None:
    model = ScriptedChatModel(otherwise=says(2))
    [row] = judge(criteria(*"abcd"), model, answer("hello"), per_call=per_call)
    assert [value(one) for one in row] == [1.0] * 4
    assert len(model.calls) == calls
    assert sorted(key for turns in model.calls for key in asked_for(turns)) == [*"abcd"]
    schemas = [list(json.loads(request.schema)["properties"]) for request in model.requests]
    assert schemas == [asked_for(turns) for turns in model.calls]


def common(first: str, second: str) -> str:
    return first[: next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))]


def test_calls_of_their_own_share_everything_up_to_the_criterion() -> None:
    model = ScriptedChatModel(otherwise=says(1))
    judge(criteria(*"ab"), model, answer("I rowed out"), answer("She left"), per_call=1)
    texts = [turns[0].content for turns in model.calls]
    assert "I rowed out" in common(texts[0], texts[1]), "one answer's calls stand next to each other"
    assert "She left" in common(texts[2], texts[3])
    assert "What did you do on Sunday?" in common(texts[0], texts[2])


def test_answers_to_one_prompt_are_asked_about_next_to_each_other() -> None:
    model = ScriptedChatModel(otherwise=says(1))
    mixed = [answer(f"text {at}", prompt=f"question {at % 2}") for at in range(6)]
    rows = judge(criteria("a"), model, *mixed, samples=2)
    asked = [re.search(r"question \d", turns[0].content) for turns in model.calls]
    numbers = [found[0] for found in asked if found]
    assert numbers == ["question 0"] * 6 + ["question 1"] * 6
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("merge", "weight", "expected"),
    [("mean", 1, 0.5), ("median", 1, 0.5), ("lowest", 1, 0.0), ("lowest", -1, 1.0)],
)
def test_several_judges_decide_together(merge: str, weight: int, expected: float) -> None:
    models = {name: ScriptedChatModel(otherwise=says(tier)) for name, tier in (("x", 0), ("y", 1), ("z", 2))}
    keys = criteria("a", "b", weight=weight) if weight > 0 else (*criteria("a"), *criteria("b", weight=weight))[1:]
    [row] = judge(keys, models, answer("hello"), merge=merge)
    found = row[-1]
    assert value(found) == expected
    assert isinstance(found, Judged)
    assert found.evidence[0].note == f"{merge} of 3 judgements from 0.00 to 1.00, agreement 0.00"
    assert found.evidence[1].note == "x 0.00, y 0.50, z 1.00"


def test_wordings_decide_together_too() -> None:
    model = ScriptedChatModel({"exacting examiner": says(0)}, otherwise=says(2))
    [[found]] = judge(criteria("a"), model, answer("hello"), wordings=["plain", "strict"])
    assert value(found) == 0.5
    assert isinstance(found, Judged)
    assert found.evidence[1].note == "judge/plain 1.00, judge/strict 0.00"


def test_one_judge_that_fails_fails_them_all() -> None:
    good = ScriptedChatModel(otherwise=says(2))
    for failing, kind in ((NoReply("timeout"), "infrastructure"), ("no", "answer")):
        models = {"x": good, "y": ScriptedChatModel(otherwise=failing)}
        [[found]] = judge(criteria("a"), models, answer("hello"))
        assert isinstance(found, Unjudged)
        assert found.cause.kind == kind
    both = {"x": ScriptedChatModel(otherwise="no"), "y": ScriptedChatModel(otherwise=NoReply("timeout"))}
    [[found]] = judge(criteria("a"), both, answer("hello"))
    assert isinstance(found, Unjudged)
    assert found.cause.kind == "infrastructure"


class Likely:
    """A model whose replies are tokens with alternatives: each tier's digit with the given probabilities."""

    fingerprint = "likely"

    def __init__(self, shares: dict[str, float], evidence: str = "", glue: str = "", tokens: bool = True) -> None:
        self.shares, self.evidence, self.glue, self.tokens = shares, evidence, glue, tokens
        self.requests: list[Request] = []

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        self.requests += requests
        said: list[Said] = [self.reply(request) for request in requests]
        while follow is not None and (after := follow(0, said[0])) is not None:
            self.requests.append(after)
            said[0] = self.reply(after)
        return said

    def reply(self, request: Request) -> Reply:
        keys = list(json.loads(request.schema)["properties"])
        named = max(self.shares, key=lambda digit: self.shares[digit])
        tokens: list[Token] = [Token("{", -0.1)]
        for at, key in enumerate(keys):
            evidence = json.dumps(self.evidence, ensure_ascii=False)
            tokens += [Token(f'{", " if at else ""}"{key}"', -0.1), Token(': {"evidence": ', -0.1)]
            tokens += [Token(one, -0.1) for one in evidence]
            tokens.append(Token(f', "tier":{self.glue}', -0.1))
            likely = tuple((digit, math.log(share)) for digit, share in self.shares.items() if share)
            tokens.append(Token(named, math.log(self.shares[named]), likely))
            tokens.append(Token("}", -0.1))
        tokens.append(Token("}", -0.1))
        text = "".join(token.text for token in tokens)
        # What a tokenizer that works on bytes gives for a letter in pieces.
        pieces = [Token("\ufffd", -1.0) if token.text == "é" else token for token in tokens]
        pieces = [half for token in pieces for half in ([token] * 2 if token.text == "\ufffd" else [token])]
        return Reply(text, tokens=tuple(pieces) if self.tokens else ())


@pytest.mark.parametrize("glue", ["", " "])
@pytest.mark.parametrize("evidence", ["", "a café noir", '{"a": {"tier": 0}}', "2"])
def test_the_expected_value_is_the_mean_by_probabilities(glue: str, evidence: str) -> None:
    model = Likely({"0": 0.1, "1": 0.2, "2": 0.6, "x": 0.1}, evidence, glue)
    [row] = judge(criteria("a", "b"), model, answer("hello"), mode="expected")
    for found in row:
        assert close(value(found), (0.2 * 0.5 + 0.6) / 0.9)
        assert isinstance(found, Judged)
        assert found.tier == 1
        assert found.evidence[0].note == "expected over tiers 0: 0.10, 1: 0.20, 2: 0.60; mass 0.90"
    assert model.requests[0].alternatives == 20


def test_tokens_with_blanks_around_the_digit_count_for_their_digit() -> None:
    model = Likely({" 2": 0.5, "1": 0.25, " 0": 0.25})
    [[found]] = judge(criteria("a"), model, answer("hello"), mode="expected")
    assert close(value(found), 0.5 + 0.125)


def test_too_little_probability_on_the_tiers_decides_nothing() -> None:
    model = Likely({"2": 0.5, "7": 0.4})
    [[found]] = judge(criteria("a"), model, answer("hello"), mode="expected")
    assert isinstance(found, Unjudged)
    assert (found.cause.kind, found.cause.code) == ("answer", "low_mass")
    assert "probability of 0.50, at least 0.8 is wanted" in found.cause.detail
    assert len(model.requests) == 3
    [[found]] = judge(criteria("a"), model, answer("hello"), mode="expected", mass=0.4)
    assert value(found) == 1.0


def test_an_endpoint_without_probabilities_is_no_fault_of_the_answer() -> None:
    [[found]] = judge(criteria("a"), Likely({"2": 1.0}, tokens=False), answer("hello"), mode="expected")
    assert found == Unjudged(Cause("infrastructure", "no_logprobs", "the endpoint gave no log-probabilities"), "judge")


@given(st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3))
@settings(max_examples=50, deadline=None, database=None)
def test_an_expected_value_lies_within_the_tiers(shares: list[float]) -> None:
    whole = sum(shares)
    model = Likely({str(at): share / whole for at, share in enumerate(shares)})
    [[found]] = judge(criteria("a"), model, answer("hello"), mode="expected")
    assert close(value(found), (shares[1] * 0.5 + shares[2]) / whole)


def test_the_place_of_a_tier_is_that_of_its_own_key_and_not_of_a_quotation() -> None:
    text = 'So: {"a": {"evidence": "\\"tier\\": 1 }{", "tier": 2}, "b": {"tier":0, "evidence": ""}} {"tier": 9}'
    places = tier_places(text, 4)
    assert {key: text[start:end] for key, (start, end) in places.items()} == {"a": "2", "b": "0"}


def prefers(words: Sequence[str], lean: str = "") -> Callable[[tuple[ChatTurn, ...]], str]:
    """A judge for whom a text shows the more, the later the last of `words` that it holds; `lean`: it always says."""

    def compare(turns: tuple[ChatTurn, ...]) -> str:
        text = turns[0].content
        parts = text.split("The first text:")[1].split("Which text")[0].split("The second text:")
        first, second = (max((at for at, word in enumerate(words) if word in part), default=-1) for part in parts)
        more = lean or ("first" if first > second else "second" if second > first else "equal")
        return json.dumps({asked_for(turns)[0]: {"evidence": "", "more": more}})

    return compare


@pytest.mark.parametrize(
    ("text", "expected"), [("dearest", 1.0), ("dear", 0.85), ("middling", 0.5), ("cold", 0.15), ("icy", 0.0)]
)
def test_an_answer_is_placed_on_the_ladder_of_the_anchors(text: str, expected: float) -> None:
    model = ScriptedChatModel(otherwise=prefers(["icy", "cold", "middling", "dear", "dearest"]))
    [[found]] = judge(criteria("a"), model, answer(text), mode="compare")
    assert value(found) == pytest.approx(expected, abs=0.16)
    assert isinstance(found, Judged)
    assert found.evidence[1].note == "the same in both orders: 2 of 2"
    assert len(model.calls) == 4


def test_a_judge_that_always_prefers_the_first_text_says_nothing_about_the_answer() -> None:
    model = ScriptedChatModel(otherwise=prefers([], lean="first"))
    [[found]] = judge(criteria("a"), model, answer("anything"), mode="compare")
    assert value(found) == pytest.approx(0.5)
    assert isinstance(found, Judged)
    assert found.evidence[1].note == "the same in both orders: 0 of 2"


@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])), min_size=1, max_size=6),
    st.integers(0, 5),
)
def test_one_comparison_more_that_is_won_never_places_lower(pairs: list[tuple[float, float]], at: int) -> None:
    values, results = [v for v, _ in pairs], [r for _, r in pairs]
    before = place(values, results)
    results[at % len(results)] = 1.0
    assert 0.0 <= before <= place(values, results) + 1e-9 <= 1.0 + 1e-9


def test_a_comparison_that_fails_leaves_the_criterion_unjudged() -> None:
    model = ScriptedChatModel(otherwise='{"a": {"evidence": "", "more": "both"}}')
    [[found]] = judge(criteria("a"), model, answer("hello"), mode="compare")
    assert isinstance(found, Unjudged)
    assert (found.cause.kind, found.cause.code) == ("answer", "unparseable")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "duel"}, r"'mode': no mode 'duel' in this version; there are: tier, expected, compare, group"),
        ({"mode": "expectd"}, r"did you mean 'expected'"),
        ({"mode": "compare", "samples": 2}, r"mode compare takes no 'samples'"),
        ({"mode": "compare", "long": "chunks"}, r"mode compare takes no chunks"),
        ({"mode": "group", "samples": 2}, r"mode group takes no 'samples'"),
        ({"mode": "group", "long": "chunks"}, r"mode group takes no chunks"),
        ({"wordings": ["plain", "plain"]}, r"wordings: one stands twice"),
        ({"models": ["small"]}, r"criterion 'a': no judge is called 'small'; there are: none"),
        ({"flags": {"fake_turns": "veto"}}, r"no flag 'fake_turns'; did you mean 'fake_turn'"),
        ({"flags": "vetoes"}, r"'flags': a flag is one of mark, veto, off; seen 'vetoes'"),
        ({"samples": 0}, r"'samples': input should be greater than or equal to 1; seen '0'"),
        ({"longest": 10}, r"'longest'"),
        ({"apart": True}, r"'apart': there is no such option.*per_call"),
    ],
)
def test_what_is_not_there_or_does_not_fit_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    entry = {"key": "a", "ask": "So.", "critic": {"judge": "model", "with": options}, "tiers": TIERS}
    with pytest.raises(RubricError, match=message):
        build_critics(parse_rubric({"id": "r", "criteria": [entry]}), fake_tools(ScriptedChatModel()))


def test_comparing_needs_anchors_and_expecting_needs_few_tiers() -> None:
    for options, tiers, message in (
        ({"mode": "compare"}, [{"means": "No."}, {"means": "Yes.", "anchors": ["x"]}], "anchors in at least two tiers"),
        ({"mode": "expected"}, [{"means": str(at)} for at in range(11)], "11 tiers, at most 10"),
    ):
        entry = {"key": "a", "ask": "So.", "critic": {"judge": "model", "with": options}, "tiers": tiers}
        with pytest.raises(RubricError, match=message):
            build_critics(parse_rubric({"id": "r", "criteria": [entry]}), fake_tools(ScriptedChatModel()))


def test_criteria_with_equal_options_share_a_call() -> None:
    entries = [
        {"key": key, "ask": "So.", "critic": {"judge": "model", "with": options}, "tiers": TIERS}
        for key, options in (("a", {}), ("b", {"samples": 2}), ("c", {"samples": 1}))
    ]
    model = ScriptedChatModel(otherwise=says(2))
    [critic] = build_critics(parse_rubric({"id": "r", "criteria": entries}), fake_tools(model))
    [row] = critic.judge([Answer((Message("user", "Hm?"),), "hello")])
    assert [value(one) for one in row] == [1.0] * 3
    assert sorted(sorted(asked_for(turns)) for turns in model.calls) == [["a", "c"], ["b"], ["b"]]
