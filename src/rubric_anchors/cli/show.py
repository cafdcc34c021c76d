"""How the command line shows progress and results."""

import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from rubric_anchors.report.readings import against_margin, is_ratio, kept
from rubric_anchors.runs.records import Evaluation, Selection

if TYPE_CHECKING:
    from rubric_anchors.app.score import Tally
    from rubric_anchors.data.rows import Rejected
    from rubric_anchors.models.chat import Usage


def printable(text: str, instead: str = "?") -> str:
    """`text` with what could draw on the terminal, line ends too, replaced: it comes from strangers."""
    return "".join(character if character.isprintable() else instead for character in text)


def open_streams() -> None:
    """Gives a process that was started with a stream closed (`>&-`) one that leads nowhere. Else the next file that is
    opened would get the number of the closed stream, and whatever prints would write into it."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  open to the end
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


open_streams()
console: Final = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)
errors: Final = Console(stderr=True, highlight=False)
MOST_CRITERIA: Final = 40
"""Of the rows of a table; answers that carry their own rubrics may have any number."""
LINE_EVERY: Final = 15.0
"""Seconds between lines where there is no terminal to draw a bar on."""
MOST_ROWS_LISTED: Final = 100
"""Of rows that cannot be read; the rest are counted."""
LONGEST_LINE: Final = 1200
"""Characters of a line on standard error: a name in a stranger's file may be as long as the file."""


def close_output(stream: TextIO) -> None:
    """What is still waiting to be printed cannot be: let the interpreter not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def tell(line: str) -> None:
    """One line on standard error; what a stranger's file put into it cannot draw on the terminal, nor fill it."""
    line = " ".join(line.split())
    if len(line) > LONGEST_LINE:
        line = f"{line[: LONGEST_LINE // 2]} [...] {line[-LONGEST_LINE // 2 :]}"
    try:
        errors.print(f"anchors: {printable(line)}", markup=False, highlight=False, soft_wrap=True)
    except OSError:
        close_output(sys.stderr)  # nobody can be told; the exit code still can


def tell_left_out(rows: "Sequence[Rejected]") -> None:
    """The rows of a table that could not be read, a line each."""
    for row in rows[:MOST_ROWS_LISTED]:
        tell(f"left out: {row.cause}")
    if len(rows) > MOST_ROWS_LISTED:
        tell(f"left out: {len(rows) - MOST_ROWS_LISTED} more rows")


class _BarTask:
    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars = bars
        self._task = task

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        self._bars.update(self._task, advance=amount, note=note)


class Bars:
    """Progress on a terminal: a bar with count, time spent and time left."""

    def say(self, line: str) -> None:
        console.print(line, markup=False)

    @contextmanager
    def task(self, title: str, total: float, unit: str) -> Iterator[_BarTask]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=console, transient=True) as bars:
            started = time.perf_counter()
            yield _BarTask(bars, bars.add_task(title, total=total, note=""))
        console.print(f"{title}: done in {_minutes(time.perf_counter() - started)}", markup=False)


class _LineTask:
    def __init__(self, title: str, total: float, unit: str) -> None:
        self._title, self._total, self._unit = title, total, unit
        self._done = 0.0
        self._started = self._said = time.perf_counter()

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        self._done += amount
        now = time.perf_counter()
        if now - self._said < LINE_EVERY:
            return
        self._said = now
        rate = self._done / (now - self._started)
        left = _minutes((self._total - self._done) / rate) if rate else "?"
        console.print(
            f"{self._title}: {self._done:g}/{self._total:g} {self._unit}, {rate:.2g} a second, {left} left. {note}",
            markup=False,
        )


class Lines:
    """Progress where there is no terminal: a line every quarter of a minute."""

    def say(self, line: str) -> None:
        console.print(line, markup=False)

    @contextmanager
    def task(self, title: str, total: float, unit: str) -> Iterator[_LineTask]:
        started = time.perf_counter()
        yield _LineTask(title, total, unit)
        console.print(f"{title}: done in {_minutes(time.perf_counter() - started)}", markup=False)
        sys.stdout.flush()


def closing_table(evaluation: Evaluation) -> Table:
    """Before against after, as a table."""
    table = Table(title="held-out prompts, before against after (95% intervals)", box=SIMPLE_HEAD)
    for name in ("measure", "before", "after", "change", "interval", "verdict"):
        table.add_column(name, justify="left" if name in ("measure", "verdict") else "right")
    for measured in evaluation.measures:
        table.add_row(
            escape(measured.name),
            f"{measured.before:.3f}",
            f"{measured.after:.3f}",
            f"{measured.delta:+.3f}",
            f"{measured.low:+.3f} to {measured.high:+.3f}",
            against_margin(measured).word,
        )
    for held in evaluation.preservation:
        interval = f"{held.low:.3f} to {held.high:.3f}"
        change = f"x {held.delta:.3f}" if is_ratio(held) else f"{held.delta:+.3f}"
        table.add_row(escape(held.name), f"{held.before:.3f}", f"{held.after:.3f}", change, interval, kept(held).word)
    return table


def score_table(tally: "Tally") -> Table:
    """What became of a file of answers: rewards and criteria with their spread, then what has no reward and why."""
    table = Table(title="answers scored", box=SIMPLE_HEAD)
    for name in ("", "mean", "sd", "answers"):
        table.add_column(name, justify="right" if name else "left", overflow="fold")
    rows = [("reward", tally.reward), *tally.criteria.items()]
    for name, mean in rows[: MOST_CRITERIA + 1]:
        if mean is not None:
            sd = "" if mean.sd is None else f"{mean.sd:.3f}"
            table.add_row(escape(name), f"{mean.value:.3f}", sd, str(mean.n))
    if len(rows) > MOST_CRITERIA + 1:
        table.add_row(f"{len(rows) - MOST_CRITERIA - 1} more criteria", "", "", "")
    table.add_section()
    table.add_row("scored", "", "", str(tally.scored))
    for cause, count in tally.unscored.items():
        table.add_row(escape(f"unscored: {cause}"), "", "", str(count))
    if tally.unreadable:
        table.add_row("left out: no answer to score", "", "", str(len(tally.unreadable)))
    if tally.account is not None:
        table.add_section()
        account = tally.account
        table.add_row("judge: calls paid", "", "", str(account.calls))
        table.add_row("judge: from the cache", "", "", str(account.cached))
        table.add_row("judge: tokens in, of them cached, out", "", "", _usage(account.usage))
        table.add_row("judge: cost", "", "", f"{account.cost:.4g}")
        if account.maybe_billed:
            table.add_row("judge: perhaps billed without a reply", "", "", str(account.maybe_billed))
        if account.maybe_cost:
            table.add_row("judge: that may cost, beside it", "", "", f"{account.maybe_cost:.4g}")
        for code, count in account.failures.items():
            table.add_row(escape(f"judge: failed, {code}"), "", "", str(count))
    return table


def _usage(usage: "Usage") -> str:
    return f"{usage.prompt:,}, {usage.cached:,}, {usage.completion:,}"


def selection_table(selection: Selection) -> Table:
    """Prompts kept and dropped, by reason."""
    low, high = selection.cuts
    table = Table(title=f"prompts selected for {selection.stage}", box=SIMPLE_HEAD)
    table.add_column("")
    table.add_column("prompts", justify="right")
    table.add_row(f"kept: mean reward {low:.3f} to {high:.3f}", str(len(selection.kept)))
    for reason, count in Counter(dropped.reason for dropped in selection.dropped).most_common():
        table.add_row(f"dropped: {reason.replace('_', ' ')}", str(count))
    return table


def _minutes(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"
