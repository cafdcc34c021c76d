"""The whole road with a tiny random policy: same numbers twice, after kills, and with another architecture."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Ran, anchors, anchors_dying, anchors_process
from tests.support.recipes import figures, tiny_recipe, write_recipe

from rubric_anchors.runs.records import Selection

pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")

WRITER = "rubric_anchors.runs.folder:RunWriter"
KILLS = (
    f"{WRITER}:append_rollouts:1:after:SIGKILL",  # answers for the selection are on disk, the selection is not
    "torch::save:2:after:SIGKILL",  # in the middle of a checkpoint
    "rubric_anchors.train.stage::save_policy:1:before:SIGKILL",  # trained, and the model not saved
    f"{WRITER}:mark_done:4:before:SIGKILL",  # second model saved, its stage not marked as done
    f"{WRITER}:write_evaluation:1:before:SIGKILL",  # measured, not written
)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory, tiny_policy: Path) -> Path:
    return write_recipe(tmp_path_factory.mktemp("recipe"), tiny_policy)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, recipe: Path) -> tuple[Path, Ran]:
    """A run that nothing disturbed, and what it said."""
    out = tmp_path_factory.mktemp("runs") / "undisturbed"
    ran = anchors("run", recipe, "--out", out)
    assert (ran.code, ran.err) == (0, "")
    return out, ran


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def table(output: str) -> str:
    return output[output.index("held-out prompts, before against after") :]


def test_the_road_leaves_what_it_promises(finished: tuple[Path, Ran]) -> None:
    out, ran = finished
    assert {"manifest.json", "evaluation.json", "rollouts.parquet", "report.html"} <= {
        path.name for path in out.iterdir()
    }
    found = figures(out)
    assert [row["name"] for row in found["evaluation"]["measures"]] == [
        "reward",
        "reward_unshaped",
        "distinctness",
        "length",
    ]
    assert [row["name"] for row in found["evaluation"]["preservation"]] == ["perplexity", "accuracy"]
    assert [len(stage["steps"]) for stage in found["stages"].values()] == [2, 2]
    stages = [row["stage"] for row in found["rollouts"]]
    # Selection asks 2 answers of 6 prompts; a step 4 of 2 prompts; evaluation 2 of 4, on both sides.
    counts = {name: stages.count(name) for name in dict.fromkeys(stages)}
    assert counts == {
        "first": 16,
        "held-out-main-after": 8,
        "held-out-main-before": 8,
        "second": 16,
        "select-first": 12,
        "select-second": 12,
    }
    assert len({row["id"] for row in found["rollouts"]}) == len(stages)
    assert "reward" in table(ran.out)
    cards = [(out / "models" / name / "README.md").read_text("utf-8") for name in ("first", "second")]
    assert ["distinctness" in card for card in cards] == [False, True], "the figures are of the last model"


def test_the_second_stage_is_judged_by_the_drafted_veto_too(finished: tuple[Path, Ran]) -> None:
    rubrics = {row["stage"]: row["rubric"] for row in figures(finished[0])["rollouts"]}
    assert rubrics["first"] == '["short"]'
    assert rubrics["second"] == '["short","defence-first"]'
    assert rubrics["held-out-main-after"] == '["short"]', "the measure is one frozen rubric"


def test_the_same_recipe_and_seed_give_the_same_numbers(
    finished: tuple[Path, Ran], recipe: Path, tmp_path: Path
) -> None:
    assert anchors("run", recipe, "--out", tmp_path / "again").code == 0
    assert figures(tmp_path / "again") == figures(finished[0])


def test_resuming_a_finished_run_changes_nothing_and_says_the_same(finished: tuple[Path, Ran], recipe: Path) -> None:
    out, first = finished
    before = contents(out)
    ran = anchors("run", recipe, "--out", out, "--resume")
    assert (ran.code, ran.err) == (0, "")
    assert table(ran.out) == table(first.out)
    assert contents(out) == before


def test_a_run_killed_within_a_checkpoint_ends_with_the_same_numbers(
    finished: tuple[Path, Ran], recipe: Path, tmp_path: Path
) -> None:
    assert anchors_dying(KILLS[1], "run", recipe, "--out", tmp_path / "run").code == -9
    assert not (tmp_path / "run" / "stages" / "first.json").exists()
    assert anchors_process("run", recipe, "--out", tmp_path / "run", "--resume").code == 0
    assert figures(tmp_path / "run") == figures(finished[0])


@pytest.mark.slow
def test_a_run_killed_at_five_points_ends_with_the_same_numbers(
    finished: tuple[Path, Ran], recipe: Path, tmp_path: Path
) -> None:
    for point in KILLS:
        assert anchors_dying(point, "run", recipe, "--out", tmp_path / "run", "--resume").code == -9, point
    ran = anchors_process("run", recipe, "--out", tmp_path / "run", "--resume")
    assert (ran.code, ran.err) == (0, "")
    assert figures(tmp_path / "run") == figures(finished[0])


def test_ctrl_c_ends_with_130_and_one_line_and_is_resumable(
    finished: tuple[Path, Ran], recipe: Path, tmp_path: Path
) -> None:
    ran = anchors_dying(f"{WRITER}:append_rollouts:3:after:SIGINT", "run", recipe, "--out", tmp_path / "run")
    assert ran.code == 130
    assert ran.err == "anchors: interrupted; nothing finished is lost, --resume goes on from here\n"
    assert anchors("run", recipe, "--out", tmp_path / "run", "--resume").code == 0
    assert figures(tmp_path / "run") == figures(finished[0])


def test_train_and_then_run_is_the_same_road(finished: tuple[Path, Ran], recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    selected = anchors("select", recipe, "--out", out)
    assert (selected.code, selected.err) == (0, "")
    assert "kept" in selected.out
    trained = anchors("train", recipe, "--out", out, "--resume")
    assert trained.out.endswith(f"model: {out / 'models' / 'second'}\n")
    assert not (out / "evaluation.json").exists()
    assert anchors("run", recipe, "--out", out, "--resume").code == 0
    assert figures(out) == figures(finished[0])


def test_training_again_what_is_done_keeps_the_card_s_figures(
    finished: tuple[Path, Ran], recipe: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(finished[0], tmp_path / "run")
    before = contents(out)
    assert anchors("train", recipe, "--out", out, "--resume").code == 0
    assert contents(out) == before


def test_nothing_is_stated_as_paid_where_no_judge_was_asked(finished: tuple[Path, Ran]) -> None:
    assert figures(finished[0])["evaluation"]["cost"] == {}
    assert "no judge was asked" in (finished[0] / "report.html").read_text("utf-8")


def test_a_recipe_without_a_report_names_the_run(tiny_policy: Path, tmp_path: Path) -> None:
    content = tiny_recipe()
    content["stages"] = content["stages"][:1]
    del content["select"], content["evaluate"]
    content["output"] = {"report": False}
    ran = anchors("run", write_recipe(tmp_path, tiny_policy, content), "--out", tmp_path / "run")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(f"run: {tmp_path / 'run'}\n")
    assert not (tmp_path / "run" / "report.html").exists()


def test_selecting_for_a_later_stage_needs_the_model_it_starts_from(recipe: Path, tmp_path: Path) -> None:
    ran = anchors("select", recipe, "--out", tmp_path / "run", "--stage", "second")
    assert ran.code == 2
    assert "starts from the model that stage 'first' leaves" in ran.err


def test_evaluate_measures_any_model_as_the_road_does(finished: tuple[Path, Ran], recipe: Path, tmp_path: Path) -> None:
    model = finished[0] / "models" / "second"
    ran = anchors("evaluate", recipe, "--out", tmp_path / "own", "--model", model)
    assert (ran.code, ran.err) == (0, "")
    expected, found = figures(finished[0])["evaluation"], json.loads((tmp_path / "own" / "evaluation.json").read_text())
    assert found["measures"] == expected["measures"]
    assert found["preservation"] == expected["preservation"]
    assert (tmp_path / "own" / "samples.json").read_bytes() == (finished[0] / "samples.json").read_bytes()
    before = contents(tmp_path / "own")
    again = anchors("evaluate", recipe, "--out", tmp_path / "own", "--model", model, "--resume")
    assert table(again.out) == table(ran.out)
    assert contents(tmp_path / "own") == before


def test_an_evaluation_killed_between_its_sides_ends_with_the_same_numbers(
    finished: tuple[Path, Ran], recipe: Path, tmp_path: Path
) -> None:
    asked = ("evaluate", recipe, "--out", tmp_path / "own", "--model", finished[0] / "models" / "second")
    assert anchors_dying(f"{WRITER}:append_rollouts:1:after:SIGKILL", *asked).code == -9
    assert anchors(*asked, "--resume").code == 0
    found = json.loads((tmp_path / "own" / "evaluation.json").read_text())
    assert found["measures"] == figures(finished[0])["evaluation"]["measures"]


def test_a_folder_is_for_one_thing(finished: tuple[Path, Ran], recipe: Path, tiny_policy: Path, tmp_path: Path) -> None:
    """Journals of one model would be taken for another's."""
    run = finished[0]
    ran = anchors("evaluate", recipe, "--out", run, "--model", tiny_policy, "--resume")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "holds a run" in ran.err
    assert anchors("evaluate", recipe, "--out", tmp_path / "own", "--model", tiny_policy).code == 0
    other = anchors("evaluate", recipe, "--out", tmp_path / "own", "--model", run / "models" / "first", "--resume")
    assert "the evaluation of another model" in other.err


