"""The tables of docs/ai-tone.md and docs/liking.md are those of the measurements."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULT = json.loads((ROOT / "benchmarks" / "results" / "ai_tone.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "ai-tone.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RESULT["sets"])
def test_a_row_of_the_page_has_the_measured_figures(name: str) -> None:
    found = RESULT["sets"][name]
    low, high = found["interval"]
    row = f"| {found['human']} + {found['machine']} | {found['area']:.3f} ({low:.3f} to {high:.3f}) |"
    row += f" {found['same_length']['area']:.3f} | {found['alarms_at_90_recall']:.0%} |"
    assert row in PAGE


def test_the_page_says_how_often_people_are_accused() -> None:
    people = RESULT["people"]
    assert f"Of {people['texts']} texts" in PAGE
    assert all(f"`{name}` {share:.1%}" in PAGE for name, share in people["accused"].items())


LIKING = json.loads((ROOT / "benchmarks" / "results" / "liking.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LIKING)
def test_a_row_on_liking_has_the_measured_figures(name: str) -> None:
    found = LIKING[name]
    low, high = found["interval"]
    row = f"| {name} | {found['liked']} + {found['disliked']} | {found['area']:.3f} ({low:.3f} to {high:.3f}) |"
    assert row in (ROOT / "docs" / "liking.md").read_text(encoding="utf-8")
