"""The demo's data keeps the promises that the recipes make of it."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from rubric_anchors.critic.answer import Answer, read_prompt
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.build import build_critics
from rubric_anchors.rubric.model import Criterion, Rubric
from rubric_anchors.rubric.outcome import Judged

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT / "recipes" / "data"
RUBRICS: Final = ROOT / "recipes" / "rubrics"
WITNESSES: Final = Path(__file__).with_name("instruct_witnesses.jsonl")

Row = dict[str, Any]
PAIRS: Final = (("open_train", "open_held_out"), ("instruct_train", "instruct_held_out"))
FEWEST: Final = {
    "open_train": 150,
    "open_held_out": 72,
    "instruct_train": 96,
    "instruct_held_out": 32,
    "preserve_choices": 500,
    "preserve_text": 40,
}
NUMBERS: Final = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}


@cache
def read(name: str) -> tuple[Row, ...]:
    return tuple(json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines())


def instructions() -> tuple[Row, ...]:
    return read("instruct_train") + read("instruct_held_out")


def witnesses() -> list[tuple[Row, str]]:
    rows = {row["id"]: row for row in instructions()}
    return [(rows[line["id"]], line["answer"]) for line in map(json.loads, WITNESSES.read_text("utf-8").splitlines())]


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z']+", text.casefold()))


def overlap(one: str, other: str) -> float:
    return len(words(one) & words(other)) / len(words(one) | words(other))


def folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def no_models() -> Any:
    raise AssertionError("these rubrics need no model")


NO_MODELS: Final = Tools(encoder=no_models, likelihood=no_models)


@pytest.mark.parametrize(("name", "fewest"), FEWEST.items())
def test_each_file_is_as_long_as_promised_and_names_each_row_once(name: str, fewest: int) -> None:
    rows = read(name)
    assert len(rows) >= fewest
    assert len({row["id"] for row in rows}) == len(rows)
    key = {"preserve_choices": "context", "preserve_text": "text"}.get(name, "prompt")
    assert len({folded(row[key]) for row in rows}) == len(rows)


@pytest.mark.parametrize(("train", "held_out"), PAIRS)
def test_families_are_spread_evenly_over_both_sides(train: str, held_out: str) -> None:
    sides = [Counter(row["family"] for row in read(name)) for name in (train, held_out)]
    assert sides[0].keys() == sides[1].keys()
    assert len(sides[0]) >= 8
    assert all(len(set(side.values())) == 1 for side in sides)


@pytest.mark.parametrize(("pair", "most"), [(PAIRS[0], 0.65), (PAIRS[1], 0.85)])
def test_no_held_out_prompt_repeats_a_training_prompt(pair: tuple[str, str], most: float) -> None:
    train, held_out = (read(name) for name in pair)
    assert not {row["id"] for row in train} & {row["id"] for row in held_out}
    worst = max(
        (overlap(one["prompt"], other["prompt"]), one["id"], other["id"]) for one in held_out for other in train
    )
    assert worst[0] < most, worst


def test_no_held_out_prompt_means_the_same_as_a_training_prompt(real_encoder: Path) -> None:
    from rubric_anchors.models.encoder import SentenceEncoder

    encoder = SentenceEncoder(real_encoder)
    for pair in PAIRS:
        train, held_out = (encoder.encode([row["prompt"] for row in read(name)]) for name in pair)
        assert float((held_out @ train.T).max()) < 0.8


@pytest.mark.parametrize("path", sorted(RUBRICS.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_shipped_rubric_builds_its_critics_under_its_own_name(path: Path) -> None:
    rubric = Rubric.model_validate(yaml.safe_load(path.read_text("utf-8")))
    assert rubric.id == path.stem
    assert {key for critic in build_critics(rubric, NO_MODELS) for key in critic.keys} == set(rubric.keys)


def test_anchors_are_as_long_in_one_tier_as_in_another() -> None:
    rubric = Rubric.model_validate(yaml.safe_load((RUBRICS / "plain-narrative.yaml").read_text("utf-8")))
    tiers = rubric.criterion("lived_detail").tiers
    assert len({len(tier.anchors) for tier in tiers}) == 1
    assert all(40 <= len(anchor.split()) <= 80 for tier in tiers for anchor in tier.anchors)


def test_each_instruction_carries_a_rubric_of_its_own_with_one_to_three_checks() -> None:
    rubrics = [Rubric.model_validate(row["rubric"]) for row in instructions()]
    assert len({rubric.id for rubric in rubrics}) == len(rubrics)
    for rubric in rubrics:
        assert rubric.scope == "instance"
        assert 1 <= len(rubric.criteria) <= 3
        build_critics(rubric, NO_MODELS)


def agrees(criterion: Criterion, prompt: str) -> bool:
    """Whether the prompt says what the criterion checks, in words or digits."""
    options, said = criterion.critic.options, folded(prompt)
    listed: list[Any] = [*_list(options.get("words")), *_list(options.get("phrases")), *_list(options.get("texts"))]
    match criterion.critic.name:
        case "word_count":
            low, high = options["min"], options["max"]
            return str(high) in said and (low == 1 or str(low) in said)
        case "sentence_count" | "item_count":
            bounds = {options["min"], options["max"]} - ({1} if "no more than" in said else set())
            return all(NUMBERS[int(str(bound))] in said for bound in bounds)
        case "contains" if options.get("mode") == "any":
            return criterion.ask.removeprefix("It mentions ").rstrip(".").split()[-1] in said
        case "ends_with" if listed == ["?"]:
            return "question" in said
        case "contains" | "avoids" | "starts_with":
            return all(folded(str(entry)) in said for entry in listed)
        case "questions":
            return "one question" in said or "one short question" in said or "question back" in said
        case "no_markdown":
            return any(word in said for word in ("list", "lists", "bullet", "steps"))
        case "paragraph_count":
            return "paragraph" in said
        case "all_lowercase":
            return "lower case" in said or "capital" in said
        case "person":
            return f"{options['person']} person" in said or "first-person" in prompt or "as you" in said
        case "tense":
            return f"{options['tense']} tense" in said
        case "ends_properly":
            return True
    return False


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@pytest.mark.parametrize("row", instructions(), ids=lambda row: row["id"])
def test_the_prompt_says_what_its_rubric_checks(row: Row) -> None:
    for criterion in Rubric.model_validate(row["rubric"]).criteria:
        assert agrees(criterion, row["prompt"]), (row["prompt"], criterion.ask)


def test_at_least_forty_instructions_have_a_witness() -> None:
    assert len({row["id"] for row, _ in witnesses()}) >= 40
    assert len({row["family"] for row, _ in witnesses()}) == len({row["family"] for row in instructions()})


@pytest.mark.parametrize(("row", "text"), witnesses(), ids=lambda item: item["id"] if isinstance(item, dict) else "")
def test_a_witness_gets_full_marks(row: Row, text: str) -> None:
    answer = Answer(read_prompt(row["prompt"]), text)
    for critic in build_critics(Rubric.model_validate(row["rubric"]), NO_MODELS):
        for key, verdict in zip(critic.keys, critic.judge([answer])[0], strict=True):
            assert isinstance(verdict, Judged), verdict
            assert verdict.value == pytest.approx(1.0), (key, verdict)


def test_choices_are_three_different_ones_with_the_right_answer_in_each_place_equally_often() -> None:
    rows = read("preserve_choices")
    assert all(len({folded(choice) for choice in row["choices"]}) == 3 for row in rows)
    places = Counter(row["answer"] for row in rows)
    assert set(places) == {0, 1, 2}
    assert max(places.values()) - min(places.values()) <= 1


def test_the_right_choice_is_not_given_away_by_its_length() -> None:
    rows = read("preserve_choices")
    longest = sum(max(row["choices"], key=len) == row["choices"][row["answer"]] for row in rows)
    shortest = sum(min(row["choices"], key=len) == row["choices"][row["answer"]] for row in rows)
    assert longest / len(rows) < 0.45
    assert shortest / len(rows) < 0.45


def test_held_texts_are_of_many_registers_and_of_like_length() -> None:
    rows = read("preserve_text")
    assert all(80 <= len(row["text"].split()) <= 150 for row in rows)
    assert len({row["register"] for row in rows}) >= 7


@pytest.mark.parametrize("recipe", ["demo", "plain-narrative"])
def test_a_shipped_recipe_finds_everything_that_it_names(recipe: str) -> None:
    from rubric_anchors.app.prepare import prepare

    ready = prepare(ROOT / "recipes" / f"{recipe}.yaml")
    assert ready.recipe.name == recipe
    assert len(ready.rows(("open",), held_out=True)) >= 60
