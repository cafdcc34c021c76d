"""Endpoints that refuse, fail, hang and go away for a while. No test waits: time is injected."""

import asyncio
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from tests.support.asking import SCHEMA, Time, asked, said
from tests.support.endpoint import Body, Simulator

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.breaker import NEVER_SEEN, OPENS_AFTER
from rubric_anchors.models.chat import NoReply, Reply, Said
from rubric_anchors.models.endpoint import Endpoint
from rubric_anchors.models.endpoint_config import EndpointConfig
from rubric_anchors.models.ledger import Ledger
from rubric_anchors.models.pace import Clock
from rubric_anchors.models.replies import ReplyStore
from rubric_anchors.reward.judging import account_line


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (401, "bad key", "the key was refused"),
        (403, "no", "access was refused"),
        (404, "model `m` not found", "there is no such path or model"),
    ],
)
def test_what_no_request_would_be_spared_stops_at_once(status: int, message: str, expected: str) -> None:
    with Simulator(refuses=(status, message)) as server:
        with pytest.raises(SetupError, match=f"HTTP {status}: {message}; {expected}"):
            asked(server, [said(str(at)) for at in range(50)], concurrency=2)
        assert len(server.bodies) <= 2


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "This model's maximum context length is 4096 tokens", "context_length"),
        (400, "the request exceeds the available context size", "context_length"),
        (422, "messages: bad role", "refused_request"),
    ],
)
def test_a_refused_request_is_not_asked_again(status: int, message: str, code: str) -> None:
    with Simulator(refuses=(status, message)) as server:
        [reply], _ = asked(server, [said("x")])
    assert isinstance(reply, NoReply)
    assert (reply.code, len(server.bodies)) == (code, 1)


@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        ([], ["response_format"] * 4),
        (["schema"], ["response_format"] + ["tools"] * 4),
        (["schema", "tools"], ["response_format", "tools"] + ["text"] * 4),
    ],
)
def test_an_endpoint_is_asked_in_the_best_form_that_it_knows_from_then_on(refused: list[str], sent: list[str]) -> None:
    requests = [said(f'{{"at": {at}}}', schema=SCHEMA) for at in range(4)]
    with Simulator(refuses_ways=refused) as server:
        replies, _ = asked(server, requests, concurrency=1)
        ways = [next((way for way in ("response_format", "tools") if way in body), "text") for body in server.bodies]
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [f'{{"at": {at}}}' for at in range(4)]
    assert ways == sent
    for body in server.bodies:
        if "tools" in body:
            assert body["tools"][0]["function"]["parameters"] == {"type": "object"}
            assert body["tool_choice"]["function"]["name"] == body["tools"][0]["function"]["name"]


@pytest.mark.parametrize("way", ["schema", "tools"])
def test_a_form_that_was_demanded_is_not_given_up_silently(way: str) -> None:
    with (
        Simulator(refuses_ways=["schema", "tools"]) as server,
        pytest.raises(SetupError, match=f"does not hold replies to a JSON Schema by `structured: {way}`"),
    ):
        asked(server, [said("x", schema=SCHEMA)], structured=way)


def test_log_probabilities_are_not_asked_of_a_function_s_arguments() -> None:
    with Simulator() as server:
        asked(server, [said("x", schema=SCHEMA, alternatives=5)], structured="tools")
    assert "tools" not in server.bodies[0]


def test_a_dead_endpoint_is_looked_at_again_by_one_request_at_a_time_then_the_work_stops(time: Time) -> None:
    with Simulator(fails=lambda number: "503" if number else "") as server:
        with pytest.raises(SetupError, match=r"server_error.*waiting for 120 s did not help; is the server up") as seen:
            asked(server, [said(str(at)) for at in range(500)], time, concurrency=64)
        assert "\n" not in str(seen.value)
        # Those in flight when it broke, some once more before it was clear, and what looked again: after 1, 2, 4, 8,
        # 16, 30, 30 and the last 29 seconds.
        assert OPENS_AFTER < len(server.bodies) <= 2 * 64 + 10
    assert time.now >= 120


def test_who_never_answered_is_given_up_soon(time: Time) -> None:
    with Simulator() as server:
        gone = server.url
    with (
        Endpoint(EndpointConfig(url=gone, model="m", concurrency=1), clock=time.clock) as endpoint,
        pytest.raises(SetupError, match=r"refused_connection.*waiting for 5 s did not help"),
    ):
        endpoint.ask([said(str(at)) for at in range(50)])
    assert NEVER_SEEN <= time.now < 2 * NEVER_SEEN


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_nothing_is_lost_to_an_outage_shorter_than_the_patience(time: Time, concurrency: int) -> None:
    until: list[float] = []

    def down_for_a_minute(number: int) -> str:
        if number >= 100 and not until:
            until.append(time.now + 60)
        return "503" if until and time.now < until[0] else ""

    with Simulator(fails=down_for_a_minute) as server:
        replies, endpoint = asked(server, [said(str(at)) for at in range(200)], time, concurrency=concurrency)
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [str(at) for at in range(200)]
    assert not endpoint.ledger.account().failures
    assert time.now >= 60


