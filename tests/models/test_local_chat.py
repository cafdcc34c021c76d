"""A judge in this process: real weights, real sampling, the same cache, books and failures as at an endpoint."""

import json
import math
import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.support.command import anchors  # noqa: E402
from tests.support.recipes import write_rows, write_yaml  # noqa: E402

from rubric_anchors.core.errors import SetupError  # noqa: E402
from rubric_anchors.models.chat import ChatTurn, NoReply, Reply, Request, Said  # noqa: E402
from rubric_anchors.models.endpoint_config import EndpointConfig  # noqa: E402
from rubric_anchors.models.local_chat import LocalChat  # noqa: E402
from rubric_anchors.models.replies import ReplyStore  # noqa: E402
from rubric_anchors.reward.judging import Judge, JudgeConfig  # noqa: E402


def config(**fields: Any) -> EndpointConfig:
    return EndpointConfig.model_validate({"url": "http://unused", "model": "m", "max_tokens": 12, **fields})


def asked(text: str, **more: Any) -> Request:
    return Request((ChatTurn("user", text),), **more)


def texts(said: list[Said]) -> list[str]:
    assert all(isinstance(one, Reply) for one in said), said
    return [one.text for one in said if isinstance(one, Reply)]


def test_a_reply_is_the_same_whoever_is_asked_beside_it(real_policy: Path) -> None:
    model = LocalChat.load(real_policy, config(concurrency=3))
    questions = [asked(f"What is {number} and {number}?") for number in range(4)]
    together = texts(model.ask(questions))
    alone = [texts(LocalChat.load(real_policy, config()).ask([question]))[0] for question in questions[:2]]
    assert together[:2] == alone
    account = model.ledger.account()
    assert account.calls == 4
    assert 4 <= account.usage.completion <= 48


def test_another_seed_is_another_try_where_the_temperature_is_above_0(tiny_policy: Path) -> None:
    warm = LocalChat.load(tiny_policy, config(temperature=1.0))
    one, same, other = texts(warm.ask([asked("hi", seed=1), asked("hi", seed=1), asked("hi", seed=2)]))
    assert one == same != other
    assert warm.ledger.account().calls == 2, "equal requests are asked once"
    cold = LocalChat.load(tiny_policy, config())
    assert len(set(texts(cold.ask([asked("hi", seed=1), asked("hi", seed=2)])))) == 1


def test_likely_tokens_come_with_probabilities_of_the_model_s_own(real_policy: Path) -> None:
    model = LocalChat.load(real_policy, config(temperature=0.0))
    [reply] = model.ask([asked("Say yes.", alternatives=5)])
    assert isinstance(reply, Reply)
    assert "".join(token.text for token in reply.tokens) == reply.text
    for token in reply.tokens:
        values = [logp for _, logp in token.alternatives]
        assert len(values) == 5
        assert values == sorted(values, reverse=True)
        assert math.fsum(map(math.exp, values)) <= 1.0 + 1e-6
        likeliest, logp = token.alternatives[0]
        assert likeliest == token.text, "the likeliest was said"
        assert logp == pytest.approx(token.logp)


def test_what_follows_a_reply_is_asked_in_its_place(tiny_policy: Path) -> None:
    model = LocalChat.load(tiny_policy, config())
    seen: list[int] = []

    def follow(at: int, said: Said) -> Request | None:
        seen.append(at)
        return asked("and then?") if len(seen) <= 2 and at == 1 else None

    first, second = model.ask([asked("a"), asked("b")], follow)
    assert seen == [0, 1, 1]
    assert [second] == model.ask([asked("and then?")])
    assert [first] == model.ask([asked("a")])


