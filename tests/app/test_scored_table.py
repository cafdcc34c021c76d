"""What `anchors score` writes: the same numbers as JSON lines, Parquet and CSV, whole or not at all."""

import csv
import errno
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.command import anchors, anchors_dying
from tests.support.fakes import fake_tools
from tests.support.recipes import RUBRIC, write_rows, write_yaml

from rubric_anchors.app import scored_table
from rubric_anchors.app.score import score_file
from rubric_anchors.core.errors import InputError, SetupError

Row = dict[str, Any]
TALK = [
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": "Yes?"},
    {"role": "user", "content": "Say."},
]
LIKE: Row = {"key": "like", "ask": "As the reference.", "critic": {"check": "similar_to_reference"}}
ROWS: list[Row] = [
    {"id": "good", "prompt": "Say river.", "response": 'a slow\r\nriver, "so"', "reference": "a slow river"},
    {"id": "bad", "prompt": TALK, "response": "x " * 40},
    {"id": "empty", "prompt": "[1] Say it.", "response": ""},
    {"id": "강", "prompt": "강을 말해.", "response": "느린 강 \u0000 \U0001f30a", "reference": "느린 강"},
]
COLUMNS = ["id", "prompt", "response", "reward", "status", "cause", "scored_by"]
FIELDS = ("value", "tier", "status", "cause", "evidence")


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_yaml(tmp_path / "short.yaml", RUBRIC | {"criteria": [*RUBRIC["criteria"], LIKE]})


def written(folder: Path, rubrics: list[Path], name: str, rows: list[Row] = ROWS) -> Path:
    data = write_rows(folder / "data.jsonl", rows)
    score_file(data, rubrics, folder / name, tools=fake_tools())
    return folder / name


