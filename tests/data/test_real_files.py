"""Files that nobody in the project wrote; skipped where they are not at hand."""

import os
from pathlib import Path

import pytest

from rubric_anchors.core.errors import DataError
from rubric_anchors.core.jsonl import scan_jsonl
from rubric_anchors.data.labelled import read_labelled
from rubric_anchors.data.preferences import Preference, read_pairs
from rubric_anchors.data.rows import read_answers, read_prompts


@pytest.fixture(scope="module")
def real() -> Path:
    folder = Path(os.environ.get("RUBRIC_ANCHORS_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs third-party test data: set RUBRIC_ANCHORS_TEST_DATA to its folder")
    return folder


def file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        pytest.skip(f"the third-party test data here has no {name}")
    return folder / name


def test_every_line_of_every_real_file_is_a_row(real: Path) -> None:
    paths = sorted(real.rglob("*.jsonl"))
    assert paths
    for path in paths:
        rows = list(scan_jsonl(path))
        bad = [str(row) for _, row in rows if isinstance(row, DataError)]
        assert bad == []
        assert len(rows) == sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))


def test_real_prompts_are_read(real: Path) -> None:
    prompts = read_prompts(file(real, "ifeval/input_data.jsonl"))
    assert len({row.id for row in prompts.rows}) == len(prompts.rows) > 10
    assert all(len(row.rubrics) == 1 and row.rubrics[0] in prompts.rubrics for row in prompts.rows)
    assert all("key" in prompts.extra[row.id] for row in prompts.rows)
    assert len(read_prompts(file(real, "arena_hard/v2_question.jsonl")).rows) > 10


def test_real_answers_are_read(real: Path) -> None:
    answers = read_answers(file(real, "ifeval/example_en_responses.jsonl"))
    assert answers.rejected == ()
    assert len(answers.rows) > 10
    assert all(row.response for row in answers.rows)


def test_another_meaning_of_a_column_is_said_not_guessed(real: Path) -> None:
    path = file(real, "healthbench_sample/items.jsonl")
    with pytest.raises(DataError, match=r"items\.jsonl:1: rubrics: expected a list of ids, seen a mapping in it"):
        read_prompts(path)


def test_real_preferences_are_read(real: Path) -> None:
    said = (Preference("label", ("0", "1", "2")),)
    found = read_pairs(file(real, "autoj/testdata_pairwise.jsonl"), ("response 1", "response 2"), said)
    assert found.rejected == ()
    assert {row.preferred for row in found.rows} == {(1.0,), (-1.0,), (0.0,)}


def test_real_pairs_that_hold_several_answers_are_refused_with_what_was_seen(real: Path) -> None:
    with pytest.raises(DataError, match=r"chosen: expected text, seen a list .*; no row can be used"):
        read_pairs(file(real, "rmbench/chat_filtered.json"), ("chosen", "rejected"), ())


def test_real_scores_beside_an_answer_of_another_name_are_refused_with_the_columns(real: Path) -> None:
    with pytest.raises(
        DataError, match="the column 'response' is in no row; there are: prompt_idx, prompt, human_story"
    ):
        read_labelled(file(real, "hanna/human_stories_rated.jsonl"), {"reward": ("ratings",)}, {})
