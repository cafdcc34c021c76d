"""The reference page of all checks, made from their code: `docs/checks.md` is `checks_page()`."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import yaml
from pydantic import JsonValue

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.critic.base import Check
from rubric_anchors.critic.checks.registry import check_registry
from rubric_anchors.critic.wordlists import list_names, list_note, word_list

OWN: Final = "rubric_anchors."
GROUPS: Final = {
    "counts": "Counts",
    "lexical": "Words and phrases",
    "placing": "Order, position, patterns",
    "characters": "Characters",
    "markup": "Form",
    "formats": "Data formats, tables, code",
    "schemas": "JSON against a schema",
    "prose": "Voice, tense, endings",
    "wording": "How the reader is spoken to",
    "reading": "How it reads",
    "figures": "Numbers, dates, sums",
    "units": "Quantities",
    "tone": "Tone",
    "verified": "Answers that can be verified",
    "programs": "Programs against tests",
    "likeness": "Beside other texts",
    "repeating": "Repetition, copying, variety",
    "languages": "Script and language",
    "own": "Your own",
    "liking": "What you like",
}
WITH_A_MODEL: Final = "With a model"
LONGEST_EXAMPLE: Final = 90
"""Characters of the answer, or of the options, of an example."""
Case = tuple[dict[str, JsonValue], str, float]
"""Options, an answer, and the value that it gets."""
INTRO: Final = """\
# Checks

A check is a program that decides a criterion: free, the same every time, and deaf to flattery. In a rubric:

```yaml
- key: length
  ask: It is 60 to 120 words long.
  critic: {check: word_count, with: {min: 60, max: 120, soft: 20}}
```

The value of a criterion is how far what its check asks holds, 0 to 1. A *soft* option makes the value fall in a
straight line where it would otherwise drop from 1 to 0 at once: an answer that nearly holds is then worth more than
one that is far off, which gives learning something to go by. The evidence of a verdict says what was found and
where.

What holds for all: no text makes a check fail (a bug in one leaves the criterion unjudged, and never becomes a
number); line endings, Unicode normal forms and invisible characters make no difference; case, full-width and styled
letters make none to words and phrases.

## How words and phrases are written

| written | found |
|---|---|
| `testament to` | these words in a row; spaces, line breaks, hyphens and marks of emphasis may stand between them |
| `as an * model` | `*` by itself is any one word |
| `tapestr*` | `*` at the end of a word is any ending |
| `^certainly` | only at the start of the answer |
| `the end$` | only at its end |
| `Sure!`, `10/10`, `C++` | marks that are written must be there |
| `—` | an entry without letters or digits is found as it stands |

With `lemmas: en` (or another language) an entry of one word is found in any of its forms: `run` in *ran*.

Words are whole: `dog` is found in `dog's`, not in `dogs`; `can` is not found in `can't`. Chinese, Japanese, Thai, Lao,
Khmer and Burmese, which set no spaces, are searched character by character; a Korean word is found with its particle.
A check that says *English* is made for English; in other languages it finds little.

