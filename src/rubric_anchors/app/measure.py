"""Evaluation of a run: held-out answers before and after, judged by the frozen rubrics, measured from outside, held
against what the model could do before.
"""

import resource
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from rubric_anchors.app.answers import judged_answers
from rubric_anchors.app.manifest import dtype_of
from rubric_anchors.app.prepare import Prepared
from rubric_anchors.app.progress import Progress
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.evaluate.config import EvaluateConfig, Family
from rubric_anchors.evaluate.measures import Measure, Sample, all_measures, measures_named
from rubric_anchors.evaluate.preservation.harness import compare_tasks, run_tasks
from rubric_anchors.evaluate.preservation.keep import Held, hold, preserved
from rubric_anchors.evaluate.preservation.read import read_items, read_passages
from rubric_anchors.evaluate.run import Sides, by_family, compare
from rubric_anchors.models.folder import weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.runs.folder import RunWriter
from rubric_anchors.runs.records import (
    Evaluation,
    Manifest,
    Measured,
    Preserved,
    PromptRow,
    Rollout,
    SamplePair,
    SampleSide,
)
from rubric_anchors.train.config import StageConfig
from rubric_anchors.train.watch import Probe

MAIN = "main"


def evaluate_run(prepared: Prepared, run: RunWriter, manifest: Manifest, after: Path, progress: Progress) -> Evaluation:
    """Measure the model in `after` against the recipe's policy and write evaluation.json and samples.json."""
    config = prepared.recipe.evaluate
    if config is None:
        raise ValueError("the recipe has no `evaluate`; there is nothing to measure by")
    started = time.perf_counter()
    kinds = [Family(name=MAIN, rubrics=config.rubrics, data=config.data), *config.others]
    folders = {"before": prepared.start, "after": after}
    answered = {
        side: {kind.name: _answers(prepared, run, manifest, config, kind, side, folder, progress) for kind in kinds}
        for side, folder in folders.items()
    }
    rows = [row for kind in kinds for row in prepared.rows(kind.data, held_out=True)]
    measures, notes = _measures(config)
    for note in notes:
        progress.say(note)
    with progress.task("measuring", len(measures) + 1, "measures") as task:
        measured = _compared(config, kinds, rows, answered, measures, manifest.seed)
        task.advance(len(measures) + 1)
    evaluation = Evaluation(
        measures=measured,
        preservation=_preservation(prepared, config, folders, manifest, progress),
        families=_families(kinds, rows, answered, manifest.seed),
        wall_seconds=sum(run.parts().values()) + time.perf_counter() - started,
        peak_rss_mb=peak_rss_mb(),
        answers=config.answers,
        seed=manifest.seed,
        cost=_cost(prepared),
        notes=("The judge's calls are those since the run was last started or resumed.",) if prepared.judge else (),
    )
    run.write_samples(_pairs(config, kinds, rows, answered, manifest.seed))
    run.write_evaluation(evaluation)
    return evaluation


def _cost(prepared: Prepared) -> dict[str, float]:
    if prepared.judge is None:
        return {}
    account = prepared.judge.ledger.account()
    return {
        "judge_calls": float(account.calls),
        "judge_calls_from_the_cache": float(account.cached),
        "judge_tokens_in": float(account.usage.prompt),
        "judge_tokens_out": float(account.usage.completion),
        "judge_cost": account.cost,
    }


def probes_for(prepared: Prepared, stage: StageConfig, start: Path, dtype: torch.dtype) -> Mapping[str, Probe]:
    """What a stage's gates can measure on the policy itself, relative to the stage's start (the model in `start`),
    on the recipe's held sets.
    """
    config = prepared.recipe.evaluate
    watched = {gate.watch for gate in stage.gates}
    base = prepared.path.parent
    texts = read_passages(base / config.preservation.text) if config and config.preservation.text else ()
    items = read_items(base / config.preservation.choices) if config and config.preservation.choices else ()

    @cache
    def tokenizer() -> Any:
        return LocalPolicy.load(start, dtype).tokenizer

    def read(name: str, model: Any) -> Held:
        return hold(model, tokenizer(), texts if name == "perplexity" else (), items if name == "choices" else ())

    @cache
    def at_start(name: str) -> Held:
        # Loaded anew, not taken from the first reading: a resumed stage would start from another one.
        return read(name, LocalPolicy.load(start, dtype).model)

    def now(name: str, model: Any) -> Held:
        training = model.training
        model.eval()
        try:
            return read(name, model)
        finally:
            model.train(training)

    def perplexity(model: Any) -> float:
        return now("perplexity", model).perplexity / at_start("perplexity").perplexity

    def choices(model: Any) -> float:
        return now("choices", model).accuracy - at_start("choices").accuracy

    probes: dict[str, Probe] = {"perplexity": perplexity, "choices": choices}
    return {name: probe for name, probe in probes.items() if name in watched}


