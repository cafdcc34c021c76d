"""The client against a real server on this machine, with the faults of real ones. No test waits: time is injected."""

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.asking import SCHEMA, Time, asked, said
from tests.support.endpoint import Body, Simulator, completion

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.chat import NoReply, Reply, Request, Said, Token, Usage
from rubric_anchors.models.endpoint import Endpoint
from rubric_anchors.models.endpoint_config import EndpointConfig, parse_endpoint, redacted
from rubric_anchors.models.ledger import Ledger
from rubric_anchors.models.replies import ReplyStore


@pytest.fixture
def time() -> Time:
    return Time()


def test_replies_come_in_the_order_of_the_requests_and_not_more_at_once_than_allowed() -> None:
    with Simulator() as server:
        replies, endpoint = asked(server, [said(f"number {at}") for at in range(200)], concurrency=7)
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [f"number {at}" for at in range(200)]
    assert server.most_at_once <= 7
    assert endpoint.ledger.account().calls == 200


def test_what_is_sent_is_what_was_configured_and_asked() -> None:
    with Simulator() as server:
        asked(server, [said("hello", schema=SCHEMA, seed=5, alternatives=3)], max_tokens=9, extra={"top_p": 0.5})
    [body] = server.bodies
    assert body["messages"] == [{"role": "user", "content": "hello"}]
    assert (body["model"], body["max_tokens"], body["seed"], body["top_p"], body["temperature"]) == (
        "m",
        9,
        5,
        0.5,
        0.0,
    )
    assert (body["logprobs"], body["top_logprobs"]) == (True, 3)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "Authorization" not in server.headers[0]


def test_usage_and_log_probabilities_are_read() -> None:
    def reply(body: Body) -> Body:
        whole = completion("2", body)
        whole["usage"] = {"prompt_tokens": 40, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 30}}
        top = [{"token": "2", "logprob": -0.1}, {"token": "1", "logprob": -2.5}]
        whole["choices"][0]["logprobs"] = {"content": [{"token": "2", "logprob": -0.1, "top_logprobs": top}]}
        return whole

    with Simulator(reply) as server:
        [found], endpoint = asked(server, [said("x", alternatives=2)], price_in=10, price_cached=1, price_out=20)
    assert found == Reply("2", "stop", (Token("2", -0.1, (("2", -0.1), ("1", -2.5))),), Usage(40, 30, 3))
    assert endpoint.ledger.account().cost == pytest.approx((10 * 10 + 30 * 1 + 3 * 20) / 1e6)


def test_of_many_faults_every_request_gets_its_own_reply_or_a_cause() -> None:
    faults = dict.fromkeys(("429", "500", "reset", "truncated", "no_json", "no_choices", "empty"), 0.05)
    requests = [said(f"number {at}") for at in range(300)]
    with Simulator(faults=faults) as server:
        replies, endpoint = asked(server, requests, attempts=3)
    failed = 0
    for request, reply in zip(requests, replies, strict=True):
        if isinstance(reply, Reply):
            assert reply.text == request.turns[0].content
        else:
            failed += 1
            assert reply.code in {
                "rate_limited", "server_error", "broken_connection", "malformed_body", "empty_reply"
            }  # fmt: skip
    account = endpoint.ledger.account()
    assert len(server.faulted) == 7
    assert sum(account.failures.values()) == failed
    assert account.calls == 300 - failed
    assert account.retries == sum(server.faulted.values()) - failed
    assert failed < 30


def test_retry_after_is_waited_for_by_all_requests(time: Time) -> None:
    with Simulator(faults={"429": 0.5}, seed=3, retry_after="17") as server:
        replies, _ = asked(server, [said(str(at)) for at in range(20)], time, concurrency=1, attempts=20)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert server.faulted["429"] > 3
    assert time.now >= 17 * server.faulted["429"]


def test_requests_and_tokens_go_out_at_the_stated_rates(time: Time) -> None:
    with Simulator() as server:
        asked(
            server, [said("x")] * 1 + [said(f"{at}") for at in range(30)], time, requests_per_minute=60, concurrency=31
        )
    assert time.now == pytest.approx(30.0, abs=1.5)
    later = Time()
    with Simulator() as server:
        # 300 characters are taken for 108 tokens, and the reply for 92.
        asked(
            server, [said(f"{at:300}") for at in range(4)], later, tokens_per_minute=200, max_tokens=92, concurrency=1
        )
    assert later.now == pytest.approx(3 * 60.0, abs=1.5)


def test_a_follow_up_is_asked_in_place() -> None:
    def follow(at: int, now: Said) -> Request | None:
        return said(f"again {at}") if isinstance(now, Reply) and now.text.startswith("number") else None

    with Simulator() as server, Endpoint(EndpointConfig(url=server.url, model="m")) as endpoint:
        replies = endpoint.ask([said("number 0"), said("other"), said("number 2")], follow)
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["again 0", "other", "again 2"]


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-secret")
    with Simulator() as server:
        config = EndpointConfig(url=server.url, model="m", key_env="JUDGE_KEY")
        with Endpoint(config) as endpoint:
            endpoint.ask([said("x")])
            assert "sk-secret" not in repr(endpoint) + repr(config) + str(config.model_dump())
        assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(SetupError, match="the environment variable JUDGE_KEY, which is not set"):
        Endpoint(config)


