"""A made-up run, for tests only: records with the look of a real one and numbers that nothing measured."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml
from pydantic import JsonValue

from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.folder import RunFolder, RunWriter
from rubric_anchors.runs.records import (
    Dropped,
    Evaluation,
    FirstLook,
    GateCheck,
    Manifest,
    Measured,
    Preserved,
    Rollout,
    SamplePair,
    SampleSide,
    Selection,
    StageResult,
    StepRecord,
)

MADE_UP: Final = yaml.safe_load((Path(__file__).parent / "made_up.yaml").read_text("utf-8"))
RUBRIC: Final = Rubric.model_validate(MADE_UP["rubric"])
PROMPTS: Final = [tuple(item) for item in MADE_UP["prompts"]]
BEFORE: Final[str] = MADE_UP["before"]
AFTER: Final[str] = MADE_UP["after"]


def _verdicts(good: bool) -> dict[str, JsonValue]:
    def judged(value: float, tier: int, critic: str, *evidence: JsonValue) -> JsonValue:
        return {
            "status": "judged",
            "tier": tier,
            "value": value,
            "critic": critic,
            "evidence": list(evidence),
            "cause": None,
        }

    boilerplate: JsonValue = {"note": "“As an AI language model”", "start": 0, "end": 24}
    return {
        "lived_detail": judged(0.83 if good else 0.21, 1 if good else 0, "exemplar"),
        "length": judged(1.0 if good else 0.6, 1 if good else 0, "check word_count"),
        "relevance": judged(0.91 if good else 0.88, 0, "check relevance"),
        "assistant_voice": judged(1.0, 1, "check avoids") if good else judged(0.0, 0, "check avoids", boilerplate),
    }


def _contributions(good: bool) -> list[dict[str, JsonValue]]:
    deltas: list[tuple[str, float, str]] = (
        [
            ("weighted", 0.332, "lived_detail 0.83 × 2/5"),
            ("weighted", 0.2, "length 1 × 1/5"),
            ("weighted", 0.182, "relevance 0.91 × 1/5"),
            ("weighted", 0.2, "assistant_voice 1 × 1/5"),
            ("saturation", -0.009, "lived_detail beyond 0.8"),
            ("shape", -0.031, "stretched from 0.7"),
        ]
        if good
        else [
            ("weighted", 0.084, "lived_detail 0.21 × 2/5"),
            ("weighted", 0.12, "length 0.6 × 1/5"),
            ("weighted", 0.176, "relevance 0.88 × 1/5"),
            ("shape", -0.05, "below the stretch"),
            ("veto", -0.33, "assistant_voice 0 is below 1: at most 0"),
        ]
    )
    return [{"step": step, "delta": delta, "note": note} for step, delta, note in deltas]


def _side(good: bool, response: str | None = None) -> SampleSide:
    contributions = _contributions(good)
    return SampleSide(
        response=response if response is not None else AFTER if good else BEFORE,
        reward=round(math.fsum(float(str(item["delta"])) for item in contributions), 12),
        verdicts=_verdicts(good),
        contributions=contributions,
    )


def _steps(count: int, seed: int) -> tuple[StepRecord, ...]:
    draw = random.Random(seed)
    records = []
    for step in range(1, count + 1):
        rise = 1 - math.exp(-3 * step / count)
        records.append(
            StepRecord(
                step=step,
                reward=0.48 + 0.3 * rise + draw.gauss(0, 0.02),
                reward_std=0.12 - 0.05 * rise,
                criteria={
                    "lived_detail": 0.3 + 0.4 * rise + draw.gauss(0, 0.03),
                    "length": 0.7 + 0.25 * rise + draw.gauss(0, 0.02),
                    "relevance": 0.89 + draw.gauss(0, 0.01),
                    "assistant_voice": min(1.0, 0.75 + 0.25 * rise),
                },
                kl=0.001 + 0.09 * rise + abs(draw.gauss(0, 0.004)) if step > 1 else None,
                entropy=1.9 - 0.5 * rise + draw.gauss(0, 0.03),
                length=71 + 14 * rise + draw.gauss(0, 2),
                truncated=0.7 - 0.3 * rise,
                no_signal=0.05 * rise,
                unscored=0.0,
                loss=draw.gauss(0, 0.01),
                grad_norm=1.4 + draw.gauss(0, 0.2),
                seconds=24.0 + draw.gauss(0, 1),
            )
        )
    return tuple(records)


def _measured(name: str, before: float, after: float, half: float, **more: JsonValue) -> Measured:
    values: dict[str, JsonValue] = {
        "name": name,
        "family": "",
        "in_reward": False,
        "higher_is_better": True,
        "before": before,
        "after": after,
        "delta": after - before,
        "low": after - before - half,
        "high": after - before + half,
        "margin": None,
        "n": 64,
        **more,
    }
    return Measured.model_validate(values)


def evaluation() -> Evaluation:
    inside: dict[str, JsonValue] = {"in_reward": True, "family": "rubric"}
    return Evaluation(
        measures=(
            _measured("reward", 0.481, 0.672, 0.041, **inside),
            _measured("unshaped mean", 0.552, 0.701, 0.035, **inside),
            _measured("lived_detail", 0.31, 0.68, 0.062, **inside),
            _measured("relevance", 0.882, 0.891, 0.018, **inside),
            _measured("ai tone", 4.31, 1.92, 0.61, family="style", higher_is_better=False, margin=0.5),
            _measured("word overlap", 0.412, 0.401, 0.021, family="relevance", margin=0.05),
            _measured("second embedder", 0.551, 0.548, 0.012, family="relevance", margin=0.03),
            _measured("distinct words", 0.712, 0.689, 0.026, family="diversity", margin=0.03),
            _measured("answer length", 61.0, 70.5, 2.5, family="style"),
            _measured("grammar faults", 1.1, 1.32, 0.09, family="language", higher_is_better=False, margin=0.1),
        ),
        preservation=(
            Preserved(
                name="perplexity",
                before=18.4,
                after=18.71,
                delta=1.017,
                low=1.009,
                high=1.026,
                margin=1.05,
                kept=True,
                n=180,
            ),
            Preserved(
                name="multiple choice",
                before=0.412,
                after=0.407,
                delta=-0.005,
                low=-0.039,
                high=0.028,
                margin=0.03,
                kept=None,
                n=240,
            ),
        ),
        families={
            "memory": (_measured("reward", 0.42, 0.71, 0.07, n=18),),
            "place": (_measured("reward", 0.51, 0.73, 0.08, n=14),),
            "letter": (_measured("reward", 0.49, 0.52, 0.09, n=16),),
            "instruction": (_measured("reward", 0.61, 0.52, 0.06, n=16),),
        },
        wall_seconds=212.4,
        peak_rss_mb=3712.0,
        answers=4,
        seed=7,
        cost={"judge_calls": 0.0},
    )


def rollout(stage: str, step: int, index: int, response: str = AFTER) -> Rollout:
    family, prompt = PROMPTS[index % len(PROMPTS)]
    return Rollout(
        id=f"{stage}-{step}-{index}",
        stage=stage,
        step=step,
        policy=f"base@{step}",
        prompt_id=f"{family}-{index}",
        prompt=(("user", prompt),),
        response=response,
        tokens=80,
        logp=-91.25,
        rubric=("plain-narrative",),
        verdicts=_verdicts(True),
        contributions=_contributions(True),
        reward=0.874,
        status="scored",
    )


def manifest() -> Manifest:
    return Manifest.model_validate({**MADE_UP["manifest"], "rubrics": {RUBRIC.id: RUBRIC.content_id}})


def selection() -> Selection:
    draw = random.Random(3)
    means = {f"p{index}": min(1.0, max(0.0, draw.gauss(0.52, 0.14))) for index in range(160)}
    ranked = sorted(means.values())
    cuts = (ranked[32], ranked[128])
    kept = tuple(name for name, mean in means.items() if cuts[0] <= mean <= cuts[1])
    return Selection(
        stage="voice",
        answers=4,
        band=(0.2, 0.8),
        cuts=cuts,
        means=means,
        spreads=dict.fromkeys(means, 0.1),
        kept=kept[4:],
        dropped=(
            *(Dropped(prompt_id=name, reason="below_band") for name, mean in means.items() if mean < cuts[0]),
            *(Dropped(prompt_id=name, reason="above_band") for name, mean in means.items() if mean > cuts[1]),
            *(Dropped(prompt_id=name, reason="duplicate") for name in kept[:4]),
        ),
    )


def first_look() -> FirstLook:
    return FirstLook.model_validate(MADE_UP["first_look"])


def fill(run: RunWriter, *, steps: int = 40) -> None:
    """Every record of a finished run."""
    run.write_manifest(manifest())
    run.write_rubrics([RUBRIC])
    run.write_selection(selection())
    gates = (
        GateCheck(gate="divergence", step=10, value=0.04, limit=0.5, passed=True, action="none"),
        GateCheck(gate="preservation", step=12, value=-0.031, limit=-0.03, passed=False, action="warn"),
    )
    run.write_stage(
        StageResult(
            name="instructions", steps=_steps(12, 1), gates=gates, ended="done", model="models/a", seconds=291.0
        )
    )
    run.write_stage(StageResult(name="voice", steps=_steps(steps, 2), ended="done", model="models/b", seconds=966.0))
    run.write_first_look(first_look())
    run.write_evaluation(evaluation())
    run.write_samples(
        [
            SamplePair(
                prompt_id=f"{family}-{index}", family=family, prompt=prompt, before=_side(False), after=_side(True)
            )
            for index, (family, prompt) in enumerate(PROMPTS)
        ]
    )
    run.append_rollouts([rollout("instructions", 1, index) for index in range(4)])
    run.append_rollouts([rollout("voice", 1, index) for index in range(4)])
    run.finalise_rollouts()
    for part, seconds in manifest().seconds.items():
        run.mark_done(part, seconds)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunFolder]:
    """Makes a run folder, finished unless `fill_with` says otherwise."""

    def make(name: str = "run", fill_with: Callable[[RunWriter], None] = fill) -> RunFolder:
        run = RunFolder(tmp_path / name)
        with run.write() as writer:
            fill_with(writer)
        return run

    return make
