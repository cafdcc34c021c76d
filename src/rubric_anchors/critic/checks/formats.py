"""Checks on data formats and on the parts of Markdown that have an inside: tables, code, links, numbering."""

import ast
import csv
import io
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Final, NamedTuple, NoReturn
from xml.parsers import expat

import yaml
from pydantic import Field, JsonValue, field_validator

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Amount, Found, Place, Share, finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.fold import fold
from rubric_anchors.critic.layout import FENCES, Line
from rubric_anchors.critic.text import TextView

Count = Annotated[int, Field(ge=1)]

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CODE_LIMIT: Final = 200_000
"""Characters of code that are parsed: a parser of another language is no place for a megabyte from a stranger."""
_RULE_CELL = re.compile(r":?-+:?")
_LINK = re.compile(r"(?<!!)\[[^\[\]\n]+\]\((?:https?://|/|#|mailto:)?[^()\s]+\)|https?://[^\s<>()\[\]\"']+")
_NUMBERED = re.compile(r"\(?(\d{1,3})[).、．]")


class Block(NamedTuple):
    """A fenced block: the language it names, its code, and where it stands."""

    language: str
    code: str
    start: int
    end: int
    closed: bool


def code_blocks(view: TextView) -> Iterator[Block]:
    """The fenced blocks of a text, in order."""
    opened: Line | None = None
    for line in view.lines:
        if line.kind != "fence":
            continue
        if opened is None:
            opened = line
        else:
            yield _block(view, opened, line.start, line.end, True)
            opened = None
    if opened is not None:
        yield _block(view, opened, len(view.norm), len(view.norm), False)


def _block(view: TextView, opened: Line, code_end: int, end: int, closed: bool) -> Block:
    info = view.slice(opened).strip().lstrip("".join(set("".join(FENCES)))).strip()
    code = view.norm[opened.end + 1 : max(code_end, opened.end + 1)]
    return Block(info.split()[0].lower() if info else "", code, opened.start, end, closed)


def only_block(view: TextView) -> str:
    """The text, or what its one fence holds where nothing stands around it."""
    text = view.norm.strip()
    blocks = list(code_blocks(view))
    whole = len(blocks) == 1 and blocks[0].closed and text.startswith(FENCES) and text.endswith(FENCES)
    return blocks[0].code if whole else text


def read_json(text: str) -> JsonValue:
    """The JSON in `text`. Raises ValueError, for NaN and infinity too; RecursionError for endless nesting."""
    value: JsonValue = json.loads(text, parse_constant=no_constant)
    return value


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@check("is_yaml")
class IsYaml(Check):
    """1 where the whole answer, a code fence around it aside, is a YAML mapping or list."""

    def decide(self, answer: Answer) -> Finding:
        reason = _yaml_fault(only_block(answer.view))
        return finding(float(not reason), reason or "valid YAML")


