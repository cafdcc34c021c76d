"""Derives `evaluate/measures/tone_weights.json`, behind the `ai_tone` measure, and prints how well it tells apart.

    python benchmarks/derive_ai_tone.py DATA [--write]

DATA is a folder of third-party texts, not shipped, all MIT (only counts and weights leave it):

    human_vs_llm/writing_gpt-*.jsonl  {human, llm}        stories on one prompt  fast-detect-gpt (WritingPrompts)
    human_vs_llm/xsum_gpt-4.jsonl     {human, llm}        news                   fast-detect-gpt (XSum)
    human_vs_llm/essays_*.jsonl       {source, id, text}  essays                 chatgpt-generated-text-detection-corpus
    hanna/human_stories_rated.jsonl   {human_story}       fiction by people      HANNA
    slop_outputs/*.jsonl              {output}            fiction by machines    slop-score

The words are chosen by log-odds with an informative Dirichlet prior (Monroe et al. 2008) in each domain; a word must
lean the same way in at least two domains, so that a topic is not taken for a tone. What a critic's list names is left
out, so that the measure and the reward share no word. Then one L2-regularised logistic regression over shapes and
words, on runs of 60 words. List lines and bold are rare in the sources: their weights are set by hand and marked so.
"""

import argparse
import ast
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

from rubric_anchors.evaluate.measures.tone import runs, shapes, terms

PACKAGE = Path(__file__).parents[1] / "src" / "rubric_anchors"
BY_HAND = {"list_lines": 2.0, "bold": 1.0}
BARRED = set(
    """
    i me my mine myself we us our ours ourselves am you your he him his himself she her herself
    s t d ll ve re m nt chatgpt ai language model prompt fiction
    man men husband tv dead died killed hair city school money economic technology
    """.split()
)
"""First and third persons, which belong to other criteria; what tokenisers leave; topics of the sources."""
SIZE = 240
PENALTY = 5.0
Text = tuple[str, bool, str, str]  # text, by a machine, domain, half


def half(key: str) -> str:
    return "fit" if int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 else "test"


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def clean(text: str) -> str:
    """One spelling for both sides: what a tokeniser left behind (` n't`, ` ,`, ``) must not give a side away."""
    text = re.sub(r"``|''", '"', text.replace("’", "'"))
    text = re.sub(r"\s+([,.;:!?])", r"\1", text)
    return re.sub(r"\s+(n't|'\w)", r"\1", re.sub(r"[ \t\n]+", " ", text)).strip()


def corpus(data: Path) -> list[Text]:
    made: list[Text] = []
    for name, domain in (("writing_gpt-4", "stories"), ("writing_gpt-3.5-turbo", "stories"), ("xsum_gpt-4", "news")):
        for row in read(data / "human_vs_llm" / f"{name}.jsonl"):
            shared = next((n for n, (a, b) in enumerate(zip(row["human"], row["llm"], strict=False)) if a != b), 0)
            for side in ("human", "llm"):
                made.append((clean(row[side][shared:]), side == "llm", domain, half(row["human"][:40])))
    for row in read(data / "human_vs_llm" / "essays_human_chatgpt.jsonl"):
        made.append((clean(row["text"]), row["source"] != "human", "essays", half(f"essay{row['id']}")))
    for row in read(data / "hanna" / "human_stories_rated.jsonl"):
        made.append((clean(row["human_story"]), False, "fiction", half(row["prompt"][:40])))
    for path in sorted((data / "slop_outputs").glob("*.jsonl")):
        for row in read(path):
            made.append((clean(row["output"])[:1500], True, "fiction", half(row["prompt"][:40])))
    return [(run, *rest) for text, *rest in made for run in runs(text) if len(run.split()) >= 30]  # type: ignore[misc]


def lists_of_critics() -> set[str]:
    """Every entry of a list that the critics hold, in a file or in code, lower-case; a phrase bars only itself."""
    found: set[str] = set()
    for path in (PACKAGE / "critic").rglob("*.txt"):
        found |= {line.strip().lower() for line in path.read_text("utf-8").splitlines()}
    for path in (PACKAGE / "critic").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):  # "a list of words".split(), and literal collections of strings
            if isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
                found |= set(str(node.value.value).lower().split())
            if isinstance(node, ast.Set | ast.List | ast.Tuple):
                found |= {str(item.value).lower() for item in node.elts if isinstance(item, ast.Constant)}
    return found


