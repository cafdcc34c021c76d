"""People's scores and preferences from tables: what is read, what is missing, and what is refused in one line."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rubric_anchors.core.errors import DataError, InputError
from rubric_anchors.data.labelled import parse_labels, read_labelled
from rubric_anchors.data.preferences import Preference, parse_pairs, read_pairs
from rubric_anchors.data.scales import Scale, number_in, parse_scales

KNOWN = ("warmth", "honest", "reward")


def table(folder: Path, rows: list[dict[str, Any]], name: str = "d.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def answer(**more: Any) -> dict[str, Any]:
    return {"prompt": "Say river.", "response": "river", **more}


def test_labels_name_a_column_or_several_or_the_criterion_s_own() -> None:
    given = ["warmth=human_warmth", "honest=h1, h2,h3", "reward"]
    assert parse_labels(given, KNOWN) == {
        "warmth": ("human_warmth",),
        "honest": ("h1", "h2", "h3"),
        "reward": ("reward",),
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["warmt=h"], "did you mean 'warmth'"),
        (["overall"], "neither a criterion nor `reward`; there are: warmth, honest, reward"),
        (["warmth="], "different columns"),
        (["warmth=h1,h1"], "different columns"),
        (["warmth=h1", "warmth=h2"], "warmth is given twice; several raters are written warmth=h1,h2"),
    ],
)
def test_labels_that_cannot_be_are_one_line(given: list[str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_labels(given, KNOWN)
    assert words in str(caught.value)


def test_scales_are_ends_or_words_for_all_or_for_one() -> None:
    found = parse_scales(["1..5", "warmth=-1 .. 1.5", "honest=bad, ok,good"])
    assert found == {"": Scale(1, 5), "warmth": Scale(-1, 1.5), "honest": Scale(0, 2, ("bad", "ok", "good"))}
    assert [str(scale) for scale in found.values()] == ["1..5", "-1..1.5", "bad, ok, good"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["5..1"], "the first end must be below"),
        (["bad"], "takes two ends"),
        (["bad,,good"], "takes two ends"),
        (["bad,Bad"], "different words"),
        (["1..5", "0..1"], "given twice"),
    ],
)
def test_scales_that_cannot_be_are_one_line(given: list[str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_scales(given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "number"),
    [(3, 3.0), ("4", 4.0), (" 2.5 ", 2.5), (True, 1.0), (None, None), ("", None), ("  ", None), (math.nan, None)],
)
def test_a_cell_is_a_number_or_empty(cell: object, number: float | None) -> None:
    assert number_in(cell, None) == number


@pytest.mark.parametrize("cell", ["good", [1], {"a": 1}, math.inf, "nan", 10**400])
def test_other_cells_are_refused_with_what_to_do(cell: object) -> None:
    with pytest.raises(DataError, match="--scale bad,ok,good"):
        number_in(cell, None)


def test_words_have_the_place_that_their_scale_gives_them() -> None:
    scale = Scale(0, 2, ("bad", "ok", "good"))
    assert [number_in(word, scale) for word in ("bad", " OK", "Good")] == [0.0, 1.0, 2.0]
    with pytest.raises(DataError, match="expected one of bad, ok, good, seen the number 3"):
        number_in(3, scale)


def test_scores_are_placed_on_their_scale_and_empty_cells_stay_empty(tmp_path: Path) -> None:
    rows = [answer(h1=1, h2="5", w="no"), answer(h1=3, w="yes"), answer(h1=None, h2="", w="")]
    columns = {"warmth": ("h1", "h2"), "honest": ("w",)}
    scales = parse_scales(["honest=no,yes"])
    found = read_labelled(table(tmp_path, rows), columns, scales)
    assert [row.scores["warmth"] for row in found.rows] == [(0.0, 1.0), (0.5, None), (None, None)]
    assert [row.scores["honest"] for row in found.rows] == [(0.0,), (1.0,), (None,)]
    assert {name: str(scale) for name, scale in found.scales.items()} == {"warmth": "1..5", "honest": "no, yes"}
    given = read_labelled(table(tmp_path, rows), columns, parse_scales(["0..10", "honest=no,yes"]))
    assert [row.scores["warmth"] for row in given.rows] == [(0.1, 0.5), (0.3, None), (None, None)]


def test_labels_that_are_all_alike_have_a_place_too(tmp_path: Path) -> None:
    found = read_labelled(table(tmp_path, [answer(h=4), answer(h=4)]), {"warmth": ("h",)}, {})
    assert [row.scores["warmth"] for row in found.rows] == [(0.5,), (0.5,)]


def test_a_bad_row_is_listed_and_the_rest_goes_on(tmp_path: Path) -> None:
    rows = [
        answer(h=1, src="a"),
        {"prompt": "Say.", "h": 2, "src": "a"},
        {"response": "x", "h": 2, "src": "a"},
        answer(h="good", src="a"),
        answer(h=9, src="a"),
        answer(h=5),
        answer(h=5, src=7),
    ]
    found = read_labelled(table(tmp_path, rows), {"warmth": ("h",)}, parse_scales(["1..5"]), "src")
    assert [row.group for row in found.rows] == ["a", "7"]
    assert [bad.line for bad in found.rejected] == [2, 3, 4, 5, 6]
    causes = [bad.cause for bad in found.rejected]
    for cause, words in zip(
        causes, ("response is missing", "prompt is missing", "seen the text 'good'", "in 1..5, seen 9", "'src'"),
        strict=True,
    ):  # fmt: skip
        assert words in cause
        assert "d.jsonl:" in cause


def test_without_a_group_answers_to_one_prompt_are_drawn_together(tmp_path: Path) -> None:
    rows = [answer(h=1), answer(h=2, response="lake"), {"prompt": "Say lake.", "response": "lake", "h": 1}]
    groups = [row.group for row in read_labelled(table(tmp_path, rows), {"warmth": ("h",)}, {}).rows]
    assert groups[0] == groups[1] != groups[2]


def test_a_column_that_is_nowhere_is_said_before_any_row(tmp_path: Path) -> None:
    path = table(tmp_path, [answer(human=1)])
    with pytest.raises(DataError, match=r"the column 'humans' is in no row; there are: .*did you mean 'human'"):
        read_labelled(path, {"warmth": ("humans",)}, {})


def test_text_in_every_row_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = table(tmp_path, [answer(h="good"), answer(h="bad")])
    with pytest.raises(DataError, match=r"--scale bad,ok,good \(and 1 more rows\); no row can be used"):
        read_labelled(path, {"warmth": ("h",)}, {})


def test_pairs_are_two_columns_and_what_the_values_mean() -> None:
    assert parse_pairs("chosen, rejected", []) == (("chosen", "rejected"), ())
    _, found = parse_pairs("a,b", ["r1=1,2,0", "r2"])
    assert found == (Preference("r1", ("1", "2", "0")), Preference("r2"))


@pytest.mark.parametrize(
    ("pairs", "preference", "words"),
    [
        ("a", [], "takes the two columns"),
        ("a,a", [], "takes the two columns"),
        ("a,b,c", [], "takes the two columns"),
        ("a,b", ["label=1"], "label=1,2,0"),
        ("a,b", ["label=1,1"], "label=1,2,0"),
        ("a,b", ["=1,2"], "label=1,2,0"),
    ],
)
def test_pairs_that_cannot_be_are_one_line(pairs: str, preference: list[str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pairs(pairs, preference)
    assert words in str(caught.value)


def pair(**more: Any) -> dict[str, Any]:
    return {"prompt": "Say river.", "one": "river", "two": "lake", **more}


def test_preferences_are_read_by_their_meaning(tmp_path: Path) -> None:
    rows = [pair(r=1, w="a"), pair(r=2.0, w="Two"), pair(r="0", w="tie"), pair(r=None, w="")]
    raters = (Preference("r", ("1", "2", "0")), Preference("w"))
    found = read_pairs(table(tmp_path, rows), ("one", "two"), raters)
    assert [row.preferred for row in found.rows] == [(1.0, 1.0), (-1.0, -1.0), (0.0, 0.0), (None, None)]
    assert (found.rows[0].first, found.rows[0].second) == ("river", "lake")


def test_without_a_preference_the_first_answer_is_the_preferred_one(tmp_path: Path) -> None:
    found = read_pairs(table(tmp_path, [pair()]), ("one", "two"), ())
    assert found.rows[0].preferred == (1.0,)


def test_a_preference_of_unknown_meaning_is_left_out_with_the_way_to_say_it(tmp_path: Path) -> None:
    path = table(tmp_path, [pair(r="b"), pair(r=1), pair(r="a", two=None)])
    found = read_pairs(path, ("one", "two"), (Preference("r"),))
    assert [row.preferred for row in found.rows] == [(-1.0,)]
    assert "--preference r=FIRST,SECOND,TIE" in found.rejected[0].cause
    assert "the two is missing" in found.rejected[1].cause
    with pytest.raises(DataError, match="expected 1, 2, seen the number 3; no row can be used"):
        read_pairs(table(tmp_path, [pair(r=3)]), ("one", "two"), (Preference("r", ("1", "2")),))
