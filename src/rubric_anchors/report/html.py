"""The report: one HTML file that needs nothing else, neither network nor JavaScript."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.files import atomic_write_bytes
from rubric_anchors.report import text
from rubric_anchors.report.parts.asked import asked, road, stage_words
from rubric_anchors.report.parts.curves import selections, stage_curves
from rubric_anchors.report.parts.ground import cost, ground, read_rollouts
from rubric_anchors.report.parts.hacks import OPEN, hack_words, looks, wanted
from rubric_anchors.report.parts.measured import measures
from rubric_anchors.report.parts.samples import samples
from rubric_anchors.report.readings import caveats, headline, ratio_limit, reward_measure, tally
from rubric_anchors.runs.folder import RunFolder

if TYPE_CHECKING:
    from jinja2 import Environment


def write_report(run: RunFolder) -> Path:
    """Writes the run's report.html and gives its path. Parts that the run does not hold are said to be missing.

    The same records give the same bytes. Raises SetupError where the folder holds no run or cannot be written,
    DataError where a record is broken.
    """
    run.require()
    page = render(run)
    atomic_write_bytes(run.report_path, page.encode("utf-8"))
    return run.report_path


def render(run: RunFolder) -> str:
    """The report as HTML."""
    sampled, shown = read_rollouts(run, wanted(run))
    manifest, evaluation = run.manifest(), run.evaluation()
    measured = measures(evaluation) if evaluation else None
    hacks, the_road = looks(run, shown), road(run)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            name=manifest.name if manifest else run.path.resolve().name,
            headline=headline(evaluation),
            caveats=caveats(evaluation),
            reward=reward_measure(evaluation) if evaluation else None,
            manifest=manifest,
            evaluation=evaluation,
            measured=measured,
            outside_tally=tally([row.reading for row in measured.outside]) if measured else (),
            preserved_tally=tally([row.reading for row in measured.preserved]) if measured else (),
            stage_words=stage_words(the_road.stages),
            hack_words=hack_words(hacks) if hacks else None,
            asked=asked(run),
            road=the_road,
            curves=[stage_curves(result) for result in run.stages()],
            selections=selections(run),
            samples=samples(run),
            hacks=hacks,
            shown_patterns=OPEN,
            cost=cost(run, sampled),
            ground=ground(run),
        )
    )


@cache
def environment() -> "Environment":
    """Jinja2 with our templates, everything escaped. Raises SetupError where it is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise SetupError("the report needs Jinja2: pip install 'rubric-anchors[report]'") from error
    environment = Environment(
        loader=PackageLoader("rubric_anchors.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        # Every expression passes here, so that no template can forget it.
        finalize=text.visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=text.number,
        signed=text.signed,
        ratio=text.ratio,
        percent=text.percent,
        duration=text.duration,
        plural=text.plural,
        ratio_limit=ratio_limit,
    )
    return environment
