"""`anchors calibrate` with a judge at an endpoint: a real server on this machine, a scripted mind."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.command import anchors
from tests.support.endpoint import Body, Simulator
from tests.support.recipes import write_rows, write_yaml

from rubric_anchors.app.calibrate import Calibrated, How, calibrate_pairs, calibrate_scores, estimate_scores
from rubric_anchors.evaluate.calibration import Again
from rubric_anchors.reward.judging import JudgeConfig

TIERS = [{"means": "Cold."}, {"means": "Mild."}, {"means": "Warm."}]
KEYS = ("warm", "kind")
HOT = ("cold", "mild", "warm")


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    criteria = [{"key": key, "ask": f"It is {key}.", "critic": "judge", "tiers": TIERS} for key in KEYS]
    return write_yaml(tmp_path / "mine.yaml", {"id": "mine", "criteria": criteria})


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    rows = [{"prompt": f"Say {at}.", "response": f"{HOT[at % 3]} {at}", "h": at % 3} for at in range(12)]
    return write_rows(tmp_path / "scored.jsonl", rows)


def asked(body: Body) -> list[str]:
    """The criteria in the order in which they are asked about."""
    return re.findall(r"^(\w+): It is", body["messages"][0]["content"], re.MULTILINE)


def mind(noise: Callable[[int | None], int]) -> Callable[[Body], str]:
    """A judge who names the tier that the answer names, moved on by what `noise` makes of the seed."""

    def judge(body: Body) -> str:
        answer = body["messages"][0]["content"].rsplit("The answer to grade:", 1)[1]
        tier = next(at for at, word in enumerate(HOT) if word in answer)
        tier = (tier + noise(body.get("seed"))) % 3
        return json.dumps({key: {"evidence": "", "tier": tier} for key in asked(body)})

    return judge


STEADY = mind(lambda seed: 0)
NOISY = mind(lambda seed: 0 if seed is None else 1)


def config(server: Simulator, folder: Path, **fields: object) -> JudgeConfig:
    cache = str(folder / "replies.sqlite")
    return JudgeConfig.model_validate({"url": server.url, "model": "m", "cache": cache, **fields})


def again(made: Calibrated, key: str) -> Again:
    found = next(one for one in made.calibration.targets if one.key == key).again
    assert found is not None
    return found


@pytest.mark.parametrize(("judge", "changed", "change"), [(STEADY, 0, 0.0), (NOISY, 8, 2 / 3)])
def test_a_judge_is_asked_anew_and_what_changes_with_the_seed_is_found(
    judge: Callable[[Body], str], changed: int, change: float, rubric: Path, scored: Path, tmp_path: Path
) -> None:
    labels = ["warm=h", "kind=h"]
    with Simulator(judge) as server:
        made = calibrate_scores(scored, rubric, labels, how=How(again=8), judge=config(server, tmp_path))
        assert (server.answered, len(server.bodies)) == (20, 20)
        once_more = calibrate_scores(scored, rubric, labels, how=How(again=8), judge=config(server, tmp_path))
        assert server.answered == 20
    # Tiers 0, 1 and 2 become 1, 2 and 0: of eight answers six move by half the scale and two by all of it.
    assert (again(made, "warm").n, again(made, "warm").changed) == (8, changed)
    assert again(made, "warm").mean_change == pytest.approx((6 * 0.5 + 2 * 1.0) / 8 if change else 0.0)
    assert once_more.calibration == made.calibration
    assert made.account is not None
    assert once_more.account is not None
    assert (made.account.calls, made.account.cached) == (20, 0)
    assert (once_more.account.calls, once_more.account.cached) == (0, 20)


def test_the_second_time_has_seeds_and_an_order_of_criteria_of_its_own(
    rubric: Path, scored: Path, tmp_path: Path
) -> None:
    with Simulator(STEADY) as server:
        calibrate_scores(scored, rubric, ["warm=h"], how=How(again=5), judge=config(server, tmp_path))
        first, second = server.bodies[:12], server.bodies[12:]
    assert {body.get("seed") for body in first} == {None}
    assert len({body["seed"] for body in second}) == 1
    orders = [{tuple(asked(body)) for body in part} for part in (first, second)]
    assert [len(found) for found in orders] == [1, 1]
    assert orders[0] != orders[1]
    assert {frozenset(order) for found in orders for order in found} == {frozenset(KEYS)}


def test_both_answers_of_a_pair_are_asked_about_twice(rubric: Path, tmp_path: Path) -> None:
    rows = [{"prompt": f"Say {at}.", "chosen": f"warm {at}", "rejected": f"cold {at}"} for at in range(6)]
    data = write_rows(tmp_path / "pairs.jsonl", rows)
    with Simulator(NOISY) as server:
        made = calibrate_pairs(data, rubric, "chosen,rejected", how=How(again=4), judge=config(server, tmp_path))
        assert server.answered == 2 * 6 + 2 * 4
    # Warm against cold is 2 against 0 at first, and 0 against 1 with another seed.
    assert (again(made, "warm").n, again(made, "warm").changed) == (4, 4)
    assert again(made, "warm").mean_change == pytest.approx(1.5)


def test_the_dry_run_and_the_budget_know_of_both_times(rubric: Path, scored: Path, tmp_path: Path) -> None:
    with Simulator(STEADY) as server:
        judge = config(server, tmp_path, price_in=1.0)
        estimate = estimate_scores(scored, rubric, ["warm=h"], (), How(again=8), judge)
        assert (estimate.calls, server.bodies) == (20, [])
        once = estimate_scores(scored, rubric, ["warm=h"], (), How(again=0), judge)
        assert (once.calls, once.cost < estimate.cost) == (12, True)
        spent = config(server, tmp_path, price_out=1e6, max_tokens=50, concurrency=1, max_cost=300)
        made = calibrate_scores(scored, rubric, ["warm=h"], how=How(again=8), judge=spent)
    assert made.account is not None
    assert made.account.cost <= 300
    assert made.account.failures == {"over_budget": 20 - made.account.calls}
    assert 12 <= made.account.calls < 20


def test_the_command_line_takes_a_judge_as_score_does(rubric: Path, scored: Path, tmp_path: Path) -> None:
    with Simulator(STEADY) as server:
        options = ["--judge", f"{server.url}#m", "--judge-with", f"cache={tmp_path / 'r.sqlite'}"]
        run = ("calibrate", scored, "--rubric", rubric, "--labels", "warm=h", "--again", 8, *options)
        dry = anchors(*run, "--dry-run")
        assert (dry.code, server.bodies) == (0, [])
        assert "calls: 20" in dry.out
        ran = anchors(*run)
    assert (ran.code, ran.err) == (0, "")
    assert "judge: 20 calls" in ran.out
    assert "judged again in the opposite order: 8 of 8 the same" in ran.out


def test_options_of_a_judge_without_one_are_refused_in_one_line(rubric: Path, scored: Path) -> None:
    for option in (["--dry-run"], ["--max-cost", 3], ["--judge-with", "concurrency=3"]):
        ran = anchors("calibrate", scored, "--rubric", rubric, "--labels", "warm=h", *option)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "go with --judge URL#MODEL" in ran.err
