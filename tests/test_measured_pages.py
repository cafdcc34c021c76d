"""The tables of docs/ai-tone.md, docs/liking.md and docs/exemplars.md are those of the measurements."""

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


WEIGHED = json.loads((ROOT / "benchmarks" / "results" / "tone_weights.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WEIGHED)
def test_a_row_on_weights_has_the_measured_figures(name: str) -> None:
    found = WEIGHED[name]
    low, high = found["difference"]
    row = f"| {name} | {found['human']} + {found['machine']} | {found['plain']:.3f} | {found['weighed']:.3f} |"
    assert f"{row} {low:+.3f} to {high:+.3f} |" in PAGE


LIKING = json.loads((ROOT / "benchmarks" / "results" / "liking.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LIKING)
def test_a_row_on_liking_has_the_measured_figures(name: str) -> None:
    found = LIKING[name]
    low, high = found["interval"]
    row = f"| {name} | {found['liked']} + {found['disliked']} | {found['area']:.3f} ({low:.3f} to {high:.3f}) |"
    assert row in (ROOT / "docs" / "liking.md").read_text(encoding="utf-8")


EXEMPLAR = json.loads((ROOT / "benchmarks" / "results" / "exemplar.json").read_text(encoding="utf-8"))
EXEMPLARS = (ROOT / "docs" / "exemplars.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXEMPLAR["people"])
def test_a_row_on_rated_anchors_has_the_measured_figures(name: str) -> None:
    found = EXEMPLAR["people"][name]
    low, high = found["exemplar"]["interval"]
    row = f"| {name} | {found['texts']} | {found['exemplar']['order']:.3f} ({low:.3f} to {high:.3f}) |"
    row += "".join(f" {found[way]['order']:.3f} |" for way in ("style alone", "nearest anchor", "length"))
    assert f"{row} {found['warned']:.0%} |" in EXEMPLARS


@pytest.mark.parametrize("name", EXEMPLAR["anchors"])
def test_a_row_on_the_demo_s_anchors_has_the_measured_figures(name: str) -> None:
    found = EXEMPLAR["anchors"][name]
    low, high = found["interval"]
    row = f"| {found['order']:.3f} ({low:.3f} to {high:.3f}) | {found['right']:.0%} | {found['confident']:.0%} |"
    assert f"{row} {found['nearest anchor']:.3f} |" in EXEMPLARS