def lexicon(texts: list[Text], barred: set[str]) -> dict[str, float]:
    """The words and pairs that lean one way, to how far (positive: towards machines), strongest first."""
    domains = sorted({domain for _, _, domain, _ in texts})
    names = {word for text, *_ in texts for word in re.findall(r"(?<=[a-z,] )[A-Z]\w+", text)}
    leans: dict[str, list[float]] = {}
    total: Counter[str] = Counter(term for text, *_ in texts for term in terms(text))
    for domain in domains:
        counts = [
            Counter(t for text, by, d, _ in texts if d == domain and by is side for t in terms(text))
            for side in (False, True)
        ]
        sizes = [sum(count.values()) for count in counts]
        scale = 500.0 / sum(total.values())
        for term, overall in total.items():
            if overall < 12 or "'" in term or term in barred or set(term.split()) & BARRED or term.title() in names:
                continue
            prior = overall * scale + 0.01
            odds = [
                np.log((c[term] + prior) / (n + 500.0 - c[term] - prior)) for c, n in zip(counts, sizes, strict=True)
            ]
            error = np.sqrt(sum(1.0 / (c[term] + prior) for c in counts))
            leans.setdefault(term, []).append(float((odds[1] - odds[0]) / error))
    strength = {}
    for term, values in leans.items():
        joint = sum(values) / np.sqrt(len(domains))
        agree = sum(value * joint > 0.7 * abs(joint) for value in values)
        if agree >= 2 and min(value * np.sign(joint) for value in values) > -0.7:
            strength[term] = joint
    order = sorted(strength, key=lambda item: (-abs(strength[item]), item))
    return {term: strength[term] for term in order[:SIZE] if abs(strength[term]) > 1.5}


def fit(texts: list[Text], words: dict[str, float]) -> tuple[float, np.ndarray, np.ndarray]:
    """bias, weights of shapes, weights of words; each domain and side counts the same.

    A weight may not contradict its own evidence: a word's has the sign of its lean, a shape's the sign it is known by.
    """
    features, sides = matrix(texts, words)
    spread = np.maximum(features.std(axis=0), 1e-6)
    spread[len(shapes("")) :] = 0.35  # words: one scale, so that rare ones are not blown up
    scaled = features / spread
    cells = Counter((domain, by) for _, by, domain, _ in texts)
    mass = np.array([1.0 / cells[domain, by] for _, by, domain, _ in texts]) / len(cells) * len(texts)
    sign = np.where(sides, 1.0, -1.0)

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (scaled @ point[1:] + point[0])
        pull = -mass * sign / (1.0 + np.exp(np.clip(margin, -30, 30)))
        value = float(np.sum(mass * np.logaddexp(0.0, -margin)) + PENALTY * np.sum(point[1:] ** 2))
        return value, np.concatenate([[pull.sum()], scaled.T @ pull + 2 * PENALTY * point[1:]])

    signs = [-1.0 if name == "short_words" else 1.0 for name in shapes("")] + list(words.values())
    bounds = [(None, None), *((0.0, None) if value > 0 else (None, 0.0) for value in signs)]
    start = np.zeros(scaled.shape[1] + 1)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    weights = best[1:] / spread
    return float(best[0]), weights[: len(shapes(""))], weights[len(shapes("")) :]


def matrix(texts: list[Text], words: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    rows = []
    for text, *_ in texts:
        found = terms(text)
        rows.append(
            [*(0.0 if k in BY_HAND else v for k, v in shapes(text).items()), *(float(word in found) for word in words)]
        )
    return np.array(rows), np.array([by for _, by, *_ in texts])


def auc(scores: np.ndarray, sides: np.ndarray) -> float:
    ranks, ups = rankdata(scores), int(sides.sum())
    return float((ranks[sides].sum() - ups * (ups + 1) / 2) / (ups * (len(sides) - ups)))


def judged(texts: list[Text], words: dict[str, float], model: tuple[float, np.ndarray, np.ndarray]) -> float:
    features, sides = matrix(texts, words)
    return auc(features @ np.concatenate(model[1:]) + model[0], sides)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    texts, barred = corpus(args.data), lists_of_critics()
    fitting = [text for text in texts if text[3] == "fit"]
    words = lexicon(fitting, barred)
    model = fit(fitting, words)
    figures: dict[str, float] = {}
    for domain in ("stories", "news", "essays", "fiction"):
        held = [text for text in texts if text[3] == "test" and text[2] == domain]
        figures[f"held_out_{domain}"] = round(judged(held, words, model), 3)
        others = [text for text in fitting if text[2] != domain]
        other_words = lexicon(others, barred)
        figures[f"never_seen_{domain}"] = round(judged(held, other_words, fit(others, other_words)), 3)
    print(f"{len(fitting)} runs fitted, {len(words)} terms, AUC on runs of 60 words: {figures}")
    names = list(shapes(""))
    shape_weights = {name: round(float(value), 3) for name, value in zip(names, model[1], strict=True)} | BY_HAND
    term_weights = {
        w: round(float(v), 3)
        for w, v in sorted(zip(words, model[2], strict=True), key=lambda p: -p[1])
        if round(float(v), 3)
    }
    print(shape_weights)
    print(list(term_weights.items())[:40])
    print(list(term_weights.items())[-40:])
    if args.write:
        table = {
            "about": "made by benchmarks/derive_ai_tone.py; see there",
            "auc": figures,
            "by_hand": sorted(BY_HAND),
            "bias": round(model[0], 3),
            "shapes": shape_weights,
            "terms": term_weights,
        }
        target = PACKAGE / "evaluate" / "measures" / "tone_weights.json"
        target.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
