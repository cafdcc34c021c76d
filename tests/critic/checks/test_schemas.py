"""Schemas from strangers: none reaches beyond itself, grows without end or hangs on a pattern."""

from typing import Any

import pytest

from rubric_anchors.core.errors import CriticError, RubricError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.checks.registry import make_check

NESTED = {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}, {"$ref": f"#/$defs/a{at + 1}"}]} for at in range(30)}


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"$ref": "https://example.org/x"}, "may only point into the schema itself"),
        ({"$dynamicRef": "https://example.org/x"}, "may only point into the schema itself"),
        ({"$ref": "#/$defs/nowhere"}, "'#/\\$defs/nowhere' points to nothing in the schema"),
        ({"$ref": "#nowhere"}, "'#nowhere' points to nothing in the schema"),
        ({"items": {"$id": "https://example.org/x", "$ref": "#"}}, "an `\\$id` inside a schema with references"),
        ({"items": {"pattern": "(?:(a)|b){1000000}"}}, "more than 50000 parts"),
        ({"patternProperties": {"(?:(a)|b){1000000}": {}}}, "more than 50000 parts"),
        ({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, "`unevaluatedProperties` beside"),
    ],
)
def test_a_schema_that_reaches_too_far_is_refused(schema: dict[str, Any], says: str) -> None:
    with pytest.raises(RubricError, match=says):
        make_check("json_schema", {"json_schema": schema})


@pytest.mark.parametrize(
    ("schema", "answer", "says"),
    [
        ({"pattern": "(?:(?:(?:(?:a*)*)*)*)*$"}, f'"{"a" * 3000}!"', "the pattern took more than 1 s"),
        ({"patternProperties": {"(?:(?:(?:(?:a*)*)*)*)*$": {}}}, f'{{"{"a" * 3000}!": 1}}', "the pattern took"),
        ({"$defs": {**NESTED, "a30": {}}, "$ref": "#/$defs/a0"}, "{}", "followed more than 10000 times"),
    ],
)
def test_what_would_not_end_is_cut_off(schema: dict[str, Any], answer: str, says: str) -> None:
    with pytest.raises(CriticError, match=says):
        make_check("json_schema", {"json_schema": schema}).decide(Answer((), answer))
