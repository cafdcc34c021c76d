"""Ten thousand texts for each check, made by cutting, joining and breaking the texts of the case tables."""

import math
import random
from collections.abc import Iterator
from typing import Final

import pytest
from tests.critic.checks.table import answer
from tests.critic.checks.test_any_text import PIECES
from tests.critic.checks.test_cases import TABLE

from rubric_anchors.core.errors import CriticError
from rubric_anchors.critic.checks.registry import make_check

SEEDS: Final = sorted({case[1] for cases in TABLE.values() for case in cases if case[1]})
TEXTS: Final = 10_000
START_A_PROCESS: Final = {"math_answer": 200, "code_tests": 20}
"""Checks that may start a process for a text, and how many texts they get."""


def texts(name: str, count: int) -> Iterator[str]:
    """`count` texts: seeds cut, joined, repeated, with characters changed, removed and put in."""
    draw = random.Random(f"{name} fuzz")
    for _ in range(count):
        text = draw.choice(SEEDS)
        for _ in range(draw.randrange(1, 5)):
            text = _changed(text, draw)
        yield text[:2000]


def _changed(text: str, draw: random.Random) -> str:
    at, to = sorted(draw.randrange(len(text) + 1) for _ in range(2))
    match draw.randrange(6):
        case 0:
            return text[:at] + draw.choice(PIECES) + text[at:]
        case 1:
            return text[:at] + text[to:]
        case 2:
            return text[:at] + draw.choice(SEEDS) + text[at:]
        case 3:
            return text[:to] + text[at:to] * draw.randrange(1, 4) + text[to:]
        case 4:
            return (
                text[:at]
                + chr(draw.choice((draw.randrange(0x250), draw.randrange(0x3000), draw.randrange(0x110000))))
                + text[at:]
            )
        case _:
            return text[at:] + text[:at]


def fuzzed(name: str, count: int) -> None:
    """Every option set of the table in turn, over `count` texts."""
    checks = [make_check(name, options) for options, _, _ in TABLE[name]]
    for number, text in enumerate(texts(name, min(count, START_A_PROCESS.get(name, count)))):
        try:
            finding = checks[number % len(checks)].decide(answer(text))
        except CriticError as error:
            # The table's `(a|a)*b` needs for ever on some text: it is stopped, and the criterion is unjudged.
            if name != "pattern" or "more than 1 s" not in str(error):
                raise
            continue
        assert math.isfinite(finding.value), text
        assert 0.0 <= finding.value <= 1.0, text
        assert finding.evidence, text
        for item in finding.evidence:
            assert item.start is None or 0 <= item.start <= (item.end or 0) <= len(text), text


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_check_holds_on_a_hundred_broken_texts(name: str) -> None:
    fuzzed(name, 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_check_holds_on_ten_thousand_broken_texts(name: str) -> None:
    fuzzed(name, TEXTS)
