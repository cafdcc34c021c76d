"""A figure does not depend on the order in which a process happens to keep its sets."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
from rubric_anchors.evaluate.measures import Sample, all_measures
passages = [json.loads(line)["text"] for line in open(sys.argv[1], encoding="utf-8")]
samples = [Sample(f"p{at}", "", passages[at - 1][:400], passage) for at, passage in enumerate(passages)]
for measure in all_measures()[0]:
    print(measure.name, [value.hex() for value in measure(samples).tolist()])
"""
ROOT = Path(__file__).parents[2]
PASSAGES = ROOT / "recipes" / "data" / "preserve_text.jsonl"


def figures(hash_seed: int) -> str:
    place = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(PASSAGES)], env=place, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_measure_gives_the_same_bits_under_any_hash_seed() -> None:
    first = figures(1)
    assert "ai_tone" in first
    assert [figures(seed) for seed in (2, 3, 4)] == [first] * 3
