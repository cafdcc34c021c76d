"""The manifest of a run: what is run, with what, and every choice made by measuring, frozen for its resumption."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Final

import torch
from pydantic import JsonValue

from rubric_anchors.app.prepare import Prepared
from rubric_anchors.app.progress import Progress
from rubric_anchors.core.errors import RecipeError
from rubric_anchors.core.ids import content_id
from rubric_anchors.models.folder import weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy, fastest_dtype
from rubric_anchors.reward.record import answer_to
from rubric_anchors.runs.folder import RunWriter
from rubric_anchors.runs.records import Manifest, PromptRow
from rubric_anchors.train.config import StageConfig
from rubric_anchors.train.plan import Score, step_seconds, steps_for

PACKAGES: Final = (
    "rubric-anchors",
    "torch",
    "transformers",
    "trl",
    "peft",
    "datasets",
    "accelerate",
    "numpy",
    "sentence-transformers",
)
POLICY: Final = "policy"
EVALUATED: Final = "evaluated"
"""Under `choices`: the fingerprints of the starting weights, and of the model that is only measured."""
DTYPES: Final = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def manifest_for(run: RunWriter, prepared: Prepared, progress: Progress, evaluated: Path | None = None) -> Manifest:
    """The run's manifest: the one that stands there, held against the recipe, or a new one, after measuring the
    machine. `evaluated`: the model that is only measured; None for a run that trains.

    Raises RecipeError where the recipe, a rubric, a data file or a model is not what the run was started with.
    """
    recipe = prepared.recipe.model_dump(mode="json", by_alias=True)
    rubrics = {name: rubric.content_id for name, rubric in prepared.rubrics.items()}
    old = run.manifest()
    if old is not None:
        _refuse_changes(run.path, old, content_id(recipe), rubrics, prepared.hashes)
        _refuse_other_models(run.path, old, prepared.start, evaluated)
        torch.set_num_threads(old.threads)
        return old
    manifest = Manifest(
        name=prepared.recipe.name,
        seed=prepared.recipe.seed,
        recipe=recipe,
        recipe_id=content_id(recipe),
        rubrics=rubrics,
        data=dict(prepared.hashes),
        versions={"python": platform.python_version(), **_versions()},
        git=_git(),
        machine=_machine(),
        threads=torch.get_num_threads(),
        choices=_choices(prepared, progress) if evaluated is None else _of_measuring(prepared, evaluated),
        started=_now(),
    )
    run.write_manifest(manifest)
    return manifest


def finished(manifest: Manifest, seconds: Mapping[str, float]) -> Manifest:
    """The manifest with the parts' wall seconds and the time of the end."""
    return manifest.with_changes(finished=manifest.finished or _now(), seconds=dict(seconds))


def dtype_of(manifest: Manifest) -> torch.dtype:
    """The dtype of the policy's weights that this run chose."""
    return DTYPES[str(manifest.choices["dtype"])]


def steps_of(manifest: Manifest, stage: str) -> int:
    """The steps that this run chose for a stage."""
    steps = manifest.choices["steps"]
    if not isinstance(steps, dict) or not isinstance(steps.get(stage), int):
        raise RecipeError(f"the run's manifest holds no number of steps for stage {stage!r}; start a new run")
    return int(str(steps[stage]))


def _choices(prepared: Prepared, progress: Progress) -> dict[str, JsonValue]:
    dtype = _chosen_dtype(prepared)
    policy = LocalPolicy.load(prepared.start, dtype)
    seconds: dict[str, JsonValue] = {}
    steps: dict[str, JsonValue] = {}
    with progress.task("measuring this machine", len(prepared.recipe.stages), "stages") as task:
        for stage in prepared.recipe.stages:
            if isinstance(stage.steps, int):
                steps[stage.name] = stage.steps
            else:
                rows = [prepared.system(row) for row in prepared.rows(stage.data)]
                measured = step_seconds(policy, stage, rows, _score(prepared, stage, dtype))
                seconds[stage.name] = round(measured, 3)
                steps[stage.name] = steps_for(stage.steps, measured)
            task.advance()
    return {
        "dtype": str(dtype).removeprefix("torch."),
        POLICY: weights_fingerprint(prepared.start),
        "seconds_a_step": seconds,
        "steps": steps,
    }


def _score(prepared: Prepared, stage: StageConfig, dtype: torch.dtype) -> Score:
    scorer = prepared.scorer(dtype)

    def score(rows: Sequence[PromptRow], texts: Sequence[str]) -> object:
        answers = [answer_to(row, text, judge_reasoning=False) for row, text in zip(rows, texts, strict=True)]
        return scorer.score(answers, [row.judged_by(stage.rubrics) for row in rows])

    return score


def _of_measuring(prepared: Prepared, evaluated: Path) -> dict[str, JsonValue]:
    return {
        "dtype": str(_chosen_dtype(prepared)).removeprefix("torch."),
        POLICY: weights_fingerprint(prepared.start),
        EVALUATED: weights_fingerprint(evaluated),
    }


def _chosen_dtype(prepared: Prepared) -> torch.dtype:
    asked = prepared.recipe.policy.dtype
    return fastest_dtype() if asked == "auto" else DTYPES[asked]


def _refuse_other_models(path: Path, old: Manifest, start: Path, evaluated: Path | None) -> None:
    now = None if evaluated is None else weights_fingerprint(evaluated)
    then = old.choices.get(EVALUATED)
    if then != now:
        holds = "a run" if then is None else "an evaluation" if now is None else "the evaluation of another model"
        raise RecipeError(f"{path}: holds {holds}, not what is asked for; choose another --out")
    if old.choices.get(POLICY, "") not in ("", weights_fingerprint(start)):
        raise RecipeError(
            f"{path}: the weights in {start} have changed since this run was started; restore them, or start"
            " a new run in another --out"
        )


def _refuse_changes(
    path: Path, old: Manifest, recipe_id: str, rubrics: Mapping[str, str], hashes: Mapping[str, str]
) -> None:
    changed = [name for name, digest in hashes.items() if old.data.get(name) != digest]
    changed += [name for name, digest in rubrics.items() if old.rubrics.get(name) != digest]
    if recipe_id != old.recipe_id or changed:
        what = f"{changed[0]} has" if changed else "the recipe has"
        raise RecipeError(
            f"{path}: {what} changed since this run was started; restore it, or start a new run in another --out"
        )


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _git() -> str | None:
    """The commit of the checkout that this package runs from, with `+` where it has uncommitted changes."""
    here = Path(__file__).resolve().parent
    try:
        commit = _said(["git", "rev-parse", "HEAD"], here)
        changes = _said(["git", "status", "--porcelain", "--untracked-files=no"], here)
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changes else "")


def _said(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603
    return done.stdout.strip()


def _machine() -> dict[str, JsonValue]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
