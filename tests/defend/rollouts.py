"""Rollouts as a stage leaves them, with answers made of real prose."""

import json
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from rubric_anchors.runs.records import Rollout

PROSE = Path(__file__).parents[2] / "recipes" / "data" / "preserve_text.jsonl"
MAX_TOKENS = 80

Write = Callable[[random.Random, int], str]
"""An answer, from dice and the step."""


@cache
def sentences() -> tuple[str, ...]:
    """Every sentence of the held prose."""
    texts = [json.loads(line)["text"] for line in PROSE.read_text(encoding="utf-8").splitlines()]
    return tuple(part for text in texts for part in re.split(r"(?<=[.!?]) ", text))


def prose(dice: random.Random, count: int = 3) -> str:
    """Sentences drawn at random."""
    return " ".join(dice.sample(sentences(), count))


def rollout(step: int, prompt: str, response: str, reward: float | None = 0.5, at: int = 0) -> Rollout:
    return Rollout(
        id=f"style-{step}-{at}",
        stage="style",
        step=step,
        policy="p",
        prompt_id=prompt,
        prompt=(("user", f"What do you know of {prompt}, and who told you that?"),),
        response=response,
        tokens=min(len(response.split()), MAX_TOKENS),
        logp=-1.0,
        rubric=("plain",),
        verdicts={},
        contributions=[],
        reward=reward,
        status="unscored" if reward is None else "scored",
    )


def stage(
    write: Write,
    seed: int = 0,
    steps: int = 20,
    prompts: int = 4,
    group: int = 8,
    gain: Callable[[str], float] = lambda text: 0.0,
) -> list[Rollout]:
    """A stage's rollouts over 12 prompts in turn; the reward is a dice's, drifting up, plus what `gain` makes of the
    text."""
    dice = random.Random(seed)
    found = []
    for step in range(1, steps + 1):
        for number in range(prompts):
            prompt = f"prompt {(step * prompts + number) % 12}"
            for member in range(group):
                text = write(dice, step)
                reward = min(1.0, 0.4 + 0.01 * step + 0.1 * dice.random() + gain(text))
                found.append(rollout(step, prompt, text, reward, number * group + member))
    return found
