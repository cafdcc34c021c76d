from collections.abc import Callable

import pytest

from rubric_anchors.report.tables import Table, tables
from rubric_anchors.runs.folder import RunFolder

MakeRun = Callable[..., RunFolder]


def test_a_finished_run_has_a_table_of_each_kind(make_run: MakeRun) -> None:
    found = {table.title: table for table in tables(make_run())}
    assert list(found) == [
        "Stages", "In the reward", "Outside the reward", "Outside the reward, for information", "Families of prompts",
        "Preservation", "Suspected hacks", "Time",
    ]  # fmt: skip
    assert found["In the reward"].rows[0] == (
        "reward", "0.481", "0.672", "+0.191", "+0.150 to +0.232", "-", "better",
    )  # fmt: skip
    assert [row[-1] for row in found["Outside the reward, for information"].rows] == ["rose"]
    assert found["Preservation"].rows[0][4:] == ("×1.009 to ×1.026", "×1.050", "kept")
    assert found["Stages"].rows[1][:2] == ("voice", "done after 40 steps")


def test_a_run_with_nothing_in_it_has_no_tables(make_run: MakeRun) -> None:
    assert tables(make_run(fill_with=lambda run: None)) == ()


def test_a_ragged_table_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        Table("t", ("a",), (("x", "y"),))
