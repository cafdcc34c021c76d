"""Cases of the checks on data formats: (options, answer, value)."""

from pydantic import JsonValue
from tests.critic.checks.table import Table

TABLE_TEXT = "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |"

CODES: dict[str, JsonValue] = {
    "properties": {"name": {"type": "string"}},
    "patternProperties": {"^x[0-9]$": {"type": "integer"}},
    "additionalProperties": False,
}
TREE: dict[str, JsonValue] = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
PERSON: JsonValue = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}

FORMATS: Table = {
    "is_yaml": [
        ({}, "name: Ann\nages:\n  - 3\n  - 4", 1.0),
        ({}, "```yaml\na: 1\n```", 1.0),
        ({}, "- one\n- two", 1.0),
        ({}, "Just a sentence.", 0.0),
        ({}, "a: [1, 2", 0.0),
        ({}, "a: b: c", 0.0),
        ({}, "", 0.0),
    ],
    "json_schema": [
        ({"json_schema": PERSON}, '{"name": "Ann", "age": 3}', 1.0),
        ({"json_schema": PERSON}, '```json\n{"name": "Ann", "age": 3}\n```', 1.0),
        # `age` is missing: one fault of four
        ({"json_schema": PERSON}, '{"name": "Ann"}', 0.75),
        ({"json_schema": PERSON, "faults": 1}, '{"name": "Ann", "age": "three"}', 0.0),
        ({"json_schema": PERSON, "faults": 2}, '{"name": "Ann", "age": -1}', 0.5),
        ({"json_schema": PERSON}, "Ann is three.", 0.0),
        ({"json_schema": PERSON}, '{"name": "Ann", "age": NaN}', 0.0),
        ({"json_schema": {"pattern": "^a+$"}}, '"aaa"', 1.0),
        ({"json_schema": {"pattern": "^a+$"}}, '"aab"', 0.75),
        ({"json_schema": CODES}, '{"x1": 1, "x2": 2, "name": "n"}', 1.0),
        # one value that is no number, one name that is not foreseen
        ({"json_schema": CODES}, '{"x1": "one", "other": 2}', 0.5),
        ({"json_schema": {"additionalProperties": {"type": "integer"}}}, '{"a": 1, "b": "2", "c": "3"}', 0.5),
        ({"json_schema": {**TREE, "$id": "https://example.org/tree"}}, '{"kids": [{"kids": []}, {"kids": 3}]}', 0.75),
        ({"json_schema": {"multipleOf": 0.5}}, "1" + "0" * 400, 0.0),
        ({"json_schema": PERSON}, "", 0.0),
    ],
    "is_csv": [
        ({}, "name,age\nAnn,3\nBob,4", 1.0),
        ({}, "```csv\nname,age\nAnn,3\n```", 1.0),
        ({}, 'name,age\n"Ann, the elder",3', 1.0),
        ({}, "name,age\nAnn,3,x\nBob,4\nEve,5", 0.75),
        ({"rows": 4}, "name,age\nAnn,3", 0.5),
        ({"columns": ["Name", "town"]}, "name,age\nAnn,3", 0.5),
        ({"delimiter": ";"}, "name;age\nAnn;3", 1.0),
        ({}, "Only a sentence.", 0.0),
        ({}, 'name,age\n"Ann,3', 0.0),
        ({}, "", 0.0),
    ],
    "tables": [
        ({}, TABLE_TEXT, 1.0),
        ({"columns": 2}, TABLE_TEXT, 1.0),
        ({"columns": 3}, TABLE_TEXT, 0.0),
        ({"rows": 2}, TABLE_TEXT, 1.0),
        ({"rows": 3}, TABLE_TEXT, 0.0),
        ({}, "| a | b |\n| 1 | 2 |", 0.0),
        ({"min": 2, "soft": 2}, TABLE_TEXT, 0.5),
        ({}, f"```\n{TABLE_TEXT}\n```", 0.0),
        ({"min": 0, "max": 0}, "a | b", 1.0),
        ({}, "", 0.0),
        ({"columns": 2}, "| a ||\n|---|---|\n| 1 | 2 |", 1.0),
    ],
    "code_blocks": [
        ({}, "```python\nprint(1)\n```", 1.0),
        ({}, "```python\nprint(1\n```", 0.0),
        ({"parse": False}, "```python\nprint(1\n```", 1.0),
        ({"language": "python"}, "```py\nx = 1\n```", 1.0),
        ({"language": "rust"}, "```python\nx = 1\n```", 0.0),
        ({"language": "Rust"}, "```rust\nfn main(\n```", 1.0),
        ({}, '```json\n{"a": 1}\n```', 1.0),
        ({}, "```json\n{a: 1}\n```", 0.0),
        ({}, "```toml\na = 1\n```", 1.0),
        ({}, "```xml\n<a><b/></a>\n```", 1.0),
        ({}, "```xml\n<a><b></a>\n```", 0.0),
        ({}, '```xml\n<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>\n```', 0.0),
        ({}, "```yaml\na: [1\n```", 0.0),
        ({}, "```\nx = 1", 0.0),
        ({"min": 2, "max": 2}, "~~~\na\n~~~\n\n```\nb\n```", 1.0),
        ({}, "No code.", 0.0),
        ({"min": 0, "max": 0}, "", 1.0),
        ({"min": 1, "max": 1}, "````markdown\n```python\nx\n```\n````\n", 1.0),
        ({"min": 0, "max": 0}, "Use ```x``` here.\n```y```", 1.0),
        ({"min": 1, "max": 1}, "```\na\n``` b\nc\n  ````\nEnd.", 1.0),
    ],
    "links": [
        ({}, "See [this](https://example.org/a).", 1.0),
        ({}, "See https://example.org/a?b=1.", 1.0),
        ({"min": 2, "max": 2}, "[a](https://example.org) and http://example.org/b", 1.0),
        ({}, "![an image](a.png)", 0.0),
        ({}, "No [link] here (none).", 0.0),
        ({"min": 0, "max": 0}, "None.", 1.0),
        ({}, "", 0.0),
    ],
    "numbering": [
        ({}, "1. one\n2. two\n3. three", 1.0),
        ({}, "1. one\n3. three\n4. four", 2 / 3),
        ({}, "1. one\n1. two\n1. three", 1 / 3),
        ({}, "1. one\n   and more\n2. two", 1.0),
        ({}, "First:\n1. a\n2. b\n\nThen:\n1. c\n2. d", 1.0),
        ({"first": 0}, "0. a\n1. b", 1.0),
        ({}, "2. two\n3. three", 0.5),
        ({}, "- a\n- b", 0.0),
        ({"none": 1.0}, "No list.", 1.0),
        ({}, "", 0.0),
    ],
}
