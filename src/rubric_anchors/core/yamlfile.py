"""Reading a YAML or JSON file into a model. Whatever is wrong with it is one error with one line: file, place, what,
and what to do. Rubrics, recipes and any other file that people write go through here.

Limits, since such files come from strangers: 1 MiB, 32 levels, 100,000 values with aliases counted as often as they are
repeated; no tags, no merge keys, no repeated key (see `rubric_anchors.core.yamltree`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from rubric_anchors.core.disk import read_bytes
from rubric_anchors.core.errors import InputError
from rubric_anchors.core.explain import Fault, faults, fields
from rubric_anchors.core.jsontree import read_json
from rubric_anchors.core.nodes import DocumentProblem, Node, Place, find, from_value, label, plain
from rubric_anchors.core.words import human_size, kind_of
from rubric_anchors.core.yamltree import read_yaml

SIZE_LIMIT: Final = 1 << 20
"""Bytes in a file. A rubric of 100 criteria with long anchors is about a tenth of this."""

_MARKS: Final = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
}

Model = TypeVar("Model", bound=BaseModel)


def read_config(path: str | Path, model_class: type[Model], error_class: type[InputError]) -> Model:
    """The file as `model_class`: JSON where its name ends in .json, otherwise YAML. Raises `error_class`."""
    text = decode(read_bytes(path, error_class, SIZE_LIMIT), str(path), error_class)
    return parse_config(text, model_class, error_class, source=str(path), is_json=Path(path).suffix.lower() == ".json")


def parse_config(
    content: str | Mapping[str, object],
    model_class: type[Model],
    error_class: type[InputError],
    *,
    source: str,
    is_json: bool | None = None,
) -> Model:
    """A text (YAML or JSON; None: found out) or what a program already read, as `model_class`. Raises `error_class`,
    with `source` as the name of the file."""
    try:
        root = _tree(content, is_json)
        values = plain(root) if root is not None else None
    except DocumentProblem as problem:
        _refuse(error_class, source, [Fault(problem.place, str(problem))])
    if root is None or root.value is None:
        raise error_class(f"{source}: the file is empty; expected {_fields(model_class)}")
    if not isinstance(values, dict):
        seen = f"expected {_fields(model_class)}, seen {kind_of(values)}"
        _refuse(error_class, source, [Fault(root.place, seen)])
    try:
        # Not by field name: a file has one spelling, the one that the schema shows.
        model = model_class.model_validate(values, by_alias=True, by_name=False)
    except ValidationError as error:
        _refuse(error_class, source, faults(error, root, model_class))
    coerced = _coerced(root, model.model_dump(mode="python", by_alias=True), root, ())
    if coerced:
        _refuse(error_class, source, coerced)
    return model


def decode(data: bytes, source: str, error_class: type[InputError]) -> str:
    """`data` as UTF-8 text without its byte order mark. Raises `error_class` naming the line of the first bad byte."""
    for mark, kind in _MARKS.items():
        if data.startswith(mark):
            raise error_class(f"{source}: the file looks like {kind}; expected plain text in UTF-8, save it so")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        seen = f"byte 0x{data[error.start]:02X} is not UTF-8"
        raise error_class(f"{source}:{line}:{column}: {seen}; save the file as UTF-8") from None


def _tree(content: str | Mapping[str, object], is_json: bool | None) -> Node | None:
    if not isinstance(content, str):
        return from_value(content)
    if len(content) > SIZE_LIMIT:
        raise DocumentProblem(
            f"the text is longer than {human_size(SIZE_LIMIT)}, the most that is read; split it", None
        )
    content = content.removeprefix("\ufeff")
    if is_json is None and content.lstrip()[:1] == "{":
        try:
            return read_json(content)
        except DocumentProblem as problem:
            try:
                return read_yaml(content)  # YAML in braces
            except DocumentProblem:
                raise problem from None
    return read_json(content) if is_json else read_yaml(content)


def _coerced(root: Node, value: object, node: Node, path: tuple[str | int, ...]) -> list[Fault]:
    """Where a text or a true/false became a number, or a number a true/false: pydantic is kinder than a schema is."""
    if isinstance(node.value, dict) and isinstance(value, Mapping):
        pairs = ((step, value.get(step), item) for step, item in node.value.items())
        return [fault for step, inner, item in pairs for fault in _coerced(root, inner, item, (*path, step))]
    if isinstance(node.value, list) and isinstance(value, list | tuple):
        together = enumerate(zip(value, node.value, strict=False))
        return [fault for at, (inner, item) in together for fault in _coerced(root, inner, item, (*path, at))]
    truth = isinstance(value, bool)
    number = isinstance(value, int | float) and not truth
    of_text = isinstance(node.value, str) and (number or truth)
    of_other = (
        isinstance(node.value, bool | int | float) and isinstance(node.value, bool) != truth and (number or truth)
    )
    if not (of_text or of_other):
        return []
    expected = "a number" if number else "true or false"
    advice = "; write it without quotes" if isinstance(node.value, str) else ""
    message = f"{label(root, path)}expected {expected}, seen {kind_of(node.value)}{advice}"
    return [Fault(find(root, path)[1], message)]


def _fields(model_class: type[BaseModel]) -> str:
    return f"a mapping of fields ({', '.join(fields(model_class, ())[:6])}, ...)"


def _refuse(error_class: type[InputError], source: str, found: list[Fault]) -> NoReturn:
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    message = " ".join(f"{first.message}{more}".splitlines())
    raise error_class(f"{where(source, first.place)}: {message}") from None


def where(source: str, place: Place | None) -> str:
    """`file:line:column`, or the file alone."""
    return f"{source}:{place.line}:{place.column}" if place else source
