"""Checks on numbers, dates, and whether the sums that an answer states are right."""

import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Found, Place, Share, finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.text import TextView

Decimal = Literal["point", "comma"]
DateForm = Literal["any", "iso", "day_first", "month_first", "words"]
Finite = Annotated[float, Field(allow_inf_nan=False)]

_NUMBER: Final[dict[Decimal, str]] = {
    "point": r"\d{1,3}(?:,\d{3})++(?:\.\d{1,15})?+|\d{1,30}(?:\.\d{1,15})?+",
    "comma": r"\d{1,3}(?:\.\d{3})++(?:,\d{1,15})?+|\d{1,30}(?:,\d{1,15})?+",
}
_SIGN = r"[-−]?"
_MONEY = r"[$€£]?"
_TIMES: Final = "*×·⋅xX"
_WORDS: Final = {"plus": "+", "minus": "-", "times": "*", "divided by": "/", "multiplied by": "*"}
_OPERATOR = r"(?:[-+−–*×·⋅/÷xX]|plus|minus|times|divided by|multiplied by)"
_EQUALS = r"(?:=|is equal to|equals|is|makes|gives)"
# What stands before a chain that is only the end of a longer sum, and behind a result that is not the whole of it.
_PART_OF_MORE = re.compile(r"[-+−–*×·⋅/÷^√()\d][ ]{0,3}\Z")
_GOES_ON = re.compile(r"[ ]{0,2}(?:\^|\*\*|[(²³]|remainder\b|rem\b|r\b)", re.IGNORECASE)
_TIGHT_MINUS = re.compile(r"\d[-−–]\d")
_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]}|\\.|t\\.?)?" if len(name) > 3 else name for name in _MONTHS)
_DATES: Final[dict[str, re.Pattern[str]]] = {
    "iso": re.compile(r"(?<![\d-])(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})(?![\d-])"),
    "day_first": re.compile(r"(?<![\d./])(?P<d>\d{1,2})(?P<s>[./])(?P<m>\d{1,2})(?P=s)(?P<y>\d{4})(?![\d/])"),
    "month_first": re.compile(r"(?<![\d./])(?P<m>\d{1,2})(?P<s>/)(?P<d>\d{1,2})(?P=s)(?P<y>\d{4})(?![\d/])"),
    "words": re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH}),? (?P<y>\d{{4}})\b"
        rf"|\b(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>\d{{4}})\b",
        re.IGNORECASE,
    ),
}


@check("numbers")
class Numbers(Found):
    """1 where the count of numbers written in digits lies in min..max. Numbers of list items do not count."""

    unit = "numbers"

    low: Finite | None = None
    """Only numbers from this on; left out: any."""
    high: Finite | None = None
    """Only numbers up to this."""
    decimal: Decimal = "point"
    """How decimals are written: 1,234.5 or 1.234,5."""

    def find(self, view: TextView) -> list[Place]:
        labels = [(line.start, line.body) for line in view.lines if line.kind == "number"]
        pattern = re.compile(rf"(?<![\w.,])(?:{_NUMBER[self.decimal]})(?!\d)")
        places: list[Place] = []
        at = 0
        for found in pattern.finditer(view.norm):
            while at < len(labels) and labels[at][1] <= found.start():
                at += 1
            if at < len(labels) and labels[at][0] <= found.start() < labels[at][1]:
                continue
            value = float(_value(found[0], self.decimal))
            if before_minus(view.norm, found.start()):
                value = -value
            if (self.low is None or value >= self.low) and (self.high is None or value <= self.high):
                places.append((found[0], *found.span()))
        return places


def before_minus(text: str, at: int) -> bool:
    """Whether a minus stands right before a number, and is no hyphen or range."""
    return at > 0 and text[at - 1] in "-−" and (at == 1 or text[at - 2].isspace() or text[at - 2] in "([=")


@check("dates")
class Dates(Found):
    """1 where the number of dates, day, month and year, that are in the calendar lies in min..max."""

    unit = "dates"

    form: DateForm = "any"
    """`iso`: 2024-05-01; `day_first`: 1.5.2024 or 01/05/2024; `month_first`: 05/01/2024; `words`: 1 May 2024 or May 1,
    2024; `any` of these."""

    def find(self, view: TextView) -> list[Place]:
        found: dict[int, Place] = {}
        for form, pattern in _DATES.items():
            if self.form in ("any", form):
                for hit in pattern.finditer(view.norm):
                    if _in_calendar(hit):
                        found.setdefault(hit.start(), (hit[0], *hit.span()))
        return [found[at] for at in sorted(found)]


def _in_calendar(hit: re.Match[str]) -> bool:
    parts = {name[0]: value for name, value in hit.groupdict().items() if value is not None and name != "s"}
    month = parts["m"]
    number = int(month) if month.isdigit() else 1 + [name[:3] for name in _MONTHS].index(month[:3].lower())
    try:
        date(int(parts["y"]), number, int(parts["d"]))
    except ValueError:
        return False
    return True


class Sum(NamedTuple):
    """A sum that a text states: what its left side comes to, what it says, and where it stands."""

    exact: Fraction | None
    """None: a division by nothing."""
    stated: Fraction
    decimals: int
    """Of what is stated."""
    other: Fraction | None
    """What the right side comes to where it goes on, as in `2 + 3 = 4 + 1`."""
    start: int
    end: int

    @property
    def right(self) -> bool:
        """Whether what is stated is exact, or rounded or cut off at its last decimal. Where the right side goes on,
        either reading will do: `2 + 3 = 5 + 1 = 6` is a chain of steps."""
        if self.exact is None:
            return False
        unit = Fraction(1, 10**self.decimals)
        near = abs(self.exact - self.stated) <= unit / 2 or Fraction(int(self.exact / unit)) * unit == self.stated
        return self.exact in (self.stated, self.other) or (near and self.decimals > 0)