def test_urls_are_shown_without_what_may_hold_a_key() -> None:
    assert redacted("https://user:pw@host/v1?key=secret#x") == "https://host/v1"
    assert parse_endpoint("http://host/v1#org/model") == ("http://host/v1", "org/model")
    with pytest.raises(ValueError, match="put the key into a variable"):
        EndpointConfig(url="http://user:pw@host/v1", model="m")


def test_the_budget_is_never_passed() -> None:
    with Simulator() as server:
        config = EndpointConfig(url=server.url, model="m", max_tokens=10, price_in=0, price_out=100_000, concurrency=8)
        ledger = Ledger(config, max_cost=25.0)
        with Endpoint(config, ledger=ledger) as endpoint:
            replies = endpoint.ask([said(f"x{at:039}") for at in range(100)])  # 10 tokens each: 1.0 a call
    refused = [reply for reply in replies if isinstance(reply, NoReply)]
    assert {reply.code for reply in refused} == {"over_budget"}
    account = ledger.account()
    assert account.cost <= 25.0
    assert account.calls == server.answered == 100 - len(refused) == 25


def test_what_was_paid_for_is_never_asked_again(tmp_path: Path) -> None:
    requests = [said(f"number {at % 30}", schema=SCHEMA) for at in range(90)]
    with Simulator() as server:
        for _ in range(2):
            store = ReplyStore(tmp_path / "replies.sqlite")
            replies, endpoint = asked(server, requests, store=store)
            store.close()
            assert [reply.text for reply in replies if isinstance(reply, Reply)] == [
                f"number {at % 30}" for at in range(90)
            ]
        assert server.answered == 30
        account = endpoint.ledger.account()
        assert (account.calls, account.cached, account.cost) == (0, 90, 0.0)
        for other in ({"temperature": 1.0}, {"model": "other"}, {"max_tokens": 5}):
            store = ReplyStore(tmp_path / "replies.sqlite")
            asked(server, requests[:1], store=store, **other)
            store.close()
        assert server.answered == 33


def test_failures_are_asked_again_next_time(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    with Simulator(faults={"500": 1.0}) as server:
        [reply], _ = asked(server, [said("x")], store=store, attempts=1)
        assert isinstance(reply, NoReply)
    with Simulator() as server:
        [reply], _ = asked(server, [said("x")], store=store)
        assert isinstance(reply, Reply)
    store.close()


def test_a_reply_is_on_disk_before_it_is_used(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    seen: list[bool] = []

    def follow(at: int, now: Said) -> Request | None:
        other = ReplyStore(tmp_path / "replies.sqlite")
        seen.append(any(other.get(key) for key in _keys(tmp_path)))
        other.close()
        return None

    with Simulator() as server, Endpoint(EndpointConfig(url=server.url, model="m"), store=store) as endpoint:
        endpoint.ask([said("x")], follow)
    store.close()
    assert seen == [True]


def _keys(folder: Path) -> Iterator[str]:
    import sqlite3

    connection = sqlite3.connect(folder / "replies.sqlite")
    yield from [row[0] for row in connection.execute("SELECT key FROM replies")]
    connection.close()


def test_it_may_be_asked_from_a_running_loop_and_from_several_threads() -> None:
    with Simulator() as server, Endpoint(EndpointConfig(url=server.url, model="m")) as endpoint:

        async def inside() -> list[Said]:
            return endpoint.ask([said("inside")])

        assert asyncio.run(inside()) == endpoint.ask([said("inside")])
        found: dict[int, list[Said]] = {}
        threads = [
            threading.Thread(target=lambda at=at: found.update({at: endpoint.ask([said(f"{at}")])})) for at in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {at: reply.text for at, [reply] in found.items() if isinstance(reply, Reply)} == {
        at: f"{at}" for at in range(8)
    }


@pytest.mark.parametrize("text", ["\ud800 lone", "nul \x00", "🙂" * 1000, "</answer>", "‮rtl"])
def test_any_text_can_be_asked(text: str) -> None:
    with Simulator(lambda body: json.dumps(len(body["messages"][0]["content"]))) as server:
        [reply], _ = asked(server, [said(text)])
    assert isinstance(reply, Reply)


def test_bad_configs_are_refused_in_words() -> None:
    for fields, expected in (
        ({"url": "localhost:8000"}, "an http or https URL was expected"),
        ({"key_env": "sk-123"}, "the name of an environment variable, never the key itself"),
        ({"extra": {"n": 3}}, "extra may not set n"),
    ):
        with pytest.raises(ValueError, match=re.escape(expected)):
            EndpointConfig.model_validate({"url": "http://h/v1", "model": "m", **fields})
    assert EndpointConfig(url="http://h/v1/chat/completions/", model="m").url == "http://h/v1"


def test_a_cache_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "replies.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(SetupError, match=r"the cache of replies .* cannot be used"):
        ReplyStore(tmp_path / "replies.sqlite")
    assert os.listdir(tmp_path) == ["replies.sqlite"]


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        ({"content": None}, "length", ("", "length")),
        ({"content": ""}, "content_filter", ("", "content_filter")),
        ({"content": None, "refusal": "I will not."}, "stop", ("I will not.", "refusal")),
    ],
)
def test_what_the_conversation_brought_about_is_a_reply_and_no_failure_of_the_endpoint(
    message: dict[str, str | None], finish: str, expected: tuple[str, str]
) -> None:
    with Simulator(lambda _: {"choices": [{"message": message, "finish_reason": finish}]}) as server:
        [found], _ = asked(server, [said("x")])
        assert server.answered == 1
    assert isinstance(found, Reply)
    assert (found.text, found.finish) == expected
