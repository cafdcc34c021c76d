import csv
import fcntl
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.command import PROGRAM, anchors_dying, anchors_process
from tests.support.recipes import RUBRIC, write_rows, write_yaml

from rubric_anchors.app.score import SHARED_BATCH, Tally, score_file
from rubric_anchors.app.unfinished import Unfinished
from rubric_anchors.core.errors import DataError, InputError, RubricError, SetupError
from rubric_anchors.reward.judging import BATCH

Row = dict[str, Any]
ROWS: list[Row] = [
    {"id": "good", "prompt": "Say river.", "response": "a slow river"},
    {"id": "bad", "prompt": [{"role": "user", "content": "Say river."}], "response": "x " * 40},
    {"id": "empty", "prompt": "Say river.", "response": ""},
]
SECOND: Row = {**RUBRIC, "id": "second", "criteria": [{**RUBRIC["criteria"][0], "key": "words"}]}
DIES = "rubric_anchors.app.unfinished:Unfinished:append:1:after:SIGKILL"


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_yaml(tmp_path / "short.yaml", RUBRIC)


def scored(rows: Sequence[Row], rubrics: Sequence[Path], folder: Path, **options: Any) -> tuple[Tally, list[Row]]:
    data = write_rows(folder / "data.jsonl", rows)
    tally = score_file(data, rubrics, folder / "out.jsonl", **options)
    return tally, read(folder / "out.jsonl")


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_row_an_answer_in_their_order_with_the_names_that_others_rely_on(rubric: Path, tmp_path: Path) -> None:
    tally, rows = scored(ROWS, [rubric], tmp_path)
    assert [row["id"] for row in rows] == ["good", "bad", "empty"]
    assert list(rows[0]) == ["id", "rubric", "status", "reward", "cause", "criteria", "contributions"]
    assert (rows[0]["rubric"], rows[0]["status"], rows[0]["reward"]) == ("short", "scored", 1.0)
    assert list(rows[0]["criteria"]) == ["length", "no_x"]
    assert list(rows[0]["criteria"]["length"]) == ["status", "tier", "value", "critic", "evidence", "cause"]
    assert list(rows[0]["contributions"][0]) == ["step", "delta", "note"]
    for row in rows:
        assert sum(item["delta"] for item in row["contributions"]) == pytest.approx(row["reward"], abs=1e-9)
    assert tally.scored == 3
    assert tally.reward is not None
    assert tally.reward.value == pytest.approx(sum(row["reward"] for row in rows) / 3)
    assert tally.criteria["no_x"].n == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", "out.jsonl", "short.yaml"]


def test_one_table_in_three_formats_gives_the_same_rows(rubric: Path, tmp_path: Path) -> None:
    rows = [{**row, "prompt": "Say river."} for row in ROWS]
    write_rows(tmp_path / "rows.jsonl", rows)
    with (tmp_path / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "prompt", "response"])
        writer.writeheader()
        writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for kind in ("jsonl", "csv", "parquet"):
        score_file(tmp_path / f"rows.{kind}", [rubric], tmp_path / f"{kind}.out.jsonl")
    assert (tmp_path / "csv.out.jsonl").read_bytes() == (tmp_path / "jsonl.out.jsonl").read_bytes()
    assert (tmp_path / "parquet.out.jsonl").read_bytes() == (tmp_path / "jsonl.out.jsonl").read_bytes()


def test_several_rubrics_judge_together_under_joined_names(rubric: Path, tmp_path: Path) -> None:
    tally, rows = scored(ROWS[:1], [rubric, write_yaml(tmp_path / "second.yaml", SECOND)], tmp_path)
    assert rows[0]["rubric"] == "short+second"
    assert list(rows[0]["criteria"]) == ["short/length", "short/no_x", "second/words"]
    assert set(tally.criteria) == set(rows[0]["criteria"])
    assert tally.criteria["second/words"].sd is None, "one number has no spread"


