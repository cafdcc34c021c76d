import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rubric_anchors.core.errors import DataError
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import Rollout
from rubric_anchors.runs.rollouts import read_rollouts

COLUMNS = [
    "id", "stage", "step", "policy", "prompt_id", "prompt", "response", "tokens", "logp", "rubric", "verdicts",
    "contributions", "reward", "status", "cause",
]  # fmt: skip

MakeRollout = Callable[..., Rollout]


def unscored(make: MakeRollout) -> Rollout:
    cause = {"kind": "infrastructure", "code": "timeout", "detail": ""}
    return make(id="u", reward=None, logp=None, status="unscored", cause=cause, contributions=[])


def test_the_journal_gives_back_what_was_appended(tmp_path: Path, make_rollout: MakeRollout) -> None:
    odd = make_rollout(id="odd", response="line\u2028 \x00 <b> \u202e שלום \U0001f9ff\n\r")
    rollouts = [make_rollout(), unscored(make_rollout), odd]
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts(rollouts[:1])
        writer.append_rollouts(rollouts[1:])
        assert list(writer.rollouts()) == list(writer.rollouts("a")) == rollouts
        assert list(writer.rollouts("b")) == []


def test_the_parquet_file_has_the_published_columns(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout(), unscored(make_rollout)])
        assert writer.finalise_rollouts() == 2
    table = pq.read_table(tmp_path / "rollouts.parquet")
    assert table.column_names == COLUMNS
    scored, left_out = table.to_pylist()
    assert json.loads(scored["prompt"]) == [
        {"role": "system", "content": "Be plain."},
        {"role": "user", "content": "What did you see?"},
    ]
    assert json.loads(scored["rubric"]) == ["plain"]
    assert json.loads(scored["verdicts"])["length"]["value"] == 1.0
    assert json.loads(scored["contributions"]) == [{"step": "weighted", "delta": 1.0, "note": "length"}]
    assert (left_out["reward"], left_out["logp"]) == (None, None), "a failed judgement is no number"
    assert json.loads(left_out["cause"])["code"] == "timeout"


def test_parquet_and_journal_tell_the_same(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout(id=str(index), step=index) for index in range(5)])
        writer.append_rollouts([make_rollout(id="b", stage="b"), unscored(make_rollout).with_changes(stage="b")])
        journalled = list(writer.rollouts())
        writer.finalise_rollouts()
        assert list(read_rollouts(writer.rollouts_path)) == list(writer.rollouts()) == journalled
        assert [rollout.id for rollout in writer.rollouts("b")] == ["b", "u"]


def test_a_lone_surrogate_survives_the_journal_and_is_replaced_in_parquet(
    tmp_path: Path, make_rollout: MakeRollout
) -> None:
    half = make_rollout(response="half \ud800.", prompt=[("user", "\udfff?")])
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([half])
        assert list(writer.rollouts()) == [half]
        writer.finalise_rollouts()
        [read] = writer.rollouts()
        assert read.response == "half \ufffd."
        assert read.prompt == half.prompt, "JSON text keeps it as an escape"


def test_the_same_rollouts_give_the_same_parquet_bytes(tmp_path: Path, make_rollout: MakeRollout) -> None:
    seen = []
    for name in ("one", "two"):
        with RunFolder(tmp_path / name).write() as writer:
            writer.append_rollouts([make_rollout(id=str(index)) for index in range(3)])
            writer.finalise_rollouts()
            seen.append(writer.rollouts_path.read_bytes())
    assert seen[0] == seen[1]


def test_a_torn_last_line_is_not_read_and_is_cut_before_the_next_append(
    tmp_path: Path, make_rollout: MakeRollout
) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout(id="whole")])
        journal = writer.journal_path("a")
        journal.write_bytes(journal.read_bytes() + b'{"id": "torn", "sta')
        assert [rollout.id for rollout in writer.rollouts()] == ["whole"]
        writer.append_rollouts([make_rollout(id="next")])
        assert [rollout.id for rollout in writer.rollouts()] == ["whole", "next"]


def test_a_broken_line_within_the_journal_is_named(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout()])
        journal = writer.journal_path("a")
        journal.write_bytes(journal.read_bytes() + b'{"id": 1}\n')
        with pytest.raises(DataError, match=r"a\.jsonl:2: not a rollout"):
            list(writer.rollouts())
        for broken in (b"{broken\n", b'"\xff"\n', b"[" * 100_000 + b"\n"):
            journal.write_bytes(broken)
            with pytest.raises(DataError, match=r"a\.jsonl:1: is no JSON"):
                list(writer.rollouts())
            with pytest.raises(DataError, match=r"a\.jsonl:1: is no JSON"):
                writer.drop_rollouts("a", after=0)
        assert journal.read_bytes() == broken


def test_a_resumed_stage_drops_the_steps_it_takes_again(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout(id=str(step), step=step) for step in range(1, 6)])
        writer.append_rollouts([make_rollout(id="other", stage="b", step=9)])
        writer.finalise_rollouts()
        writer.drop_rollouts("a", after=3)
        assert [rollout.id for rollout in writer.rollouts()] == ["1", "2", "3", "other"]
        writer.drop_rollouts("never-ran", after=0)


def test_new_rollouts_are_seen_although_the_parquet_file_was_written(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout(id="1")])
        writer.finalise_rollouts()
        writer.append_rollouts([make_rollout(id="2")])
        assert [rollout.id for rollout in writer.rollouts()] == ["1", "2"]


def test_finalising_without_journals_leaves_the_parquet_file(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer:
        writer.append_rollouts([make_rollout()])
        writer.finalise_rollouts()
        writer.journal_path("a").unlink()
        assert writer.finalise_rollouts() == 0
        assert len(list(writer.rollouts())) == 1


def test_rollouts_of_two_stages_are_not_appended_at_once(tmp_path: Path, make_rollout: MakeRollout) -> None:
    with RunFolder(tmp_path).write() as writer, pytest.raises(ValueError, match="one stage at a time; seen a, b"):
        writer.append_rollouts([make_rollout(), make_rollout(stage="b")])


def test_a_file_that_is_no_parquet_says_so(tmp_path: Path) -> None:
    (tmp_path / "rollouts.parquet").write_bytes(b"not parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(read_rollouts(tmp_path / "rollouts.parquet"))
