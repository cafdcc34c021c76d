"""The whole road with a judge at an endpoint: a tiny policy trained, a real server asked, nothing paid for twice."""

import json
from pathlib import Path

import pytest
from tests.support.command import anchors
from tests.support.endpoint import Body, Simulator
from tests.support.recipes import figures, tiny_recipe, write_recipe, write_yaml

pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")

JUDGED = {
    "id": "judged",
    "criteria": [
        {"key": "short", "ask": "It is short.", "critic": {"check": "word_count", "with": {"max": 20, "soft": 20}}},
        {"key": "even", "ask": "It is even.", "critic": "judge", "tiers": [{"means": "No."}, {"means": "Yes."}]},
    ],
}  # fmt: skip


def even(body: Body) -> str:
    """A judge whose verdict depends on the answer alone."""
    answer = body["messages"][0]["content"].rsplit("The answer to grade:\n", 1)[1]
    return json.dumps({"even": {"evidence": "", "tier": int(len(answer) % 2 == 0)}})


def test_a_recipe_with_a_judge_trains_and_pays_for_each_answer_once(tmp_path: Path, tiny_policy: Path) -> None:
    with Simulator(even) as server:
        content = tiny_recipe()
        content["rubrics"] = [*content["rubrics"], "judged.yaml"]
        content["judge"] = {"url": server.url, "model": "m", "cache": str(tmp_path / "replies.sqlite"), "price_in": 1.0}
        content["stages"][-1]["rubrics"] = ["judged"]
        content["evaluate"]["rubrics"] = ["judged"]
        recipe = write_recipe(tmp_path / "recipe", tiny_policy, content)
        write_yaml(tmp_path / "recipe" / "judged.yaml", JUDGED)
        ran = anchors("run", recipe, "--out", tmp_path / "one")
        assert (ran.code, ran.err) == (0, "")
        paid = server.answered
        first = figures(tmp_path / "one")
        assert first["evaluation"]["cost"]["judge_calls"] == paid > 0
        assert first["evaluation"]["cost"]["judge_cost"] > 0
        assert "judged/even" in first["stages"][content["stages"][-1]["name"]]["steps"][-1]["criteria"]
        assert "judge calls" in (tmp_path / "one" / "report.html").read_text("utf-8")
        again = anchors("run", recipe, "--out", tmp_path / "two")
        assert (again.code, server.answered) == (0, paid)
        second = figures(tmp_path / "two")
    for found in (first, second):
        del found["evaluation"]["cost"]
    assert first == second


def test_a_dead_judge_stops_the_road_in_one_line_and_it_goes_on_from_there(tmp_path: Path, tiny_policy: Path) -> None:
    with Simulator(even) as server:
        gone = server.url
    content = tiny_recipe()
    content["rubrics"] = [*content["rubrics"], "judged.yaml"]
    content["judge"] = {"url": gone, "model": "m", "cache": str(tmp_path / "replies.sqlite"), "patience": 0}
    content["stages"][0]["rubrics"] = ["judged"]
    recipe = write_recipe(tmp_path / "recipe", tiny_policy, content)
    write_yaml(tmp_path / "recipe" / "judged.yaml", JUDGED)
    ran = anchors("run", recipe, "--out", tmp_path / "run")
    assert ran.code == 2
    assert "is the server up?" in ran.err
    assert "Traceback" not in ran.err
