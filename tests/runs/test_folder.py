import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rubric_anchors.core.errors import DataError, InputError, SetupError
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import Evaluation, FirstLook, Manifest, StageResult, StepRecord

HOLD = """
import sys
from rubric_anchors.runs.folder import RunFolder
with RunFolder(sys.argv[1]).write(resume=True):
    print("held", flush=True)
    sys.stdin.read()
"""


def stage(name: str) -> StageResult:
    return StageResult(name=name, steps=(), ended="done", model=f"models/{name}", seconds=2.0)


def step(**changes: float | None) -> StepRecord:
    fields: dict[str, object] = dict.fromkeys(("reward", "reward_std", "kl", "entropy", "loss", "grad_norm"))
    numbers = dict.fromkeys(("length", "truncated", "no_signal", "unscored", "seconds"), 0.0)
    return StepRecord.model_validate({**fields, **numbers, "step": 1, "criteria": {}, **changes})


def test_records_come_back_as_they_were_written(tmp_path: Path, make_manifest: Callable[..., Manifest]) -> None:
    run = RunFolder(tmp_path / "run")
    evaluation = Evaluation(
        measures=(), preservation=(), wall_seconds=1.0, peak_rss_mb=2.0, answers=4, seed=1, cost={"judge": 0.5}
    )
    with run.write() as writer:
        writer.write_manifest(make_manifest("b", "a"))
        writer.write_stage(stage("a"))
        writer.write_stage(stage("b"))
        writer.write_evaluation(evaluation)
    assert run.manifest() == make_manifest("b", "a")
    assert run.evaluation() == evaluation
    assert [result.name for result in run.stages()] == ["b", "a"], "stages come in the recipe's order"


def test_what_is_not_written_yet_reads_as_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert (run.manifest(), run.evaluation(), run.stage("a")) == (None, None, None)
    assert run.rubrics() == run.selections() == run.stages() == run.first_looks() == run.samples() == ()
    assert list(run.rollouts()) == []
    assert run.parts() == {}
    assert not run.is_run


def test_a_stage_s_second_first_look_takes_the_place_of_its_first(tmp_path: Path) -> None:
    with RunFolder(tmp_path).write() as writer:
        for note in ("early", "late"):
            writer.write_first_look(FirstLook(stage="a", signatures=(), veto=None, note=note))
        writer.write_first_look(FirstLook(stage="b", signatures=(), veto=None, note="other"))
        assert [look.note for look in writer.first_looks()] == ["late", "other"]


def test_done_marks_keep_their_order_and_time(tmp_path: Path) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.mark_done("select", 3.5)
        writer.mark_done("a", 20.0)
        writer.mark_done("select", 4.0)
        assert writer.done("select")
        assert not writer.done("evaluate")
        assert list(writer.parts().items()) == [("select", 4.0), ("a", 20.0)]


def test_a_broken_record_is_named_with_its_field(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.evaluation_path.write_text('{"measures": 3}')
    with pytest.raises(DataError, match=r"evaluation\.json: measures: .*resume"):
        run.evaluation()


@pytest.mark.parametrize("content", [b"{broken", b'"\xff"', b"[" * 100_000])
def test_a_record_that_is_no_json_is_named(tmp_path: Path, content: bytes) -> None:
    run = RunFolder(tmp_path)
    run.evaluation_path.write_bytes(content)
    with pytest.raises(DataError, match=r"evaluation\.json: is no JSON .*resume"):
        run.evaluation()


def test_a_number_that_is_not_finite_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    diverged = StageResult(name="a", steps=(step(kl=float("nan")),), ended="done", model="m", seconds=1.0)
    with RunFolder(tmp_path).write() as writer:
        with pytest.raises(ValueError, match=r"a\.json: steps\.0\.kl is not a finite number"):
            writer.write_stage(diverged)
        assert writer.stage("a") is None


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".hidden", "a\0b", "a" * 101])
def test_no_name_leaves_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a file"):
        RunFolder(tmp_path).stage_path(name)


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(SetupError, match=r"'thesis\.txt' and is no run; choose a folder"), RunFolder(tmp_path).write():
        pass
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="is a file"), RunFolder(tmp_path / "file").write():
        pass


def test_a_run_is_gone_on_with_only_when_asked(tmp_path: Path, make_manifest: Callable[..., Manifest]) -> None:
    run = RunFolder(tmp_path / "run")
    with run.write() as writer:
        writer.write_manifest(make_manifest())
    with pytest.raises(SetupError, match="add --resume"), run.write():
        pass
    with run.write(resume=True) as writer:
        assert writer.manifest() == make_manifest()


def test_a_run_killed_before_its_manifest_starts_anew(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").write():
        pass
    with RunFolder(tmp_path / "run").write() as writer:
        assert writer.manifest() is None


def test_requiring_a_run_where_there_is_none_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="holds no run"):
        RunFolder(tmp_path).require()
    with pytest.raises(SetupError, match="no such folder"):
        RunFolder(tmp_path / "nowhere").require()


def test_a_second_writer_is_told_who_holds_the_run_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SetupError, match=f"process {holder.pid} on .* is writing this run"), run.write(resume=True):
            pass
        holder.kill()
        holder.wait()
    with run.write(resume=True):
        assert json.loads(run.lock_path.read_text())["pid"] > 0


def test_one_process_cannot_open_a_run_twice_but_can_again_after(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    with run.write(), pytest.raises(SetupError, match="is writing this run"), run.write(resume=True):
        pass
    with run.write(resume=True):
        pass
