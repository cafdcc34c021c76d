"""Whether an exemplar critic agrees with people where its anchors are texts that people rated.

    PYTHONPATH=. python benchmarks/exemplar.py DATA

DATA holds HANNA (`hanna/human_stories_rated.jsonl`: 47 stories by people with the mean ratings of three raters, and
`hanna/llm_stories.jsonl`) and TTCW (`ttcw/`). The demo's anchors are left one out; then, for each rating, the texts are
parted by prompt, a half gives the anchors of three tiers (thirds by rating), the other half is judged, and the other
way round. Figures are shares of pairs in the order of the ratings (0.5 is chance) over PARTINGS partings, beside the
nearest anchor by embedding, the number of words, and style alone. Writes benchmarks/results/exemplar.json.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.derive_ai_tone import clean, read
from numpy.typing import NDArray

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Encoder, Tools
from rubric_anchors.critic.exemplar import AnchorSpace
from rubric_anchors.critic.kernel import order_agreement
from rubric_anchors.critic.leftout import leave_one_out
from rubric_anchors.models.encoder import SentenceEncoder
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.model import Criterion, Rubric

PARTINGS: Final = 10
RESAMPLES: Final = 2000
RATINGS: Final = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
ROOT: Final = Path(__file__).resolve().parents[1]
RESULT: Final = ROOT / "benchmarks" / "results" / "exemplar.json"
Column = NDArray[np.float64]


@dataclass(frozen=True)
class Rated:
    """A text with what people think of it; texts of one group are never on both sides of a parting."""

    text: str
    rating: float
    group: str


def criterion(texts: list[Rated], space: str) -> Criterion:
    """Anchors in three tiers, the thirds of `texts` by rating, or in two where there are two ratings."""
    ranked = sorted(texts, key=lambda one: (one.rating, one.text))
    parts = [ranked[at * len(ranked) // 3 : (at + 1) * len(ranked) // 3] for at in range(3)]
    if len(ratings := {one.rating for one in texts}) == 2:
        parts = [[one for one in ranked if one.rating == rating] for rating in sorted(ratings)]
    tiers = [{"means": str(at), "anchors": [one.text for one in part]} for at, part in enumerate(parts)]
    spec = {"kind": "exemplar", "with": {"space": space}}
    return Criterion.model_validate({"key": "rated", "ask": "People like it.", "critic": spec, "tiers": tiers})


def judged(anchors: list[Rated], texts: list[Rated], tools: Tools) -> tuple[dict[str, Column], bool]:
    """The values of `texts` by each way to judge them, and whether the exemplar critic says itself that it cannot."""
    answers = [Answer((), one.text) for one in texts]
    found: dict[str, Column] = {}
    warned = False
    for name, space in (("exemplar", "both"), ("style alone", "style")):
        fitted = AnchorSpace(criterion(anchors, space), tools)
        verdicts = fitted.verdicts(answers)
        warned = warned or (space == "both" and fitted.fitted.apart is False)
        found[name] = np.array([verdict.value for verdict in verdicts])  # type: ignore[union-attr]
    encoder = tools.encoder()
    near = encoder.encode([one.text for one in texts]) @ encoder.encode([one.text for one in anchors]).T
    found["nearest anchor"] = np.array([one.rating for one in anchors])[near.argmax(axis=1)]
    lengths = np.array([len(one.text.split()) for one in anchors])
    rising = np.corrcoef(lengths, [one.rating for one in anchors])[0, 1] >= 0
    found["length"] = np.array([len(one.text.split()) for one in texts]) * (1.0 if rising else -1.0)
    return found, warned


def figures(texts: list[Rated], tools: Tools) -> dict[str, Any]:
    """The share of pairs in order by each way, its interval by resampling groups, and its range over the partings."""
    groups = sorted({one.group for one in texts})
    place = {one: at for at, one in enumerate(texts)}
    ratings = np.array([one.rating for one in texts])
    partings: dict[str, list[Column]] = {}
    warnings = []
    for seed in range(PARTINGS):
        half = set(np.random.default_rng(seed).permutation(groups)[: len(groups) // 2])
        sides = [[one for one in texts if (one.group in half) is side] for side in (True, False)]
        values: dict[str, Column] = {}
        for anchors, others in (sides, sides[::-1]):
            columns, warned = judged(anchors, others, tools)
            warnings.append(warned)
            for name, column in columns.items():
                # Ranks within the side: the two sides' anchors set two scales.
                ranks = column.argsort().argsort() / len(column) if name == "length" else column
                values.setdefault(name, np.zeros(len(texts)))[[place[one] for one in others]] = ranks
        for name, column in values.items():
            partings.setdefault(name, []).append(column)
    members = [np.array([at for at, one in enumerate(texts) if one.group == group]) for group in groups]
    return {"texts": len(texts), "groups": len(groups), "warned": round(float(np.mean(warnings)), 2)} | {
        name: figure(columns, ratings, members) for name, columns in partings.items()
    }


def figure(columns: list[Column], ratings: Column, members: list[NDArray[np.int_]]) -> dict[str, Any]:
    """Of one way to judge."""
    random = np.random.default_rng(0)
    mean = np.mean([order_agreement(column, ratings) for column in columns])
    drawn = []
    for _ in range(RESAMPLES // PARTINGS):
        of = np.concatenate([members[at] for at in random.integers(len(members), size=len(members))])
        if len(np.unique(ratings[of])) > 1:
            drawn.append(np.mean([order_agreement(column[of], ratings[of]) for column in columns]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"order": round(float(mean), 3), "interval": [round(float(low), 3), round(float(high), 3)]}


def anchors_left_out(encoder: Encoder) -> dict[str, Any]:
    """The demo's anchors, each judged by the others."""
    lived = Rubric.load(ROOT / "recipes" / "rubrics" / "plain-narrative.yaml").criterion("lived_detail")
    tools = Tools(encoder=lambda: encoder, likelihood=default_tools().likelihood)
    found: dict[str, Any] = {}
    for name, space in (("exemplar", "both"), ("style alone", "style")):
        changed = lived.with_changes(critic={"kind": "exemplar", "with": {"space": space}})
        one = leave_one_out(AnchorSpace(changed, tools))
        assert one is not None
        found[name] = {
            "order": round(one.agreement, 3),
            "interval": [round(bound, 3) for bound in one.interval],
            "right": round(one.right, 3),
            "confident": round(one.confident, 3),
            "nearest anchor": round(one.nearest_anchor, 3),
        }
    return found