@check("arithmetic")
class Arithmetic(Check):
    """The share of the sums stated in the answer that are right: `3 + 4 = 7`, `12 x 3 is 36`, `15% of 80 is 12`, chains
    with the usual order of operations. A result with decimals may be rounded; one without has to be exact.

    Passed over, since a part of them would be read for the whole: sums with brackets, powers, roots, variables, units
    between the numbers, remainders, percentages added to numbers; results before the sum; numbers in words. An answer
    can hide its sums so: where sums are wanted, set `none` to 0.
    """

    decimal: Decimal = "point"
    """How decimals are written: 1,234.5 or 1.234,5."""
    none: Share = 1.0
    """The value of an answer that states no sum."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        sums = list(stated_sums(view.norm, self.decimal))
        wrong: list[Place] = [
            (f"wrong: it comes to {_shown(one.exact)}", one.start, one.end) for one in sums if not one.right
        ]
        if not sums:
            return finding(self.none, "no sum is stated")
        return finding(1 - len(wrong) / len(sums), f"{len(sums) - len(wrong)} of {len(sums)} sums right", view, wrong)


def stated_sums(text: str, decimal: Decimal) -> Iterator[Sum]:
    """The sums that `text` states, in order."""
    number = rf"{_MONEY}(?:{_NUMBER[decimal]})%?"
    chain = rf"{_SIGN}{number}(?:[ ]{{0,2}}{_OPERATOR}[ ]{{0,2}}{number}){{1,12}}"
    pattern = re.compile(
        rf"(?<![\w.,%])(?P<part>{number}) of (?P<whole>{number}) {_EQUALS} (?P<share>{_SIGN}{number})"
        rf"|(?<![\w.,%])(?P<left>{chain})[ ]{{0,2}}(?P<equals>{_EQUALS})[ ]{{0,2}}"
        rf"(?=(?P<result>{_SIGN}{number})(?P<more>[ ]{{0,2}}{_OPERATOR}[ ]{{0,2}}{number})*)",
        re.IGNORECASE,
    )
    right_side = re.compile(chain, re.IGNORECASE)
    for hit in pattern.finditer(text):
        if hit["left"] is None:
            share, whole = _value(hit["part"], decimal), _value(hit["whole"], decimal)
            stated = _value(hit["share"], decimal)
            yield Sum(share * whole, stated, _decimals(hit["share"], decimal), None, *hit.span())
        elif not (_PART_OF_MORE.search(text, max(hit.start() - 4, 0), hit.start()) or _doubtful(hit)):
            result = hit["result"]
            goes_on = right_side.match(text, hit.start("result"))
            end = goes_on.end() if goes_on else hit.end("result")
            if _GOES_ON.match(text, end):
                continue
            other = _computed(goes_on[0], number, decimal) if goes_on else None
            exact = _computed(hit["left"], number, decimal)
            yield Sum(exact, _value(result, decimal), _decimals(result, decimal), other, hit.start(), end)


def _doubtful(hit: re.Match[str]) -> bool:
    """Whether a chain is rather something else: `chapters 3-5 is long`, or 10% added to 100."""
    left = hit["left"]
    worded = hit["equals"].isascii() and hit["equals"][0].isalpha()
    some_percent = "%" in left and any("%" not in part for part in re.split(r"[-+−–]", left.lstrip("-−")))
    return (worded and _TIGHT_MINUS.search(left) is not None) or (
        some_percent and re.search(r"[-+−–]", left) is not None
    )


def _computed(left: str, number: str, decimal: Decimal) -> Fraction | None:
    """What a chain comes to, products before sums; None for a division by nothing."""
    terms: list[Fraction] = []
    operator = "+"
    at = 0
    token = re.compile(rf"[ ]*(?P<number>{_SIGN}{number})[ ]*(?P<operator>{_OPERATOR})?", re.IGNORECASE)
    while found := token.match(left, at):
        value = _value(found["number"], decimal)
        if operator in "+-":
            terms.append(value if operator == "+" else -value)
        elif operator == "*":
            terms[-1] *= value
        elif value == 0:
            return None
        else:
            terms[-1] /= value
        if found["operator"] is None:
            break
        operator = _plain(found["operator"])
        at = found.end()
    return sum(terms, Fraction(0))


def _plain(operator: str) -> str:
    word = _WORDS.get(operator.lower(), operator)
    return "-" if word in "−–-" else "*" if word in _TIMES else "/" if word in "/÷" else word


def _value(written: str, decimal: Decimal) -> Fraction:
    bare = written.strip("$€£%+").replace("−", "-")
    for sign in "$€£":
        bare = bare.replace(sign, "")
    bare = bare.replace(",", "") if decimal == "point" else bare.replace(".", "").replace(",", ".")
    return Fraction(bare) / (100 if written.endswith("%") else 1)


def _decimals(written: str, decimal: Decimal) -> int:
    tail = written.rstrip("%").rpartition("." if decimal == "point" else ",")
    return (len(tail[2]) if tail[1] else 0) + 2 * written.endswith("%") * bool(tail[1])


def _shown(value: Fraction | None) -> str:
    if value is None:
        return "nothing: it divides by 0"
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"
