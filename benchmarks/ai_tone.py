"""How well the check `ai_tone` tells machine text from human text, and how often the manners checks accuse people.

    PYTHONPATH=. python benchmarks/ai_tone.py DATA

DATA is the folder that benchmarks/derive_ai_tone.py describes, with `hanna/llm_stories.jsonl` and
`ttcw/ttcw_short_stories.json` beside. The check's lists were written by hand without these texts, so all of them are
unseen; its weights come of them and are left out here (see weigh_tone.py). The score of a text is its hits in 100
words. Per set: the area under the ROC curve with a bootstrap interval
over texts, the share of human texts accused where nine of ten machine texts are caught, the areas of single features,
and the area among pairs of about the same length. Writes benchmarks/results/ai_tone.json.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.derive_ai_tone import clean, read
from numpy.typing import NDArray
from scipy.stats import rankdata

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.checks.tone import TONE_LISTS

RESULT: Final = Path(__file__).resolve().parent / "results" / "ai_tone.json"
FAR: Final = 100.0
"""Hits in 100 words at which the check's value would be 0: nothing here comes near."""
MANNERS: Final = ("assistant_boilerplate", "flattery", "self_praise", "grader_talk", "refusals")
Sides = tuple[list[str], list[str]]
"""Human texts, machine texts."""


def sets(data: Path) -> dict[str, Sides]:
    found: dict[str, Sides] = {}
    folder = data / "human_vs_llm"
    for name in ("writing_gpt-4", "writing_gpt-3.5-turbo", "xsum_gpt-4"):
        human, machine = [], []
        for row in read(folder / f"{name}.jsonl"):
            pairs = zip(row["human"], row["llm"], strict=False)
            shared = next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
            human.append(clean(row["human"][shared:]))
            machine.append(clean(row["llm"][shared:]))
        found[name] = (human, machine)
    essays = read(folder / "essays_human_chatgpt.jsonl")
    found["essays"] = (
        [clean(row["text"]) for row in essays if row["source"] == "human"],
        [clean(row["text"]) for row in essays if row["source"] != "human"],
    )
    people = [clean(row["human_story"]) for row in read(data / "hanna" / "human_stories_rated.jsonl")]
    found["hanna"] = (people, [clean(row["Story"]) for row in read(data / "hanna" / "llm_stories.jsonl")])
    for path in sorted((data / "slop_outputs").glob("*.jsonl")):
        found[f"slop: {path.stem}"] = (people, [clean(row["output"])[:3000] for row in read(path)])
    return found


def human_texts(data: Path) -> list[str]:
    """Texts by people only, from all sets."""
    texts = [text for human, _ in sets(data).values() for text in human]
    stories = json.loads((data / "ttcw" / "ttcw_short_stories.json").read_text("utf-8"))
    texts += [str(row["content"]) for row in stories if "NewYorker" in row["story_id"] and "content" in row]
    return list(dict.fromkeys(texts))


def hits(texts: Sequence[str], lists: Sequence[str]) -> NDArray[np.float64]:
    check = make_check("ai_tone", {"per": FAR, "lists": list(lists), "weigh": False})
    return np.array([FAR * (1 - check.decide(Answer((), text)).value) for text in texts])


def words(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.array([float(len(text.split())) for text in texts])


def mean_sentence(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.array([len(Answer((), t).view.words) / max(len(Answer((), t).view.sentences), 1) for t in texts])


def area(human: NDArray[np.float64], machine: NDArray[np.float64]) -> float:
    """The chance that a machine text scores above a human one, ties counting half."""
    ranks = rankdata(np.concatenate([human, machine]))
    return float((ranks[len(human) :].sum() - len(machine) * (len(machine) + 1) / 2) / len(human) / len(machine))


def interval(human: NDArray[np.float64], machine: NDArray[np.float64], draws: int = 1000) -> list[float]:
    rng = np.random.default_rng(7)
    areas = [area(rng.choice(human, len(human)), rng.choice(machine, len(machine))) for _ in range(draws)]
    return [round(float(end), 3) for end in np.quantile(areas, [0.025, 0.975])]


def alarms_at(human: NDArray[np.float64], machine: NDArray[np.float64], recall: float = 0.9) -> float:
    """The share of human texts at or above the score that `recall` of the machine texts reach."""
    return float(np.mean(human >= np.quantile(machine, 1 - recall)))


def matched(sides: Sides, scores: tuple[NDArray[np.float64], NDArray[np.float64]]) -> dict[str, Any]:
    """The share of machine texts that score above the human text nearest in length, within a fifth of it."""
    lengths = words(sides[0])
    wins = []
    for text, score in zip(words(sides[1]), scores[1], strict=True):
        near = int(np.argmin(np.abs(lengths - text)))
        if abs(lengths[near] - text) <= text / 5:
            wins.append(1.0 if score > scores[0][near] else 0.5 if score == scores[0][near] else 0.0)
    return {"pairs": len(wins), "area": round(float(np.mean(wins)), 3) if wins else None}


def measured(sides: Sides) -> dict[str, Any]:
    features: dict[str, Callable[[Sequence[str]], NDArray[np.float64]]] = {
        "words": words,
        "words a sentence": mean_sentence,
        **{name: lambda texts, name=name: hits(texts, [name]) for name in TONE_LISTS},  # type: ignore[misc]
    }
    human, machine = hits(sides[0], TONE_LISTS), hits(sides[1], TONE_LISTS)
    return {
        "human": len(sides[0]),
        "machine": len(sides[1]),
        "area": round(area(human, machine), 3),
        "interval": interval(human, machine),
        "alarms_at_90_recall": round(alarms_at(human, machine), 3),
        "same_length": matched(sides, (human, machine)),
        "alone": {name: round(area(of(sides[0]), of(sides[1])), 3) for name, of in features.items()},
        "hits_in_100_words": [round(float(human.mean()), 3), round(float(machine.mean()), 3)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    result: dict[str, Any] = {"sets": {name: measured(sides) for name, sides in sets(data).items()}}
    people = human_texts(data)
    accused = {}
    for name in MANNERS:
        check = make_check("avoids", {"phrases": name})
        accused[name] = round(float(np.mean([check.decide(Answer((), text)).value < 1 for text in people])), 4)
    result["people"] = {"texts": len(people), "accused": accused}
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
