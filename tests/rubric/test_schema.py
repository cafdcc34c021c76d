import json
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from tests.rubric.strategies import rubrics
from tests.rubric.test_dump import PLAIN

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.nodes import plain
from rubric_anchors.core.yamltree import read_yaml
from rubric_anchors.rubric.dump import dump_rubric
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.schema import rubric_schema

VALIDATOR = jsonschema.Draft202012Validator(rubric_schema())

TIERS = [{"means": "No.", "anchors": ["a"]}, {"means": "Yes.", "anchors": ["b"]}]


def with_critic(critic: object) -> dict[str, Any]:
    return {"id": "r", "criteria": [{"key": "k", "ask": "It is.", "critic": critic, "tiers": TIERS}]}


def accepts(document: object) -> bool:
    return bool(VALIDATOR.is_valid(document))


def test_the_schema_is_one_and_says_which() -> None:
    schema = rubric_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert json.loads(json.dumps(schema)) == schema
    assert schema["properties"]["language"]["description"].startswith("BCP 47")


@given(rubrics())
@settings(max_examples=50, deadline=None)
def test_the_schema_accepts_what_is_dumped_and_loaded(rubric: Rubric) -> None:
    root = read_yaml(dump_rubric(rubric))
    assert root is not None
    VALIDATOR.validate(plain(root))
    VALIDATOR.validate(rubric.model_dump(mode="json", by_alias=True))


@pytest.mark.parametrize(
    "critic",
    [
        "exemplar",
        "judge",
        {"exemplar": "tiers"},
        {"judge": "strict"},
        {"check": "word_count"},
        {"check": "word_count", "with": {"min": 60, "soft": [1, None]}},
        {"kind": "check", "name": "word_count", "with": {}},
        {"kind": "other"},
        {"other": "thing", "with": {"a": 1}},
        "other",
    ],
)
def test_every_form_of_a_critic_is_accepted_by_both(critic: object) -> None:
    parse_rubric(with_critic(critic))
    assert accepts(with_critic(critic))


@pytest.mark.parametrize(
    "critic",
    [
        "Exemplar",
        3,
        None,
        [],
        {},
        {"with": {}},
        {"exemplar": "anchors"},
        {"check": 3},
        {"check": ""},
        {"check": "a", "wiht": {}},
        {"check": "a", "exemplar": "tiers"},
        {"check": "a", "with": 3},
        {"kind": "check", "nmae": "x"},
    ],
)
def test_what_is_no_critic_is_refused_by_both(critic: object) -> None:
    with pytest.raises(RubricError):
        parse_rubric(with_critic(critic))
    assert not accepts(with_critic(critic))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("id: plain", "id: Plain"),
        ("title:", "titel:"),
        ("weight: 2", "weight: '2'"),
        ("weight: 2", "weight: true"),
        ("kind: gate", "kind: gates"),
        ("beyond: 0.8", "beyond: 1"),
        ("ask: It is warm.", "ask: ''"),
        ("keys: [detail, length]", "keys: [detail]"),
        ("below: 0.5", "below: -0.5"),
        ("schema: 1", "schema: 2"),
    ],
)
def test_the_schema_refuses_plain_mistakes(old: str, new: str) -> None:
    assert old in PLAIN
    assert accepts(yaml.safe_load(PLAIN))
    assert not accepts(yaml.safe_load(PLAIN.replace(old, new, 1)))
    with pytest.raises(RubricError):
        parse_rubric(PLAIN.replace(old, new, 1))