def test_replies_are_kept_and_another_process_pays_for_none(tiny_policy: Path, tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    one = LocalChat.load(tiny_policy, config(), store=store)
    said = one.ask([asked("a"), asked("b", alternatives=2)])
    other = LocalChat.load(tiny_policy, config(), store=store)
    assert other.ask([asked("a"), asked("b", alternatives=2)]) == said
    account = other.ledger.account()
    assert (account.calls, account.cached) == (0, 2)
    assert LocalChat.load(tiny_policy, config(max_tokens=3)).fingerprint != other.fingerprint
    store.close()


def test_a_prompt_beyond_the_context_is_its_own_failure(tiny_policy: Path) -> None:
    """The tiny model reads 512 tokens, a byte each; its template takes 35 of them."""
    model = LocalChat.load(tiny_policy, config(max_tokens=40))
    flood, near, other = model.ask([asked("x" * 600), asked("x" * 460), asked("x")])
    assert isinstance(flood, NoReply)
    assert flood.code == "context_length"
    assert isinstance(near, Reply | NoReply)
    assert near == LocalChat.load(tiny_policy, config(max_tokens=40)).ask([asked("x" * 460)])[0]
    assert other == LocalChat.load(tiny_policy, config(max_tokens=40)).ask([asked("x")])[0]
    assert model.ledger.account().failures["context_length"] == 1


def test_closing_ends_what_is_being_said(tiny_policy: Path) -> None:
    model = LocalChat.load(tiny_policy, config(max_tokens=400))
    began, failed = threading.Event(), []
    model._policy.model.register_forward_pre_hook(lambda *_: began.set())

    def ask() -> None:
        try:
            for number in range(1000):
                model.ask([asked(str(number))])
        except SetupError as error:
            failed.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    assert began.wait(60)
    model.close()
    thread.join(60)
    assert not thread.is_alive()
    assert failed == ["nothing can be asked of a model that was closed"]


def test_the_command_line_scores_with_it(real_policy: Path, tmp_path: Path) -> None:
    rubric = write_yaml(tmp_path / "warm.yaml", {
        "id": "warm",
        "criteria": [{"key": "warm", "ask": "It is warm.", "critic": {"judge": "model", "with": {
            "mode": "expected", "mass": 1e-6}}, "tiers": [{"means": "No."}, {"means": "Yes."}]}],
    })  # fmt: skip
    rows = [{"id": str(at), "prompt": "Greet me.", "response": text} for at, text in enumerate(["Hello!", "Go."])]
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "out.jsonl"
    given = ["--judge-with", "max_tokens=25", "--judge-with", f"cache={tmp_path / 'replies.sqlite'}"]
    ran = anchors("score", data, "--rubric", rubric, "--out", out, "--judge", f"local#{real_policy}", *given)
    assert ran.code in (0, 1), ran.err
    written = [json.loads(line)["criteria"]["warm"] for line in out.read_text("utf-8").splitlines()]
    assert len(written) == 2
    for verdict in written:
        if verdict["status"] == "judged":
            assert 0.0 < verdict["value"] < 1.0
        else:
            assert verdict["cause"]["kind"] == "answer"
    assert "calls" in ran.out


def test_a_model_that_is_not_there_and_options_of_endpoints_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no model folder"):
        Judge(JudgeConfig(url="local", model=str(tmp_path / "none"), cache=str(tmp_path / "c"))).model()
    rubric = write_yaml(tmp_path / "r.yaml", {"id": "r", "criteria": [{"key": "a", "ask": "A.", "critic": "judge"}]})
    data = write_rows(tmp_path / "data.jsonl", [{"id": "0", "prompt": "p", "response": "r"}])
    for named, option, words in (
        ("local#embedded", "key_env=KEY", "a judge in this process takes no key_env"),
        ("local", "concurrency=2", "or as local#FOLDER; seen 'local'"),
    ):
        ran = anchors(
            "score", data, "--rubric", rubric, "--out", tmp_path / "o.jsonl", "--judge", named, "--judge-with", option
        )
        assert ran.code == 2
        assert words in ran.err
        assert ran.err.count("\n") == 1
