"""Writes docs/checks.md, the reference of all checks, from their code and their test cases.

PYTHONPATH=. python scripts/checks_page.py
"""

from pathlib import Path

from tests.critic.checks.test_cases import TABLE

from rubric_anchors.critic.reference import checks_page

PAGE = Path(__file__).parents[1] / "docs" / "checks.md"

if __name__ == "__main__":
    PAGE.write_text(checks_page(TABLE), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE}")
