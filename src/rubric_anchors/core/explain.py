"""What a model refused about a document, in words: where, what was expected, what was seen, what to do."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rubric_anchors.core.frozen import Expected, Misfit
from rubric_anchors.core.nodes import Node, Path, Place, find, label
from rubric_anchors.core.words import kind_of, near

Kind = tuple[Any, tuple[Any, ...]]
"""An annotation and the metadata that came with it."""

_NAMED: Final = frozenset({"missing", "extra_forbidden"})
"""Their messages name the last step themselves."""
_TEXT: Final = frozenset({"string_type", "string_sub_type", "path_type"})
_NUMBER: Final = frozenset({"float_type", "float_parsing", "finite_number", "decimal_type", "decimal_parsing"})
_WHOLE: Final = frozenset({"int_type", "int_parsing", "int_from_float", "int_parsing_size"})
_LIST: Final = frozenset({"list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"})
_MAPPING: Final = frozenset({"model_type", "model_attributes_type", "dict_type", "mapping_type", "dataclass_type"})
_BOUNDS: Final = {
    "ge": "a number of at least {}",
    "gt": "a number above {}",
    "le": "a number of at most {}",
    "lt": "a number below {}",
    "multiple_of": "a multiple of {}",
}


class Fault(NamedTuple):
    """One thing that is wrong with a document."""

    place: Place | None
    message: str


def faults(error: ValidationError, root: Node, model: type[BaseModel]) -> list[Fault]:
    """What `model` refused about `root`: unknown fields first (they explain missing ones), then by place."""
    found: dict[Path, tuple[tuple[bool, int, int], Fault]] = {}
    for number, item in enumerate(error.errors(include_url=False)):
        if _follows_from_others(item):
            continue
        path = (*item["loc"], *_where(item))
        node, place, taken = find(root, path)
        whole = taken == len(path)
        # Shorthand is written out before it is validated: the loc then names fields that the document does not have.
        message = _message(item, path, node if whole else None, model)
        line = (place.line, place.column) if place else (0, number)
        rank = (item["type"] != "extra_forbidden", *line)
        found.setdefault(
            path, (rank, Fault(place, label(root, path if item["type"] not in _NAMED else path[:-1]) + message))
        )
    return [fault for _, fault in sorted(found.values(), key=lambda pair: pair[0])]


def _follows_from_others(item: ErrorDetails) -> bool:
    """Entries that failed are not counted: the list is then called too short as well."""
    value = item["input"]
    return item["type"] == "too_short" and isinstance(value, list) and len(value) >= item["ctx"]["min_length"]


def _where(item: ErrorDetails) -> Path:
    error = item.get("ctx", {}).get("error")
    return error.where if isinstance(error, Misfit) else ()


def _message(item: ErrorDetails, path: Path, node: Node | None, model: type[BaseModel]) -> str:
    kind, context = item["type"], item.get("ctx", {})
    seen = f"seen {_seen(node, item['input'])}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return _missing(path, model)
    if kind == "extra_forbidden":
        allowed = fields(model, path[:-1])
        guess = near(str(path[-1]), allowed)
        return f"unknown field {path[-1]!r}{guess or ('; the fields are: ' + ', '.join(allowed) if allowed else '')}"
    expected, advice = _expected(kind, context, item["input"])
    words = next((note.words for note in _notes(model, path)), None)
    if kind == "literal_error" and isinstance(item["input"], str):
        advice = near(item["input"], [part.strip().strip("'") for part in _choices(context["expected"])])
    if expected is None and words is None:
        return f"{item['msg'][:1].lower()}{item['msg'][1:]}, {seen}"
    if words is not None and (expected is None or kind in _TEXT or kind.startswith("string_")):
        expected = words
    return f"expected {expected}, {seen}{advice}"


def _missing(path: Path, model: type[BaseModel]) -> str:
    last = path[-1]
    if isinstance(last, int):
        return f"entry {last + 1} of the list is missing; add it"
    words = next((f" ({note.words})" for note in _notes(model, path)), "")
    return f"field {last!r} is missing{words}; add it"


def _expected(kind: str, context: Mapping[str, Any], value: object) -> tuple[str | None, str]:
    """What was expected, in words, and what to do."""
    if kind in _TEXT:
        return "text", "; put it in quotes" if isinstance(value, bool | int | float) else ""
    if kind in _NUMBER:
        return "a number", ""
    if kind in _WHOLE:
        return "a whole number", ""
    if kind in ("bool_type", "bool_parsing"):
        return "true or false", ""
    if kind in _LIST:
        return "a list", "; put it in [ ]" if isinstance(value, str | int | float) else ""
    if kind in _MAPPING:
        return "a mapping of fields (name: value)", ""
    if kind in ("literal_error", "enum"):
        return str(context["expected"]).replace("'", ""), ""
    if kind == "string_pattern_mismatch":
        return f"text of the form {context['pattern']}", ""
    if kind in ("string_too_short", "too_short"):
        least = context["min_length"]
        what = "character" if kind.startswith("string") else "entry"
        return f"at least {least} {_plural(what, least)}", ""
    if kind in ("string_too_long", "too_long"):
        most = context["max_length"]
        what = "character" if kind.startswith("string") else "entry"
        return f"at most {most} {_plural(what, most)}", ""
    for name, words in _BOUNDS.items():
        if name in context:
            return words.format(f"{context[name]:g}" if isinstance(context[name], float) else context[name]), ""
    return None, ""


def _plural(word: str, count: int) -> str:
    return word if count == 1 else "entries" if word == "entry" else f"{word}s"


def _choices(expected: str) -> list[str]:
    return expected.replace(" or ", ",").split(",")


def _seen(node: Node | None, value: object) -> str:
    if node is not None and not isinstance(node.value, list | dict):
        return kind_of(node.value)
    return kind_of(value)


def fields(model: type[BaseModel], path: Path) -> list[str]:
    """The fields, as a file names them, of the models that can stand at `path` inside `model`."""
    found = [kind for kind, _ in _kinds(model, path) if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return [field.alias or name for kind in found for name, field in kind.model_fields.items()]


def _notes(model: type[BaseModel], path: Path) -> list[Expected]:
    return [note for _, notes in _kinds(model, path) for note in notes if isinstance(note, Expected)]


def _kinds(model: type[BaseModel], path: Path) -> list[Kind]:
    """The annotations, with their metadata, that can stand at `path`."""
    kinds: list[Kind] = [(model, ())]
    for step in path:
        kinds = [pair for kind, _ in kinds for inner, notes in _inside(kind, step) for pair in _unwrap(inner, notes)]
    return kinds


def _unwrap(kind: object, notes: tuple[Any, ...]) -> Iterator[Kind]:
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *more = get_args(kind)
        yield from _unwrap(inner, (*notes, *more))
    elif origin in (Union, UnionType):
        for option in get_args(kind):
            yield from _unwrap(option, notes)
    else:
        yield kind, notes


def _inside(kind: object, step: str | int) -> Iterator[Kind]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            if (field.alias or name) == step:
                yield field.annotation, tuple(field.metadata)
        return
    args = get_args(kind)
    if get_origin(kind) is dict and isinstance(step, str):
        yield args[1], ()
    elif get_origin(kind) in (tuple, list) and isinstance(step, int) and args:
        yield args[step] if step < len(args) and args[-1] is not Ellipsis else args[0], ()
