"""The road from rubric to report, part by part. Each part is done once: a resumed run goes on with the first unfinished one.

    manifest -> for each stage: select, train, look for hacks -> evaluate before and after -> report
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from rubric_anchors.app.answers import judged_answers
from rubric_anchors.app.manifest import dtype_of, finished, manifest_for, steps_of
from rubric_anchors.app.measure import evaluate_run, probes_for
from rubric_anchors.app.prepare import Prepared
from rubric_anchors.app.progress import Progress, Silent
from rubric_anchors.core.errors import Refused
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.defend.first_look import first_look
from rubric_anchors.models.folder import weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.report.html import write_report
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.folder import RunFolder, RunWriter
from rubric_anchors.runs.records import Manifest, PromptRow, Selection, StepRecord
from rubric_anchors.select.band import prefilter, select_band
from rubric_anchors.train.config import StageConfig
from rubric_anchors.train.stage import StageJob, train_stage


@dataclass(frozen=True)
class Road:
    """One run under way."""

    prepared: Prepared
    run: RunWriter
    manifest: Manifest
    progress: Progress

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Times a part and marks it done."""
        started = time.perf_counter()
        yield
        self.run.mark_done(name, time.perf_counter() - started)

    def start_of(self, index: int) -> Path:
        """The folder of the policy that stage number `index` starts from."""
        return self.run.model_path(self.prepared.recipe.stages[index - 1].name) if index else self.prepared.start

    def defences(self, before: int) -> tuple[Rubric, ...]:
        """The vetoes drafted after the stages before number `before`."""
        names = [stage.name for stage in self.prepared.recipe.stages[:before]]
        looks = {look.stage: look for look in self.run.first_looks()}
        drafts = [(name, looks[name].veto) for name in names if name in looks]
        return tuple(parse_rubric(veto, f"defence drafted after {name}") for name, veto in drafts if veto is not None)


def run_recipe(prepared: Prepared, out: Path, *, resume: bool = False, progress: Progress | None = None) -> Path:
    """Run a recipe into the folder `out`, or go on with the run that is there; returns the report's path (the folder, where
    the recipe wants none). Raises Refused where a gate stopped a stage, after everything else is done."""
    progress = progress or Silent()
    with RunFolder(out).write(resume=resume) as run:
        manifest = manifest_for(run, prepared, progress)
        road = Road(prepared, run, manifest, progress)
        for index, stage in enumerate(prepared.recipe.stages):
            _select(road, index, stage)
            _train(road, index, stage)
            _look(road, stage)
        last = road.start_of(len(prepared.recipe.stages))
        run.write_rubrics([*prepared.rubrics.values(), *road.defences(len(prepared.recipe.stages))])
        if prepared.recipe.evaluate and not run.done("evaluate"):
            with road.part("evaluate"):
                evaluate_run(prepared, run, manifest, last, progress)
        run.finalise_rollouts()
        run.write_manifest(finished(manifest, run.parts()))
        report = write_report(run) if prepared.recipe.output.report else run.path
        stopped = [result for result in run.stages() if result.ended != "done"]
    if stopped:
        names = ", ".join(f"{result.name} ({result.ended.replace('_', ' ')})" for result in stopped)
        raise Refused(f"a gate ended {names}; the run is whole, see {report}")
    return report


def _rows(road: Road, stage: StageConfig) -> tuple[PromptRow, ...]:
    return tuple(road.prepared.system(row) for row in road.prepared.rows(stage.data))


def _select(road: Road, index: int, stage: StageConfig) -> None:
    config = road.prepared.recipe.select
    part = f"select-{stage.name}"
    if config is None or not stage.select or road.run.done(part):
        return
    with road.part(part):
        start = road.start_of(index)
        dtype = dtype_of(road.manifest)
        policy = LocalPolicy.load(start, dtype)
        seed = derive_seed(road.manifest.seed, part)
        rows, dropped = prefilter(_rows(road, stage), config, lambda row: len(policy.encode(row.messages)), seed)
        applied = [tuple(dict.fromkeys((*stage.rubrics, *row.rubrics))) for row in rows]
        rollouts = judged_answers(
            road.run,
            part,
            f"selecting for {stage.name}",
            lambda: policy,
            weights_fingerprint(start),
            rows,
            applied,
            road.prepared.scorer(dtype),
            answers=config.answers,
            max_tokens=stage.max_tokens,
            temperature=stage.temperature,
            seed=seed,
            judge_reasoning=road.prepared.recipe.policy.judge_reasoning,
            progress=road.progress,
        )
        rewards: dict[str, list[float | None]] = {}
        for rollout in rollouts:
            rewards.setdefault(rollout.prompt_id, []).append(rollout.reward)
        selection = select_band(stage.name, rows, rewards, config, dropped)
        road.run.write_selection(selection)
    _release()
    road.progress.say(
        f"selected {len(selection.kept)} of {len(rows) + len(dropped)} prompts for {stage.name}"
        f" (mean reward {selection.cuts[0]:.2f} to {selection.cuts[1]:.2f})"
    )


def _chosen(road: Road, stage: StageConfig) -> tuple[PromptRow, ...]:
    rows = _rows(road, stage)
    selection: Selection | None = road.run.selection(stage.name)
    if selection is None:
        return rows
    kept = set(selection.kept)
    return tuple(row for row in rows if row.id in kept)


def _train(road: Road, index: int, stage: StageConfig) -> None:
    part = f"train-{stage.name}"
    if road.run.done(part):
        return
    run, recipe, steps = road.run, road.prepared.recipe, steps_of(road.manifest, stage.name)
    defences = road.defences(index) if stage.defend else ()
    with road.part(part), road.progress.task(f"training {stage.name}", steps, "steps") as task:
        seen = 0

        def show(record: StepRecord) -> None:
            nonlocal seen
            reward = "none scored" if record.reward is None else f"reward {record.reward:.3f}"
            task.advance(record.step - seen, f"{reward}, {record.length:.0f} tokens")
            seen = record.step

        result = train_stage(
            StageJob(
                stage=stage,
                steps=steps,
                start=road.start_of(index),
                out=run.model_path(stage.name),
                checkpoints=run.checkpoints_path(stage.name),
                rows=_chosen(road, stage),
                scorer=road.prepared.scorer(dtype_of(road.manifest), defences),
                seed=road.manifest.seed,
                dtype=dtype_of(road.manifest),
                record=lambda step, rollouts: run.append_rollouts(rollouts),
                forget_after=lambda step: run.drop_rollouts(stage.name, step),
                adapter=recipe.policy.adapter,
                judge_reasoning=recipe.policy.judge_reasoning,
                probes=probes_for(road.prepared, stage),
                progress=show,
                trackers=recipe.output.trackers,
                extra_rubrics=tuple(rubric.id for rubric in defences),
            )
        )
        run.write_stage(result)
    _release()
    first, last = result.steps[0].reward, result.steps[-1].reward
    road.progress.say(f"trained {stage.name}: {len(result.steps)} steps, reward {_shown(first)} to {_shown(last)}")


def _look(road: Road, stage: StageConfig) -> None:
    part = f"look-{stage.name}"
    if road.run.done(part):
        return
    with road.part(part):
        look = first_look(stage.name, list(road.run.rollouts(stage.name)), stage.max_tokens)
        road.run.write_first_look(look)
    road.progress.say(f"looked for hacks in {stage.name}: {len(look.signatures)} signature(s). {look.note}")


def _shown(reward: float | None) -> str:
    return "none" if reward is None else f"{reward:.3f}"


def _release() -> None:
    """Give memory back between parts: a policy, its optimiser and its gradients are gone before the next are made."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
