"""`anchors calibrate`: how far a critic agrees with people."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rubric_anchors.cli.judging import (
    DryRunOption,
    JudgeOption,
    JudgeWithOption,
    MaxCostOption,
    judge_given,
    show_estimate,
)
from rubric_anchors.cli.show import Bars, Lines, console, tell, tell_left_out
from rubric_anchors.core.errors import InputError, Refused, SetupError

if TYPE_CHECKING:
    from rubric_anchors.app.calibrate import Calibrated
    from rubric_anchors.evaluate.calibration import Target
    from rubric_anchors.evaluate.resample import Figure

AGREEMENT: Final = {
    "kappa": "kappa",
    "spearman": "Spearman",
    "order": "pairs in order",
    "order_within_prompt": "within a prompt",
}
BESIDE: Final = {
    "alpha": "alpha",
    "ties": "ties",
    "calibration_error": "calibration error",
    "length": "per doubled length",
    "longer": "leans to the longer",
    "position": "leans to the first",
}


def calibrate(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="Answers that people judged: JSONL, CSV, Parquet...", show_default=False),
    ],
    rubric: Annotated[Path, typer.Option("--rubric", help="Whose critics are held against them.", show_default=False)],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="CRITERION=COLUMN,...",
            help="Columns with people's scores, one a rater; `reward=...`: of the whole. May be given again.",
        ),
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="[CRITERION=]SCALE",
            help="1..5, or words from least to most: bad,ok,good. Left out: from the least to the largest score.",
        ),
    ] = None,
    pairs: Annotated[
        str, typer.Option("--pairs", metavar="FIRST,SECOND", help="Columns with two answers, in place of --labels.")
    ] = "",
    preference: Annotated[
        list[str] | None,
        typer.Option(
            "--preference",
            metavar="COLUMN[=FIRST,SECOND,TIE]",
            help="Which answer of a pair is preferred, one column a rater. Left out: the first.",
        ),
    ] = None,
    group: Annotated[str, typer.Option(help="Column with the source or author.", show_default="the prompt")] = "",
    again: Annotated[int, typer.Option(min=0, help="How many answers or pairs are judged twice.")] = 100,
    json_file: Annotated[Path | None, typer.Option("--json", help="File to write: all figures.")] = None,
    figure: Annotated[Path | None, typer.Option("--figure", help="File to write: the picture, SVG.")] = None,
    shrunk: Annotated[
        Path | None, typer.Option("--shrunk", help="File to write: the rubric, with less weight for what disagrees.")
    ] = None,
    judge_reasoning: Annotated[
        bool, typer.Option("--judge-reasoning", help="Judge what stands in <think> too.")
    ] = False,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let the rubric run the functions it names.")
    ] = False,
    judge: JudgeOption = "",
    judge_with: JudgeWithOption = None,
    max_cost: MaxCostOption = None,
    dry_run: DryRunOption = False,
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """How far a rubric's critics agree with people, criterion by criterion."""
    from rubric_anchors.app.calibrate import How, calibrate_pairs, calibrate_scores, estimate_pairs, estimate_scores

    if bool(labels) == bool(pairs):
        raise InputError("give one: --labels CRITERION=COLUMN for scores, --pairs FIRST,SECOND for preferences")
    strange = "--scale" if pairs and scale else "--preference" if labels and preference else ""
    if strange:
        raise InputError(f"{strange} does not go with {'--pairs' if pairs else '--labels'}; leave it out")
    config = judge_given(judge, judge_with, max_cost, dry_run=dry_run)
    how = How(group, again, judge_reasoning, allow_code, seed)
    if config is not None and dry_run:
        show_estimate(
            estimate_pairs(data, rubric, pairs, preference or (), how, config)
            if pairs
            else estimate_scores(data, rubric, labels or (), scale or (), how, config)
        )
        return
    for path in (json_file, figure, shrunk):
        if path is not None and path.exists() and not force:
            raise SetupError(f"{path} is there already; give another name, or --force to replace it")
    bars = Bars() if console.is_terminal else Lines()
    made = (
        calibrate_pairs(data, rubric, pairs, preference or (), how, judge=config, progress=bars)
        if pairs
        else calibrate_scores(data, rubric, labels or (), scale or (), how, judge=config, progress=bars)
    )
    tell_left_out(made.rejected)
    _show(made)
    _write(made, json_file, figure, shrunk)
    if not any(target.used for target in made.calibration.targets):
        raise Refused("no answer has both a verdict and a label: nothing could be compared")


