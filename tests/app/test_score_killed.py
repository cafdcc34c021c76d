"""A job with a judge that is killed again and again: nothing that was kept is asked twice, and nothing is missing."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.support.command import PROGRAM
from tests.support.endpoint import Body, Simulator
from tests.support.recipes import write_rows, write_yaml

from rubric_anchors.app.score import score_file
from rubric_anchors.models.endpoint import AHEAD
from rubric_anchors.reward.judging import JudgeConfig

ANSWERS: Final = 500
KILLS: Final = 20
AT_ONCE: Final = 8
RUBRIC: Final = {
    "id": "judged",
    "criteria": [
        {"key": "warm", "ask": "It is warm.", "critic": "judge", "tiers": [{"means": "Cold."}, {"means": "Warm."}]},
        {"key": "short", "ask": "Short.", "critic": {"check": "word_count", "with": {"max": 5}}},
    ],
}


def verdict(body: Body) -> str:
    """Warm where the answer's number is odd."""
    number = asked_about(body)
    return json.dumps({"warm": {"evidence": f"number {number}", "tier": number % 2}})


def asked_about(body: Body) -> int:
    return int(body["messages"][0]["content"].rsplit("number ", 1)[1].split("\n", 1)[0])


def kept(cache: Path) -> set[int]:
    """The answers whose verdict is on disk."""
    if not cache.exists():
        return set()
    connection = sqlite3.connect(cache)
    rows = connection.execute("SELECT reply FROM replies").fetchall()
    connection.close()
    said = [json.loads(json.loads(reply)[0]) for (reply,) in rows]
    return {int(one["warm"]["evidence"].removeprefix("number ")) for one in said}


@pytest.mark.slow
def test_a_job_killed_at_twenty_moments_asks_what_it_needs_and_what_was_in_flight(tmp_path: Path) -> None:
    rows = [{"id": str(at), "prompt": f"Say {at // 4}.", "response": f"This is number {at}"} for at in range(ANSWERS)]
    data = write_rows(tmp_path / "data.jsonl", rows)
    rubric, out, cache = write_yaml(tmp_path / "judged.yaml", RUBRIC), tmp_path / "out.jsonl", tmp_path / "r.sqlite"
    # By the number of calls answered, all in all; a kill loses up to two rounds of calls, which are then asked again.
    moments = sorted(random.Random(20).sample(range(1, ANSWERS), KILLS))
    alive: list[int] = []

    def dying(body: Body) -> str:
        # Each process once: what it had in flight is answered too, and may hold the next moment.
        if alive and moments and server.answered >= moments[0]:
            del moments[0]
            os.kill(alive.pop(), signal.SIGKILL)
        return verdict(body)

    def begun() -> "subprocess.Popen[bytes]":
        command = ["score", data, "--rubric", rubric, "--out", out, "--judge", f"{server.url}#m", "--resume"]
        command += [f"--judge-with=cache={cache}", f"--judge-with=concurrency={AT_ONCE}"]
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    with Simulator(dying) as server:
        kills = 0
        while True:
            known, asked = kept(cache), len(server.bodies)
            process = begun()
            alive[:] = [process.pid]
            _, errors = process.communicate()
            # Of what was on disk when the last process was killed, nothing is asked again.
            assert not known & {asked_about(body) for body in server.bodies[asked:]}
            if process.returncode == 0:
                break
            assert (process.returncode, errors) == (-signal.SIGKILL, b"")
            kills += 1
        calls = [asked_about(body) for body in server.bodies]
    assert kills == KILLS
    assert set(calls) == set(range(ANSWERS))
    assert len(calls) <= ANSWERS + KILLS * AHEAD * AT_ONCE
    with Simulator(verdict) as server:
        whole = JudgeConfig(url=server.url, model="m", cache=str(tmp_path / "other.sqlite"))
        score_file(data, [rubric], tmp_path / "whole.jsonl", judge=whole)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
