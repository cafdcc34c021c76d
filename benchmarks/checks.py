"""Times a rubric of ten checks over 100,000 answers of about 200 words, and the slowest text for each check.

    PYTHONPATH=. python benchmarks/checks.py [--answers 100000] [--peers PYTHON]        (or: make bench-checks)

The answers are made by a seeded generator from sentences of the recipes' own data, so each is another text. Timed: the
whole judgement (`judge` on batches of 1,000: reading the text once for all checks, findings, evidence, verdicts), in
one process and in one for each core (the seconds of the slowest, without starting it). Hostile texts of a megabyte are
given to every check with the options of its first case. Peers do the part of the work that they know, beside
ours alone: see `checks_peers.py`.
Writes benchmarks/results/checks.json.
"""

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import yaml
from tests.critic.checks.test_any_text import OPTIONS

from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.build import build_critics
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.model import Rubric

ROOT: Final = Path(__file__).resolve().parents[1]
RESULT: Final = ROOT / "benchmarks" / "results" / "checks.json"
BATCH: Final = 1000
WORDS: Final = 200
CHECKS: Final[dict[str, dict[str, object]]] = {
    "word_count": {"min": 150, "max": 250, "soft": 50},
    "sentence_count": {"min": 8, "max": 20, "soft": 5},
    "paragraph_count": {"min": 2, "max": 5, "soft": 2},
    "contains": {"words": ["river", "coat"], "mode": "any"},
    "avoids": {"phrases": "assistant_boilerplate"},
    "no_markdown": {},
    "person": {"person": "first"},
    "repetition": {},
    "lexical_variety": {},
    "ai_tone": {},
}


def rubric() -> Rubric:
    criteria = [
        {"key": name, "ask": f"It passes {name}.", "critic": {"check": name, "with": options}}
        for name, options in CHECKS.items()
    ]
    return Rubric.model_validate({"id": "benchmark", "criteria": criteria})


def sentences() -> list[str]:
    """Sentences of the recipes' held texts and anchors."""
    texts = []
    for line in (ROOT / "recipes" / "data" / "preserve_text.jsonl").read_text("utf-8").splitlines():
        texts.append(str(json.loads(line)["text"]))
    narrative = yaml.safe_load((ROOT / "recipes" / "rubrics" / "plain-narrative.yaml").read_text("utf-8"))
    texts += [anchor for tier in narrative["criteria"][0]["tiers"] for anchor in tier["anchors"]]
    return [one for text in texts for one in re.split(r"(?<=[.!?])\s+", text) if len(one.split()) > 3]


def answers(first: int, count: int) -> Iterator[Answer]:
    """Answers number `first` to `first + count`: sentences drawn by seed until there are about 200 words."""
    pool = sentences()
    prompt = (Message("user", "Tell me about it."),)
    for number in range(first, first + count):
        draw = random.Random(number)
        parts: list[str] = []
        words = 0
        while words < WORDS:
            part = draw.choice(pool)
            words += len(part.split())
            parts.append(part + ("\n\n" if draw.random() < 0.15 else " "))
        yield Answer(prompt, "".join(parts))


def judged(first: int, count: int) -> float:
    """Seconds that judging takes, without making the answers."""
    critics = build_critics(rubric(), default_tools())
    spent = 0.0
    for at in range(first, first + count, BATCH):
        batch = list(answers(at, min(BATCH, first + count - at)))
        started = time.perf_counter()
        for critic in critics:
            critic.judge(batch)
        spent += time.perf_counter() - started
    return spent


def on_all_cores(count: int) -> float:
    """Seconds of the slowest of as many processes as there are cores, each with its share of the answers."""
    cores = os.cpu_count() or 1
    share = -(-count // cores)
    with ProcessPoolExecutor(cores) as pool:
        return max(pool.map(judged, range(0, count, share), [share] * cores))


def each(count: int) -> dict[str, float]:
    """Milliseconds an answer of each check by itself, reading the text included."""
    found = {}
    for name in CHECKS:
        alone = rubric().model_copy(update={"criteria": tuple(c for c in rubric().criteria if c.key == name)})
        [critic] = build_critics(alone, default_tools())
        batch = list(answers(0, count))
        started = time.perf_counter()
        critic.judge(batch)
        found[name] = round((time.perf_counter() - started) / count * 1000, 3)
    return found


HOSTILE: Final = {
    "a line of 1 MB": "word " * 200_000,
    "one word of 1 MB": "a" * 1_000_000,
    "open brackets": "[" * 1_000_000,
    "nested brackets": "[" * 500_000 + "]" * 500_000,
    "100,000 emoji": "🙂" * 100_000,
    "1 MB of combining marks": "a" + "\u0301" * 499_999,
    "500,000 empty lines": "\n" * 500_000,
    "digits": "1" * 1_000_000,
    "half of a phrase": "as an " * 166_000,
}


def slowest() -> dict[str, object]:
    """The longest that any check takes on a hostile text, and the ten longest with check and text."""
    found = []
    for name, options in OPTIONS.items():
        check = make_check(name, options)
        for title, text in HOSTILE.items():
            answer = Answer((Message("user", "Tell me about it."),), text)
            started = time.perf_counter()
            check.decide(answer)
            found.append((round(time.perf_counter() - started, 3), name, title))
    found.sort(reverse=True)
    return {"most_seconds": found[0][0], "longest": [list(one) for one in found[:10]], "checks": len(OPTIONS)}


def peers(python: str, count: int) -> dict[str, dict[str, float]]:
    """Milliseconds an answer: what others take for parts of the same work on the same texts."""
    texts = json.dumps([answer.text for answer in answers(0, count)])
    script = str(Path(__file__).with_name("checks_peers.py"))
    ended = subprocess.run([python, script], input=texts, capture_output=True, text=True, check=True)  # noqa: S603
    return dict(json.loads(ended.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--peers", default=sys.executable, help="a Python that has textstat and lm-eval")
    arguments = parser.parse_args()
    count = arguments.answers
    judged(0, min(count, 200))
    one = judged(0, count)
    result = {
        "answers": count,
        "words": WORDS,
        "checks": list(CHECKS),
        "one_process_seconds": round(one, 2),
        "all_cores_slowest_seconds": round(on_all_cores(count), 2),
        "cores": os.cpu_count(),
        "milliseconds_each": each(min(count, 1000)),
        "peers_milliseconds": peers(arguments.peers, min(count, 1000)),
        "hostile": slowest(),
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }
    print(json.dumps(result, indent=2))
    if count >= 100_000:
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
