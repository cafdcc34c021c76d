import io
import time

import pytest
from rich.console import Console

import rubric_anchors.cli.show as show
from rubric_anchors.report.readings import against_margin, kept
from rubric_anchors.runs.records import Evaluation, Measured, Preserved


def measured(low: float, high: float, margin: float | None, *, higher: bool = True) -> Measured:
    ends = {"before": 0.5, "after": 0.5 + (low + high) / 2, "delta": (low + high) / 2, "low": low, "high": high}
    return Measured(name="tone", family="f", in_reward=False, higher_is_better=higher, margin=margin, n=60, **ends)


def preserved(name: str, verdict: bool | None) -> Preserved:
    return Preserved(name=name, before=9.0, after=9.9, delta=1.1, low=1.0, high=1.2, margin=0.05, kept=verdict, n=40)


def shown(evaluation: Evaluation) -> str:
    screen = io.StringIO()
    Console(file=screen, width=120).print(show.closing_table(evaluation))
    return screen.getvalue()


def test_the_terminal_says_of_a_change_what_the_report_says() -> None:
    measures = (
        measured(0.1, 0.2, None),
        measured(-0.2, -0.1, 0.05),
        measured(-0.02, 0.01, 0.05),
        measured(-0.2, 0.1, 0.05),
        measured(0.1, 0.2, 0.05, higher=False),
        measured(-0.1, 0.1, None),
    )
    held = (preserved("accuracy", True), preserved("accuracy", None), preserved("perplexity", False))
    evaluation = Evaluation(measures=measures, preservation=held, wall_seconds=1, peak_rss_mb=1, answers=2, seed=0)
    lines = [line for line in shown(evaluation).splitlines() if " to " in line]
    words = [*(against_margin(row).word for row in measures), *(kept(row).word for row in held)]
    assert [line.endswith(word) for line, word in zip(map(str.rstrip, lines), words, strict=True)] == [True] * 9
    assert "x 1.100" in lines[-1], "a perplexity changes by a factor"


def test_progress_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    with show.Lines().task("scoring [x]", 100, "answers") as task:
        for _ in range(3):
            now += 10
            task.advance(10, "good so far")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "scoring [x]: 20/100 answers, 1 a second, 80 s left. good so far",
        "scoring [x]: done in 30 s",
    ]


def test_a_bar_says_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(show, "console", Console(file=screen, force_terminal=True, width=100, highlight=False))
    with show.Bars().task("training", 2, "steps") as task:
        task.advance(2)
    assert "training: done in 0 s" in screen.getvalue()
