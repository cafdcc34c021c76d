"""How the command line shows progress and results."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rubric_anchors.runs.records import Evaluation, Measured

console: Final = Console(highlight=False, soft_wrap=True)
errors: Final = Console(stderr=True, highlight=False)
LINE_EVERY: Final = 15.0
"""Seconds between lines where there is no terminal to draw a bar on."""


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
    table = Table(title="held-out prompts, before against after (95% intervals)")
    for name in ("measure", "before", "after", "change", "interval", "verdict"):
        table.add_column(name, justify="left" if name in ("measure", "verdict") else "right")
    for measured in evaluation.measures:
        table.add_row(
            measured.name,
            f"{measured.before:.3f}",
            f"{measured.after:.3f}",
            f"{measured.delta:+.3f}",
            f"{measured.low:+.3f} to {measured.high:+.3f}",
            _verdict(measured),
        )
    for kept in evaluation.preservation:
        words = {True: "kept", False: "lost", None: "not shown"}[kept.kept]
        table.add_row(
            kept.name, f"{kept.before:.3f}", f"{kept.after:.3f}", f"{kept.delta:+.3f}", f"{kept.low:.3f} to {kept.high:.3f}", words
        )
    return table


def _verdict(measured: Measured) -> str:
    sign = 1.0 if measured.higher_is_better else -1.0
    low, high = sorted((sign * measured.low, sign * measured.high))
    if low > 0:
        return "better"
    if high < 0 and (measured.margin is None or low <= -measured.margin):
        return "worse"
    if measured.margin is None:
        return "no clear change" if high >= 0 else "worse"
    return "within its margin" if low > -measured.margin else "not shown"


def _minutes(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"
