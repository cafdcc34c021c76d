"""Times judging 2,000 answers on eight criteria through an endpoint that takes 500 ms a call and serves 256 at once.

    PYTHONPATH=. python benchmarks/judge.py [--answers 2000] [--latency 0.5] [--runs 3] [--peers]
    (or: make bench-judge)

The endpoint is `quick_endpoint.py` in a process of its own: the CPU time measured is the client's alone. Measured, as
medians of the runs: wall time of `anchors score`'s whole road (reading, one call an answer, cache and journal on, rows
written) beside the endpoint's own limit, and beside a bare loop that only posts the same bodies; the same again from
the cache; the rate with no latency, which is what one core can sustain; the prompt tokens of one call an answer beside
those of one call a criterion. `--peers`: the same answers through other packages, each in an environment of its own
that is made here (`judge_peers.py`). Writes benchmarks/results/judge.json.
"""

import argparse
import asyncio
import json
import math
import platform
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import aiohttp
from benchmarks.judge_peers import PEERS, peer
from benchmarks.quick_endpoint import serving

from rubric_anchors.app.score import estimate_file, score_file
from rubric_anchors.models.wire import body_of
from rubric_anchors.reward.judging import JudgeConfig

RESULT: Final = Path(__file__).resolve().parent / "results" / "judge.json"
CRITERIA: Final = 8
AT_ONCE: Final = 256
TIERS: Final = [{"means": "Not at all."}, {"means": "In part."}, {"means": "Wholly."}]
Found = dict[str, Any]


def say(body: dict[str, Any]) -> str:
    """The middle of what can be said on every criterion, in the form that is asked for."""
    asked = body["response_format"]["json_schema"]["schema"]["properties"]
    if "judgments" in asked:
        judgment = {"explanation": "the river", "selected_option": 2, "criterion_status": None}
        return json.dumps({"judgments": [{"criterion_id": f"c{at}", **judgment} for at in range(CRITERIA)]})
    if "criteria_evaluations" in asked:
        met = {"criterion_status": "MET", "explanation": "the river"}
        return json.dumps({"criteria_evaluations": [{"criterion_number": at + 1, **met} for at in range(CRITERIA)]})
    return json.dumps({key: {"evidence": "the river", "tier": 1} for key in asked})


def rubric(apart: bool) -> Found:
    critic = {"judge": "model", "with": {"per_call": 1 if apart else None}}
    criteria = [
        {"key": f"criterion_{at}", "ask": f"The answer does what number {at} asks of it.", "critic": critic,
         "tiers": TIERS}
        for at in range(CRITERIA)
    ]  # fmt: skip
    return {"id": "benchmark", "criteria": criteria}


def rows(count: int) -> list[dict[str, str]]:
    """Answers of about 200 words, eight to a prompt, each another."""
    text = "We went down to the river and sat there until it was dark. " * 15
    return [
        {"id": str(at), "prompt": f"Tell me about day {at // 8}.", "response": f"It was number {at}. {text}"}
        for at in range(count)
    ]


def timed(folder: Path, count: int, latency: float, run: int) -> Found:
    """One run against an endpoint of its own, and the same again from the cache."""
    found: Found = {}
    with serving(say, latency, AT_ONCE) as endpoint:
        cache = str(folder / f"replies-{latency}-{run}.sqlite")
        config = JudgeConfig(url=endpoint.url, model="simulated", concurrency=AT_ONCE, cache=cache)
        for name in ("first", "from the cache"):
            wall, cpu = time.perf_counter(), time.process_time()
            tally = score_file(
                folder / "data.jsonl", [folder / "rubric.json"], folder / "out.jsonl", judge=config, force=True
            )
            found[name] = {
                "seconds": time.perf_counter() - wall,
                "cpu_ms_an_answer": (time.process_time() - cpu) / count * 1000,
            }
            assert tally.scored == count
    assert endpoint.counted["answered"] == count
    return found | {"prompt_tokens": endpoint.counted["prompt_tokens"]}


def bare(bodies: list[bytes], latency: float) -> Found:
    """The same bodies, posted by a loop that does nothing else."""

    async def post(url: str) -> None:
        waiting = iter(bodies)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def work() -> None:
                for body in waiting:
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        await response.read()

            await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    with serving(say, latency, AT_ONCE) as endpoint:
        wall, cpu = time.perf_counter(), time.process_time()
        asyncio.run(post(endpoint.url))
        seconds, spent = time.perf_counter() - wall, time.process_time() - cpu
    return {"seconds": seconds, "cpu_ms_an_answer": spent / len(bodies) * 1000}


def middle(runs: list[Found]) -> Found:
    """The median of each figure."""
    first = runs[0]
    return {
        name: value
        if isinstance(value, str)
        else middle([run[name] for run in runs])
        if isinstance(value, dict)
        else round(median(run[name] for run in runs), 3)
        for name, value in first.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peers", action="store_true", help="other packages too, in environments made here")
    args = parser.parse_args()
    limit = math.ceil(args.answers / AT_ONCE) * args.latency
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "rubric.json").write_text(json.dumps(rubric(False)), encoding="utf-8")
        (folder / "apart.json").write_text(json.dumps(rubric(True)), encoding="utf-8")
        (folder / "data.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows(args.answers)), encoding="utf-8"
        )
        config = JudgeConfig(url="http://127.0.0.1:9/v1", model="nobody")
        together, apart = (
            estimate_file(folder / "data.jsonl", [folder / name], config) for name in ("rubric.json", "apart.json")
        )
        bodies = [body_of(config, request, "schema") for request in together.requests]
        runs: list[Found] = []
        for run in range(args.runs):
            runs.append(
                {
                    "bare loop": bare(bodies, args.latency),
                    "anchors": timed(folder, args.answers, args.latency, run),
                    "without latency": timed(folder, args.answers, 0.0, run),
                }
            )
            if args.peers:
                for name in PEERS:
                    with serving(say, args.latency, AT_ONCE) as endpoint:
                        runs[-1][name] = peer(name, endpoint.url, folder, AT_ONCE)
                    runs[-1][name]["prompt_tokens"] = endpoint.counted["prompt_tokens"]
        found = middle(runs)
        result = {
            "answers": args.answers,
            "criteria": CRITERIA,
            "latency_seconds": args.latency,
            "at_once": AT_ONCE,
            "runs": args.runs,
            "limit_seconds": limit,
            "times_the_limit": round(found["anchors"]["first"]["seconds"] / limit, 3),
            "times_the_limit_bare": round(found["bare loop"]["seconds"] / limit, 3),
            "answers_a_second_without_latency": round(args.answers / found["without latency"]["first"]["seconds"]),
            "prompt_tokens_of_one_call_a_criterion": round(together.prompt_tokens / apart.prompt_tokens, 3),
            **found,
            "machine": platform.processor() or platform.machine(),
            "python": platform.python_version(),
        }
    print(json.dumps(result, indent=2))
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
