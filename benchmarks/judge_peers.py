"""The same answers through other packages for rubrics, each in an environment of its own and in its own words.

Each is asked in its form of one call an answer, with 256 at once, nothing kept on disk: as fast as it is meant to be.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Final

ENVIRONMENTS: Final = Path(__file__).resolve().parents[1] / ".venv-peers"
_BEGIN: Final = """
import asyncio, json, sys, time
url, folder, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = [json.loads(line) for line in open(f"{folder}/data.jsonl", encoding="utf-8")]
asked = json.load(open(f"{folder}/rubric.json", encoding="utf-8"))["criteria"]
"""
_END: Final = """
wall, cpu = time.perf_counter(), time.process_time()
failed = asyncio.run(main())
print(json.dumps({
    "seconds": time.perf_counter() - wall,
    "cpu_ms_an_answer": (time.process_time() - cpu) / len(rows) * 1000,
    "failed": failed,
}))
"""
_AUTORUBRIC: Final = """
import os
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
from autorubric import LLMConfig, Rubric
from autorubric.graders import CriterionGrader

async def main():
    grader = CriterionGrader(
        judge_model_config=LLMConfig(
            model="openai/simulated", api_base=url, api_key="none", temperature=0.0, max_parallel_requests=at_once
        ),
        llm_calls="per_item",
    )
    rubric = Rubric.from_dict([
        {"name": one["key"], "weight": 1.0, "requirement": one["ask"], "scale_type": "ordinal",
         "options": [{"label": tier["means"], "value": at / 2} for at, tier in enumerate(one["tiers"])]}
        for one in asked
    ])
    grades = await asyncio.gather(
        *(rubric.grade(to_grade=row["response"], grader=grader, query=row["prompt"]) for row in rows)
    )
    return sum(grade.score is None for grade in grades)
"""
_RUBRIC: Final = """
from openai import AsyncOpenAI
from rubric import Criterion, Rubric
from rubric.autograders import PerCriterionOneShotGrader
from rubric.autograders.schemas import OneShotOutput

async def main():
    client, places = AsyncOpenAI(base_url=url, api_key="none"), asyncio.Semaphore(at_once)
    form = {"name": "reply", "schema": OneShotOutput.model_json_schema()}

    async def generate(system_prompt, user_prompt, **_):
        async with places:
            reply = await client.chat.completions.create(
                model="simulated", temperature=0.0,
                messages=[{"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}],
                response_format={"type": "json_schema", "json_schema": form},
            )
        return OneShotOutput.model_validate_json(reply.choices[0].message.content)

    rubric = Rubric([Criterion(weight=1.0, requirement=one["ask"]) for one in asked])
    grader = PerCriterionOneShotGrader(generate_fn=generate)
    grades = await asyncio.gather(*(rubric.grade(row["response"], grader, query=row["prompt"]) for row in rows))
    return sum(grade.score is None for grade in grades)
"""
PEERS: Final = {
    "autorubric": (["autorubric==1.6.1"], _AUTORUBRIC),
    # It leaves the call to its user: here by the endpoint maker's own client.
    "rubric": (["rubric==2.2.0", "openai==3.57.0"], _RUBRIC),
}


def peer(name: str, url: str, folder: Path, at_once: int) -> dict[str, Any]:
    """One run: wall time, CPU time an answer, answers that got no grade; or why there was none."""
    wanted, program = PEERS[name]
    place = ENVIRONMENTS / name
    python = place / "bin" / "python"
    try:
        if not python.exists():
            venv.create(place, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-qq", *wanted]
        subprocess.run(install, check=True, capture_output=True, timeout=900)  # noqa: S603
        command = [str(python), "-c", _BEGIN + program + _END, url, str(folder), str(at_once)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        seen = getattr(error, "stderr", "") or str(error)
        last = str(seen.decode() if isinstance(seen, bytes) else seen).strip().splitlines()[-1]
        print(f"{name}: {last}", file=sys.stderr)
        return {"failure": last}
    return dict(json.loads(ran.stdout.splitlines()[-1]))
