"""The reference page says what the code says."""

from pathlib import Path

import pytest
import yaml
from tests.critic.checks.test_cases import TABLE

from rubric_anchors.critic.checks.registry import check_registry, make_check
from rubric_anchors.critic.reference import check_entry, check_info, checks_page

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == checks_page(TABLE), (
        "write it anew: PYTHONPATH=. python scripts/checks_page.py"
    )


@pytest.mark.parametrize("name", list(check_registry))
def test_every_check_and_every_option_is_documented(name: str) -> None:
    kind = check_registry.get(name)
    entry = check_entry(check_info(kind))
    assert entry.count("\n") > 2
    rows = [row for row in entry.splitlines() if row.startswith("| `")]  # without examples: options alone
    assert len(rows) == len(kind.model_fields)
    assert all(row.rsplit("|", 2)[1].strip() for row in rows), rows


def test_the_example_of_the_page_makes_a_check() -> None:
    example = checks_page(TABLE).split("```yaml\n")[1].split("```")[0]
    critic = yaml.safe_load(example)[0]["critic"]
    assert make_check(critic["check"], critic["with"]).name == "word_count"


def test_the_readme_counts_the_checks_right() -> None:
    count = len(checks_page(TABLE).split("\n### `")) - 1
    assert f"{count} programs that decide criteria" in (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")


def test_nearly_every_check_has_an_example() -> None:
    bare = [part.split("`")[0] for part in checks_page(TABLE).split("\n### `")[1:] if "| with |" not in part]
    assert set(bare) == {"relevance", "fluency", "similar_to_reference", "fitted", "python"}  # models, files, code
