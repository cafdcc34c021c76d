"""Single parts of the road, each in a run's folder of its own or in that of a run which `anchors run --resume` goes
on with.
"""

from pathlib import Path

from rubric_anchors.app.manifest import manifest_for
from rubric_anchors.app.measure import evaluate_run
from rubric_anchors.app.prepare import Prepared, model_folder
from rubric_anchors.app.progress import Progress, Silent
from rubric_anchors.app.road import Road, refuse_stopped, select_for, train_all
from rubric_anchors.core.errors import RecipeError
from rubric_anchors.core.words import near
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import Evaluation, Selection


def select_only(
    prepared: Prepared, out: Path, stage: str = "", *, resume: bool = False, progress: Progress | None = None
) -> Selection:
    """The selection before `stage` (the first one, where none is named), also written to the run's selection.json.

    Raises RecipeError where the recipe has no such stage or selects nothing for it, SetupError where the model that the
    stage starts from is not in `out` yet.
    """
    index = _stage_index(prepared, stage)
    name = prepared.recipe.stages[index].name
    if prepared.recipe.select is None or not prepared.recipe.stages[index].select:
        raise RecipeError(f"{prepared.path}: nothing is selected for stage {name!r}; add `select` to the recipe")
    with RunFolder(out).write(resume=resume) as run:
        progress = progress or Silent()
        road = Road(prepared, run, manifest_for(run, prepared, progress), progress)
        selection = select_for(road, index)
        run.finalise_rollouts()
    if selection is None:
        raise RecipeError(f"{out}: selection.json lacks stage {name!r} though it is done; choose another folder")
    return selection


def train_only(prepared: Prepared, out: Path, *, resume: bool = False, progress: Progress | None = None) -> Path:
    """Select and train every stage; returns the folder of the last model. Raises Refused where a gate stopped a stage,
    after everything else is done."""
    progress = progress or Silent()
    with RunFolder(out).write(resume=resume) as run:
        manifest = manifest_for(run, prepared, progress)
        road = Road(prepared, run, manifest, progress)
        train_all(road)
        road.write_rubrics()
        road.write_cards(run.evaluation())
        run.finalise_rollouts()
        run.write_manifest(manifest.with_changes(seconds=run.parts()))
        refuse_stopped(run, run.path)
        return road.last


def evaluate_only(
    prepared: Prepared, model: str, out: Path, *, resume: bool = False, progress: Progress | None = None
) -> Evaluation:
    """Measure `model` (a folder, a hub id, `embedded`) against the recipe's policy; evaluation.json and samples.json
    are written to `out`, a folder for this comparison alone. Raises RecipeError where the recipe measures nothing.
    """
    if prepared.recipe.evaluate is None:
        raise RecipeError(
            f"{prepared.path}: the recipe has no `evaluate`; say there what to measure, and on which data"
        )
    progress = progress or Silent()
    after = model_folder(model)
    with RunFolder(out).write(resume=resume) as run:
        manifest = manifest_for(run, prepared, progress, evaluated=after)
        road = Road(prepared, run, manifest, progress)
        evaluation = run.evaluation() if run.done("evaluate") else None
        if evaluation is None:
            with road.part("evaluate"):
                evaluation = evaluate_run(prepared, run, manifest, after, progress)
            run.write_rubrics(list(prepared.rubrics.values()))
            run.finalise_rollouts()
            run.write_manifest(manifest.with_changes(seconds=run.parts()))
        return evaluation


def _stage_index(prepared: Prepared, stage: str) -> int:
    names = [one.name for one in prepared.recipe.stages]
    if not stage:
        return 0
    if stage not in names:
        raise RecipeError(f"{prepared.path}: has no stage {stage!r}; there are: {', '.join(names)}{near(stage, names)}")
    return names.index(stage)
