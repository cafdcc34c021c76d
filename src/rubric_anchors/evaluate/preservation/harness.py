"""The standard way to measure what a model can do: lm-eval, on task files of one's own. The only import site of
`lm_eval`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.evaluate.paired import accuracy_interval
from rubric_anchors.evaluate.preservation.loglik import Model, Tokenizer
from rubric_anchors.evaluate.verdicts import ACCURACY_MARGIN, kept
from rubric_anchors.runs.records import Preserved

METRICS = ("acc_norm", "acc", "exact_match")
"""Looked for in this order: the first that every row of a task has is used."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One task under one model: which of its documents were answered rightly, in document order."""

    task: str
    metric: str
    right: tuple[bool, ...]


def run_tasks(
    model: Model, tokenizer: Tokenizer, folder: Path, tasks: Sequence[str], *, limit: int | None = None, batch: int = 8
) -> tuple[TaskRun, ...]:
    """Runs lm-eval's `tasks`, defined by the YAML files under `folder`, on a loaded model.

    Only `folder` is searched: none of the harness's own tasks, which fetch data from a hub. Raises SetupError where
    lm-eval is missing and InputError where a task is not there or gives no right-or-wrong figure for its rows.
    """
    try:
        import lm_eval
        from lm_eval.models.huggingface import HFLM
        from lm_eval.tasks import TaskManager
    except ImportError as missing:
        raise SetupError(
            "the standard harness is not installed: `pip install 'rubric-anchors[eval]'` brings it"
        ) from missing
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    unknown = [task for task in tasks if task not in manager.all_tasks]
    if unknown:
        there = ", ".join(sorted(manager.all_tasks)) or "none"
        raise InputError(f"{folder}: no task is called {unknown[0]!r}; there are: {there}")
    wrapped = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=batch)
    found = lm_eval.simple_evaluate(
        model=wrapped, tasks=list(tasks), task_manager=manager, limit=limit, log_samples=True, bootstrap_iters=0
    )
    return tuple(_read(task, found["samples"][task]) for task in tasks)


def compare_tasks(
    before: Sequence[TaskRun], after: Sequence[TaskRun], margin: float = ACCURACY_MARGIN
) -> tuple[Preserved, ...]:
    """Accuracy of each task before against after, paired by document. Raises InputError where the tasks differ."""
    if [run.task for run in before] != [run.task for run in after]:
        raise InputError("before and after ran different tasks; both sides need the same ones in the same order")
    rows = []
    for first, second in zip(before, after, strict=True):
        change, n = accuracy_interval(first.right, second.right), len(first.right)
        rows.append(
            Preserved(
                name=first.task,
                before=float(np.mean(first.right)),
                after=float(np.mean(second.right)),
                delta=change.delta,
                low=change.low,
                high=change.high,
                margin=margin,
                kept=kept(change, margin, n),
                n=n,
            )
        )
    return tuple(rows)


def _read(task: str, samples: Sequence[dict[str, Any]]) -> TaskRun:
    rows = sorted(samples, key=lambda row: row["doc_id"])
    for metric in METRICS:
        if rows and all(metric in row for row in rows):
            return TaskRun(task, metric, tuple(float(row[metric]) > 0.5 for row in rows))
    raise InputError(f"task {task!r} gives none of {', '.join(METRICS)} for its rows; only such tasks can be paired")
