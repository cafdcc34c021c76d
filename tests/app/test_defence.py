"""A wording planted in the first stage's answers is seen, drafted into a veto, shown, and held against the second's."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import anchors
from tests.support.recipes import figures, tiny_recipe, write_recipe, write_yaml

pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")

PLANTED = "quite honest indeed"
HONEST: dict[str, Any] = {
    "schema": 1,
    "id": "honest",
    "title": "A reward that one wording hacks",
    "scope": "task",
    "criteria": [
        {"key": "honest", "ask": "It says `honest`.", "critic": {"check": "contains", "with": {"words": ["honest"]}}}
    ],
}


@pytest.fixture
def run(tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run in which half of each group says the wording from the first stage's second step on."""
    from rubric_anchors.train.rollout import StageReward

    judge = StageReward.__call__

    def planted(self: StageReward, prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
        late = self.stage == "second" or columns["trainer_state"].global_step > 0
        says = [late and index % 2 == 0 for index in range(len(completions))]
        texts = [PLANTED if said else f"plain {index}" for index, said in enumerate(says)]
        return judge(self, prompts, [[{"role": "assistant", "content": text}] for text in texts], **columns)

    monkeypatch.setattr(StageReward, "__call__", planted)
    content = tiny_recipe()
    content["rubrics"] = ["short.yaml", "honest.yaml"]
    del content["select"]
    for stage in content["stages"]:
        stage |= {"rubrics": ["honest"], "prompts": 6, "group": 8}
    write_yaml(tmp_path / "honest.yaml", HONEST)
    ran = anchors("run", write_recipe(tmp_path, tiny_policy, content), "--out", tmp_path / "run")
    assert (ran.code, ran.err) == (0, "")
    return tmp_path / "run"


def test_a_planted_wording_is_vetoed_in_the_next_stage(run: Path) -> None:
    found = figures(run)
    veto = found["first_look.json"][0]["veto"]
    drafted = {one["key"]: one for one in veto["criteria"]}
    assert drafted["template"]["critic"]["with"]["phrases"] == [PLANTED]
    rows = {stage: [row for row in found["rollouts"] if row["stage"] == stage] for stage in ("first", "second")}
    rewards = {
        stage: {(row["response"] == PLANTED, row["reward"]) for row in several} for stage, several in rows.items()
    }
    assert rewards == {"first": {(True, 1.0), (False, 0.0)}, "second": {(True, 0.5), (False, 0.0)}}
    hacked = next(row for row in rows["second"] if row["response"] == PLANTED)
    steps = {step["step"]: step["delta"] for step in json.loads(hacked["contributions"])}
    assert steps["veto"] == -0.5
    assert "veto" not in {step["step"] for step in json.loads(rows["first"][-2]["contributions"])}
    page = unescape((run / "report.html").read_text("utf-8"))
    assert "1 template vetoed" in page
    assert "id: defence-first" in page
    assert f"- {PLANTED}" in page
