"""`anchors critic`: critics that are learnt: from what somebody likes, and from the anchors of a rubric."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from rubric_anchors.cli.checks import read_text
from rubric_anchors.cli.show import console, errors, printable

if TYPE_CHECKING:
    from rubric_anchors.critic.leftout import LeftOut

REASONS: Final = 8
WIDTH: Final = 60

critic: Final = typer.Typer(
    help="Critics that are learnt: from texts that you like, and from the anchors of a rubric.", rich_markup_mode=None
)


@critic.command()
def fit(
    liked: Annotated[str, typer.Argument(metavar="LIKED", help="Texts you like: a table, or a folder of .txt files.")],
    disliked: Annotated[str, typer.Argument(metavar="DISLIKED", help="Texts you do not like.")],
    out: Annotated[Path, typer.Option("--out", help="File to write, JSON.", show_default=False)],
    group: Annotated[str, typer.Option(help="Column with the author or source: left out together.")] = "",
    style_only: Annotated[bool, typer.Option("--style-only", help="How it is written, not what it says.")] = False,
    seed: Annotated[int, typer.Option(help="Of the folds.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT where it is there.")] = False,
) -> None:
    """Fit a critic, and say how well it tells texts apart that it has not seen."""
    from rubric_anchors.app.liking import fit_critic

    made = fit_critic(liked, disliked, out, group=group, style_only=style_only, seed=seed, force=force)
    found = made.measured
    if found.by == "text":
        errors.print(
            "anchors: no --group was given: texts of one author may stand on both sides of a split, and the figures"
            " flatter",
            markup=False,
            soft_wrap=True,
        )
    table = Table(title="texts left out", box=SIMPLE_HEAD, show_header=False)
    table.add_row("texts", f"{made.liked.texts} liked, {made.disliked.texts} disliked")
    table.add_row("left out", f"{found.folds} times, whole {found.by}s")
    table.add_row("area under the ROC curve", f"{found.area:.3f} ({found.low:.3f} to {found.high:.3f})")
    table.add_row("the number of words alone", f"{found.length_area:.3f}")
    table.add_row("calibration error", f"{found.calibration_error:.3f}")
    strongest = sorted(zip(made.columns, made.weights, strict=False), key=lambda one: -abs(one[1]))[:REASONS]
    for name, weight in strongest:
        table.add_row(f"{'more' if weight > 0 else 'less'} {name}", f"liked ({weight:+.2f} a standard deviation)")
    console.print(table)
    if found.low <= 0.5:
        console.print("it cannot be told from guessing: the interval holds 0.5")
    console.print(f"critic: {out}", markup=False)


@critic.command()
def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; @FILE reads one, - standard input.")],
    critic_file: Annotated[Path, typer.Option("--critic", help="The critic's file.", show_default=False)],
) -> None:
    """How likely a text is to be liked, and why."""
    from rubric_anchors.app.liking import explain_text

    liking = explain_text(read_text(text), critic_file)
    console.print(f"liked with probability {liking.value:.3f}")
    for name, moved in liking.reasons[:REASONS]:
        console.print(f"  {moved:+.2f}  {name}", markup=False)
    if liking.nearest:
        side = "liked" if liking.nearest.liked else "disliked"
        console.print(f"  most like a {side} text: {printable(liking.nearest.excerpt)}", markup=False)


@critic.command()
def loo(
    rubric: Annotated[Path, typer.Argument(metavar="RUBRIC", help="A rubric with exemplar criteria.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, every anchor in it.")] = False,
) -> None:
    """Leave one out: judge each anchor of a rubric by the others, and say how well its tiers are told apart."""
    from rubric_anchors.app.exemplars import rubric_left_out

    found = rubric_left_out(rubric)
    if as_json:
        shown = {key: None if one is None else asdict(one) for key, one in found.items()}
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for key, one in found.items():
        if one is None:
            console.print(f"{key}: a tier has fewer than three anchors; too few to leave one out", markup=False)
        else:
            _print_left_out(one)


def _print_left_out(one: "LeftOut") -> None:
    low, high = one.interval
    table = Table(title=f"{one.key}: {len(one.anchors)} anchors left one out", box=SIMPLE_HEAD, show_header=False)
    table.add_row("pairs of tiers in order", f"{one.agreement:.3f} ({low:.3f} to {high:.3f}); chance 0.5")
    table.add_row("by the nearest anchor alone", f"{one.nearest_anchor:.3f}")
    table.add_row("taken for their own tier", f"{one.right:.0%}, with a mean confidence of {one.confident:.0%}")
    table.add_row("share of meaning, the rest style", f"{one.setting.meaning:.0%}")
    console.print(table)
    for anchor in one.anchors:
        if anchor.nearest != anchor.tier:
            words = printable(anchor.text[:WIDTH], " ")
            console.print(f"  tier {anchor.tier} taken for {anchor.nearest}: {words}", markup=False)
    if not one.apart:
        console.print(
            f"{one.key}: the tiers are not told apart beyond chance: write more anchors, the same subjects in every"
            " tier, or give this criterion another critic",
            markup=False,
            soft_wrap=True,
        )
