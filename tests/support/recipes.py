"""A whole recipe in miniature: plain checks, two stages of two steps, selection, evaluation and preservation."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

WORDS: Final = ("river", "window", "kettle", "garden", "ladder", "pocket", "winter", "harbour", "cellar", "market")

RUBRIC: Final[dict[str, Any]] = {
    "schema": 1,
    "id": "short",
    "title": "Short",
    "scope": "task",
    "criteria": [
        {
            "key": "length",
            "ask": "It is 2 to 4 words long.",
            "critic": {"check": "word_count", "with": {"min": 2, "max": 4, "soft": 20}},
        },
        {
            "key": "no_x",
            "ask": "It is free of the letter x as a word.",
            "critic": {"check": "avoids", "with": {"words": ["x"]}},
        },
    ],
}

RECIPE: Final[dict[str, Any]] = {
    "name": "tiny",
    "seed": 3,
    "policy": {"dtype": "float32"},
    "rubrics": ["short.yaml"],
    "data": {"train": {"mine": "train.jsonl"}, "held_out": {"held": "held.jsonl"}},
    "select": {"answers": 2, "band": [0.0, 1.0], "least_spread": 0.0},
    "stages": [
        {
            "name": name,
            "rubrics": ["short"],
            "data": ["mine"],
            "steps": 2,
            "group": 4,
            "prompts": 2,
            "max_tokens": 6,
            "micro_batch": 4,
            "checkpoint_every": 1,
            "learning_rate": 0.001,
            "defend": name == "second",
        }
        for name in ("first", "second")
    ],
    "evaluate": {
        "rubrics": ["short"],
        "data": ["held"],
        "answers": 2,
        "max_tokens": 6,
        "measures": ["distinctness", "length"],
        "samples": 2,
        "preservation": {"text": "text.jsonl", "choices": "choices.jsonl"},
    },
}


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def write_yaml(path: Path, content: object) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def tiny_recipe() -> dict[str, Any]:
    """A copy to change."""
    return copy.deepcopy(RECIPE)


def write_recipe(folder: Path, model: Path | str, content: dict[str, Any] | None = None) -> Path:
    """The recipe with all that it names, in `folder`; its policy is `model`."""
    folder.mkdir(parents=True, exist_ok=True)
    recipe = content or tiny_recipe()
    recipe["policy"]["model"] = str(model)
    write_yaml(folder / "short.yaml", RUBRIC)
    for name, words in (("train", WORDS[:6]), ("held", WORDS[6:])):
        rows = [{"id": f"{name}-{word}", "prompt": f"Say {word}.", "family": word[0]} for word in words]
        write_rows(folder / f"{name}.jsonl", rows)
    write_rows(folder / "text.jsonl", [{"id": word, "text": f"A {word} stood there."} for word in WORDS[:3]])
    items = [{"id": word, "context": f"A {word} is", "choices": ["old", "new"], "answer": 0} for word in WORDS[:3]]
    write_rows(folder / "choices.jsonl", items)
    return write_yaml(folder / "recipe.yaml", recipe)


def figures(run: Path) -> dict[str, Any]:
    """What two runs of one recipe must agree in: the evaluation, the rollouts, the steps, times and machine apart."""
    import pyarrow.parquet as pq

    evaluation = json.loads((run / "evaluation.json").read_text("utf-8"))
    for timed in ("wall_seconds", "peak_rss_mb"):
        del evaluation[timed]
    stages = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((run / "stages").glob("*.json"))}
    for stage in stages.values():
        del stage["seconds"]
        for step in stage["steps"]:
            del step["seconds"]
    kept = ("samples.json", "selection.json", "first_look.json", "rubrics.json")
    return {
        "evaluation": evaluation,
        "stages": stages,
        "rollouts": pq.read_table(run / "rollouts.parquet").to_pylist(),
        **{name: json.loads((run / name).read_text("utf-8")) for name in kept if (run / name).exists()},
    }
