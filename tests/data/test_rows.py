import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubric_anchors.core.errors import DataError
from rubric_anchors.data.rows import AnswerRow, read_answers, read_prompts

TURNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say it."}]
INLINE = {
    "id": "inline",
    "criteria": [{"key": "k", "ask": "It is.", "critic": {"check": "word_count", "with": {"min": 3}}}],
}
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "prompt": 'Write, please.\r\nTwo "lines".',
        "family": "writing",
        "rubrics": ["x", "y"],
        "reference": "r",
        "n": 1,
    },
    {"id": "b", "prompt": TURNS, "family": "", "rubrics": None, "reference": None, "n": 2},
]


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def as_jsonl(folder: Path) -> Path:
    return lines(folder / "d.jsonl", *ROWS)


def as_json(folder: Path) -> Path:
    (folder / "d.json").write_text(json.dumps(ROWS))
    return folder / "d.json"


def as_table(folder: Path, name: str, delimiter: str) -> Path:
    with (folder / name).open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0], delimiter=delimiter)
        writer.writeheader()
        for row in ROWS:
            writer.writerow(
                {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
            )
    return folder / name


def as_csv(folder: Path) -> Path:
    return as_table(folder, "d.csv", ",")


def as_tsv(folder: Path) -> Path:
    return as_table(folder, "d.TSV", "\t")


def as_parquet(folder: Path) -> Path:
    turns = [[{"role": "user", "content": ROWS[0]["prompt"]}], TURNS]
    rows = [{**row, "prompt": prompt} for row, prompt in zip(ROWS, turns, strict=True)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "d.parquet")
    return folder / "d.parquet"


@pytest.mark.parametrize("write", [as_jsonl, as_json, as_csv, as_tsv, as_parquet])
def test_the_same_rows_come_from_every_kind_of_file(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    prompts = read_prompts(write(tmp_path))
    first, second = prompts.rows
    assert first.id == "a"
    assert first.messages == (("user", 'Write, please.\r\nTwo "lines".'),)
    assert (first.family, first.rubrics, first.reference) == ("writing", ("x", "y"), "r")
    assert second.messages == (("system", "Be brief."), ("user", "Say it."))
    assert second.text == "Say it."
    assert (second.family, second.rubrics, second.reference) == ("", (), None)
    assert {key: {name: str(value) for name, value in extra.items()} for key, extra in prompts.extra.items()} == {
        "a": {"n": "1"},
        "b": {"n": "2"},
    }


def test_a_row_without_an_id_gets_one_from_its_prompt(tmp_path: Path) -> None:
    plain = read_prompts(lines(tmp_path / "a.jsonl", {"prompt": "Say it."}, {"prompt": "Say it!"}))
    as_turns = read_prompts(lines(tmp_path / "b.jsonl", {"id": "", "prompt": [{"role": "user", "content": "Say it."}]}))
    assert plain.rows[0].id == as_turns.rows[0].id == "ecdf5f8010ec385b"
    assert plain.rows[1].id != plain.rows[0].id
    assert read_prompts(lines(tmp_path / "c.jsonl", {"id": 7, "prompt": "x"})).rows[0].id == "7"


def test_text_is_kept_as_it_is_but_for_lone_surrogates(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"prompt": "nul \\u0000, crlf \\r\\n, lone \\ud800, pair \\ud83d\\ude00, \xe2\x80\xa8"}\r\n')
    assert read_prompts(path).rows[0].text == "nul \0, crlf \r\n, lone \ufffd, pair 😀, \u2028"


def test_a_prompt_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    for text in ('["apple", "pear"]', '{"a": 1}', "[not json", "[]", "[1]"):
        assert read_prompts(lines(tmp_path / "d.jsonl", {"prompt": text})).rows[0].text == text


@pytest.mark.parametrize(
    "inline",
    [
        INLINE,
        json.dumps(INLINE),
        "id: inline\ncriteria:\n  - {key: k, ask: It is., critic: {check: word_count, with: {min: 3}}}\n",
    ],
)
def test_a_row_may_carry_its_rubric(tmp_path: Path, inline: object) -> None:
    prompts = read_prompts(
        lines(tmp_path / "d.jsonl", {"prompt": "x", "rubric": inline}, {"prompt": "y", "rubric": INLINE})
    )
    assert list(prompts.rubrics) == ["inline"]
    assert [row.rubrics for row in prompts.rows] == [("inline",), ("inline",)]
    assert prompts.rubrics["inline"].criteria[0].critic.options == {"min": 3}


def test_an_inline_rubric_without_an_id_gets_one(tmp_path: Path) -> None:
    nameless = {key: value for key, value in INLINE.items() if key != "id"}
    prompts = read_prompts(lines(tmp_path / "d.jsonl", {"prompt": "x", "rubric": nameless}))
    (name,) = prompts.rows[0].rubrics
    assert name.startswith("row-")
    assert prompts.rubrics[name].id == name


def test_an_inline_rubric_survives_parquet_which_fills_in_nulls(tmp_path: Path) -> None:
    other = {
        "id": "two",
        "criteria": [{"key": "k", "ask": "It.", "critic": {"check": "a"}, "weight": 2.0, "veto": {"below": 0.5}}],
    }
    rows = [{"prompt": "x", "rubric": INLINE}, {"prompt": "y", "rubric": other}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    from_parquet = read_prompts(tmp_path / "d.parquet").rubrics
    assert from_parquet == read_prompts(lines(tmp_path / "d.jsonl", *rows)).rubrics


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [{"prompt": "x", "rubric": INLINE, "rubrics": ["y"]}],
            ":1: the row has both `rubric` and `rubrics`; keep one",
        ),
        (
            [{"prompt": "x", "rubric": INLINE}, {"prompt": "y", "rubric": {**INLINE, "title": "other"}}],
            ":2: another row carries",
        ),
        ([{"prompt": "x", "rubric": "id: r\ncriteria: []\n"}], ":1, rubric:2:1: criteria: expected at least 1 entry"),
        ([{"prompt": "x", "rubric": 3}], ":1: rubric: expected the fields of a rubric, seen the number 3"),
        (
            [{"prompt": "x", "rubrics": ["voise"]}],
            ":1: names the rubric 'voise'; there are: length, voice; did you mean 'voice'",
        ),
        ([{"prompt": "x", "family": 3}], ":1: family: expected text, seen the number 3"),
        ([{"prompt": "x", "id": True}], ":1: id: expected text, seen true"),
    ],
)
def test_rubrics_of_a_row_are_held_to_what_there_is(tmp_path: Path, rows: list[object], words: str) -> None:
    path = lines(tmp_path / "d.jsonl", *rows)
    with pytest.raises(DataError) as caught:
        read_prompts(path, known={"voice", "length"})
    assert str(caught.value).startswith(f"{path}{words}")