def peak_rss_mb() -> float:
    """The most memory that this process has held, in MB (10^6 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _answers(
    prepared: Prepared,
    run: RunWriter,
    manifest: Manifest,
    config: EvaluateConfig,
    kind: Family,
    side: str,
    folder: Path,
    progress: Progress,
) -> list[Rollout]:
    rows = [prepared.system(row) for row in prepared.rows(kind.data, held_out=True)]
    return judged_answers(
        run,
        f"held-out-{kind.name}-{side}",
        f"answering held-out prompts ({kind.name}, {side})",
        lambda: LocalPolicy.load(folder, dtype_of(manifest)),
        weights_fingerprint(folder),
        rows,
        [row.judged_by(kind.rubrics) for row in rows],
        prepared.scorer(dtype_of(manifest)),
        answers=config.answers,
        max_tokens=config.max_tokens,
        temperature=config.temperature,
        seed=derive_seed(manifest.seed, "held-out", kind.name),
        judge_reasoning=prepared.recipe.policy.judge_reasoning,
        progress=progress,
    )


def _measures(config: EvaluateConfig) -> tuple[Sequence[Measure], Sequence[str]]:
    return (measures_named(config.measures), ()) if config.measures else all_measures()


Answered = Mapping[str, Mapping[str, Sequence[Rollout]]]


def _compared(
    config: EvaluateConfig,
    kinds: Sequence[Family],
    rows: Sequence[PromptRow],
    answered: Answered,
    measures: Sequence[Measure],
    seed: int,
) -> tuple[Measured, ...]:
    families = {row.id: row.family for row in rows}
    samples = {side: _samples(found[MAIN], families) for side, found in answered.items()}
    main = compare(
        samples["before"],
        samples["after"],
        reward=_sides(answered, MAIN, _reward),
        unshaped=_sides(answered, MAIN, _unshaped),
        measures=measures,
        seed=seed,
    )
    others = [
        row.with_changes(name=f"reward_{kind.name}")
        for kind in kinds[1:]
        for row in compare(
            _samples(answered["before"][kind.name], families),
            _samples(answered["after"][kind.name], families),
            reward=_sides(answered, kind.name, _reward),
            measures=(),
            seed=seed,
        )
    ]
    return (*main[:2], *others, *main[2:])


def _families(
    kinds: Sequence[Family], rows: Sequence[PromptRow], answered: Answered, seed: int
) -> dict[str, tuple[Measured, ...]]:
    families = {row.id: row.family for row in rows}
    found: dict[str, tuple[Measured, ...]] = {}
    for kind in kinds:
        ids = {rollout.prompt_id for rollout in answered["before"][kind.name]}
        mine = {row: family for row, family in families.items() if row in ids}
        for family, measured in by_family(mine, _sides(answered, kind.name, _reward), seed).items():
            found[family if kind.name == MAIN else f"{kind.name}: {family}"] = measured
    return found


def _samples(rollouts: Sequence[Rollout], families: Mapping[str, str]) -> list[Sample]:
    return [Sample(r.prompt_id, families.get(r.prompt_id, ""), r.prompt[-1][1], r.response) for r in rollouts]


def _reward(rollout: Rollout) -> float | None:
    return rollout.reward


def _unshaped(rollout: Rollout) -> float | None:
    """The plain weighted mean of goodness: what stands before saturation, relations, shape and vetoes."""
    if rollout.reward is None:
        return None
    return sum(float(str(item["delta"])) for item in rollout.contributions if item["step"] == "weighted")


def _sides(answered: Answered, kind: str, value: Any) -> Sides:
    return Sides(*(_by_prompt(answered[side][kind], value) for side in ("before", "after")))


def _by_prompt(rollouts: Sequence[Rollout], value: Any) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for rollout in rollouts:
        if (number := value(rollout)) is not None:
            found.setdefault(rollout.prompt_id, []).append(number)
    return found


def _preservation(
    prepared: Prepared, config: EvaluateConfig, folders: Mapping[str, Path], manifest: Manifest, progress: Progress
) -> tuple[Preserved, ...]:
    kept = config.preservation
    base = prepared.path.parent
    texts = read_passages(base / kept.text) if kept.text else ()
    items = read_items(base / kept.choices) if kept.choices else ()
    if not texts and not items and not kept.tasks:
        return ()
    held: list[Held] = []
    runs = []
    with progress.task("checking what was to be preserved", 2, "models") as task:
        for folder in folders.values():
            policy = LocalPolicy.load(folder, dtype_of(manifest))
            held.append(hold(policy.model, policy.tokenizer, texts, items))
            if kept.tasks:
                where = {(base / name).parent for name in kept.tasks}
                names = [Path(name).stem for name in kept.tasks]
                runs.append(run_tasks(policy.model, policy.tokenizer, where.pop(), names))
            task.advance()
    rows = preserved(held[0], held[1], manifest.seed)
    return (*rows, *compare_tasks(runs[0], runs[1])) if runs else rows


def _pairs(
    config: EvaluateConfig, kinds: Sequence[Family], rows: Sequence[PromptRow], answered: Answered, seed: int
) -> list[SamplePair]:
    """Prompts shown side by side: drawn by seed, never by result, with the first answer of each side."""
    families = {row.id: row.family for row in rows}
    first = {
        side: {r.prompt_id: r for kind in kinds for r in reversed(found[kind.name])} for side, found in answered.items()
    }
    chosen = sorted(first["before"], key=lambda row: derive_seed(seed, "samples", row))[: config.samples]
    return [
        SamplePair(
            prompt_id=row,
            family=families.get(row, ""),
            prompt=first["before"][row].prompt[-1][1],
            before=_side(first["before"][row]),
            after=_side(first["after"][row]),
        )
        for row in chosen
    ]


def _side(rollout: Rollout) -> SampleSide:
    return SampleSide(
        response=rollout.response,
        reward=rollout.reward,
        verdicts=rollout.verdicts,
        contributions=rollout.contributions,
    )
