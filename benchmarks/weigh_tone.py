"""Derives `critic/tone_weights.json`: how much each wording of the check `ai_tone` counts, by texts of people and of
machines.

    PYTHONPATH=. python benchmarks/weigh_tone.py DATA [--write]

DATA is the folder that benchmarks/derive_ai_tone.py describes. Every (domain, side) of it counts the same number of
words. A wording's weight is its log ratio of machine hits to human hits, with PRIOR hits added in its list's own
proportion:

    w = max(0, log((m + PRIOR M/(M + H)) / (h + PRIOR H/(M + H))))

m, h: hits of the wording on the two sides; M, H: hits of its whole list, with half a hit added to each. A wording that
was not seen gets its list's log(M / H); one that people use as much gets 0. Weights are divided by their mean over the
machines' hits, so that a machine's hit counts 1 on average and the check's `per` keeps its meaning. A list with fewer
than ENOUGH hits in all texts keeps 1 for each entry: the texts are stories, news and essays, and of how assistants
answer a question (boilerplate, closers, flattery) they say little.

Measured by cross-fitting: the weights of each half of the prompts judge the other half.
"""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from benchmarks.ai_tone import alarms_at, area
from benchmarks.derive_ai_tone import clean, half, read

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.checks.tone import TONE_LISTS, marks_of
from rubric_anchors.critic.wordlists import word_list

ROOT: Final = Path(__file__).resolve().parents[1]
TARGET: Final = ROOT / "src" / "rubric_anchors" / "critic" / "tone_weights.json"
RESULT: Final = ROOT / "benchmarks" / "results" / "tone_weights.json"
PRIOR: Final = 4.0
WORDS: Final = 10_000.0
"""What every (domain, side) is taken to have."""
MARKS: Final = "marks"
"""The list of what stands in none."""
SEEN: Final = "not this but that"
PLAIN: Final[dict[str, dict[str, float]]] = {"entries": {}, "lists": {}}
DRAWS: Final = 1000
ENOUGH: Final = 40


class Read(NamedTuple):
    """A text as counted: hits by wording, its words, and where it comes from."""

    hits: Counter[str]
    dashes: int
    words: int
    machine: bool
    domain: str
    half: str


def corpus(data: Path) -> list[Read]:
    """Whole texts; a prompt's texts are all in one half."""
    found: list[Read] = []

    def add(text: str, machine: bool, domain: str, key: str) -> None:
        view = Answer((), clean(text)).view
        marks = marks_of(view, TONE_LISTS)
        hits = Counter(mark.wording for mark in marks if mark.kind != "dash")
        dashes = sum(mark.kind == "dash" for mark in marks)
        found.append(Read(hits, dashes, len(view.words), machine, domain, half(key)))

    for name, domain in (
        ("writing_gpt-4", "stories"),
        ("writing_gpt-3.5-turbo", "stories 3.5"),
        ("xsum_gpt-4", "news"),
    ):
        for row in read(data / "human_vs_llm" / f"{name}.jsonl"):
            shared = next((n for n, (a, b) in enumerate(zip(row["human"], row["llm"], strict=False)) if a != b), 0)
            for side in ("human", "llm"):
                add(row[side][shared:], side == "llm", domain, row["human"][:40])
    for row in read(data / "human_vs_llm" / "essays_human_chatgpt.jsonl"):
        add(row["text"], row["source"] != "human", "essays", f"essay{row['id']}")
    for row in read(data / "hanna" / "human_stories_rated.jsonl"):
        add(row["human_story"], False, "fiction", row["prompt"][:40])
    for row in read(data / "hanna" / "llm_stories.jsonl"):
        add(row["Story"], True, "fiction", row["Prompt"][:40])
    for path in sorted((data / "slop_outputs").glob("*.jsonl")):
        for row in read(path):
            add(row["output"][:3000], True, "fiction", row["prompt"][:40])
    return found


def lists_of() -> dict[str, str]:
    """Each wording's list."""
    homes = {entry: name for name in reversed(TONE_LISTS) for entry in word_list(name)}
    return homes | {SEEN: MARKS, "emoji": "emoji"}


