"""The table of docs/instructions.md is that of the measurement."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TABLES = json.loads((ROOT / "benchmarks" / "results" / "ifeval.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "instructions.md").read_text(encoding="utf-8")
ROWS = {cells[1].strip(" `"): cells for cells in (row.split("|") for row in PAGE.splitlines()) if len(cells) == 7}


@pytest.mark.parametrize("kind", TABLES)
def test_a_row_of_the_page_has_the_measured_figures(kind: str) -> None:
    table = TABLES[kind]
    agree = "read" if table["agree"] is None else f"{table['agree']} of {table['n']}"
    assert [cell.strip() for cell in ROWS[kind][3:5]] == [f"{table['followed']} of {table['n']}", agree]


def test_every_row_on_which_the_readings_differ_is_explained() -> None:
    told = set(re.findall(r"\d{4}", PAGE.split("In all the readings agree")[1]))
    assert {str(key) for table in TABLES.values() for key in (*table["only_ours"], *table["only_other"])} <= told
