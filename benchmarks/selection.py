"""What training on the central band is worth: band against all prompts, same policy, same rubric, same number of steps.

    python benchmarks/selection.py [--seeds 3] [--steps 10] [--work DIR]

For each seed two runs of the demo's style stage: one filters its prompts first (the demo's `select`), one trains on all
of them. Both are measured on the same held-out prompts with the same random numbers; figures are paired by prompt over
all seeds. The time for filtering is stated beside the gain: it is not free. Writes benchmarks/results/selection.json; a
run that is there is not made again.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import yaml

from rubric_anchors.app.pipeline import run_recipe
from rubric_anchors.app.prepare import prepare
from rubric_anchors.core.errors import Refused
from rubric_anchors.evaluate.paired import difference_interval
from rubric_anchors.runs.folder import RunFolder

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "selection.json"
AFTER = "held-out-main-after"
BEFORE = "held-out-main-before"


def recipe_for(seed: int, steps: int, band: bool) -> dict[str, object]:
    """The demo with its style stage alone, a fixed number of steps and no preservation checks."""
    recipes = ROOT / "recipes"
    recipe = yaml.safe_load((recipes / "demo.yaml").read_text(encoding="utf-8"))
    recipe["name"] = f"selection-{'band' if band else 'all'}-{seed}"
    recipe["seed"] = seed
    recipe["rubrics"] = [str(recipes / name) for name in recipe["rubrics"]]
    for side in ("train", "held_out"):
        recipe["data"][side] = {name: str(recipes / path) for name, path in recipe["data"][side].items()}
    style = next(stage for stage in recipe["stages"] if stage["name"] == "style")
    recipe["stages"] = [{**style, "steps": steps, "defend": False, "gates": []}]
    evaluate = recipe["evaluate"]
    recipe["evaluate"] = {**evaluate, "others": [], "answers": 2, "samples": 0, "preservation": {}}
    if not band:
        del recipe["select"]
    return dict(recipe)


def run_arm(work: Path, seed: int, steps: int, band: bool) -> RunFolder:
    """One run, or the one that is there."""
    recipe = recipe_for(seed, steps, band)
    folder = work / str(recipe["name"])
    path = work / f"{recipe['name']}.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    try:
        run_recipe(prepare(path), folder, resume=True)
    except Refused as refused:
        print(refused)
    return RunFolder(folder)


def prompt_rewards(run: RunFolder, label: str) -> dict[str, float]:
    """Mean reward of each held-out prompt."""
    found: dict[str, list[float]] = {}
    for rollout in run.rollouts(label):
        if rollout.reward is not None:
            found.setdefault(rollout.prompt_id, []).append(rollout.reward)
    return {prompt: float(np.mean(rewards)) for prompt, rewards in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "rubric-anchors-selection")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows, differences = [], []
    for seed in range(1, options.seeds + 1):
        row: dict[str, object] = {"seed": seed}
        sides = {}
        for name, band in (("all", False), ("band", True)):
            run = run_arm(options.work, seed, options.steps, band)
            sides[name] = prompt_rewards(run, AFTER)
            before = prompt_rewards(run, BEFORE)
            row[f"{name}_before"] = float(np.mean(list(before.values())))
            row[f"{name}_after"] = float(np.mean(list(sides[name].values())))
            row[f"{name}_seconds"] = {part: round(seconds, 1) for part, seconds in run.parts().items()}
            selection = run.selection("style")
            row[f"{name}_prompts"] = len(selection.kept) if selection else all_prompts(options.work, seed)
        differences += [sides["band"][prompt] - sides["all"][prompt] for prompt in sorted(sides["all"])]
        rows.append(row)
        interval = difference_interval(differences, seed=0)
        print(f"seed {seed}: {row}")
        result = {
            "what": "held-out reward after training on the band minus after training on all prompts",
            "steps": options.steps,
            "seeds": rows,
            "difference": {"mean": interval.delta, "low": interval.low, "high": interval.high, "n": len(differences)},
        }
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result["difference"]))


def all_prompts(work: Path, seed: int) -> int:
    """How many prompts an unfiltered run trains on."""
    prepared = prepare(work / f"selection-all-{seed}.yaml")
    return len(prepared.rows(prepared.recipe.stages[0].data))


if __name__ == "__main__":
    main()