The examples below are the checks' own test cases; ⏎ stands for the end of a line.
"""


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """One option of a check, in words."""

    name: str
    takes: str
    default: str | None
    """As it would stand in a rubric; None: it has to be given."""
    note: str


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """What one check decides, and what it takes."""

    name: str
    topic: str
    meaning: str
    needs: tuple[str, ...]
    """The extras that have to be installed for it: `pip install 'rubric-anchors[local]'`."""
    options: tuple[OptionInfo, ...]


def check_info(kind: type[Check]) -> CheckInfo:
    """What the code of a check says of it."""
    notes = _field_notes(kind)
    properties = kind.model_json_schema(by_alias=True).get("properties", {})
    own = kind.__module__.startswith(OWN)
    topic = GROUPS.get(kind.__module__.rsplit(".", 1)[1], WITH_A_MODEL) if own else kind.__module__.partition(".")[0]
    return CheckInfo(
        name=kind.name,
        topic=topic,
        meaning="\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(kind) or "").split("\n\n")),
        needs=kind.needs,
        options=tuple(
            OptionInfo(
                name=name,
                takes=_taken(schema),
                default=_written(schema["default"]) if "default" in schema else None,
                note=" ".join(notes.get(name, "").split()),
            )
            for name, schema in properties.items()
        ),
    )


def checks_page(cases: Mapping[str, Sequence[Case]]) -> str:
    """The whole page, Markdown: the checks of this package, each with examples chosen from its cases."""
    kinds = [check_registry.get(name) for name in check_registry]
    infos = [check_info(kind) for kind in kinds if kind.__module__.startswith(OWN)]
    parts = [INTRO]
    for topic in (*GROUPS.values(), WITH_A_MODEL):
        parts += [
            f"## {topic}\n",
            *(check_entry(info, _examples(cases.get(info.name, ()))) for info in infos if info.topic == topic),
        ]
    return "\n".join([*parts, _lists()])


def check_entry(info: CheckInfo, examples: Sequence[Case] = ()) -> str:
    """What one check decides, its options as a table, and what it gives for examples."""
    lines = [f"### `{info.name}`\n", _flowing(info.meaning), ""]
    if info.needs:
        lines += [f"Needs `pip install 'rubric-anchors[{','.join(info.needs)}]'`.", ""]
    if examples:
        lines += ["| with | answer | value |", "|---|---|---|"]
        for options, text, value in examples:
            given = f"`{_cell(_flow(options))}`" if options else ""
            lines.append(f"| {given} | {_cell(_in_code(text))} | {value:.3g} |")
        lines.append("")
    if not info.options:
        return "\n".join([*lines, "No options.", ""])
    lines += ["| option | takes | default | |", "|---|---|---|---|"]
    for option in info.options:
        default = "required" if option.default is None else f"`{option.default}`"
        lines.append(f"| `{option.name}` | {_cell(option.takes)} | {_cell(default)} | {_cell(option.note)} |")
    return "\n".join([*lines, ""])


def _examples(cases: Sequence[Case]) -> list[Case]:
    """Two short ones: the first that is fully right, and the first that is not (partly right if there is one)."""
    short = [case for case in cases if 0 < len(case[1]) <= LONGEST_EXAMPLE and len(_flow(case[0])) <= LONGEST_EXAMPLE]
    plain = [case for case in short if case[1].isprintable() or "\n" in case[1]]
    right = [case for case in plain if case[2] == 1.0]
    wrong = sorted((case for case in plain if case[2] < 1.0), key=lambda case: case[2] == 0.0)
    return [*right[:1], *wrong[:1]]


def _flow(options: Mapping[str, JsonValue]) -> str:
    """Options as they stand in a rubric, on one line."""
    return yaml.safe_dump(
        dict(options), default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**6
    ).strip()


def _in_code(text: str) -> str:
    """Markdown for a text as it is, line ends shown."""
    shown = text.replace("\n", "⏎")
    fence = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    blank = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def _lists() -> str:
    lines = ["## Shipped lists\n", "Named in place of a list of words or phrases: `phrases: hedges`.\n"]
    lines += ["| name | entries | |", "|---|---|---|"]
    lines += [f"| `{name}` | {len(word_list(name))} | {_cell(list_note(name))} |" for name in list_names()]
    return "\n".join([*lines, ""])


def _field_notes(kind: type[Check]) -> dict[str, str]:
    """The text under each field, the nearest class's first."""
    notes: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if not (issubclass(owner, Check) and owner is not Check):
            continue
        try:
            source = textwrap.dedent(inspect.getsource(owner))
        except (OSError, TypeError):  # another package's check may come without its source
            continue
        definition = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))
        for field, after in zip(definition.body, definition.body[1:], strict=False):
            match field, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as note)):
                    notes[name] = note
    return notes


def _taken(schema: dict[str, JsonValue]) -> str:
    """What an option takes, in words, from its JSON Schema."""
    options = schema.get("anyOf")
    if isinstance(options, list):
        named = [_taken(option) for option in options if isinstance(option, dict) and option.get("type") != "null"]
        return " or ".join(named)
    words = schema.get("enum")
    if isinstance(words, list):
        return ", ".join(f"`{word}`" for word in words)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "$ref" in schema or schema.get("type") == "object":
        return "mapping"
    if schema.get("type") == "array":
        items = schema.get("items")
        inner = _taken(items) if isinstance(items, dict) else "value"
        return f"list of {inner}" if "`" in inner else f"list of {inner}s"
    name = {"integer": "whole number", "string": "text", "boolean": "`true`, `false`"}.get(
        str(schema["type"]), "number"
    )
    bounds = [("minimum", "from {}"), ("exclusiveMinimum", "above {}"), ("maximum", "to {}")]
    said = [text.format(f"{schema[key]:g}") for key, text in bounds if isinstance(schema.get(key), int | float)]
    return " ".join([name, *said])


def _written(value: JsonValue) -> str:
    """A default as it would stand in a rubric."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False).replace('"', "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _flowing(text: str) -> str:
    return "\n\n".join(textwrap.fill(" ".join(part.split()), 120) for part in text.split("\n\n"))
