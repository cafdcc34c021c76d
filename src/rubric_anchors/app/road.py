"""The parts of the road that come before measuring: select, train, look for hacks, for each stage. Each part is done
once.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from rubric_anchors.app.answers import judged_answers
from rubric_anchors.app.manifest import dtype_of, steps_of
from rubric_anchors.app.measure import probes_for
from rubric_anchors.app.prepare import Prepared
from rubric_anchors.app.progress import Progress
from rubric_anchors.core.errors import Refused, SetupError
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.defend.first_look import first_look
from rubric_anchors.models.embedded import EMBEDDED
from rubric_anchors.models.folder import weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.folder import RunFolder, RunWriter
from rubric_anchors.runs.records import Evaluation, Manifest, PromptRow, Selection, StepRecord
from rubric_anchors.select.band import prefilter, select_band
from rubric_anchors.train.card import CardFacts, write_card
from rubric_anchors.train.config import StageConfig
from rubric_anchors.train.stage import StageJob, forget_checkpoints, train_stage

EMBEDDED_NAME: Final = "HuggingFaceTB/SmolLM2-135M-Instruct"
EMBEDDED_LICENSE: Final = "apache-2.0"


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

    @property
    def stages(self) -> tuple[StageConfig, ...]:
        return self.prepared.recipe.stages

    @property
    def last(self) -> Path:
        """The folder of the model that the last stage leaves."""
        return self.start_of(len(self.stages))

    def start_of(self, index: int) -> Path:
        """The folder of the policy that stage number `index` starts from."""
        return self.run.model_path(self.stages[index - 1].name) if index else self.prepared.start

    def defences(self, before: int) -> tuple[Rubric, ...]:
        """The vetoes drafted after the stages before number `before`."""
        names = [stage.name for stage in self.stages[:before]]
        looks = {look.stage: look for look in self.run.first_looks()}
        drafts = [(name, looks[name].veto) for name in names if name in looks]
        return tuple(parse_rubric(veto, f"defence drafted after {name}") for name, veto in drafts if veto is not None)

    def write_cards(self, evaluation: Evaluation | None = None) -> None:
        """A model card beside every model; `evaluation` is of the last."""
        results = [result for result in self.run.stages() if self.run.model_path(result.name).is_dir()]
        policy = self.prepared.recipe.policy
        embedded = policy.model == EMBEDDED
        # A folder's path says nothing to whoever gets the model.
        local = (self.prepared.path.parent / policy.model).is_dir()
        named = Path(policy.model).name if local else policy.model
        for count, result in enumerate(results, 1):
            facts = CardFacts(
                manifest=self.manifest,
                stages=results[:count],
                base_model=EMBEDDED_NAME if embedded else named,
                license=EMBEDDED_LICENSE if embedded else None,
                evaluation=evaluation if count == len(results) else None,
                adapter=policy.adapter is not None and not policy.adapter.merge,
            )
            write_card(self.run.model_path(result.name), facts)

    def write_rubrics(self) -> None:
        """The rubrics as they were applied, drafted ones included."""
        self.run.write_rubrics([*self.prepared.rubrics.values(), *self.defences(len(self.stages))])


def train_all(road: Road) -> None:
    """Every stage: select, train, look for hacks; what is done already is passed over."""
    for index, stage in enumerate(road.stages):
        select_for(road, index)
        _train(road, index, stage)
        _look(road, stage)


def select_for(road: Road, index: int) -> Selection | None:
    """The selection before stage number `index`; None where the recipe wants none. Raises SetupError where the model
    that the stage starts from is not there yet.
    """
    stage, config = road.stages[index], road.prepared.recipe.select
    part = f"select-{stage.name}"
    if config is None or not stage.select:
        return None
    if road.run.done(part):
        return road.run.selection(stage.name)
    start = road.start_of(index)
    if not start.is_dir():
        raise SetupError(
            f"stage {stage.name!r} starts from the model that stage {road.stages[index - 1].name!r} leaves, and"
            f" {road.run.path} does not hold it; train that stage first"
        )
    with road.part(part):
        dtype = dtype_of(road.manifest)
        policy = LocalPolicy.load(start, dtype)
        seed = derive_seed(road.manifest.seed, part)
        rows, dropped = prefilter(_rows(road, stage), config, lambda row: len(policy.encode(row.messages)), seed)
        applied = [row.judged_by(stage.rubrics) for row in rows]
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
    return selection


def refuse_stopped(run: RunFolder, see: Path) -> None:
    """Raises Refused where a gate ended a stage of the run; `see` is where to read more."""
    stopped = [result for result in run.stages() if result.ended != "done"]
    if stopped:
        names = ", ".join(f"{result.name} ({result.ended.replace('_', ' ')})" for result in stopped)
        raise Refused(f"a gate ended {names}; the run is whole, see {see}")


def _rows(road: Road, stage: StageConfig) -> tuple[PromptRow, ...]:
    return tuple(road.prepared.system(row) for row in road.prepared.rows(stage.data))


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
                probes=probes_for(road.prepared, stage, road.start_of(index), dtype_of(road.manifest)),
                progress=show,
                trackers=recipe.output.trackers,
                rubrics={name: road.prepared.rubrics[name] for name in stage.rubrics},
                extra_rubrics=tuple(rubric.id for rubric in defences),
            )
        )
        run.write_stage(result)
    forget_checkpoints(run.checkpoints_path(stage.name))
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