def ttcw(folder: Path) -> list[Rated]:
    """Stories with the number of creativity tests, of fourteen, that most of three experts say they pass."""
    passed: dict[str, int] = {}
    for row in json.loads((folder / "ttcw_majority.json").read_text(encoding="utf-8")):
        story: str = row["story_id"]
        passed[story] = passed.get(story, 0) + (row["binary_verdict"] == "Yes")
    stories = json.loads((folder / "ttcw_short_stories.json").read_text(encoding="utf-8"))
    return [
        Rated(clean(row["content"]), float(passed[row["story_id"]]), str(row["story_idx"]))
        for row in stories
        if len(row["content"].split()) > 1
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    encoder = SentenceEncoder()
    tools = Tools(encoder=lambda: encoder, likelihood=default_tools().likelihood)
    rated: list[dict[str, Any]] = [*read(data / "hanna" / "human_stories_rated.jsonl")]
    result: dict[str, Any] = {"anchors": anchors_left_out(encoder), "people": {}}
    for name in RATINGS:
        texts = [Rated(clean(row["human_story"]), float(row["ratings"][name]), row["prompt"][:60]) for row in rated]
        result["people"][f"HANNA: {name}"] = figures(texts, tools)
    by = [Rated(clean(row["human_story"]), 1.0, row["prompt"][:60]) for row in rated]
    by += [Rated(clean(row["Story"]), 0.0, row["Prompt"][:60]) for row in read(data / "hanna" / "llm_stories.jsonl")]
    result["people"]["HANNA: by people, not by machines"] = figures(by, tools)
    result["people"]["TTCW: tests passed"] = figures(ttcw(data / "ttcw"), tools)
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
