"""Checks on form: Markdown and its absence, lists, headings, titles, sections, JSON."""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.counts import Marker
from rubric_anchors.critic.checks.formats import no_constant, only_block, read_json
from rubric_anchors.critic.checks.options import (
    Amount,
    Found,
    Place,
    PositiveShare,
    Share,
    falling,
    finding,
    number,
)
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.fold import fold
from rubric_anchors.critic.layout import Line
from rubric_anchors.critic.text import TextView

Mark = Literal["heading", "bullet", "number", "emphasis", "table", "fence", "link", "rule", "quote", "code"]

# No run below can be entered twice: each stops at the mark that would open the next, so the time is linear.
# Scripts that set no spaces, and Korean, whose particles follow at once, have emphasis inside a word: 这是**重点**内容.
_SPACED = r"[^\W\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
_STARS = rf"(?<!{_SPACED})(?<!\*)(\*{{1,3}})(?![\s*])[^*\n]++(?<!\s)\1(?!{_SPACED}|\*)"
_UNDERLINES = r"(?<![\w_])(_{1,3})(?![\s_])[^_\n]++(?<!\s)\2(?![\w_])"
_EMPHASIS = re.compile(f"{_STARS}|{_UNDERLINES}")
_INLINE: Final[dict[Mark, tuple[re.Pattern[str], str]]] = {
    "emphasis": (_EMPHASIS, "*_"),
    "code": (re.compile(r"`[^`\n]++`"), "`"),
    "link": (re.compile(r"\[[^\[\]\n]*+\]\([^()\s]*+\)"), "["),
}
"""Each with the characters of which one begins it."""
_LINE_MARKS: Final[dict[str, Mark]] = {
    "heading": "heading",
    "bullet": "bullet",
    "number": "number",
    "table": "table",
    "fence": "fence",
    "code": "fence",
    "rule": "rule",
    "quote": "quote",
}
_PLACEHOLDER = re.compile(r"\[(?=[^\[\]\n]{0,59}(?:[^\W\d_]{2}|[\u3400-\u9fff]))[^\[\]\n]{1,60}\](?!\()")
_ANGLED = re.compile(r"<<(?=[^<>\n]{0,200}\w)[^<>\n]{1,200}>>")
_LABEL = re.compile(r"\s{0,3}[:#.-]?\s{0,3}(\d{1,3}|[IVXLC]{1,6}|[A-Z])\b")
_JSON_TRIES: Final = 8


@check("no_markdown")
class NoMarkdown(Check):
    """1 where the answer is plain prose: no headings, bullets, numbering, emphasis, tables, fences, links, rules,
    quotes or inline code. Falls with the share of lines that are marked up; a line with marks inside it only counts
    half."""

    allow: tuple[Mark, ...] = ()
    """Kinds of mark that do not count."""
    soft: PositiveShare = 0.5
    """The share of marked lines at which the value is 0."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        lines = [line for line in view.lines if line.kind != "blank" and view.slice(line).strip()]
        places: list[Place] = []
        marked = 0.0
        inline = [
            (kind, pattern)
            for kind, (pattern, beginnings) in _INLINE.items()
            if kind not in self.allow and any(character in view.norm for character in beginnings)
        ]
        for line in lines:
            mark, share = self._mark(view, line, inline)
            if mark:
                marked += share
                places.append((mark, line.start, line.end))
        note = f"{len(places)} of {len(lines)} lines are marked up" if places else "plain prose"
        return finding(falling(marked / max(len(lines), 1), self.soft), note, view, places)

    def _mark(
        self, view: TextView, line: Line, inline: Sequence[tuple[Mark, re.Pattern[str]]]
    ) -> tuple[Mark | None, float]:
        mark = _LINE_MARKS.get(line.kind)
        if mark and mark not in self.allow:
            return mark, 1.0
        if mark == "fence":
            return None, 0.0
        for kind, pattern in inline:
            if pattern.search(view.norm, line.start, line.end):
                return kind, 0.5
        return None, 0.0


@check("uses_list")
class UsesList(Check):
    """The share of `min` list items that are there, at most 1."""

    min: Annotated[int, Field(ge=1)] = 2
    """How many items make a list."""
    marker: Marker = "any"
    """`bullet`, `number` or `any`."""

    def decide(self, answer: Answer) -> Finding:
        items = [line for line in answer.view.items if self.marker in ("any", line.kind)]
        places = [("item", line.body, line.end) for line in items]
        note = f"{len(items)} list items, wanted {self.min}"
        return finding(min(len(items) / self.min, 1.0), note, answer.view, places)


@check("headings")
class Headings(Found):
    """1 where the number of Markdown headings lies in min..max."""

    unit = "headings"

    min: Amount | None = 1.0
    """The least that is right."""
    level: Annotated[int, Field(ge=1, le=6)] | None = None
    """Only headings with this many `#`; left out: all."""

    def find(self, view: TextView) -> list[Place]:
        found = [line for line in view.lines if line.kind == "heading"]
        levels = [view.norm[line.start : line.body].count("#") for line in found]
        kept = [line for line, level in zip(found, levels, strict=True) if self.level in (None, level)]
        return [("heading", line.start, line.end) for line in kept]


@check("placeholders")
class Placeholders(Found):
    """1 where the number of placeholders in square brackets, like [your name], lies in min..max."""

    unit = "placeholders"

    min: Amount | None = 1.0
    """The least that is right. Give `min: 0, max: 0` for none at all."""

    def find(self, view: TextView) -> list[Place]:
        return [(found[0], *found.span()) for found in _PLACEHOLDER.finditer(view.norm)]


@check("highlights")
class Highlights(Found):
    """1 where the number of passages marked by asterisks or underlines, like *this*, lies in min..max."""

    unit = "highlights"

    min: Amount | None = 1.0
    """The least that is right."""

    def find(self, view: TextView) -> list[Place]:
        return [("highlight", *found.span()) for found in _EMPHASIS.finditer(view.norm)]


@check("sections")
class Sections(Found):
    """1 where the number of different sections, lines that begin like `Section 1` or `SECTION B`, lies in min..max."""

    unit = "sections"

    word: Annotated[str, Field(min_length=1)] = "Section"
    """What a section is called."""
    min: Amount | None = 2.0
    """The least that is right."""

    def find(self, view: TextView) -> list[Place]:
        places: dict[str, Place] = {}
        wanted = fold(self.word)
        for line in view.lines:
            text = view.slice(line)
            bare = text.lstrip(" \t#*_>")
            if fold(bare[: len(self.word)]) == wanted and (label := _LABEL.match(bare, len(self.word))):
                places.setdefault(label[1], (f"{self.word} {label[1]}", line.start, line.end))
        return list(places.values())


@check("title")
class Title(Check):
    """1 where the answer has a title."""

    style: Literal["any", "angle", "heading"] = "any"
    """`angle`: <<a title>> anywhere; `heading`: the first line is a Markdown heading; `any`: these, or a first line in
    bold, or a short first line by itself that ends in no full stop."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        if self.style in ("any", "angle") and (found := _ANGLED.search(view.norm)):
            return finding(1.0, "a title in angle brackets", view, [("title", *found.span())])
        lines = [(at, line) for at, line in enumerate(view.lines) if line.kind != "blank"]
        if self.style == "angle" or not lines:
            return finding(0.0, "no title")
        at, first = lines[0]
        text = view.slice(first).strip()
        heading = first.kind == "heading"
        if self.style == "any" and first.kind == "prose":
            bold = _EMPHASIS.fullmatch(text) is not None
            alone = at + 1 < len(view.lines) and view.lines[at + 1].kind == "blank" and len(lines) > 1
            short = len(view.words_in(view.paragraphs[0]._replace(start=first.start, end=first.end))) <= 12
            heading = bold or (alone and short and text[-1] not in ".!?,;:…。！？")
        return finding(
            float(heading), "a title" if heading else "no title", view, [("first line", first.start, first.end)]
        )


