"""How far critics that need no model agree with people, on tables of judgements that nobody here made.

    PYTHONPATH=. python benchmarks/calibrate.py DATA

DATA holds, as their makers publish them: people's scores in `hanna`, `ttcw` (machines' stories; three experts) and
`llm_rubric`; preferences in `llmbar`, `pandalm` (three annotators), `autoj` and `rmbench` (three styles of an answer).
The rubric is ten things that a program can see of a text, with nothing tuned on these sets. Of `autoj` 300 pairs are
taken, evenly through the file. Writes benchmarks/results/calibrate.json, and docs/figures/calibrate.svg from `pandalm`.
"""

import argparse
import csv
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from rubric_anchors.app.calibrate import Calibrated, How, calibrate_pairs, calibrate_scores
from rubric_anchors.evaluate.resample import Figure
from rubric_anchors.evaluate.shrink import shrink_factors
from rubric_anchors.report.calibration import picture

ROOT: Final = Path(__file__).resolve().parent.parent
RESULT: Final = ROOT / "benchmarks" / "results" / "calibrate.json"
PICTURE: Final = ROOT / "docs" / "figures" / "calibrate.svg"
CHECKS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "long": ("It is long.", "word_count", {"min": 400, "soft": 400}),
    "no_ai_tone": ("Nothing in it sounds like an assistant.", "ai_tone", {}),
    "readable": ("It is easy to read.", "readability", {"min": 60, "soft": 60}),
    "plain": ("It is plain prose.", "no_markdown", {}),
    "varied": ("Its words vary.", "lexical_variety", {}),
    "no_repetition": ("It says nothing twice.", "repetition", {}),
    "concrete": ("It speaks of things seen, heard and done.", "concreteness", {}),
    "rhythm": ("Its sentences vary in length.", "sentence_rhythm", {}),
    "ends": ("It comes to an end.", "ends_properly", {}),
}
TTCW: Final = {"ends": 1, "varied": 5, "no_ai_tone": 9, "concrete": 13, "lived_detail": 13}
"""Criterion to the test that asks for the nearest thing: the ending, the language, cliches, the senses."""
HANNA: Final = {
    "no_repetition": "Coherence", "lived_detail": "Empathy", "concrete": "Engagement", "varied": "Complexity",
    "long": "Complexity",
}  # fmt: skip
AUTOJ_PAIRS: Final = 300
RATERS: Final = (1, 2, 3)

Rows = Iterable[Mapping[str, Any]]


def rubric() -> dict[str, Any]:
    """The ten criteria, equal weights; `lived_detail` is the demo's, by its style alone."""
    demo = yaml.safe_load((ROOT / "recipes" / "rubrics" / "plain-narrative.yaml").read_text("utf-8"))
    lived = next(each for each in demo["criteria"] if each["key"] == "lived_detail")
    criteria = [
        {"key": key, "ask": ask, "critic": {"check": check, "with": options}}
        for key, (ask, check, options) in CHECKS.items()
    ]
    style = {"exemplar": "tiers", "with": {"space": "style"}}
    return {"id": "surface", "criteria": [*criteria, {**lived, "weight": 1, "critic": style}]}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def hanna(data: Path) -> tuple[list[dict[str, Any]], list[str]]:
    rows = [
        {
            "prompt": row["prompt"],
            "response": row["human_story"],
            **row["ratings"],
            "overall": sum(row["ratings"].values()) / len(row["ratings"]),
        }
        for row in lines(data / "hanna" / "human_stories_rated.jsonl")
    ]
    return rows, [*(f"{key}={column}" for key, column in HANNA.items()), "reward=overall"]


def ttcw(data: Path) -> tuple[list[dict[str, Any]], list[str]]:
    verdicts: dict[str, dict[int, dict[int, bool]]] = {}
    for row in json.loads((data / "ttcw" / "ttcw_annotations.json").read_text("utf-8")):
        tests = verdicts.setdefault(row["story_id"], {}).setdefault(row["expert_idx"], {})
        tests[row["ttcw_idx"]] = row["binary_verdict"] == "Yes"
    rows = []
    for story in json.loads((data / "ttcw" / "ttcw_short_stories.json").read_text("utf-8")):
        if "NewYorker" in story["story_id"]:
            continue  # the published file has a stub in place of the story
        row = {"prompt": story["plot"], "response": story["content"], "plot": story["story_idx"]}
        for rater, (_, found) in enumerate(sorted(verdicts[story["story_id"]].items()), 1):
            row |= {f"t{test}_{rater}": int(passed) for test, passed in found.items()}
            row[f"passed_{rater}"] = sum(found.values())
        rows.append(row)
    labels = [f"{key}={','.join(f't{test}_{rater}' for rater in RATERS)}" for key, test in TTCW.items()]
    passed = ",".join(f"passed_{rater}" for rater in RATERS)
    return rows, [*labels, f"long={passed}", f"reward={passed}"]