def test_a_request_that_a_server_cannot_digest_is_no_dead_server(time: Time) -> None:
    """Nor is a handful of them next to each other."""
    bad = OPENS_AFTER - 1

    def undigested(number: int) -> str:
        return "500" if int(server.bodies[number]["messages"][0]["content"]) < bad else ""

    with Simulator(fails=undigested) as server:
        replies, _ = asked(server, [said(str(at)) for at in range(60)], time, concurrency=1, attempts=5)
    assert [isinstance(reply, Reply) for reply in replies] == [False] * bad + [True] * (60 - bad)
    assert 1.0 not in time.slept


def test_without_patience_a_dead_endpoint_stops_the_work_at_once(time: Time) -> None:
    with (
        Simulator(fails=lambda _: "500") as server,
        pytest.raises(SetupError, match=f"the last {OPENS_AFTER} requests failed"),
    ):
        asked(server, [said(str(at)) for at in range(500)], time, attempts=2, concurrency=1, patience=0)
    assert len(server.bodies) <= 2 * OPENS_AFTER + 2


def test_an_endpoint_that_was_given_up_is_asked_again_when_it_is_back(time: Time) -> None:
    with Simulator(fails=lambda number: "503" if number < 30 else "") as server:
        config = EndpointConfig(url=server.url, model="m", concurrency=1)
        with Endpoint(config, clock=time.clock) as endpoint:
            with pytest.raises(SetupError, match="is the server up"):
                endpoint.ask([said("x")])
            seen = len(server.bodies)
            server.fails = None
            assert endpoint.ask([said("x")]) == [Reply("x", usage=endpoint.ledger.account().usage)]
            assert len(server.bodies) == seen + 1


def test_a_server_that_hangs_is_a_timeout() -> None:
    with Simulator(faults={"hang": 1.0}) as server:
        [reply], _ = asked(server, [said("x")], attempts=1, timeout=0.05)
    assert isinstance(reply, NoReply)
    assert reply.code == "timeout"


def refusal(message: str, **more: object) -> Body:
    return {"error": {"message": message, **more}}


PLAN = "You exceeded your current quota, please check your plan and billing details."
EMPTY = refusal(PLAN, type="insufficient_quota", code="insufficient_quota")
LIMITED = refusal("Rate limit reached, try again in 20s. More: account/billing.", code="rate_limit_exceeded")
A_MINUTE = refusal(f"{PLAN} Please retry in 21.5s.", code=429, status="RESOURCE_EXHAUSTED")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (402, "Insufficient Balance"),
        (402, ""),
        (429, EMPTY),
        (429, "Your credit balance is too low"),
        (200, {"error": {"code": 402, "message": "Insufficient credits"}}),
    ],
)
def test_an_account_that_is_used_up_stops_the_work_at_once_and_nothing_is_paid_twice(
    status: int, body: str | Body, tmp_path: Path
) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    requests = [said(str(at)) for at in range(50)]
    with Simulator() as server:
        asked(server, requests[:10], store=store)
        server.refuses = (status, body)
        with pytest.raises(SetupError, match="quota or credit is used up; top it up, then run the same again") as seen:
            asked(server, requests, store=store, concurrency=2)
        assert "\n" not in str(seen.value)
        assert len(server.bodies) <= 12
        server.refuses = None
        replies, _ = asked(server, requests, store=store)
        assert [reply.text for reply in replies if isinstance(reply, Reply)] == [str(at) for at in range(50)]
        assert server.answered == 50
    store.close()


@pytest.mark.parametrize("body", [LIMITED, A_MINUTE, "Too many requests"])
def test_a_rate_limit_that_mentions_billing_is_waited_for(body: str | Body, time: Time) -> None:
    with Simulator(refuses=(429, body)) as server:
        [reply], _ = asked(server, [said("x")], time, attempts=3)
        assert len(server.bodies) == 3
    assert isinstance(reply, NoReply)
    assert reply.code == "rate_limited"


class Alarm:
    """A clock whose sleep ends when somebody says so."""

    def __init__(self) -> None:
        self._over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        assert seconds == 30.0
        await self._over.wait()

    def ring(self) -> None:
        self._over.set()