@check("is_csv")
class IsCsv(Check):
    """How far the answer, a code fence around it aside, is CSV: the share of its rows that have as many columns as the
    first, times how far there are enough rows and the named columns. 0 for a single column."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """What stands between columns."""
    columns: tuple[str, ...] = ()
    """Names that the first row has to hold; case makes no difference."""
    rows: Count = 2
    """How many rows are wanted, the header's included."""

    @field_validator("delimiter")
    @classmethod
    def _stands_between(cls, delimiter: str) -> str:
        if delimiter in '\r\n\0"':
            raise ValueError(f"quotation marks and line ends cannot stand between columns; seen {delimiter!r}")
        return delimiter

    def decide(self, answer: Answer) -> Finding:
        lines = [line for line in only_block(answer.view).split("\n") if line.strip()]
        text = "\n".join(lines).replace("\0", " ")
        try:
            rows = list(csv.reader(io.StringIO(text), delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            return finding(0.0, f"no CSV ({error})")
        width = len(rows[0]) if rows else 0
        if width < 2:
            return finding(0.0, f"the first row has {width} columns")
        even = sum(len(row) == width for row in rows) / len(rows)
        enough = min(len(rows) / self.rows, 1.0)
        header = {fold(cell.strip()) for cell in rows[0]}
        missing = [name for name in self.columns if fold(name.strip()) not in header]
        named = 1.0 - len(missing) / len(self.columns) if self.columns else 1.0
        note = f"{len(rows)} rows, {even:.0%} of them with {width} columns"
        return finding(even * enough * named, note + (f"; missing columns: {', '.join(missing)}" if missing else ""))


@check("tables")
class Tables(Found):
    """1 where the number of Markdown tables lies in min..max. A table has a header, a rule of dashes under it and at
    least one row."""

    unit = "tables"

    min: Amount | None = 1.0
    """The least that is right."""
    columns: Count | None = None
    """Only tables with so many columns; left out: any."""
    rows: Count = 1
    """Only tables with at least so many rows below the header."""

    def find(self, view: TextView) -> list[Place]:
        places: list[Place] = []
        run: list[Line] = []
        for line in (*view.lines, None):
            if line is not None and line.kind == "table":
                run.append(line)
                continue
            if run and (place := self._table(view, run)):
                places.append(place)
            run = []
        return places

    def _table(self, view: TextView, run: list[Line]) -> Place | None:
        rows = [_cells(view.slice(line)) for line in run]
        if len(rows) < 2 + self.rows or not all(_RULE_CELL.fullmatch(cell) for cell in rows[1]):
            return None
        width = len(rows[0])
        if len(rows[1]) != width or self.columns not in (None, width):
            return None
        return (f"{len(rows) - 2} rows, {width} columns", run[0].start, run[-1].end)


def _cells(line: str) -> list[str]:
    inside = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in inside.replace("\\|", " ").split("|")]


@check("code_blocks")
class CodeBlocks(Found):
    """1 where the number of fenced code blocks lies in min..max. Python, JSON, YAML, TOML and XML must parse; of other
    languages only the fence is looked at."""

    unit = "code blocks"

    min: Amount | None = 1.0
    """The least that is right."""
    language: str | None = None
    """Only blocks that name this language; left out: any."""
    parse: bool = True
    """Whether code that does not parse is left out of the count."""

    def find(self, view: TextView) -> list[Place]:
        places: list[Place] = []
        for block in code_blocks(view):
            wanted = self.language is None or _ALIASES.get(block.language, block.language) == _ALIASES.get(
                self.language.lower(), self.language.lower()
            )
            fault = code_fault(block.language, block.code) if self.parse else ""
            if wanted and block.closed and not fault:
                places.append((block.language or "code", block.start, block.end))
        return places


@check("links")
class Links(Found):
    """1 where the number of links, web addresses and Markdown links alike, lies in min..max."""

    unit = "links"

    min: Amount | None = 1.0
    """The least that is right."""

    def find(self, view: TextView) -> list[Place]:
        return [("link", *found.span()) for found in _LINK.finditer(view.norm)]


@check("numbering")
class Numbering(Check):
    """The share of numbered items whose number is one more than that of the item before, the first being `first`. A
    list begins anew after a line of other text that is not indented. 0 where nothing is numbered."""

    first: Annotated[int, Field(ge=0)] = 1
    """The number that a list begins with."""
    none: Share = 0.0
    """The value of an answer without numbered items."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        wrong: list[Place] = []
        count, expected = 0, self.first
        for line in view.lines:
            text = view.slice(line)
            if line.kind in ("prose", "heading") and not text[0].isspace():
                expected = self.first
            found = _NUMBERED.match(text.lstrip()) if line.kind == "number" else None
            if found is None:
                continue
            count += 1
            number = int(found[1])
            if number != expected:
                wrong.append((f"{number}, wanted {expected}", line.start, line.end))
            expected = number + 1
        if not count:
            return finding(self.none, "no numbered items")
        return finding(1 - len(wrong) / count, f"{count - len(wrong)} of {count} numbers in order", view, wrong)


def code_fault(language: str, code: str) -> str:
    """Why `code` does not parse as `language`; empty where it does, or where nobody here can tell."""
    parser = _PARSERS.get(_ALIASES.get(language, language))
    if parser is None:
        return ""
    if len(code) > _CODE_LIMIT:
        return f"more than {_CODE_LIMIT} characters"
    if not code.strip():
        return "empty"
    return parser(code)


def _python_fault(code: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a stranger's code
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _one_line(error)
    return ""


def _json_fault(code: str) -> str:
    try:
        read_json(code)
    except (ValueError, RecursionError) as error:
        return _one_line(error)
    return ""


def _toml_fault(code: str) -> str:
    try:
        tomllib.loads(code)
    except (ValueError, RecursionError) as error:
        return _one_line(error)
    return ""


def _xml_fault(code: str) -> str:
    parser = expat.ParserCreate()

    def refused(*_: object) -> None:
        raise ValueError("it declares entities")

    parser.EntityDeclHandler = refused
    try:
        parser.Parse(code.encode("utf-8", errors="replace"), True)
    except (expat.ExpatError, ValueError) as error:
        return _one_line(error)
    return ""


def _yaml_fault(code: str) -> str:
    """Events alone: nothing is built, so that no alias can grow."""
    root: yaml.Event | None = None
    try:
        for event in yaml.parse(code, Loader=_LOADER):
            if root is None and isinstance(event, yaml.NodeEvent):
                root = event
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return _one_line(error)
    return "" if isinstance(root, yaml.CollectionStartEvent) else "no mapping and no list"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


_PARSERS: Final[dict[str, Callable[[str], str]]] = {
    "python": _python_fault,
    "json": _json_fault,
    "toml": _toml_fault,
    "xml": _xml_fault,
    "yaml": _yaml_fault,
}
_ALIASES: Final = {"py": "python", "python3": "python", "yml": "yaml", "js": "javascript", "sh": "bash", "c++": "cpp"}
