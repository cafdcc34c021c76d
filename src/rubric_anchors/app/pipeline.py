"""The road from rubric to report, part by part. Each part is done once: a resumed run goes on with the first
unfinished one.

manifest -> for each stage: select, train, look for hacks -> evaluate before and after -> report
"""

from pathlib import Path

from rubric_anchors.app.manifest import finished, manifest_for
from rubric_anchors.app.measure import evaluate_run
from rubric_anchors.app.prepare import Prepared
from rubric_anchors.app.progress import Progress, Silent
from rubric_anchors.app.road import Road, refuse_stopped, train_all
from rubric_anchors.report.html import write_report
from rubric_anchors.runs.folder import RunFolder


def run_recipe(prepared: Prepared, out: Path, *, resume: bool = False, progress: Progress | None = None) -> Path:
    """Run a recipe into the folder `out`, or go on with the run that is there; returns the report's path (the
    folder, where the recipe wants none). Raises Refused where a gate stopped a stage, after everything else is done.
    """
    progress = progress or Silent()
    with RunFolder(out).write(resume=resume) as run:
        manifest = manifest_for(run, prepared, progress)
        road = Road(prepared, run, manifest, progress)
        report = run.report_path if prepared.recipe.output.report else run.path
        # A run that is done stays as it is, to the byte.
        if manifest.finished is None or not (report.exists() and run.rollouts_path.exists()):
            train_all(road)
            road.write_rubrics()
            if prepared.recipe.evaluate and not run.done("evaluate"):
                with road.part("evaluate"):
                    evaluate_run(prepared, run, manifest, road.last, progress)
            road.write_cards(run.evaluation())
            run.finalise_rollouts()
            run.write_manifest(finished(manifest, run.parts()))
            if prepared.recipe.output.report:
                write_report(run)
        refuse_stopped(run, report)
    return report