def llm_rubric(data: Path) -> tuple[list[dict[str, Any]], list[str]]:
    with (data / "llm_rubric" / "human_judges_real.csv").open(encoding="utf-8", newline="") as file:
        satisfied = {row["text_id"]: row["Q0"] for row in csv.DictReader(file)}
    rows = []
    for talk in lines(data / "llm_rubric" / "real_convs.jsonl"):
        turns = talk["messages"]
        last = max((at for at, turn in enumerate(turns) if turn["role"] == "assistant"), default=0)
        if last and turns[last - 1]["role"] == "user" and talk["_id"] in satisfied:
            asked = [{"role": turn["role"], "content": turn["content"]} for turn in turns[:last]]
            rows.append({"prompt": asked, "response": turns[last]["content"], "Q0": satisfied[talk["_id"]]})
    return rows, [f"{key}=Q0" for key in ("long", "readable", "no_repetition", "ends", "reward")]


def llmbar(data: Path, *names: str) -> list[dict[str, Any]]:
    return [
        {"prompt": row["input"], "a": row["output_1"], "b": row["output_2"], "label": row["label"]}
        for name in names
        for row in json.loads((data / "llmbar" / f"{name}.json").read_text("utf-8"))
    ]


def pandalm(data: Path) -> list[dict[str, Any]]:
    return [
        {
            "prompt": f"{row['instruction']}\n\n{row['input']}".strip(),
            "a": row["response1"],
            "b": row["response2"],
            **{f"r{rater}": row[f"annotator{rater}"] for rater in RATERS},
        }
        for row in json.loads((data / "pandalm" / "testset-v1.json").read_text("utf-8"))
    ]


def autoj(data: Path) -> list[dict[str, Any]]:
    rows = lines(data / "autoj" / "testdata_pairwise.jsonl")
    taken = [rows[at * len(rows) // AUTOJ_PAIRS] for at in range(min(AUTOJ_PAIRS, len(rows)))]
    return [
        {"prompt": row["prompt"], "a": row["response 1"], "b": row["response 2"], "label": row["label"]}
        for row in taken
    ]


def rmbench(data: Path, chosen: Sequence[int], rejected: Sequence[int]) -> list[dict[str, Any]]:
    """Pairs of these styles: 0 is terse, 1 is long plain text, 2 is long Markdown."""
    return [
        {"prompt": row["prompt"], "chosen": row["chosen"][one], "rejected": row["rejected"][other]}
        for row in json.loads((data / "rmbench" / "chat_filtered.json").read_text("utf-8"))
        for one, other in zip(chosen, rejected, strict=True)
    ]


def measured(made: Calibrated) -> dict[str, Any]:
    found = made.calibration
    return {
        "kind": found.kind,
        "rows": found.rows,
        "left_out": found.left_out,
        "resampled": found.clusters,
        "raters": max(target.raters for target in found.targets),
        "shrink": {key: round(factor, 3) for key, factor in shrink_factors(found).items()},
        "targets": {
            target.key: {
                "n": target.used,
                "unjudged": target.unjudged,
                "figures": {name: figures_of(each) for name, each in target.figures.items()},
                "people": {name: figures_of(each) for name, each in target.people.items()},
                "changed_when_judged_again": [target.again.changed, target.again.n] if target.again else None,
            }
            for target in found.targets
        },
    }


def figures_of(figure: Figure) -> list[float] | str:
    """[value, low, high], [value] where there is no interval, the reason where there is no figure."""
    if figure.value is None:
        return figure.reason
    ends = [figure.low, figure.high] if figure.low is not None and figure.high is not None else []
    return [round(value, 3) for value in (figure.value, *ends)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        judged_by = Path(folder) / "surface.yaml"
        judged_by.write_text(yaml.safe_dump(rubric(), sort_keys=False), encoding="utf-8")

        def table(name: str, rows: Rows) -> Path:
            path = Path(folder) / f"{name}.jsonl"
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
            return path

        for name, (rows, labels), group in (
            ("hanna", hanna(data), ""),
            ("ttcw", ttcw(data), "plot"),
            ("llm_rubric", llm_rubric(data), ""),
        ):
            result[name] = measured(calibrate_scores(table(name, rows), judged_by, labels, how=How(group=group)))
        three = [f"r{rater}=1,2,0" for rater in RATERS]
        for name, pairs, preferences in (
            ("llmbar natural", llmbar(data, "Natural"), ["label=1,2"]),
            ("llmbar adversarial", llmbar(data, "Adversarial_GPTInst", "Adversarial_Neighbor"), ["label=1,2"]),
            ("pandalm", pandalm(data), three),
            ("autoj", autoj(data), ["label=0,1,2"]),
            ("rmbench same style", rmbench(data, (0, 1, 2), (0, 1, 2)), []),
            ("rmbench terse chosen", rmbench(data, (0, 0, 1), (1, 2, 2)), []),
        ):
            columns = "a,b" if preferences else "chosen,rejected"
            found = calibrate_pairs(table(name, pairs), judged_by, columns, preferences)
            result[name] = measured(found)
            if name == "pandalm":
                PICTURE.write_text(picture(found.calibration), encoding="utf-8")
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
