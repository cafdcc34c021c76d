from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.support.training import Bench, BenchMaker

# Training needs `pip install 'rubric-anchors[local]'`; without it these files cannot even be read.
collect_ignore_glob = [] if find_spec("trl") else ["test_*.py"]


@pytest.fixture
def bench(tmp_path: Path, tiny_policy: Path) -> BenchMaker:
    """A fresh bench each time it is called; `start` defaults to the tiny Llama."""
    made = 0

    def make(start: Path | None = None) -> Bench:
        nonlocal made
        made += 1
        return Bench(tmp_path / f"bench-{made}", start or tiny_policy)

    return make
