"""The cache of replies, shared by processes and killed in the middle."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.command import SOURCE
from tests.support.endpoint import Body, Simulator, echo

from rubric_anchors.models.chat import ChatTurn, Reply, Request, Token, Usage
from rubric_anchors.models.endpoint import AHEAD
from rubric_anchors.models.replies import ReplyStore, reply_key

ASK = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
from rubric_anchors.models.endpoint import AHEAD
from rubric_anchors.models.chat import ChatTurn, Reply, Request
from rubric_anchors.models.endpoint import Endpoint
from rubric_anchors.models.endpoint_config import EndpointConfig
from rubric_anchors.models.replies import ReplyStore
url, file, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
numbers = [(first + at) % count for at in range(count)]
with Endpoint(EndpointConfig(url=url, model="m", concurrency=8), store=ReplyStore(file)) as endpoint:
    said = endpoint.ask([Request((ChatTurn("user", f"number {{at}}"),)) for at in numbers])
assert [one.text for one in said] == [f"number {{at}}" for at in numbers]
"""


def started(url: str, file: Path, first: int, count: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", ASK, url, str(file), str(first), str(count)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def test_a_reply_comes_back_as_it_was_put(tmp_path: Path) -> None:
    reply = Reply("a \ud800 🙂", "length", (Token("a", -0.5, (("a", -0.5), ("b", -1.0))),), Usage(3, 2, 1))
    store = ReplyStore(tmp_path / "replies.sqlite")
    store.put("key", reply).result()
    store.close()
    again = ReplyStore(tmp_path / "replies.sqlite")
    assert (again.get("key"), again.get("other")) == (reply, None)
    again.close()
    again.close()


def test_a_key_depends_on_everything_that_can_change_the_reply() -> None:
    turns = (ChatTurn("user", "x"),)
    requests = [
        Request(turns),
        Request(turns, schema="{}"),
        Request(turns, seed=0),
        Request(turns, seed=1),
        Request(turns, alternatives=5),
        Request((ChatTurn("system", "x"),)),
        Request((ChatTurn("user", "x"), ChatTurn("user", ""))),
    ]
    keys = [reply_key(model, request) for model in ("one", "other") for request in requests]
    assert len(set(keys)) == len(keys)


def test_four_processes_share_a_cache_and_pay_once(tmp_path: Path) -> None:
    file, count = tmp_path / "replies.sqlite", 200
    with Simulator() as server:
        processes = [started(server.url, file, first, count) for first in range(0, count, 50)]
        for process in processes:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, b"")
        assert {body["messages"][0]["content"] for body in server.bodies} == {f"number {at}" for at in range(count)}
        assert len(server.bodies) == count


@pytest.mark.parametrize("moment", [1, 17, 60, 140])
def test_a_killed_process_loses_what_was_in_flight_and_nothing_more(tmp_path: Path, moment: int) -> None:
    file, count = tmp_path / "replies.sqlite", 200
    reached = threading.Event()
    answered = 0

    def reply(body: Body) -> str:
        nonlocal answered
        answered += 1
        if answered == moment:
            reached.set()
        return echo(body)

    with Simulator(reply) as server:
        process = started(server.url, file, 0, count)
        assert reached.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        again = started(server.url, file, 0, count)
        _, errors = again.communicate()
        assert (again.returncode, errors) == (0, b"")
        # Eight were in flight, and as many at most waited for the disk.
        assert count <= len(server.bodies) <= count + 8 * AHEAD


def test_who_stops_waiting_does_not_stop_the_writing(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    assert not store.put("one", Reply("1")).cancel()
    store.put("two", Reply("2")).result()
    assert (store.get("one"), store.get("two")) == (Reply("1"), Reply("2"))
    store.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_reads_and_writes_by_itself(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    store.put("parent", Reply("1")).result()
    child = os.fork()
    if child == 0:
        right = store.get("parent") == Reply("1")
        store.put("child", Reply("2")).result(30)
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.get("child") == Reply("2")
    store.close()