@check("parts")
class Parts(Check):
    """1 where the separator cuts the answer into exactly `count` parts; falls for each part too many or too few. A part
    holds a letter or digit; parts that say the same are one."""

    count: Annotated[int, Field(ge=2)] = 2
    """How many parts are wanted."""
    separator: Annotated[str, Field(min_length=1)] = "******"
    """What stands between the parts."""
    alike: bool = False
    """Whether parts that say the same count each."""

    def decide(self, answer: Answer) -> Finding:
        pieces = [" ".join(piece.split()) for piece in answer.view.norm.split(self.separator)]
        kept = [piece for piece in pieces if any(map(str.isalnum, piece))]
        count = len(kept) if self.alike else len(set(kept))
        value = 1.0 - abs(count - self.count) / (self.count - 1)
        return finding(max(value, 0.0), f"{count}{'' if self.alike else ' different'} parts, wanted {self.count}")


@check("is_json")
class IsJson(Check):
    """1 where the whole answer, a code fence around it aside, is valid JSON."""

    shape: Literal["any", "object", "array"] = "any"
    """What must stand at the top."""
    partial: Share = 0.5
    """The value where an object or array stands among other text."""

    def decide(self, answer: Answer) -> Finding:
        text = only_block(answer.view).strip()
        try:
            value = read_json(text)
        except (ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())[:120]
            if self.partial and self._inside(text):
                return finding(self.partial, f"JSON among other text ({reason})")
            return finding(0.0, f"not JSON ({reason})")
        fits = self._fits(value)
        return finding(float(fits), "valid JSON" if fits else f"JSON, but no {self.shape} at the top")

    def _fits(self, value: JsonValue) -> bool:
        return self.shape == "any" or isinstance(value, dict if self.shape == "object" else list)

    def _inside(self, text: str) -> bool:
        decoder = json.JSONDecoder(parse_constant=no_constant)
        opening = re.compile(r"\{" if self.shape == "object" else r"\[" if self.shape == "array" else r"[\[{]")
        for tries, found in enumerate(opening.finditer(text)):
            if tries == _JSON_TRIES:
                return False
            try:
                value, _ = decoder.raw_decode(text, found.start())
            except (ValueError, RecursionError):
                continue
            if value:
                return True
        return False


@check("quoted")
class Quoted(Check):
    """1 where the whole answer stands in quotation marks; a half where only one end has its mark."""

    double: bool = False
    """Whether single marks, as in 'so', do not count."""

    def decide(self, answer: Answer) -> Finding:
        text = answer.view.norm.strip()
        pairs = {'"': '"', "“": "”", "«": "»", "»": "«", "„": "“”", "「": "」", "『": "』"}
        if not self.double:
            pairs |= {"'": "'", "‘": "’"}
        opened = len(text) > 1 and text[0] in pairs
        closed = len(text) > 1 and text[-1] in (pairs[text[0]] if opened else "".join(pairs.values()))
        return finding((opened + closed) / 2, f"{number(opened + closed)} of 2 quotation marks stand around it")