def test_the_rubric_that_a_row_carries_judges_it_beside_those_given(rubric: Path, tmp_path: Path) -> None:
    rows = [ROWS[0] | {"rubric": SECOND}, ROWS[1]]
    _, both = scored(rows, [rubric], tmp_path)
    assert [row["rubric"] for row in both] == ["short+second", "short"]
    _, alone = scored(rows[:1], [], tmp_path, force=True)
    assert alone[0]["rubric"] == "second"


def test_rows_that_cannot_be_read_are_listed_and_the_rest_goes_on(rubric: Path, tmp_path: Path) -> None:
    broken = {"id": "own", "prompt": "Hi.", "response": "hi", "rubric": SECOND | {"id": "own", "criteria": []}}
    no_check = [SECOND["criteria"][0] | {"critic": {"check": "no_such_check"}}]
    unknown = {"id": "check", "prompt": "Hi.", "response": "hi", "rubric": SECOND | {"id": "new", "criteria": no_check}}
    rows = [{"id": "half", "prompt": "Hi."}, ROWS[0], broken, unknown, ROWS[0], ROWS[1] | {"rubrics": ["nobody"]}]
    tally, written = scored(rows, [rubric], tmp_path)
    assert [row["id"] for row in written] == ["good"]
    assert [bad.line for bad in tally.unreadable] == [1, 3, 4, 5, 6]
    for bad, word in zip(tally.unreadable, ("response", "criteria", "no_such_check", "good", "nobody"), strict=True):
        assert bad.cause.startswith(f"{tmp_path / 'data.jsonl'}:{bad.line}")
        assert word in bad.cause


