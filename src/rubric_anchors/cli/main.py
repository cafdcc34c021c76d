"""The command line: the only place that prints. Each command is one call of the app's; here it is parsed and shown.

Exit codes stand in `rubric_anchors.cli.failures`. What heavy commands need is imported inside them: `anchors score`
with checks alone works without torch, and `--help` is quick.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubric_anchors.cli.calibrate import calibrate
from rubric_anchors.cli.checks import checks
from rubric_anchors.cli.critic import critic
from rubric_anchors.cli.failures import INTERRUPTED, INTERRUPTED_LINE, debugging, explain, stop_signals
from rubric_anchors.cli.judging import (
    DryRunOption,
    JudgeOption,
    JudgeWithOption,
    MaxCostOption,
    judge_given,
    show_estimate,
)
from rubric_anchors.cli.show import (
    Bars,
    Lines,
    close_output,
    closing_table,
    console,
    score_table,
    selection_table,
    tell,
    tell_left_out,
)
from rubric_anchors.core.errors import Refused

if TYPE_CHECKING:
    from rubric_anchors.app.prepare import Prepared

app = typer.Typer(
    name="anchors",
    help="Rubrics as a reward for language models: score, select, train, evaluate, report.",
    epilog="Exit codes: 0 done; 1 it ran and a gate said no, or nothing could be scored; 2 bad input or usage; "
    "70 a bug of ours; 130 interrupted, resumable.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(checks, name="checks")
app.add_typer(critic, name="critic")

RecipeArg = Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe, a YAML file.", show_default=False)]
OutOption = Annotated[Path, typer.Option("--out", help="Folder of the run.", show_default=False)]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run that is in --out, or start it.")]


@app.callback(invoke_without_command=True)
def anchors(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Rubrics as a reward for language models: score, select, train, evaluate, report."""
    if version:
        from rubric_anchors import __version__

        console.print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        console.print(context.get_help(), markup=False)
        raise typer.Exit(2)


@app.command()
def run(recipe: RecipeArg, out: OutOption, resume: ResumeOption = False) -> None:
    """The whole road: select, train each stage, look for hacks, evaluate before and after, report."""
    from rubric_anchors.app.pipeline import run_recipe

    try:
        report = run_recipe(_prepared(recipe), out, resume=resume, progress=_progress())
    except Refused:
        _show_evaluation(out)
        raise
    _show_evaluation(out)
    console.print(f"{'report' if report.is_file() else 'run'}: {report}", markup=False)


@app.command()
def score(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="Answers: JSONL, CSV, Parquet or a datasets folder.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", help="Table to write: .jsonl, .parquet or .csv.", show_default=False)],
    rubric: Annotated[
        list[Path] | None,
        typer.Option("--rubric", help="A rubric for every answer, beside those its row carries; may be given again."),
    ] = None,
    judge_reasoning: Annotated[
        bool, typer.Option("--judge-reasoning", help="Judge what stands in <think> too.")
    ] = False,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let the rubrics given here run the functions that they name.")
    ] = False,
    judge: JudgeOption = "",
    judge_with: JudgeWithOption = None,
    max_cost: MaxCostOption = None,
    dry_run: DryRunOption = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that judge; more than one only for rubrics that need no model.",
            show_default="a core each where rows are many",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run, from OUT.partial.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start anew, and replace OUT where it is there.")] = False,
) -> None:
    """Score answers with rubrics: each verdict, its evidence, and what each step gave to the reward."""
    from rubric_anchors.app.score import estimate_file, score_file

    config = judge_given(judge, judge_with, max_cost, dry_run=dry_run)
    if config is not None and dry_run:
        show_estimate(estimate_file(data, rubric or (), config, judge_reasoning=judge_reasoning, allow_code=allow_code))
        return
    tally = score_file(
        data,
        rubric or (),
        out,
        judge_reasoning=judge_reasoning,
        allow_code=allow_code,
        resume=resume,
        force=force,
        workers=workers,
        judge=config,
        progress=_progress(),
    )
    tell_left_out(tally.unreadable)
    console.print(score_table(tally))
    console.print(f"rows: {tally.out}", markup=False)
    if tally.scored == 0:
        tell("no answer could be scored")
        raise typer.Exit(1)


