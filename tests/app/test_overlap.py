"""Batches that overlap while their judge is asked: in order, complete, one thread computing, ended when told."""

import os
import threading
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.recipes import write_rows

from rubric_anchors import Rubric
from rubric_anchors.app.overlap import Turns, judge_overlapping
from rubric_anchors.app.sharing import Asked, judge_rows
from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.base import Tools
from rubric_anchors.data.rows import read_answers
from rubric_anchors.models.chat import Follow, Reply, Request, Said
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.reward.tools import default_tools

RUBRIC = Rubric.load("""
id: judged
criteria:
  - key: warm
    ask: It is warm.
    critic: judge
    tiers: [{means: Cold.}, {means: Warm.}]
  - key: clean
    ask: Clean.
    critic: {check: avoids, with: {words: [bad]}}
""")


class Judge:
    """Says warm; holds its replies back until `together` batches have asked, and fails from call `fails_from` on."""

    fingerprint = "judge"

    def __init__(self, together: int = 1, fails_from: int | None = None) -> None:
        self.asks = 0
        self._fails_from = fails_from
        self._barrier = threading.Barrier(together)
        self._guard = threading.Lock()

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        with self._guard:
            self.asks += 1
            failing = self._fails_from is not None and self.asks >= self._fails_from
        if failing:
            raise SetupError("the account is empty")
        self._barrier.wait(30)
        said: list[Said] = [Reply('{"warm": {"evidence": "", "tier": 1}}') for _ in requests]
        for at, one in enumerate(said):
            assert follow is None or follow(at, one) is None
        return said


def asked(folder: Path, count: int) -> list[Asked]:
    rows = [
        {"id": str(at), "prompt": "Say it.", "response": f"{'bad' if at % 3 else 'good'} {at}"} for at in range(count)
    ]
    return [(row, ("judged",)) for row in read_answers(write_rows(folder / "data.jsonl", rows), ("judged",)).rows]


def tools(judge: Judge) -> Tools:
    return replace(default_tools(), judge=lambda: judge)


def parts_of(answers: Sequence[Asked], size: int) -> list[Sequence[Asked]]:
    return [answers[start : start + size] for start in range(0, len(answers), size)]


def test_rows_are_those_of_one_batch_after_the_other_in_their_order(tmp_path: Path) -> None:
    """No batch gets its replies before four have asked: they do overlap."""
    answers = asked(tmp_path, 256)
    judge, turns = Judge(together=4), Turns(at_once=64)
    scorer = Scorer({"judged": RUBRIC}, turns.over(tools(judge)))
    rows = [
        row
        for part in judge_overlapping(scorer, parts_of(answers, turns.size), False, turns, lambda: None)
        for row in part
    ]
    assert rows == judge_rows(Scorer({"judged": RUBRIC}, tools(Judge())), answers, False)
    assert judge.asks == 256 / turns.size


def test_more_answers_than_may_be_undecided_at_once_are_judged(tmp_path: Path) -> None:
    turns = Turns(at_once=1)
    scorer = Scorer({"judged": RUBRIC}, turns.over(tools(Judge())))
    for size, sizes in ((16, [16] * 31 + [4]), (400, [400, 100])):
        parts = list(judge_overlapping(scorer, parts_of(asked(tmp_path, 500), size), False, turns, lambda: None))
        assert [len(part) for part in parts] == sizes


def test_only_one_thread_computes_at_a_time() -> None:
    turns, at_work, most = Turns(at_once=64), 0, 0

    def compute() -> None:
        nonlocal at_work, most
        with turns.mine(1):
            for _ in range(200):
                at_work += 1
                os.sched_yield()
                most = max(most, at_work)
                at_work -= 1

    threads = [threading.Thread(target=compute) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_an_end_in_one_batch_ends_all_and_is_told_once(tmp_path: Path) -> None:
    gave_up: list[bool] = []
    judge, turns = Judge(fails_from=3), Turns(at_once=64)
    scorer = Scorer({"judged": RUBRIC}, turns.over(tools(judge)))
    with pytest.raises(SetupError, match="the account is empty"):
        list(
            judge_overlapping(
                scorer, parts_of(asked(tmp_path, 2000), turns.size), False, turns, lambda: gave_up.append(True)
            )
        )
    assert gave_up == [True]
    assert judge.asks <= turns.threads + 2


def test_who_stops_reading_rows_stops_the_work(tmp_path: Path) -> None:
    judge, turns = Judge(), Turns(at_once=4)
    scorer = Scorer({"judged": RUBRIC}, turns.over(tools(judge)))
    rows = judge_overlapping(scorer, parts_of(asked(tmp_path, 2000), turns.size), False, turns, lambda: None)
    next(rows)
    assert isinstance(rows, Generator)
    rows.close()
    assert judge.asks < 2000 / 16
    with pytest.raises(SetupError, match="given up"), turns.mine(1):
        turns.ask(judge, [], None)