def test_a_table_without_one_readable_row_is_refused_and_nothing_is_written(rubric: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data.jsonl:1: .*\(and 1 more rows\); no row can be scored"):
        scored([ROWS[0] | {"prompt": 3}, ROWS[1] | {"prompt": 4}], [rubric], tmp_path)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_row_that_no_rubric_judges_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give one with --rubric, or a column `rubric`"):
        scored(ROWS, [], tmp_path)


def test_two_rubrics_with_one_id_are_refused(rubric: Path, tmp_path: Path) -> None:
    twin = write_yaml(tmp_path / "twin.yaml", RUBRIC | {"title": "Another"})
    with pytest.raises(RubricError, match=r"twin.yaml: another rubric given is called 'short' too"):
        scored(ROWS, [rubric, twin], tmp_path)


def test_reasoning_is_judged_only_when_asked_for(rubric: Path, tmp_path: Path) -> None:
    row = ROWS[0] | {"response": "<think>x x x</think>a slow river"}
    _, without = scored([row], [rubric], tmp_path)
    _, with_it = scored([row], [rubric], tmp_path, judge_reasoning=True, force=True)
    assert without[0]["criteria"]["no_x"]["value"] == 1.0
    assert with_it[0]["criteria"]["no_x"]["value"] == 0.0


def test_a_result_that_is_there_is_replaced_only_by_force(rubric: Path, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("mine")
    with pytest.raises(SetupError, match="is there already; --force replaces it"):
        scored(ROWS, [rubric], tmp_path)
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert len(scored(ROWS, [rubric], tmp_path, force=True)[1]) == 3


def test_a_device_is_never_renamed_over(rubric: Path, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", ROWS)
    with pytest.raises(SetupError, match="is no plain file"):
        score_file(data, [rubric], "/dev/null", force=True)


@pytest.mark.parametrize("name", ["", ".", "..", "/"])
def test_a_name_that_is_a_folder_is_no_file_to_write_to(rubric: Path, tmp_path: Path, name: str) -> None:
    data = write_rows(tmp_path / "data.jsonl", ROWS)
    with pytest.raises(SetupError, match="is no plain file; name a file to write the rows to"):
        score_file(data, [rubric], name)


def test_a_path_of_the_data_that_is_no_path_is_said_of_the_data(rubric: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read 'x{300}\.jsonl': the path is too long"):
        score_file(f"{'x' * 300}.jsonl", [rubric], tmp_path / "out.jsonl")


def test_a_killed_run_goes_on_from_its_finished_rows(rubric: Path, tmp_path: Path) -> None:
    rows = [ROWS[at % 2] | {"id": str(at), "response": f"word {at} x"} for at in range(700)]
    _, whole = scored(rows, [rubric], tmp_path)
    out = tmp_path / "again.jsonl"
    asked = ("score", tmp_path / "data.jsonl", "--rubric", rubric, "--out", out)
    assert anchors_dying(DIES, *asked).code == -9
    partial = tmp_path / "again.jsonl.partial"
    assert not out.exists()
    assert len(read(partial)) == 1 + BATCH
    with partial.open("a") as file:
        file.write('{"id": "torn')
    with pytest.raises(SetupError, match="holds the finished rows of an interrupted run"):
        score_file(asked[1], [rubric], out)
    changed = write_yaml(tmp_path / "changed.yaml", RUBRIC | {"title": "Changed"})
    with pytest.raises(SetupError, match="was begun with other data, rubrics, options or another judge"):
        score_file(asked[1], [changed], out, resume=True)
    tally = score_file(asked[1], [rubric], out, resume=True)
    assert read(out) == whole
    assert tally.scored == 700
    assert not partial.exists()


@pytest.mark.parametrize("carried", [False, True])
def test_several_processes_write_the_very_same_rows(rubric: Path, tmp_path: Path, carried: bool) -> None:
    own = {"rubric": {**SECOND, "id": "own"}} if carried else {}
    rows = [ROWS[at % 2] | {"id": str(at), "response": f"word {at} x"} | (own if at % 3 else {}) for at in range(1100)]
    tally, whole = scored(rows, [rubric], tmp_path)
    out = tmp_path / "shared.jsonl"
    asked = ("score", tmp_path / "data.jsonl", "--rubric", rubric, "--out", out, "--workers", 2)
    assert anchors_process(*asked).code == 0
    assert read(out) == whole
    assert tally.scored == 1100


@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
def test_processes_end_with_the_one_that_started_them(rubric: Path, tmp_path: Path, number: str) -> None:
    rows = [ROWS[at % 2] | {"id": str(at), "response": f"word {at} x"} for at in range(3000)]
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "out.jsonl"
    asked = ("score", data, "--rubric", rubric, "--out", out, "--workers", 2)
    # The pipes are inherited: the call below returns only when every process that holds them has ended.
    ran = anchors_dying(f"rubric_anchors.app.unfinished:Unfinished:append:2:after:{number}", *asked)
    assert ran.code == (130 if number == "SIGINT" else -9)
    assert "Traceback" not in ran.err
    assert len(read(tmp_path / "out.jsonl.partial")) == 1 + 2 * SHARED_BATCH
    tally = score_file(data, [rubric], out, resume=True)
    assert tally.scored == 3000


def test_a_killed_process_is_one_line_and_finished_rows_stay(rubric: Path, tmp_path: Path) -> None:
    rows = [ROWS[at % 2] | {"id": str(at), "response": f"word {at} x"} for at in range(3000)]
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "out.jsonl"
    killer = "import multiprocessing, os\n"
    killer += "import rubric_anchors.app.unfinished as part\n"
    killer += "append = part.Unfinished.append\n"
    killer += "def killing(self, rows):\n    append(self, rows)\n"
    killer += "    [os.kill(one.pid, 9) for one in multiprocessing.active_children()]\n"
    killer += "part.Unfinished.append = killing\n"
    asked = ("score", data, "--rubric", rubric, "--out", out, "--workers", 2)
    ran = anchors_process(
        *asked, program=PROGRAM.replace("from rubric_anchors.cli", f"{killer}from rubric_anchors.cli")
    )
    assert (ran.code, "Traceback" in ran.err) == (2, False)
    assert "finished rows are kept: go on with --resume" in " ".join(ran.err.split())
    assert len(read(tmp_path / "out.jsonl.partial")) >= 1 + SHARED_BATCH


def test_resuming_where_nothing_was_begun_starts(rubric: Path, tmp_path: Path) -> None:
    assert len(scored(ROWS, [rubric], tmp_path, resume=True)[1]) == 3


def test_an_answer_that_cannot_be_judged_is_unscored_with_its_cause(
    rubric: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rubric_anchors.critic.checks.counts import WordCount

    def broken(*_: object) -> None:
        raise RuntimeError("a bug in a check")

    monkeypatch.setattr(WordCount, "decide", broken)
    tally, rows = scored(ROWS, [rubric], tmp_path)
    assert {row["status"] for row in rows} == {"unscored"}
    assert {row["reward"] for row in rows} == {None}
    assert (tally.scored, tally.reward, sum(tally.unscored.values())) == (0, None, 3)
    assert [cause.endswith("(infrastructure)") for cause in tally.unscored] == [True]
    assert set(tally.criteria) == {"no_x"}, "a criterion judged nowhere has no mean"


def test_two_processes_do_not_write_one_result(rubric: Path, tmp_path: Path) -> None:
    with Unfinished(tmp_path / "out.jsonl", {}, resume=False) as other:
        other.append([{"id": "1"}])
        with pytest.raises(SetupError, match="another process is writing it"):
            scored(ROWS, [rubric], tmp_path, resume=True)


@pytest.mark.parametrize("cell", ["e", "rubric", "prompt", "kwargs"])
def test_a_row_that_is_nested_without_end_is_left_out_and_the_others_are_scored(
    rubric: Path, tmp_path: Path, cell: str
) -> None:
    deep = '{"a":' * 700 + "1" + "}" * 700
    row = {"prompt": "Say river.", "response": "a", "instruction_id_list": ["punctuation:no_comma"], cell: "DEEP"}
    lines = [json.dumps(ROWS[0]), json.dumps(row).replace('"DEEP"', deep)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), "utf-8")
    tally = score_file(tmp_path / "d.jsonl", [rubric], tmp_path / "out.jsonl")
    assert tally.scored == 1
    assert [(one.line, "nested more than 100 deep" in one.cause) for one in tally.unreadable] == [(2, True)]


def test_to_go_on_and_to_start_anew_are_not_asked_together(rubric: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--resume goes on with an interrupted run and --force starts anew"):
        scored(ROWS, [rubric], tmp_path, resume=True, force=True)


@pytest.mark.parametrize("name", ["data.jsonl", "short.yaml", "link.jsonl"])
def test_what_is_read_is_never_replaced(rubric: Path, tmp_path: Path, name: str) -> None:
    data = write_rows(tmp_path / "data.jsonl", ROWS)
    (tmp_path / "link.jsonl").symlink_to(data)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(SetupError, match="is read and would be replaced; name another file to write to"):
        score_file(data, [rubric], tmp_path / name, force=True)
    assert (tmp_path / name).read_bytes() == before


def test_a_result_that_another_process_finished_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("theirs")
    for resume in (False, True):
        with pytest.raises(SetupError, match="is there already"), Unfinished(out, {}, resume=resume):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    (tmp_path / "out.jsonl.partial").write_text("their rows\n")
    with pytest.raises(SetupError, match="holds the finished rows"), Unfinished(out, {}, resume=False):
        pass
    assert (tmp_path / "out.jsonl.partial").read_text() == "their rows\n"


def test_a_partial_file_that_was_finished_while_we_waited_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, lock, calls = tmp_path / "out.jsonl", fcntl.flock, []

    def finished_meanwhile(handle: int, how: int) -> None:
        lock(handle, how)
        calls.append(handle)
        if len(calls) == 1:
            (tmp_path / "out.jsonl.partial").unlink()

    monkeypatch.setattr(fcntl, "flock", finished_meanwhile)
    with Unfinished(out, {}, resume=False) as ours:
        ours.append([{"id": "a"}])
        ours.finish()
    assert read(out) == [{"id": "a"}]
    assert len(calls) == 2
