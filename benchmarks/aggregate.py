"""Times the aggregation of one million scorecards x 16 criteria and writes benchmarks/results/aggregate.json.

    python benchmarks/aggregate.py

Weighted mean, knees on 8 criteria and one veto, float32 in, rewards out (the target: at most 0.15 s on 2 cores); the
full chain with all relations and every step's delta, float64 out; and one explained outcome.
"""

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rubric_anchors.aggregate import Plan, aggregate, chain, explain, rewards
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Scorecard

ANSWERS, CRITERIA, REPEATS = 1_000_000, 16, 15
RESULT = Path(__file__).parent / "results" / "aggregate.json"


def rubric(full: bool) -> Rubric:
    """16 criteria, 4 of them pitfalls, 8 knees, a veto; `full` adds interactions and a stretch."""
    criteria: list[dict[str, object]] = [
        {
            "key": f"c{at}",
            "ask": f"It has quality {at}.",
            "weight": -1.0 if at % 4 == 3 else 1.0 + at % 3,
            "critic": "judge",
        }
        for at in range(CRITERIA)
    ]
    for criterion in criteria:
        criterion["tiers"] = [{"means": "Not at all."}, {"means": "In part."}, {"means": "Fully."}]
    criteria[0]["veto"] = {"below": 0.2, "reward": 0.1}
    relations: list[dict[str, object]] = [
        {"saturate": {"key": f"c{at}", "beyond": 0.7}} for at in range(0, CRITERIA, 2)
    ]
    if full:
        relations += [
            {"interact": {"keys": [f"c{at}", f"c{at + 1}"], "kind": kind}}
            for at, kind in enumerate(("synergy", "conflict", "gate"))
        ]
    shape = {"kind": "stretch", "from": 0.7, "power": 2} if full else None
    return Rubric.model_validate(
        {"id": "benchmark", "criteria": criteria, "relations": relations, "reward": {"shape": shape}}
    )


def timed(work: Callable[[], object], repeats: int) -> dict[str, float | int]:
    """Seconds of `repeats` runs after one to warm up: the least, the median, the most."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return {
        "least": round(min(seconds), 6),
        "median": round(float(np.median(seconds)), 6),
        "most": round(max(seconds), 6),
        "repeats": repeats,
    }


def main() -> None:
    load = os.getloadavg()[0]
    values = np.random.default_rng(7).random((ANSWERS, CRITERIA), dtype=np.float32)
    plain, full = rubric(False), rubric(True)
    fast, slow = Plan.compile(plain), Plan.compile(full)
    card = Scorecard(full.content_id, full.keys, tuple(Judged(0.5, 1, "benchmark") for _ in full.keys))
    one = values[0].astype(np.float64)
    figures = {
        "answers": ANSWERS,
        "criteria": CRITERIA,
        "seconds": {
            "rewards: mean, 8 knees, 1 veto, float32": timed(lambda: rewards(fast, values), REPEATS),
            "rewards: all five steps, float32": timed(lambda: rewards(slow, values), 3),
            "chain: all five steps with deltas, float32 in, float64 out": timed(lambda: chain(slow, values), 3),
            "explain: one answer, all five steps": timed(lambda: explain(slow, one), 200),
            "aggregate: one scorecard, all five steps": timed(lambda: aggregate(full, card), 200),
        },
        "machine": {
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "numpy": np.__version__,
            "load_at_start": round(load, 2),
        },
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures["seconds"], indent=2))


if __name__ == "__main__":
    main()