def _show(made: "Calibrated") -> None:
    targets = made.calibration.targets
    rows = {target.key: target.figures for target in targets}
    console.print(_table("the critic against people (95% intervals)", targets, AGREEMENT, rows))
    console.print(_table("beside it", targets, BESIDE, rows))
    people = {target.key: target.people for target in targets if target.people}
    if people:
        names = {"alpha": "alpha", "alpha_ordinal": "alpha, ordinal", "order": "pairs in order"}
        if made.calibration.kind == "pairs":
            people = dict(list(people.items())[-1:])  # the same for all: they judged the pair, not a criterion
        console.print(
            _table("people among themselves", [target for target in targets if target.key in people], names, people)
        )
    for line in _notes(made):
        console.print(line, markup=False)


def _table(
    title: str,
    targets: "list[Target] | tuple[Target, ...]",
    columns: dict[str, str],
    rows: "dict[str, dict[str, Figure]]",
) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    table.add_column("n", justify="right")
    there = {name: words for name, words in columns.items() if any(name in figures for figures in rows.values())}
    for words in there.values():
        table.add_column(words, justify="right", overflow="fold")
    for target in targets:
        cells = [rows[target.key][name].words if name in rows[target.key] else "" for name in there]
        table.add_row(escape(target.key), str(target.used), *cells)
    return table


def _notes(made: "Calibrated") -> Iterator[str]:
    """What the tables leave open: what is missing and why, what was judged twice, what is not labelled."""
    from rubric_anchors.reward.judging import account_line

    found = made.calibration
    for target in found.targets:
        reasons: dict[str, list[str]] = {}
        for name, figure in target.figures.items():
            if figure.reason:
                reasons.setdefault(figure.reason, []).append(name.replace("_", " "))
        for reason, names in reasons.items():
            yield f"{target.key}: {', '.join(names)}: {reason}"
        for cause, count in target.unjudged.items():
            yield f"{target.key}: {count} unjudged, left out: {cause}"
        if target.unlabelled:
            yield f"{target.key}: {target.unlabelled} without a label, left out"
        if target.again and target.again.changed:
            yield (
                f"{target.key}: judged again, {target.again.changed} of {target.again.n} changed, by "
                f"{target.again.mean_change:.3g} on average over all"
            )
    twice = [target.again for target in found.targets if target.again]
    if twice and not any(each.changed for each in twice):
        yield f"judged again in the opposite order: {twice[0].n} of {twice[0].n} the same"
    if made.account:
        yield f"judge: {account_line(made.account)}"
    if made.unlabelled:
        yield f"without labels: {', '.join(made.unlabelled)}"
    if found.left_out:
        yield f"rows left out: {found.left_out} of {found.rows + found.left_out}"


def _write(made: "Calibrated", json_file: Path | None, figure: Path | None, shrunk: Path | None) -> None:
    from rubric_anchors.core.files import atomic_write_json, atomic_write_text

    if json_file:
        from rubric_anchors.evaluate.shrink import shrink_factors

        found = made.calibration.model_dump(mode="json")
        atomic_write_json(json_file, {**found, "shrink": {**shrink_factors(made.calibration)}})
        console.print(f"figures: {json_file}", markup=False)
    if figure:
        from rubric_anchors.report.calibration import picture

        atomic_write_text(figure, picture(made.calibration))
        console.print(f"picture: {figure}", markup=False)
    if shrunk:
        from rubric_anchors.evaluate.shrink import shrink, shrink_factors
        from rubric_anchors.rubric.dump import dump_rubric

        rubric = shrink(made.rubric, made.calibration)
        atomic_write_text(shrunk, dump_rubric(rubric))
        for key, factor in shrink_factors(made.calibration).items():
            console.print(f"  {key}: weight x {factor:.3f}{'' if key in rubric.keys else ', left out'}", markup=False)
        vetoes = [each.key for each in rubric.criteria if each.veto and each.weight == 0]
        if vetoes:
            tell(f"the veto of {', '.join(vetoes)} stays, though the critic is not shown to agree with people there")
        console.print(f"rubric: {shrunk}", markup=False)