def test_a_gate_that_stops_a_stage_exits_with_1_after_everything_else_is_done(
    tiny_policy: Path, tmp_path: Path
) -> None:
    content = tiny_recipe()
    content["stages"] = content["stages"][:1]
    content["stages"][0]["gates"] = [{"watch": "perplexity", "above": 0.0, "action": "stop"}]
    recipe = write_recipe(tmp_path, tiny_policy, content)
    ran = anchors("run", recipe, "--out", tmp_path / "run")
    assert ran.code == 1
    assert ran.err.startswith("anchors: a gate ended first (stopped)")
    assert "held-out prompts" in ran.out
    again = anchors("run", recipe, "--out", tmp_path / "run", "--resume")
    assert (again.code, again.err) == (1, ran.err)


def test_a_gate_s_line_is_drawn_at_the_stage_s_start_after_a_kill_too(tiny_policy: Path, tmp_path: Path) -> None:
    content = tiny_recipe()
    content["stages"] = content["stages"][:1]
    del content["select"]
    content["stages"][0] |= {"steps": 3, "gates": [{"watch": "perplexity", "above": 9.0, "action": "warn"}]}
    recipe = write_recipe(tmp_path, tiny_policy, content)
    assert anchors("run", recipe, "--out", tmp_path / "whole").code == 0
    assert (
        anchors_dying(f"{WRITER}:append_rollouts:3:after:SIGKILL", "run", recipe, "--out", tmp_path / "run").code == -9
    )
    assert anchors("run", recipe, "--out", tmp_path / "run", "--resume").code == 0
    whole, resumed = (figures(tmp_path / name)["stages"]["first"] for name in ("whole", "run"))
    assert [check["step"] for check in whole["gates"]] == [1, 2, 3]
    assert resumed == whole


def test_a_mixture_of_experts_takes_the_same_road(tiny_moe: Path, tmp_path: Path) -> None:
    content: dict[str, Any] = tiny_recipe()
    content["stages"] = [content["stages"][0] | {"steps": 1}]
    recipe = write_recipe(tmp_path, tiny_moe, content)
    ran = anchors("run", recipe, "--out", tmp_path / "run")
    assert (ran.code, ran.err) == (0, "")
    config = json.loads((tmp_path / "run" / "models" / "first" / "config.json").read_text())
    assert config["model_type"] == "qwen3_moe"


def test_a_selection_in_which_nothing_could_be_scored_exits_with_1(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rubric_anchors.app import parts

    def nothing(*_: object, **__: object) -> Selection:
        return Selection(
            stage="first", answers=2, band=(0.0, 1.0), cuts=(0.0, 1.0), means={}, spreads={}, kept=(), dropped=()
        )

    monkeypatch.setattr(parts, "select_only", nothing)
    ran = anchors("select", recipe, "--out", tmp_path / "run")
    assert (ran.code, ran.err) == (1, "anchors: no answer could be scored\n")
