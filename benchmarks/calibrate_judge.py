"""How far a language model as judge agrees with people, on samples of the tables that `calibrate.py` uses.

    PYTHONPATH=. python benchmarks/calibrate_judge.py DATA NAME URL#MODEL [--rows 40] [--mode expected]

One criterion, "it is a good answer", in five tiers. Of each table so many rows, evenly through the file: `hanna` and
`llm_rubric` (people's scores), `llmbar natural` and `pandalm` (pairs); of `ttcw`, whose stories are ten times as long,
half as many. Replies are kept in the user's cache, so that a run which was stopped goes on. Adds what was found, under
NAME, to benchmarks/results/calibrate_judge.json.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.calibrate import RATERS, ROOT, figures_of, hanna, llm_rubric, llmbar, pandalm, ttcw

from rubric_anchors.app.calibrate import Calibrated, How, calibrate_pairs, calibrate_scores
from rubric_anchors.app.judges import judge_of

RESULT: Final = ROOT / "benchmarks" / "results" / "calibrate_judge.json"
TIERS: Final = [
    {"means": "It fails: wrong, beside the point, or unreadable."},
    {"means": "Poor: much of what was asked is missing or badly done."},
    {"means": "Fair: it does what was asked, with clear weaknesses."},
    {"means": "Good: it does what was asked, with small weaknesses."},
    {"means": "Excellent: it does what was asked, and could hardly be done better."},
]


def rubric(mode: str) -> dict[str, Any]:
    critic = {"judge": "model", "with": {"mode": mode, **({"mass": 0.5} if mode == "expected" else {})}}
    ask = "It is a good answer to what was asked."
    return {"id": "good", "criteria": [{"key": "good", "ask": ask, "critic": critic, "tiers": TIERS}]}


def evenly(rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [rows[at * len(rows) // count] for at in range(min(count, len(rows)))]


def measured(made: Calibrated) -> dict[str, Any]:
    [target] = [one for one in made.calibration.targets if one.kind == "criterion"]
    return {
        "rows": made.calibration.rows,
        "used": target.used,
        "unjudged": target.unjudged,
        "figures": {name: figures_of(each) for name, each in target.figures.items()},
        "people": {name: figures_of(each) for name, each in target.people.items()},
        "changed_when_judged_again": [target.again.changed, target.again.n] if target.again else None,
    }


def keep(name: str, found: dict[str, Any]) -> None:
    result = json.loads(RESULT.read_text("utf-8")) if RESULT.exists() else {}
    result[name] = found
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("name")
    parser.add_argument("judge")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--mode", default="expected")
    parser.add_argument("--judge-with", action="append", default=[])
    args = parser.parse_args()
    data: Path = args.data
    judge = judge_of(args.judge, args.judge_with)
    how = How(again=0)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        judged_by = Path(folder) / "good.json"
        judged_by.write_text(json.dumps(rubric(args.mode)), encoding="utf-8")

        def table(name: str, rows: Sequence[dict[str, Any]], count: int) -> Path:
            path = Path(folder) / f"{name}.jsonl"
            path.write_text("".join(f"{json.dumps(row)}\n" for row in evenly(rows, count)), encoding="utf-8")
            return path

        for name, pairs, preferences in (
            ("llmbar natural", llmbar(data, "Natural"), ["label=1,2"]),
            ("pandalm", pandalm(data), [f"r{rater}=1,2,0" for rater in RATERS]),
        ):
            path = table(name, pairs, args.rows)
            found[name] = measured(calibrate_pairs(path, judged_by, "a,b", preferences, how, judge=judge))
            keep(args.name, {"mode": args.mode, **found})
        for name, (rows, _), labels, count in (
            ("hanna", hanna(data), ["good=overall"], args.rows),
            ("llm_rubric", llm_rubric(data), ["good=Q0"], args.rows),
            ("ttcw", ttcw(data), [f"good={','.join(f'passed_{rater}' for rater in RATERS)}"], args.rows // 2),
        ):
            path = table(name, rows, count)
            found[name] = measured(calibrate_scores(path, judged_by, labels, how=how, judge=judge))
            keep(args.name, {"mode": args.mode, **found})


if __name__ == "__main__":
    main()
