"""What a fitted critic can learn of people's judgements on short stories, by style alone.

    PYTHONPATH=. python benchmarks/liking.py DATA

DATA holds HANNA (`hanna/human_stories_rated.jsonl`: 47 stories by people, each with the mean ratings of three raters,
and `hanna/llm_stories.jsonl`). Fitted: each rating's upper against its lower half, people's stories against machines'.
Every figure is of texts left out, whole prompts at a time. Writes benchmarks/results/liking.json.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.derive_ai_tone import clean, read

from rubric_anchors.critic.fitted import Liked, fit

SEEDS: Final = 10
RESULT: Final = Path(__file__).resolve().parent / "results" / "liking.json"


def figures(texts: list[Liked]) -> dict[str, Any]:
    """The figures of SEEDS ways to leave texts out: their means, and the least and largest area."""
    made = [fit(texts, None, "benchmark", seed) for seed in range(SEEDS)]
    areas = [one.measured.area for one in made]
    strongest = sorted(zip(made[0].columns, made[0].weights, strict=False), key=lambda one: -abs(one[1]))[:4]
    return {
        "liked": made[0].liked.texts,
        "disliked": made[0].disliked.texts,
        "groups": len({one.group for one in texts}),
        "area": round(float(np.mean(areas)), 3),
        "area_over_seeds": [round(min(areas), 3), round(max(areas), 3)],
        "interval": [
            round(float(np.mean([one.measured.low for one in made])), 3),
            round(float(np.mean([one.measured.high for one in made])), 3),
        ],
        "length_area": round(made[0].measured.length_area, 3),
        "strongest": [f"{'more' if weight > 0 else 'less'} {name}" for name, weight in strongest],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    stories: list[dict[str, Any]] = [*read(data / "hanna" / "human_stories_rated.jsonl")]
    result: dict[str, Any] = {}
    for name in ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity"):
        ratings = np.array([float(row["ratings"][name]) for row in stories])
        middle = float(np.median(ratings))
        texts = [
            Liked(clean(row["human_story"]), bool(rating > middle), row["prompt"][:60])
            for row, rating in zip(stories, ratings, strict=True)
            if rating != middle
        ]
        try:
            result[name] = figures(texts)
        except ValueError as error:
            result[name] = {"refused": str(error)}
    both = [Liked(clean(row["human_story"]), True, row["prompt"][:60]) for row in stories]
    both += [
        Liked(clean(row["Story"]), False, row["Prompt"][:60]) for row in read(data / "hanna" / "llm_stories.jsonl")
    ]
    result["by people, not by machines"] = figures(both)
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
