"""Cost and time, and what it takes to do the run again."""

from collections import Counter
from dataclasses import dataclass, field

import yaml

from rubric_anchors.report.text import cells
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import Manifest, Rollout


@dataclass(slots=True)
class Sampled:
    """What one stage's rollouts add up to."""

    stage: str
    answers: int = 0
    tokens: int = 0
    unscored: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    def add(self, rollout: Rollout) -> None:
        self.answers += 1
        self.tokens += rollout.tokens
        if rollout.status == "unscored":
            self.unscored += 1
            self.causes[str((rollout.cause or {}).get("code", "unknown"))] += 1


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: tuple[tuple[str, float], ...]
    """Wall time of each part."""
    total: float
    sampled: tuple[Sampled, ...]
    peak_rss_mb: float | None
    evaluation_seconds: float | None
    money: tuple[tuple[str, float], ...]
    """Costs as the evaluation states them, e.g. judge calls."""


@dataclass(frozen=True, slots=True)
class Ground:
    manifest: Manifest
    recipe: str
    """The recipe, as its file would read."""
    machine: tuple[tuple[str, str], ...]


def read_rollouts(run: RunFolder, wanted: frozenset[str]) -> tuple[tuple[Sampled, ...], dict[str, Rollout]]:
    """One pass over all rollouts: what each stage sampled, and the rollouts in `wanted`."""
    stages: dict[str, Sampled] = {}
    found: dict[str, Rollout] = {}
    for rollout in run.rollouts():
        stages.setdefault(rollout.stage, Sampled(rollout.stage)).add(rollout)
        if rollout.id in wanted:
            found[rollout.id] = rollout
    order = {name: place for place, name in enumerate(run.stage_names())}
    ranked = sorted(stages.values(), key=lambda sampled: (order.get(sampled.stage, len(order)), sampled.stage))
    return tuple(ranked), found


def cost(run: RunFolder, sampled: tuple[Sampled, ...]) -> Cost:
    manifest, evaluation = run.manifest(), run.evaluation()
    seconds = (manifest.seconds if manifest else None) or run.parts()
    return Cost(
        seconds=tuple(seconds.items()),
        total=sum(seconds.values()),
        sampled=sampled,
        peak_rss_mb=evaluation.peak_rss_mb if evaluation else None,
        evaluation_seconds=evaluation.wall_seconds if evaluation else None,
        money=tuple(evaluation.cost.items()) if evaluation else (),
    )


def ground(run: RunFolder) -> Ground | None:
    manifest = run.manifest()
    if manifest is None:
        return None
    return Ground(
        manifest=manifest,
        recipe=yaml.safe_dump(manifest.recipe, sort_keys=False, allow_unicode=True, width=100),
        machine=tuple((key, cells(value)) for key, value in manifest.machine.items()),
    )
