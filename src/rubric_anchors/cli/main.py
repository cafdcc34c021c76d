"""The command line: the only place that prints. Each command is one call of the app's; here it is parsed and shown.

Exit codes: 0 done; 1 it ran, and a gate, threshold or budget said no, or nothing could be scored; 2 bad input or usage;
130 interrupted, resumable.
"""

import errno
import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from rubric_anchors.cli.show import Bars, Lines, closing_table, console, errors

INTERRUPTED: Final = 130

app = typer.Typer(
    name="anchors",
    help="Rubrics as a reward for language models: score, select, train, evaluate, report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

RecipeArg = Annotated[Path, typer.Argument(help="The recipe, a YAML file.", show_default=False)]
OutOption = Annotated[Path, typer.Option("--out", help="Folder of the run.", show_default=False)]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run that is in --out, or start it.")]


@app.command()
def run(recipe: RecipeArg, out: OutOption, resume: ResumeOption = False) -> None:
    """The whole road: select, train each stage, look for hacks, evaluate before and after, report."""
    from rubric_anchors.app.pipeline import run_recipe
    from rubric_anchors.app.prepare import prepare
    from rubric_anchors.runs.folder import RunFolder

    try:
        report = run_recipe(prepare(recipe), out, resume=resume, progress=_progress())
    finally:
        evaluation = RunFolder(out).evaluation() if out.is_dir() else None
        if evaluation is not None:
            console.print(closing_table(evaluation))
    console.print(f"report: {report}")


@app.command()
def score(
    data: Annotated[Path, typer.Argument(help="Answers: JSONL, CSV, Parquet or a datasets folder.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to write, a row an answer.", show_default=False)],
    rubric: Annotated[list[Path], typer.Option("--rubric", help="A rubric file; may be given again.", show_default=False)],
    judge_reasoning: Annotated[bool, typer.Option(help="Judge what stands in <think> too.")] = False,
) -> None:
    """Score answers with rubrics: each verdict, its evidence, and what each step gave to the reward."""
    from rubric_anchors.app.score import score_file

    tally = score_file(data, rubric, out, judge_reasoning=judge_reasoning, progress=_progress())
    console.print(tally.line())
    if tally.scored == 0:
        raise typer.Exit(1)


@app.command()
def select(recipe: RecipeArg, out: OutOption, stage: Annotated[str, typer.Option(help="The stage to select for.")] = "") -> None:
    """Only the selection before the first stage (or before --stage): which prompts, and why the others not."""
    from rubric_anchors.app.parts import select_only
    from rubric_anchors.app.prepare import prepare

    console.print(select_only(prepare(recipe), out, stage, progress=_progress()))


@app.command()
def train(recipe: RecipeArg, out: OutOption, resume: ResumeOption = False) -> None:
    """Select and train all stages, without the evaluation and the report."""
    from rubric_anchors.app.parts import train_only
    from rubric_anchors.app.prepare import prepare

    console.print(f"model: {train_only(prepare(recipe), out, resume=resume, progress=_progress())}")


@app.command()
def evaluate(
    recipe: RecipeArg,
    out: OutOption,
    model: Annotated[str, typer.Option(help="The model to hold against the recipe's policy.", show_default=False)],
    resume: ResumeOption = False,
) -> None:
    """Measure a model against the recipe's policy on the held-out prompts."""
    from rubric_anchors.app.parts import evaluate_only
    from rubric_anchors.app.prepare import prepare

    console.print(closing_table(evaluate_only(prepare(recipe), model, out, resume=resume, progress=_progress())))


@app.command()
def report(out: Annotated[Path, typer.Argument(help="Folder of a run, finished or not.", show_default=False)]) -> None:
    """Write a run's report again: one HTML file."""
    from rubric_anchors.report.html import write_report
    from rubric_anchors.runs.folder import RunFolder

    console.print(f"report: {write_report(RunFolder(out).require())}")


@app.command()
def schema(out: Annotated[Path | None, typer.Option("--out", help="File to write; default: standard output.")] = None) -> None:
    """The JSON Schema of rubric files, for editors."""
    import json

    from rubric_anchors.core.files import atomic_write_text
    from rubric_anchors.rubric.schema import rubric_schema

    text = json.dumps(rubric_schema(), indent=2) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        atomic_write_text(out, text)


@app.command()
def version() -> None:
    """The version."""
    from rubric_anchors import __version__

    console.print(__version__)


def _progress() -> Bars | Lines:
    return Bars() if console.is_terminal else Lines()


def main() -> None:
    """Run the command line; every failure that a user can meet is one line and an exit code."""
    _quiet_libraries()
    from rubric_anchors.core.errors import AnchorsError

    try:
        app(standalone_mode=False)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    except AnchorsError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; nothing finished is lost, --resume goes on from here", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        _fail(f"{error.filename or 'a file'}: {error.strerror}; free some room or mend its rights, then --resume", 2)
    except MemoryError:
        _fail("out of memory; lower micro_batch, group or prompts in the recipe, then --resume", 2)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            raise
        _fail(usage(), 2)


def _fail(line: str, code: int) -> None:
    errors.print(f"anchors: {' '.join(line.split())}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def _quiet_libraries() -> None:
    """Progress bars and notices of the libraries would write over our own."""
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
    warnings.filterwarnings("ignore", module=r"(torch|transformers|trl|accelerate|datasets|peft)\..*")