def jsonl(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def from_csv(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_three_forms_hold_the_same_verdicts_and_numbers(rubric: Path, tmp_path: Path) -> None:
    lines = jsonl(written(tmp_path, [rubric], "out.jsonl"))
    table = pq.read_table(written(tmp_path, [rubric], "out.parquet")).to_pylist()
    cells = from_csv(written(tmp_path, [rubric], "out.csv"))
    assert [len(rows) for rows in (lines, table, cells)] == [4, 4, 4]
    assert {row["status"] for row in lines} == {"scored", "unscored"}
    for line, row, texts in zip(lines, table, cells, strict=True):
        assert (row["id"], row["reward"], row["status"]) == (line["id"], line["reward"], line["status"])
        assert (row["scored_by"], row["more"]) == (line["rubric"], None)
        assert [json.loads(row["contributions"]), json.loads(row["cause"] or "null")] == [
            line["contributions"],
            line["cause"],
        ]
        for key, verdict in line["criteria"].items():
            assert [row[f"{key}.{field}"] for field in FIELDS[:3]] == [verdict[field] for field in FIELDS[:3]]
            assert json.loads(row[f"{key}.cause"] or "null") == verdict["cause"]
            assert json.loads(row[f"{key}.evidence"] or "[]") == verdict["evidence"]
        assert texts == {name: "" if value is None else str(value) for name, value in row.items()}


def test_the_columns_are_these_whatever_the_answers_are(rubric: Path, tmp_path: Path) -> None:
    named = [f"{key}.{field}" for key in ("length", "no_x", "like") for field in FIELDS]
    columns = [*COLUMNS, *named, "contributions", "more"]
    schema = pq.read_schema(written(tmp_path, [rubric], "out.parquet"))
    assert schema.names == columns
    kinds = {"value": pa.float64(), "reward": pa.float64(), "tier": pa.int64()}
    assert schema.types == [kinds.get(name.rpartition(".")[2], pa.string()) for name in columns]
    assert pq.read_schema(written(tmp_path, [rubric], "one.parquet", ROWS[2:3])) == schema
    assert from_csv(written(tmp_path, [rubric], "out.csv"))[0].keys() == dict.fromkeys(columns).keys()


def test_prompts_and_answers_stand_in_it_and_it_can_be_scored_again(rubric: Path, tmp_path: Path) -> None:
    for name in ("out.parquet", "out.csv"):
        path = written(tmp_path, [rubric], name)
        again = tmp_path / f"{name}.jsonl"
        score_file(path, [rubric], again, tools=fake_tools())
        for before, after in zip(jsonl(written(tmp_path, [rubric], f"{name}.0.jsonl")), jsonl(again), strict=True):
            assert (after["id"], after["criteria"]["length"]) == (before["id"], before["criteria"]["length"])
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["response"] for row in table] == [row["response"] for row in ROWS]
    assert [row["prompt"] for row in table][::3] == ["Say river.", "강을 말해."]
    assert json.loads(table[1]["prompt"]) == TALK
    assert json.loads(table[2]["prompt"]) == [{"role": "user", "content": "[1] Say it."}]


def test_pandas_reads_it_as_numbers(rubric: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.read_parquet(written(tmp_path, [rubric], "out.parquet"))
    assert frame["no_x.value"].mean() == pytest.approx(sum(frame["no_x.tier"]) / 4)
    assert frame["reward"].isna().tolist() == [row["status"] == "unscored" for row in frame.to_dict("records")]


def test_with_several_rubrics_columns_bear_their_names_and_are_null_where_one_does_not_judge(
    rubric: Path, tmp_path: Path
) -> None:
    own = {**RUBRIC, "id": "own", "criteria": [RUBRIC["criteria"][0]]}
    rows = [ROWS[0] | {"rubric": own}, ROWS[1]]
    first, second = pq.read_table(written(tmp_path, [rubric], "out.parquet", rows)).to_pylist()
    assert (first["scored_by"], second["scored_by"]) == ("short+own", "short")
    assert (first["own/length.value"], first["own/length.status"]) == (first["short/length.value"], "judged")
    assert [second[f"own/length.{field}"] for field in FIELDS] == [None] * 5
    assert second["short/no_x.value"] == 0.0


def test_rubrics_of_their_own_for_every_row_do_not_make_columns_without_end(
    rubric: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_table, "MOST", 4)
    rows = [ROWS[0] | {"id": str(at), "rubric": {**RUBRIC, "id": f"own-{at}"}} for at in range(3)]
    table = pq.read_table(written(tmp_path, [rubric], "out.parquet", rows))
    assert [name for name in table.column_names if name.endswith(".value")] == [
        f"short/{key}.value" for key in ("length", "no_x", "like")
    ]
    for at, row in enumerate(table.to_pylist()):
        assert sorted(json.loads(row["more"])) == [f"own-{at}/length", f"own-{at}/no_x"]


@pytest.mark.parametrize(("name", "seen"), [("out.json", ".json"), ("out.xlsx", ".xlsx"), ("out", "no ending")])
def test_a_name_with_another_ending_is_one_line_before_anything_is_judged(
    rubric: Path, tmp_path: Path, name: str, seen: str
) -> None:
    data = write_rows(tmp_path / "data.jsonl", ROWS)
    ran = anchors("score", data, "--rubric", rubric, "--out", tmp_path / name)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert f"Expected a name that ends in .jsonl, .parquet or .csv; seen {seen}" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", "short.yaml"]
    with pytest.raises(InputError):
        score_file(data, [rubric], tmp_path / name)


def test_without_the_package_parquet_is_refused_before_anything_is_judged(
    rubric: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_rows(tmp_path / "data.jsonl", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupError, match="needs pyarrow, which is not installed; pip install pyarrow, or name a"):
        score_file(data, [rubric], tmp_path / "out.parquet", tools=fake_tools())
    assert not (tmp_path / "out.parquet.partial").exists()
    score_file(data, [rubric], tmp_path / "out.csv", tools=fake_tools())


class Full:
    """A file on a disk that takes so many bytes and no more."""

    def __init__(self, file: BinaryIO, room: int) -> None:
        self._file, self._room = file, room

    def write(self, data: bytes) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("room", [0, 600])
@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_a_disk_that_is_full_at_the_end_loses_no_row(
    rubric: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, room: int
) -> None:
    rows = [ROWS[0] | {"id": str(at), "response": f"word {at} x {at * 7919}"} for at in range(300)]
    make = {"out.parquet": "_write_parquet", "out.csv": "_write_csv"}[name]
    real = getattr(scored_table, make)
    monkeypatch.setattr(scored_table, make, lambda table, lines, file: real(table, lines, Full(file, room)))
    with pytest.raises(SetupError, match="the disk is full; free some space and run again"):
        written(tmp_path, [rubric], name, rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", f"{name}.partial", "short.yaml"]
    assert len(jsonl(tmp_path / f"{name}.partial")) == 301
    monkeypatch.undo()
    score_file(tmp_path / "data.jsonl", [rubric], tmp_path / name, tools=fake_tools(), resume=True)
    assert not (tmp_path / f"{name}.partial").exists()
    assert len(from_csv(tmp_path / name) if name.endswith("csv") else pq.read_table(tmp_path / name)) == 300


def test_a_killed_run_goes_on_to_the_same_table(tmp_path: Path) -> None:
    rows = [ROWS[at % 2] | {"id": str(at), "response": f"word {at} x"} for at in range(300)]
    short = write_yaml(tmp_path / "plain.yaml", RUBRIC)
    whole = pq.read_table(written(tmp_path, [short], "whole.parquet", rows))
    out = tmp_path / "out.parquet"
    asked = ("score", tmp_path / "data.jsonl", "--rubric", short, "--out", out)
    for number, more in (("append:1:after", ()), ("finish:1:before", ("--resume",))):
        assert anchors_dying(f"rubric_anchors.app.unfinished:Unfinished:{number}:SIGKILL", *asked, *more).code == -9
        assert not out.exists()
    assert anchors(*asked, "--resume").code == 0
    assert pq.read_table(out).equals(whole)
