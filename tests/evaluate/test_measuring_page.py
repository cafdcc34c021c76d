"""The page on measuring runs as it stands."""

import json
import re
from pathlib import Path

import pytest

import rubric_anchors

PAGE = Path(__file__).parents[2] / "docs" / "measuring.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_the_page_runs(block: str) -> None:
    if "preservation" in block:
        pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")
    exec(compile(block, str(PAGE), "exec"), {"__name__": "page"})  # noqa: S102


def test_the_page_states_the_tables_own_figures() -> None:
    table = Path(rubric_anchors.__file__).parent / "evaluate" / "measures" / "tone_weights.json"
    auc = json.loads(table.read_text("utf-8"))["auc"]
    text = " ".join(PAGE.read_text("utf-8").split())
    held = [f"{auc['held_out_' + kind]:.2f} for {kind}" for kind in ("stories", "news", "essays", "fiction")]
    seen = sorted(value for name, value in auc.items() if name.startswith("never_seen"))
    missing = [part for part in (*held, f"{seen[0]:.2f} and {seen[-1]:.2f}") if part not in text]
    assert missing == []
