"""The instruments and the reward share nothing: no import, no file, no list."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import rubric_anchors
from rubric_anchors.evaluate.measures import tone

SOURCE = Path(rubric_anchors.__file__).parent
CRITICS = ("rubric_anchors.critic", "rubric_anchors.reward", "rubric_anchors.aggregate")
SMALLEST = 8
"""Entries from which a collection of strings is a word list."""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def lists_in_code(path: Path) -> Iterator[frozenset[str]]:
    """The word lists of a module: literal collections of strings, and strings that are split."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        found: set[str] = set()
        if (
            isinstance(node, ast.Attribute)
            and node.attr in {"split", "splitlines"}
            and isinstance(node.value, ast.Constant)
        ):
            found = set(str(node.value.value).lower().split())
        elif isinstance(node, ast.Set | ast.List | ast.Tuple):
            found = {str(entry.value).lower() for entry in node.elts if isinstance(entry, ast.Constant)}
        if len(found) >= SMALLEST:
            yield frozenset(found)


def lists_in_files(folder: Path) -> dict[str, frozenset[str]]:
    return {
        path.name: frozenset(
            line.strip().lower() for line in path.read_text("utf-8").splitlines() if line.strip() and line[0] != "#"
        )
        for path in folder.rglob("*.txt")
    }


@pytest.fixture(scope="module")
def critics() -> list[frozenset[str]]:
    found = list(lists_in_files(SOURCE / "critic").values())
    for path in (SOURCE / "critic").rglob("*.py"):
        found.extend(lists_in_code(path))
    return found


def tone_terms() -> set[str]:
    return set(json.loads((Path(tone.__file__).parent / "tone_weights.json").read_text("utf-8"))["terms"])


def test_no_measure_imports_a_critic_or_the_reward() -> None:
    measures = sorted((SOURCE / "evaluate" / "measures").rglob("*.py"))
    assert measures
    for path in measures:
        inside = [name for name in imported(path) if name.startswith("rubric_anchors")]
        assert all(name.startswith(("rubric_anchors.core", "rubric_anchors.evaluate")) for name in inside), path


def test_nothing_in_evaluate_imports_a_critic_or_the_reward() -> None:
    for path in (SOURCE / "evaluate").rglob("*.py"):
        assert not [name for name in imported(path) if name.startswith(CRITICS)], path


def test_no_critic_imports_a_measure() -> None:
    for room in ("critic", "reward", "aggregate"):
        for path in (SOURCE / room).rglob("*.py"):
            assert not [name for name in imported(path) if name.startswith("rubric_anchors.evaluate")], path


def test_the_tone_table_has_no_word_of_a_critics_list(critics: list[frozenset[str]]) -> None:
    shared = {term for entries in critics for term in entries & tone_terms()}
    assert shared == set(), f"derive the table anew: benchmarks/derive_ai_tone.py; shared: {sorted(shared)}"


def test_no_list_of_a_measure_is_a_critics_list(critics: list[frozenset[str]]) -> None:
    """Closed classes of English overlap by nature; more than a third of both would be one list in two places."""
    for path in (SOURCE / "evaluate" / "measures").rglob("*.py"):
        for ours in lists_in_code(path):
            for theirs in critics:
                alike = len(ours & theirs) / len(ours | theirs)
                assert alike <= 1 / 3, f"{path.name}: {alike:.2f} alike: {sorted(ours & theirs)[:12]}"
