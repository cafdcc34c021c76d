"""Scoring with a judge at an endpoint: a real server on this machine, a scripted mind."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import anchors, anchors_dying
from tests.support.endpoint import Body, Simulator
from tests.support.recipes import write_rows, write_yaml

from rubric_anchors.app.judges import judge_of
from rubric_anchors.app.score import estimate_file, score_file
from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.reward.judging import JudgeConfig

RUBRIC: dict[str, Any] = {
    "id": "judged",
    "criteria": [
        {"key": "clean", "ask": "So.", "critic": {"check": "avoids", "with": {"words": ["bad"]}}, "veto": {"below": 1}},
        {"key": "warm", "ask": "It is warm.", "critic": "judge", "tiers": [{"means": "Cold."}, {"means": "Warm."}]},
    ],
}  # fmt: skip
ROWS = [
    {"id": str(at), "prompt": "Say something.", "response": f"{'bad' if at % 4 == 0 else 'dear'} number {at}"}
    for at in range(40)
]


def verdict(body: Body) -> str:
    """Warm where the answer says dear."""
    answer = body["messages"][0]["content"].rsplit("The answer to grade:", 1)[1]
    return json.dumps({"warm": {"evidence": "dear" if "dear" in answer else "", "tier": int("dear" in answer)}})


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    return (
        write_rows(tmp_path / "data.jsonl", ROWS),
        write_yaml(tmp_path / "judged.yaml", RUBRIC),
        tmp_path / "out.jsonl",
    )


def config(server: Simulator, folder: Path, **fields: object) -> JudgeConfig:
    return JudgeConfig.model_validate(
        {"url": server.url, "model": "m", "cache": str(folder / "replies.sqlite"), **fields}
    )


def test_a_judge_decides_what_no_check_has_vetoed_and_is_paid_once(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    data, rubric, out = files
    with Simulator(verdict) as server:
        judge = config(server, tmp_path, price_in=1_000_000)
        tally = score_file(data, [rubric], out, judge=judge)
        assert tally.scored == 40
        assert tally.reward is not None
        assert tally.reward.value == pytest.approx(0.75)
        assert tally.account is not None
        assert (tally.account.calls, server.answered) == (30, 30)
        assert tally.account.cost == tally.account.usage.prompt > 0
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        assert rows[0]["criteria"]["warm"]["cause"]["code"] == "vetoed"
        [place] = rows[1]["criteria"]["warm"]["evidence"]
        assert ROWS[1]["response"][place["start"] : place["end"]] == "dear"
        again = score_file(data, [rubric], out, judge=judge, force=True)
        assert server.answered == 30
        assert again.account is not None
        assert (again.account.calls, again.account.cached) == (0, 30)


def test_what_a_budget_leaves_out_is_unscored_and_asked_next_time(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    data, rubric, out = files
    with Simulator(verdict) as server:
        tally = score_file(
            data, [rubric], out, judge=config(server, tmp_path, price_out=1e6, max_tokens=50, max_cost=500)
        )
        assert tally.account is not None
        assert tally.account.cost <= 500
        left = tally.unscored["over_budget (infrastructure)"]
        assert tally.scored == 40 - left
        assert 0 < left < 30
        whole = score_file(data, [rubric], out, judge=config(server, tmp_path, max_tokens=50), force=True)
        assert (whole.scored, server.answered) == (40, 30)


def test_a_dead_endpoint_is_one_line_and_finished_rows_stay(files: tuple[Path, Path, Path]) -> None:
    data, rubric, out = files
    with Simulator(verdict) as server:
        gone = server.url
    ran = anchors(
        "score", data, "--rubric", rubric, "--out", out, "--judge", f"{gone}#m",
        "--judge-with", "patience=0", "--judge-with", f"cache={out.parent / 'r.sqlite'}",
    )  # fmt: skip
    assert ran.code == 2
    assert "is the server up?" in ran.err
    assert "Traceback" not in ran.err
    assert not out.exists()


def test_a_dry_run_says_what_it_would_cost_and_asks_nobody(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    data, rubric, out = files
    with Simulator(verdict) as server:
        estimate = estimate_file(data, [rubric], config(server, tmp_path, price_in=2.0))
        assert (estimate.calls, server.bodies) == (30, [])
        assert 30 * 200 < estimate.prompt_tokens < 30 * 800
        assert estimate.cost == pytest.approx(estimate.prompt_tokens * 2.0 / 1e6)
        ran = anchors("score", data, "--rubric", rubric, "--out", out, "--judge", f"{server.url}#m", "--dry-run")
        assert (ran.code, server.bodies) == (0, [])
        assert "calls: 30" in ran.out
        assert not out.exists()


def test_the_command_line_shows_what_was_paid(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    data, rubric, out = files
    with Simulator(verdict) as server:
        ran = anchors(
            "score", data, "--rubric", rubric, "--out", out, "--judge", f"{server.url}#m",
            "--judge-with", f"cache={tmp_path / 'r.sqlite'}", "--judge-with", "concurrency=4",
            "--judge-with", "price_out=5",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "judge: calls paid" in ran.out
    assert server.most_at_once <= 4


def test_a_run_goes_on_with_the_judge_that_began_it_and_no_other(
    files: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rubric, out = files
    monkeypatch.setattr("rubric_anchors.app.overlap.SMALLEST", 8)

    def until_the_money_is_gone(body: Body) -> str:
        if first.answered == 15:
            first.refuses = (402, "Insufficient credits")
        return verdict(body)

    with Simulator(until_the_money_is_gone) as first:
        with pytest.raises(SetupError, match="quota or credit is used up"):
            score_file(data, [rubric], out, judge=config(first, tmp_path, concurrency=1))
        assert first.answered == 15
    with Simulator(verdict) as moved:
        for other in ({"model": "other"}, {"temperature": 1.0}, {"max_tokens": 5}):
            with pytest.raises(SetupError, match="was begun with other data, rubrics, options or another judge"):
                score_file(data, [rubric], out, judge=config(moved, tmp_path, **other), resume=True)
        assert moved.bodies == []
        # Another address, other limits and prices: the same judge.
        tally = score_file(data, [rubric], out, judge=config(moved, tmp_path, price_in=1.0, timeout=9.0), resume=True)
        # Six answers a batch cost a call, and two batches were written.
        assert moved.answered == 30 - 12
    assert tally.scored == 40


@pytest.mark.parametrize(
    ("named", "options", "max_cost", "expected"),
    [
        ("http://host/v1", (), None, "URL#MODEL"),
        ("http://host/v1#m", ("concurency=3",), None, "did you mean 'concurrency'"),
        ("http://host/v1#m", ("concurrency=many",), None, "--judge, concurrency"),
        ("http://host/v1#m", ("key_env=sk-12",), None, "never the key itself"),
        ("http://host/v1#m", (), 3.0, "--max-cost needs prices"),
    ],
)
def test_a_judge_named_wrongly_is_one_line(
    named: str, options: tuple[str, ...], max_cost: float, expected: str
) -> None:
    with pytest.raises(InputError) as seen:
        judge_of(named, options, max_cost)
    assert expected in str(seen.value)


def test_without_a_judge_the_rubric_is_refused_with_what_to_do(files: tuple[Path, Path, Path]) -> None:
    data, rubric, out = files
    with pytest.raises(SetupError, match="with --judge"):
        score_file(data, [rubric], out)


def test_ctrl_c_while_a_judge_is_asked_is_one_line(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    data, rubric, out = files
    with Simulator(verdict, faults={"hang": 0.9}) as server:
        ran = anchors_dying(
            "rubric_anchors.models.tries::body_of:9:after:SIGINT",
            "score", data, "--rubric", rubric, "--out", out, "--judge", f"{server.url}#m",
            "--judge-with", f"cache={tmp_path / 'r.sqlite'}",
        )  # fmt: skip
    assert ran.code == 130
    assert ran.err.strip().splitlines()[-1].startswith("anchors: interrupted")
    assert not [word for word in ("Traceback", "Task was destroyed", "never retrieved") if word in ran.err]


def test_the_expected_tier_is_read_from_the_endpoints_own_probabilities(tmp_path: Path) -> None:
    def likely(body: Body) -> Body:
        assert body["top_logprobs"] == 20
        text = verdict(body)
        tokens: list[Body] = [{"token": one, "logprob": -0.01, "top_logprobs": []} for one in text]
        place = text.rindex('"tier": ') + len('"tier": ')
        top = [{"token": "1", "logprob": math.log(0.6)}, {"token": "0", "logprob": math.log(0.3)}]
        tokens[place] |= {"logprob": math.log(0.6), "top_logprobs": top}
        choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": tokens}}
        return {"choices": [choice]}

    entry = {"key": "warm", "ask": "Warm.", "tiers": [{"means": "No."}, {"means": "Yes."}]}
    critic = {"judge": "model", "with": {"mode": "expected"}}
    rubric = write_yaml(tmp_path / "expected.yaml", {"id": "expected", "criteria": [{**entry, "critic": critic}]})
    data = write_rows(tmp_path / "data.jsonl", [{"id": "one", "prompt": "Say it.", "response": "my dear"}])
    with Simulator(likely) as server:
        score_file(data, [rubric], tmp_path / "out.jsonl", judge=config(server, tmp_path))
    [row] = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert row["reward"] == pytest.approx(0.6 / 0.9)
    assert row["criteria"]["warm"]["evidence"][0]["note"] == "expected over tiers 0: 0.30, 1: 0.60; mass 0.90"
