"""The options of commands that can ask a judge, and what they show of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rubric_anchors.cli.show import console

if TYPE_CHECKING:
    from rubric_anchors.reward.judging import Estimate, JudgeConfig

JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge", metavar="URL#MODEL", help="The language model that decides judge criteria; or local#FOLDER."
    ),
]
JudgeWithOption = Annotated[
    list[str] | None,
    typer.Option("--judge-with", metavar="KEY=VALUE", help="How it is asked: key_env, concurrency, price_in..."),
]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="The most that the judge may cost.", show_default=False)
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what the judge would be asked and cost; ask and write nothing.")
]


def judge_given(
    judge: str, judge_with: Sequence[str] | None, max_cost: float | None, *, dry_run: bool
) -> "JudgeConfig | None":
    """The judge that the options name, None where they name none."""
    from rubric_anchors.app.judges import judge_of

    if judge:
        return judge_of(judge, judge_with or (), max_cost)
    if judge_with or max_cost is not None or dry_run:
        raise typer.BadParameter("--judge-with, --max-cost and --dry-run go with --judge URL#MODEL")
    return None


def show_estimate(estimate: "Estimate") -> None:
    """What a judge would be asked."""
    console.print(f"calls: {estimate.calls}", markup=False)
    console.print(f"tokens in: about {estimate.prompt_tokens:,}", markup=False)
    console.print(f"cost: about {estimate.cost:.4g}, with an empty cache", markup=False)