def weights(texts: list[Read]) -> dict[str, dict[str, float]]:
    """`entries`: the weight of each wording that was seen; `lists`: of the others, by their list."""
    size = defaultdict[tuple[str, bool], float](float)
    for text in texts:
        size[text.domain, text.machine] += text.words
    hits: dict[bool, defaultdict[str, float]] = {side: defaultdict(float) for side in (False, True)}
    for text in texts:
        for wording, count in text.hits.items():
            hits[text.machine][wording] += count * WORDS / size[text.domain, text.machine]
    homes = lists_of()
    totals: dict[bool, defaultdict[str, float]] = {side: defaultdict[str, float](lambda: 0.5) for side in (False, True)}
    for side, counts in hits.items():
        for wording, rate in counts.items():
            totals[side][homes[wording]] += rate
    seen = Counter(homes[wording] for text in texts for wording in text.hits.elements())
    lists = {
        name: max(float(np.log(totals[True][name] / totals[False][name])), 0.0)
        for name, count in sorted(seen.items())
        if count >= ENOUGH
    }
    entries: dict[str, float] = {}
    for wording in sorted(wording for wording in {*hits[True], *hits[False]} if homes[wording] in lists):
        m_all, h_all = totals[True][homes[wording]], totals[False][homes[wording]]
        m = hits[True][wording] + PRIOR * m_all / (m_all + h_all)
        h = hits[False][wording] + PRIOR * h_all / (m_all + h_all)
        entries[wording] = max(float(np.log(m / h)), 0.0)
    mean = sum(entries[w] * hits[True][w] for w in entries) / sum(hits[True][w] for w in entries)
    return {
        "entries": {wording: round(weight / mean, 3) for wording, weight in entries.items()},
        "lists": {name: round(weight / mean, 3) for name, weight in lists.items()},
    }


def score(text: Read, table: dict[str, dict[str, float]], homes: dict[str, str]) -> float:
    """Hits in 100 words as the check counts them."""
    hundreds = max(text.words / 100, 1.0)
    dashes = max(text.dashes - hundreds, 0.0)
    lists, entries = table["lists"], table["entries"]
    weighed = sum(entries.get(w, lists.get(homes[w], 1.0)) * count for w, count in text.hits.items())
    return (weighed + dashes) / hundreds


def compared(texts: list[Read]) -> dict[str, Any]:
    """By domain: the area under the ROC curve with and without weights, and the difference with its interval."""
    homes = lists_of()
    tables = {
        side: weights([text for text in texts if text.half != side]) for side in sorted({text.half for text in texts})
    }
    random = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for domain in sorted({text.domain for text in texts}):
        here = [text for text in texts if text.domain == domain]
        sides = np.array([text.machine for text in here])
        plain = np.array([score(text, PLAIN, homes) for text in here])
        weighed = np.array([score(text, tables[text.half], homes) for text in here])
        drawn = []
        for _ in range(DRAWS):
            of = np.concatenate(
                [random.choice(np.flatnonzero(sides == side), (sides == side).sum()) for side in (0, 1)]
            )
            is_machine = sides[of]
            drawn.append(
                area(weighed[of][~is_machine], weighed[of][is_machine])
                - area(plain[of][~is_machine], plain[of][is_machine])
            )
        low, high = np.quantile(drawn, [0.025, 0.975])
        found[domain] = {
            "human": int((~sides).sum()),
            "machine": int(sides.sum()),
            "plain": round(area(plain[~sides], plain[sides]), 3),
            "weighed": round(area(weighed[~sides], weighed[sides]), 3),
            "difference": [round(float(low), 3), round(float(high), 3)],
            "human_score": [round(float(scores[~sides].mean()), 3) for scores in (plain, weighed)],
            "machine_score": [round(float(scores[sides].mean()), 3) for scores in (plain, weighed)],
            "alarms_at_half_recall": [round(alarms_at(s[~sides], s[sides], 0.5), 3) for s in (plain, weighed)],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    texts = corpus(args.data)
    result, table = compared(texts), weights(texts)
    print(json.dumps(result, indent=2))
    ranked = sorted(table["entries"].items(), key=lambda item: item[1])
    print("lists:", table["lists"])
    print("least:", ranked[:25])
    print("most:", ranked[-25:])
    if args.write:
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        about = {"about": "made by benchmarks/weigh_tone.py; see there"}
        TARGET.write_text(json.dumps(about | table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