@app.command()
def select(
    recipe: RecipeArg,
    out: OutOption,
    stage: Annotated[str, typer.Option(help="The stage to select for.", show_default="the first")] = "",
    resume: ResumeOption = False,
) -> None:
    """Only the selection before a stage: which prompts, and why the others not."""
    from rubric_anchors.app.parts import select_only

    selection = select_only(_prepared(recipe), out, stage, resume=resume, progress=_progress())
    console.print(selection_table(selection))
    if not selection.means:
        tell("no answer could be scored")
        raise typer.Exit(1)


@app.command()
def train(recipe: RecipeArg, out: OutOption, resume: ResumeOption = False) -> None:
    """Select and train all stages, without the evaluation and the report."""
    from rubric_anchors.app.parts import train_only

    model = train_only(_prepared(recipe), out, resume=resume, progress=_progress())
    console.print(f"model: {model}", markup=False)


@app.command()
def evaluate(
    recipe: RecipeArg,
    out: OutOption,
    model: Annotated[str, typer.Option(help="The model to hold against the recipe's policy.", show_default=False)],
    resume: ResumeOption = False,
) -> None:
    """Measure a model against the recipe's policy on the held-out prompts."""
    from rubric_anchors.app.parts import evaluate_only

    console.print(closing_table(evaluate_only(_prepared(recipe), model, out, resume=resume, progress=_progress())))


@app.command()
def report(
    out: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, finished or not.", show_default=False)],
) -> None:
    """Write a run's report again: one HTML file."""
    from rubric_anchors.report.html import write_report
    from rubric_anchors.runs.folder import RunFolder

    console.print(f"report: {write_report(RunFolder(out).require())}", markup=False)


@app.command()
def schema(
    out: Annotated[Path | None, typer.Option("--out", help="File to write; default: standard output.")] = None,
) -> None:
    """The JSON Schema of rubric files, for editors."""
    import json

    from rubric_anchors.core.files import atomic_write_text
    from rubric_anchors.rubric.schema import rubric_schema

    text = json.dumps(rubric_schema(), indent=2) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        atomic_write_text(out, text)


app.command()(calibrate)


def _prepared(recipe: Path) -> "Prepared":
    from rubric_anchors.app.prepare import prepare

    return prepare(recipe)


def _show_evaluation(out: Path) -> None:
    from rubric_anchors.runs.folder import RunFolder

    evaluation = RunFolder(out).evaluation()
    if evaluation is not None:
        console.print(closing_table(evaluation))


def _progress() -> Bars | Lines:
    return Bars() if console.is_terminal else Lines()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; every failure that a user can meet is one line on standard error and an exit code.

    `arguments`: those of the process, where None.
    """
    _quiet_libraries()
    try:
        with stop_signals():
            # What `typer.Exit` carries comes back as a value; Ctrl-C does in newer releases.
            code = app(args=None if arguments is None else list(arguments), prog_name="anchors", standalone_mode=False)
        if code == INTERRUPTED:
            _fail(INTERRUPTED_LINE, INTERRUPTED)
        sys.stdout.flush()
    except BrokenPipeError:
        close_output(sys.stdout)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001  the last one to hear of it: nothing may end in a traceback
        if debugging():
            traceback.print_exc()
        _fail(*explain(error))
    except KeyboardInterrupt as error:
        _fail(*explain(error))
    sys.exit(code if isinstance(code, int) else 0)


def _fail(line: str, code: int) -> None:
    tell(line)
    with suppress(OSError):
        sys.stdout.flush()
        sys.exit(code)
    close_output(sys.stdout)
    sys.exit(code)


def _quiet_libraries() -> None:
    """Progress bars, notices and warnings of the libraries would write over our own lines."""
    for name, value in {
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TQDM_DISABLE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "OMP_WAIT_POLICY": "passive",
    }.items():
        os.environ.setdefault(name, value)
    import logging
    import warnings

    for name in ("transformers", "trl", "accelerate", "datasets", "sentence_transformers"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if not debugging() and not sys.warnoptions:
        warnings.simplefilter("ignore")
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")  # a terminal that knows ASCII alone is no reason to fail
