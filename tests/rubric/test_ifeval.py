"""Instructions in IFEval's form, as rubrics: what follows an instruction gets 1, what does not gets less."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.core.errors import DataError, RubricError
from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.data.rows import read_answers, read_prompts
from rubric_anchors.rubric.ifeval import KINDS, criteria_of, ifeval_rubric

FIVE_LINES = "\n\n".join(f"Part {number} is here." for number in range(1, 6))
FOLLOWED: dict[str, tuple[dict[str, Any], str, str]] = {
    # kind: arguments, an answer that follows, one that does not
    "keywords:existence": ({"keywords": ["sea", "old boat"]}, "An old boat at Sea.", "An old boat in Seattle."),
    "keywords:frequency": ({"keyword": "sea", "frequency": 2, "relation": "at least"}, "Sea, sea!", "Sea and seat."),
    "keywords:forbidden_words": ({"forbidden_words": ["cat"]}, "A catalogue.", "The Cat."),
    "keywords:letter_frequency": (
        {"letter": "a", "let_frequency": 3, "let_relation": "at least"},
        "A banana.",
        "No.",
    ),
    "language:response_language": (
        {"language": "de"},
        "Der Hund war nicht im Garten, und niemand hat ihn gesehen.",
        "The dog was not in the garden, and nobody has seen it.",
    ),
    "length_constraints:number_sentences": (
        {"num_sentences": 2, "relation": "less than"},
        "Dr. Smith left at 3.30 p.m.",
        "He left. She stayed.",
    ),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "One.\n***\nTwo.", "One.\n\nTwo."),
    "length_constraints:number_words": ({"num_words": 4, "relation": "at least"}, "One two three four.", "One two."),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Later"},
        "We left.\n\nlater, we came back.",
        "Later we left.\n\nWe came back.",
    ),
    "detectable_content:number_placeholders": ({"num_placeholders": 2}, "[name], [address]", "[name]"),
    "detectable_content:postscript": ({"postscript_marker": "P.S."}, "Bye.\n\nP.S. Write soon.", "Bye. Write soon."),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "* one\n* two", "* one\n* two\n* three"),
    "detectable_format:constrained_response": ({}, "My answer is maybe.", "Maybe."),
    "detectable_format:number_highlighted_sections": ({"num_highlights": 2}, "*One* and *two*.", "*One* and two."),
    "detectable_format:multiple_sections": (
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\nOne.\nSECTION 2\nTwo.",
        "SECTION 1\nOne.",
    ),
    "detectable_format:json_format": ({}, '```json\n{"a": 1}\n```', "{a: 1}"),
    "detectable_format:title": ({}, "<<A day>>\nIt rained.", "A day\n\nIt rained."),
    "combination:two_responses": ({}, "One way.\n******\nAnother.", "The same.\n******\nThe same."),
    "combination:repeat_prompt": (
        {"prompt_to_repeat": "Say something nice."},
        "Say something nice.\n\nYou are kind.",
        "You asked me to say something nice.",
    ),
    "startend:end_checker": ({"end_phrase": "Is there more?"}, "That is all. Is there more?", "Is there more? No."),
    "startend:quotation": ({}, '"All of it."', "'All of it.'"),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 2, "capital_relation": "at least"},
        "It is NOT SO.",
        "It is NOT so.",
    ),
    "change_case:english_capital": ({}, "ALL OF IT, NO. 1.", "ALL of it."),
    "change_case:english_lowercase": ({}, "all of it, no. 1.", "All of it."),
    "punctuation:no_comma": ({}, "No more and no less.", "No more, no less."),
}


def value_of(kind: str, arguments: dict[str, Any], text: str) -> float:
    answer = Answer((Message("user", "Say something nice."),), text)
    return min(make_check(check, options).decide(answer).value for _, check, options in criteria_of(kind, arguments))


def test_the_cases_are_of_all_kinds() -> None:
    assert sorted(FOLLOWED) == sorted(KINDS)


@pytest.mark.parametrize("kind", FOLLOWED)
def test_what_follows_an_instruction_gets_1_and_what_does_not_gets_less(kind: str) -> None:
    arguments, followed, not_followed = FOLLOWED[kind]
    assert value_of(kind, arguments, followed) == pytest.approx(1.0)
    assert value_of(kind, arguments, not_followed) < 1.0


def test_a_row_s_instructions_are_one_rubric_with_as_many_criteria() -> None:
    names = ["punctuation:no_comma", "length_constraints:nth_paragraph_first_word"]
    rubric = ifeval_rubric(names, [{}, {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Later"}])
    assert [criterion.key for criterion in rubric.criteria] == [
        "i1_no_comma",
        "i2_nth_paragraph_first_word",
        "i2_nth_paragraph_first_word_2",
    ]
    again = ifeval_rubric(names, [{}, {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Later", "letter": None}])
    assert again == rubric


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("keywords:existance", {}, "did you mean 'keywords:existence'"),
        ("keywords:existence", {}, "'keywords' is missing"),
        ("keywords:existence", {"keywords": "sea"}, "a list of words"),
        ("keywords:frequency", {"keyword": "a", "frequency": 2, "relation": "about"}, "at least"),
        ("length_constraints:number_words", {"num_words": 0, "relation": "less than"}, "from 1"),
        ("length_constraints:number_words", {"num_words": 2.5, "relation": "at least"}, "whole number"),
    ],
)
def test_an_instruction_that_cannot_be_read_is_named(kind: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(RubricError, match=words):
        criteria_of(kind, arguments)


def test_as_many_arguments_as_instructions() -> None:
    with pytest.raises(RubricError, match="2 entries and kwargs 1"):
        ifeval_rubric(["punctuation:no_comma"] * 2, [{}])


def test_rows_in_ifeval_s_form_carry_their_rubric(tmp_path: Path) -> None:
    row = {
        "key": 1,
        "prompt": "Say something.",
        "response": "So.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{"num_words": None}],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    prompts = read_prompts(tmp_path / "rows.jsonl")
    [prompt] = prompts.rows
    assert prompt.rubrics == (ifeval_rubric(["punctuation:no_comma"], [{}]).id,)
    assert [c.critic.name for c in prompts.rubrics[prompt.rubrics[0]].criteria] == ["no_commas"]
    assert read_answers(tmp_path / "rows.jsonl").rows[0].prompt.rubrics == prompt.rubrics
    (tmp_path / "bad.jsonl").write_text(json.dumps({**row, "kwargs": 3}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"bad.jsonl.*kwargs: expected a list"):
        read_prompts(tmp_path / "bad.jsonl")


@pytest.mark.parametrize("count", [10**400, 1e308, float("inf"), float("nan"), -1, 2.5, True])
@pytest.mark.parametrize("name", ["detectable_format:number_bullet_lists", "length_constraints:number_words"])
def test_a_count_that_nothing_can_have_is_refused_in_words(name: str, count: float) -> None:
    given: dict[str, JsonValue] = {"num_bullets": count, "num_words": count, "relation": "at least"}
    with pytest.raises(RubricError, match="is a whole number from 0 to 1000000; seen"):
        ifeval_rubric([name], [given])