def test_known_rubrics_and_inline_ones_are_accepted(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", {"prompt": "x", "rubrics": "voice, length"}, {"prompt": "y", "rubric": INLINE})
    assert read_prompts(path, known=["voice", "length"]).rows[0].rubrics == ("voice", "length")


def test_a_bad_row_is_listed_and_the_rest_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    good = b'{"id": "a", "prompt": "x", "response": ""}\n'
    bad = [
        b'{"id": "b", "prompt": "x"}',
        b'{"id": "a", "prompt": "x", "response": "again"}',
        b"not json",
        b'{"id": "c", "prompt": "caf\xe9", "response": "x"}',
        b'{"id": "d", "prompt": "x", "response": null}',
        b'{"id": "e", "prompt": "x", "response": 3}',
        b'{"id": "f", "prompt": "' + b"x" * (9 << 20) + b'"}',
        b'{"id": "g", "prompt": "x", "response": "y", "rubrics": ["none"]}',
    ]
    last = b'{"id": "z", "prompt": "x", "response": "last", "score": 3}\n'
    path.write_bytes(good + b"".join(line + b"\n" for line in bad) + last)
    answers = read_answers(path, known=["some"])
    assert [row.id for row in answers.rows] == ["a", "z"]
    assert [row.response for row in answers.rows] == ["", "last"]
    assert answers.rows[1].extra == {"score": 3}
    assert [item.line for item in answers.rejected] == list(range(2, 10))
    words = [
        "the column 'response' is missing",
        "the id 'a' stands at",
        "not JSON",
        "is not UTF-8",
        "the response is missing",
        "response: expected text, seen the number 3",
        "longer than 8 MiB",
        "names the rubric 'none'",
    ]
    for item, part in zip(answers.rejected, words, strict=True):
        assert item.cause.startswith(f"{path}:{item.line}: ")
        assert part in item.cause


def test_bad_csv_rows_are_listed_by_the_line_where_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b'prompt,response\n"two\nlines",ok\ncaf\xe9,x\na,b,c\n\nlast,"' + b"x" * 200_000 + b'"\n')
    answers = read_answers(path)
    assert [row.prompt.text for row in answers.rows] == ["two\nlines", "last"]
    assert [item.line for item in answers.rejected] == [4, 5]


def test_answers_to_one_prompt_share_its_id_and_differ_in_their_own(tmp_path: Path) -> None:
    row = {"prompt": "x", "response": "y"}
    answers = read_answers(lines(tmp_path / "d.jsonl", row, row, {"prompt": "x", "response": "z"}))
    ids = [answer.id for answer in answers.rows]
    assert ids[1] == f"{ids[0]}-2"
    assert len(set(ids)) == 3
    assert len({answer.prompt.id for answer in answers.rows}) == 1
    assert answers.rejected == ()


def test_a_table_without_the_column_is_one_error_not_a_list(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", {"prompt": "x", "output": "y"}, {"prompt": "x", "output": "y"})
    with pytest.raises(DataError, match=r":1: the column 'response' is missing; there are: prompt, output"):
        read_answers(path)


def test_what_no_json_knows_is_kept_aside_as_text(tmp_path: Path) -> None:
    table = pa.table(
        {"prompt": ["x"], "when": pa.array([0], pa.timestamp("s")), "score": [float("nan")], "raw": [b"\xff"]}
    )
    pq.write_table(table, tmp_path / "d.parquet")
    (extra,) = read_prompts(tmp_path / "d.parquet").extra.values()
    assert extra == {"when": "1970-01-01 00:00:00", "score": None, "raw": "b'\\xff'"}
    assert json.dumps(extra, allow_nan=False)


def test_a_parquet_row_is_named_by_its_number(tmp_path: Path) -> None:
    pq.write_table(pa.table({"prompt": ["x", None]}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"d\.parquet, row 2: prompt: expected text or a list"):
        read_prompts(tmp_path / "d.parquet")
    pq.write_table(pa.table({"prompt": pa.array([], pa.string())}), tmp_path / "d.parquet")
    with pytest.raises(DataError, match="the table has no rows"):
        read_prompts(tmp_path / "d.parquet")


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_any_text_comes_back_from_json_lines(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    rows = [{"prompt": f"p {prompt}", "response": response} for prompt, response in texts]
    answers = read_answers(lines(tmp_path_factory.mktemp("rows") / "d.jsonl", *rows))

    def kept(row: AnswerRow) -> tuple[str, str]:
        return row.prompt.text, row.response

    assert [kept(row) for row in answers.rows] == [(f"p {prompt}", response) for prompt, response in texts]
    assert answers.rejected == ()