def test_what_has_no_reply_when_a_batch_s_time_is_over_is_left_without() -> None:
    alarm, came = Alarm(), 0

    def follow(at: int, now: Said) -> None:
        nonlocal came
        came += 1
        if came == 3:
            alarm.ring()

    with Simulator(fails=lambda number: "" if number < 3 else "hang") as server:
        config = EndpointConfig(url=server.url, model="m", batch_deadline=30.0, concurrency=4, price_out=1.0)
        with Endpoint(config, clock=Clock(sleep=alarm.sleep)) as endpoint:
            replies = endpoint.ask([said(str(at)) for at in range(20)], follow)
            account = endpoint.ledger.account()
    late = [reply for reply in replies if isinstance(reply, NoReply)]
    assert ({reply.code for reply in late}, len(late)) == ({"deadline"}, 17)
    assert account.failures == {"deadline": 17}
    assert account.maybe_billed <= 4


def test_what_was_sent_and_not_answered_counts_against_the_budget() -> None:
    """A call costs 1.0 at most; each of the first two requests is sent twice for nothing, and may have been billed."""
    with Simulator(fails=lambda number: "504" if number < 4 else "") as server:
        config = EndpointConfig(
            url=server.url, model="m", max_tokens=10, price_out=100_000, concurrency=1, attempts=2, structured="text"
        )
        ledger = Ledger(config, max_cost=10.0)
        with Endpoint(config, ledger=ledger, clock=Time().clock) as endpoint:
            replies = endpoint.ask([said(f"x{at:039}") for at in range(20)])
        assert len(server.bodies) == 10
    codes = [reply.code for reply in replies if isinstance(reply, NoReply)]
    assert codes == ["timeout"] * 2 + ["over_budget"] * 12
    account = ledger.account()
    assert (account.calls, account.cost, account.maybe_billed, account.maybe_cost) == (6, 6.0, 4, 4.0)
    assert account_line(account) == "6 calls, cost 6, 14 failed, 4 perhaps billed without a reply, perhaps 4 more"


@pytest.mark.parametrize(
    ("fault", "billed"), [("500", 0), ("503", 0), ("429", 0), ("truncated", 1), ("no_json", 1), ("empty", 1)]
)
def test_what_may_be_billed_is_told_from_what_was_refused(fault: str, billed: int, time: Time) -> None:
    with Simulator(fails=lambda number: fault if number == 0 else "") as server:
        _, endpoint = asked(server, [said("x")], time)
    assert endpoint.ledger.account().maybe_billed == billed


def test_a_reply_whose_tokens_are_not_counted_costs_what_it_can_at_most() -> None:
    bare: Body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    with Simulator(lambda _: bare) as server:
        config = EndpointConfig(url=server.url, model="m", max_tokens=10, price_out=100_000, concurrency=4)
        ledger = Ledger(config, max_cost=5.0)
        with Endpoint(config, ledger=ledger) as endpoint:
            replies = endpoint.ask([said(str(at)) for at in range(20)])
        assert len(server.bodies) == sum(isinstance(reply, Reply) for reply in replies) == 5
    assert (ledger.account().cost, ledger.account().maybe_cost) == (0.0, 5.0)


def test_a_server_that_repeats_the_key_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-secret")
    for status in (401, 422):
        with Simulator(refuses=(status, "no such key: sk-secret")) as server:
            try:
                [reply], _ = asked(server, [said("x")], key_env="JUDGE_KEY")
                shown = str(reply)
            except SetupError as error:
                shown = str(error)
        assert "no such key: ***" in shown


def test_what_is_asked_when_an_endpoint_is_closed_ends_with_it() -> None:
    """Of two that wait for one reply, none takes the asking over from the other."""
    came = Event()

    def hangs(number: int) -> str:
        came.set()
        return "hang"

    with Simulator(fails=hangs) as server, ThreadPoolExecutor() as pool:
        endpoint = Endpoint(EndpointConfig.model_validate({"url": server.url, "model": "m"}))
        asking = pool.submit(endpoint.ask, [said("x"), said("x")])
        assert came.wait(60)
        endpoint.close()
        with pytest.raises(CancelledError):
            asking.result(60)
        assert len(server.bodies) == 1


def test_nothing_is_asked_of_an_endpoint_that_was_closed() -> None:
    with Simulator() as server:
        endpoint = Endpoint(EndpointConfig.model_validate({"url": server.url, "model": "m"}))
        for _ in range(2):
            endpoint.close()
            with pytest.raises(SetupError, match="was closed"):
                endpoint.ask([said("x")])
    assert server.bodies == []
