"""Times judging 2,000 answers on eight criteria through an endpoint that takes 500 ms a call and serves 256 at once.

    PYTHONPATH=. python benchmarks/judge.py [--answers 2000] [--latency 0.5]       (or: make bench-judge)

The endpoint is `tests/support/endpoint.py` in a process of its own: the CPU time measured is the client's alone.
Measured: wall time of `anchors score`'s whole road (reading, one call an answer, cache and journal on, rows written)
beside the endpoint's own limit; the same again from the cache; the prompt tokens of one call an answer beside those of
one call a criterion; and the rate with no latency, which is what one core can sustain.
Writes benchmarks/results/judge.json.
"""

import argparse
import json
import math
import multiprocessing
import platform
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from tests.support.endpoint import Body, Simulator

from rubric_anchors.app.score import estimate_file, score_file
from rubric_anchors.reward.judging import JudgeConfig

RESULT: Final = Path(__file__).resolve().parent / "results" / "judge.json"
CRITERIA: Final = 8
AT_ONCE: Final = 256
TIERS: Final = [{"means": "Not at all."}, {"means": "In part."}, {"means": "Wholly."}]


def verdict(body: Body) -> str:
    """The middle tier for every criterion that the schema names."""
    schema = body["response_format"]["json_schema"]["schema"]
    return json.dumps({key: {"evidence": "the river", "tier": 1} for key in schema["properties"]})


def serve(pipe: Connection, latency: float) -> None:
    """The endpoint, until the pipe says something."""
    with Simulator(verdict, latency=latency, most=AT_ONCE) as server:
        pipe.send(server.url)
        pipe.recv()
        pipe.send((server.answered, server.most_at_once))


def rubric(apart: bool) -> dict[str, Any]:
    critic = {"judge": "model", "with": {"per_call": 1 if apart else None}}
    criteria = [
        {
            "key": f"criterion_{at}",
            "ask": f"The answer does what number {at} asks of it.",
            "critic": critic,
            "tiers": TIERS,
        }
        for at in range(CRITERIA)
    ]
    return {"id": "benchmark", "criteria": criteria}


def rows(count: int) -> list[dict[str, str]]:
    """Answers of about 200 words, eight to a prompt, each another."""
    text = "We went down to the river and sat there until it was dark. " * 15
    return [
        {"id": str(at), "prompt": f"Tell me about day {at // 8}.", "response": f"It was number {at}. {text}"}
        for at in range(count)
    ]


def timed(folder: Path, count: int, latency: float) -> dict[str, Any]:
    """One run against an endpoint of its own, and the same again from the cache."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there, latency))
    server.start()
    config = JudgeConfig(
        url=here.recv(), model="simulated", concurrency=AT_ONCE, cache=str(folder / f"replies-{latency}.sqlite")
    )
    found: dict[str, Any] = {}
    for name in ("first", "from the cache"):
        wall, cpu = time.perf_counter(), time.process_time()
        tally = score_file(
            folder / "data.jsonl", [folder / "rubric.json"], folder / "out.jsonl", judge=config, force=True
        )
        found[name] = {
            "seconds": round(time.perf_counter() - wall, 2),
            "cpu_ms_an_answer": round((time.process_time() - cpu) / count * 1000, 3),
        }
        assert tally.scored == count
    here.send("end")
    answered, at_once = here.recv()
    server.join()
    assert answered == count
    found["most_at_once"] = at_once
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "rubric.json").write_text(json.dumps(rubric(False)), encoding="utf-8")
        (folder / "apart.json").write_text(json.dumps(rubric(True)), encoding="utf-8")
        (folder / "data.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows(args.answers)), encoding="utf-8"
        )
        limit = math.ceil(args.answers / AT_ONCE) * args.latency
        slow, quick = timed(folder, args.answers, args.latency), timed(folder, args.answers, 0.0)
        config = JudgeConfig(url="http://127.0.0.1:9/v1", model="nobody")
        together, apart = (
            estimate_file(folder / "data.jsonl", [folder / name], config) for name in ("rubric.json", "apart.json")
        )
        result = {
            "answers": args.answers,
            "criteria": CRITERIA,
            "latency_seconds": args.latency,
            "at_once": AT_ONCE,
            "limit_seconds": limit,
            "times_the_limit": round(slow["first"]["seconds"] / limit, 3),
            "run": slow,
            "answers_a_second_without_latency": round(args.answers / quick["first"]["seconds"]),
            "without_latency": quick,
            "prompt_tokens_of_one_call_a_criterion": round(together.prompt_tokens / apart.prompt_tokens, 3),
            "machine": platform.processor() or platform.machine(),
            "python": platform.python_version(),
        }
    print(json.dumps(result, indent=2))
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
