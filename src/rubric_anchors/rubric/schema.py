"""The JSON Schema of a rubric file, for editors: it knows the short forms that the reader knows."""

from typing import Any, Final

from rubric_anchors.rubric.model import Rubric

_OPTIONS: Final[dict[str, Any]] = {
    "type": "object",
    "description": "The critic's own options.",
    "additionalProperties": True,
}
_CHECK: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A program decides.",
    "properties": {
        "check": {"type": "string", "minLength": 1, "description": "The check's name."},
        "with": _OPTIONS,
    },
    "required": ["check"],
    "additionalProperties": False,
}
_EXEMPLAR: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Nearness to the anchors of the tiers decides.",
    "properties": {"exemplar": {"enum": ["tiers"]}, "with": _OPTIONS},
    "required": ["exemplar"],
    "additionalProperties": False,
}
_JUDGE: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A language model decides.",
    "properties": {"judge": {"type": "string"}, "with": _OPTIONS},
    "required": ["judge"],
    "additionalProperties": False,
}
_OTHER: Final[dict[str, Any]] = {
    "type": "object",
    "description": "A kind of critic that an installed package brings: {KIND: NAME, with: {...}}.",
    "properties": {"with": _OPTIONS},
    "patternProperties": {"^(?!(?:with|kind|check|exemplar|judge)$)[a-z][a-z0-9_]*$": {"type": "string"}},
    "oneOf": [
        {"not": {"required": ["with"]}, "minProperties": 1, "maxProperties": 1},
        {"required": ["with"], "minProperties": 2, "maxProperties": 2},
    ],
    "additionalProperties": False,
}


def rubric_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) that accepts every rubric file that `load_rubric` accepts.

    What no schema can say (keys that differ, tiers that never decrease, relations that name a criterion) is left to the
    reader, so the schema also accepts some files that it refuses.
    """
    schema = Rubric.model_json_schema(by_alias=True, mode="validation")
    definitions = schema["$defs"]
    # Left out in a file, the tiers' values are an even ladder.
    definitions["Tier"]["required"].remove("value")
    full = definitions["CriticSpec"]
    description = full.pop("description", "")
    name = {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}
    words = {"anyOf": [{"enum": ["exemplar", "judge"]}, name]}
    definitions["CriticSpec"] = {
        "description": description,
        "anyOf": [words, _CHECK, _EXEMPLAR, _JUDGE, _OTHER, full],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
