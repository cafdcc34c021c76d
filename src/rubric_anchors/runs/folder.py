"""A run's folder: the only place that knows the names of a run's files.

    manifest.json       Manifest          what was run
    rubrics.json        list[Rubric]      the rubrics as they were applied, drafted ones included
    selection.json      list[Selection]
    stages/NAME.json    StageResult
    first_look.json     list[FirstLook]
    evaluation.json     Evaluation
    samples.json        list[SamplePair]
    rollouts/NAME.jsonl                   the journal of a stage
    rollouts.parquet                      all rollouts, when the road is done
    report.html
    models/NAME/                          a trained model
    checkpoints/NAME/                     a stage's checkpoints while it trains
    done/PART.json                        which parts of the road are done, and their wall time
    run.lock                              held by the one writer; also marks the folder as a run

`RunFolder` reads and takes no lock; `RunFolder.write()` gives a `RunWriter`, which is the only writer while it is open.
Every file is written whole or not at all.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.core.files import atomic_write_bytes
from rubric_anchors.core.frozen import Frozen
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs import rollouts as rollout_files
from rubric_anchors.runs.lock import exclusive
from rubric_anchors.runs.records import (
    Evaluation,
    FirstLook,
    Manifest,
    Rollout,
    SamplePair,
    Selection,
    StageResult,
)
from rubric_anchors.runs.store import make_folder, read_record, save_json

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Done(Frozen):
    """A part of the road that is done."""

    part: str
    seconds: float
    """Wall time."""
    order: int
    """Its place among the finished parts, from 0."""


class RunFolder:
    """A run, for reading. What has not been written yet reads as None or as empty; a broken file is a DataError."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def is_run(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return self.lock_path.is_file() or self.manifest_path.is_file()

    def require(self) -> "RunFolder":
        """Itself. Raises SetupError where the folder holds no run."""
        if not self.is_run:
            seen = "no such folder" if not self.path.exists() else "holds no run (no manifest.json)"
            raise SetupError(f"{self.path}: {seen}; give the folder that `anchors run --out` wrote")
        return self

    @property
    def lock_path(self) -> Path:
        return self.path / "run.lock"

    @property
    def manifest_path(self) -> Path:
        return self.path / "manifest.json"

    @property
    def rubrics_path(self) -> Path:
        return self.path / "rubrics.json"

    @property
    def selection_path(self) -> Path:
        return self.path / "selection.json"

    @property
    def first_look_path(self) -> Path:
        return self.path / "first_look.json"

    @property
    def evaluation_path(self) -> Path:
        return self.path / "evaluation.json"

    @property
    def samples_path(self) -> Path:
        return self.path / "samples.json"

    @property
    def rollouts_path(self) -> Path:
        return self.path / "rollouts.parquet"

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    def stage_path(self, name: str) -> Path:
        return self.path / "stages" / f"{_named(name)}.json"

    def journal_path(self, stage: str) -> Path:
        return self.path / "rollouts" / f"{_named(stage)}.jsonl"

    def model_path(self, name: str) -> Path:
        """The folder for the model that a stage leaves."""
        return self.path / "models" / _named(name)

    def checkpoints_path(self, stage: str) -> Path:
        """The folder for a stage's checkpoints while it trains."""
        return self.path / "checkpoints" / _named(stage)

    def manifest(self) -> Manifest | None:
        return read_record(self.manifest_path, Manifest)

    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubrics as they were applied."""
        return read_record(self.rubrics_path, tuple[Rubric, ...]) or ()

    def selections(self) -> tuple[Selection, ...]:
        return read_record(self.selection_path, tuple[Selection, ...]) or ()

    def selection(self, stage: str) -> Selection | None:
        return next((selection for selection in self.selections() if selection.stage == stage), None)

    def stage(self, name: str) -> StageResult | None:
        return read_record(self.stage_path(name), StageResult)

    def stages(self) -> tuple[StageResult, ...]:
        """The stages that have ended, in the recipe's order; any that it does not name come last, by name."""
        found = sorted((self.path / "stages").glob("*.json"))
        order = {name: place for place, name in enumerate(self.stage_names())}
        results = [result for path in found if (result := read_record(path, StageResult))]
        return tuple(sorted(results, key=lambda result: (order.get(result.name, len(order)), result.name)))

    def stage_names(self) -> tuple[str, ...]:
        """The stages that the recipe asks for, in order; empty without a manifest."""
        manifest = self.manifest()
        stages = manifest.recipe.get("stages") if manifest else None
        named = [stage for stage in stages if isinstance(stage, dict)] if isinstance(stages, list) else []
        return tuple(str(stage["name"]) for stage in named if "name" in stage)

    def first_looks(self) -> tuple[FirstLook, ...]:
        return read_record(self.first_look_path, tuple[FirstLook, ...]) or ()

    def evaluation(self) -> Evaluation | None:
        return read_record(self.evaluation_path, Evaluation)

    def samples(self) -> tuple[SamplePair, ...]:
        return read_record(self.samples_path, tuple[SamplePair, ...]) or ()

    def rollouts(self, stage: str | None = None) -> Iterator[Rollout]:
        """All rollouts, or those of one stage: from the Parquet file where it is written, else from the journals."""
        if self.rollouts_path.is_file():
            every = rollout_files.read_rollouts(self.rollouts_path)
            yield from (rollout for rollout in every if stage is None or rollout.stage == stage)
            return
        for journal in self._journals() if stage is None else [self.journal_path(stage)]:
            if journal.is_file():
                yield from rollout_files.read_journal(journal)

    def _journals(self) -> list[Path]:
        return sorted((self.path / "rollouts").glob("*.jsonl"))

    def done(self, part: str) -> bool:
        """Whether that part of the road is done."""
        return self._done_path(part).is_file()

    def parts(self) -> dict[str, float]:
        """Each finished part's wall time in seconds, in the order in which they were finished."""
        marks = [mark for path in (self.path / "done").glob("*.json") if (mark := read_record(path, Done))]
        return {mark.part: mark.seconds for mark in sorted(marks, key=lambda mark: (mark.order, mark.part))}

    def _done_path(self, part: str) -> Path:
        return self.path / "done" / f"{_named(part)}.json"

    @contextmanager
    def write(self, *, resume: bool = False) -> Iterator["RunWriter"]:
        """The run's one writer, for the length of the block; makes the folder where there is none.

        `resume` goes on with a run that is there, and starts one where there is none. Raises SetupError where another
        process is writing, where a run is there and `resume` is not given, and where the folder holds something else.
        """
        self._refuse_foreign()
        ours = not self.path.exists()
        make_folder(self.path)
        with exclusive(self.lock_path):
            if self.manifest_path.is_file() and not resume:
                way = "add --resume to go on with it, or choose another folder"
                raise SetupError(f"{self.path}: holds a run; {way}")
            try:
                yield RunWriter(self.path)
            finally:
                self._leave_nothing(ours)

    def _leave_nothing(self, ours: bool) -> None:
        """Where nothing was written, not even a manifest: no lock file, and no folder that was not there before."""
        with suppress(OSError):
            if [item.name for item in self.path.iterdir()] == [self.lock_path.name]:
                self.lock_path.unlink()
                if ours:
                    self.path.rmdir()

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise SetupError(f"{self.path}: is a file; a run needs a folder, choose another name")
        if not self.path.exists() or self.is_run:
            return
        with os_errors("read", self.path):
            strangers = sorted(item.name for item in self.path.iterdir())
        if strangers:
            raise SetupError(f"{self.path}: holds {strangers[0]!r} and is no run; choose a folder that is new or empty")


class RunWriter(RunFolder):
    """The one writer of a run; made by `RunFolder.write`."""

    def write_manifest(self, manifest: Manifest) -> None:
        self._write(self.manifest_path, manifest)

    def write_rubrics(self, rubrics: Sequence[Rubric]) -> None:
        self._write_all(self.rubrics_path, rubrics)

    def write_selection(self, selection: Selection) -> None:
        """Adds it, in place of the same stage's earlier one."""
        others = [earlier for earlier in self.selections() if earlier.stage != selection.stage]
        self._write_all(self.selection_path, [*others, selection])

    def write_stage(self, result: StageResult) -> None:
        self._write(self.stage_path(result.name), result)

    def write_first_look(self, look: FirstLook) -> None:
        """Adds it, in place of the same stage's earlier one."""
        others = [earlier for earlier in self.first_looks() if earlier.stage != look.stage]
        self._write_all(self.first_look_path, [*others, look])

    def write_evaluation(self, evaluation: Evaluation) -> None:
        self._write(self.evaluation_path, evaluation)

    def write_samples(self, samples: Sequence[SamplePair]) -> None:
        self._write_all(self.samples_path, samples)

    def append_rollouts(self, rollouts: Sequence[Rollout]) -> None:
        """Adds rollouts of one stage to its journal; they are on disk when this returns. Raises ValueError where they
        are of several stages."""
        stages = {rollout.stage for rollout in rollouts}
        if len(stages) > 1:
            raise ValueError(f"rollouts are appended one stage at a time; seen {', '.join(sorted(stages))}")
        for stage in stages:
            self.rollouts_path.unlink(missing_ok=True)
            rollout_files.append(self.journal_path(stage), rollouts)

    def drop_rollouts(self, stage: str, after: int) -> None:
        """Drops the stage's rollouts of all steps past `after`: the steps that a resumed run takes again."""
        journal = self.journal_path(stage)
        if journal.is_file():
            self.rollouts_path.unlink(missing_ok=True)
            atomic_write_bytes(journal, rollout_files.kept_lines(journal, after))

    def finalise_rollouts(self) -> int:
        """Writes rollouts.parquet from the journals, which stay; gives the number of rows. No journals, no change."""
        journals = self._journals()
        rows = (rollout for journal in journals for rollout in rollout_files.read_journal(journal))
        return rollout_files.write_parquet(self.rollouts_path, rows) if journals else 0

    def mark_done(self, part: str, seconds: float) -> None:
        """States that a part of the road is done, after `seconds` of wall time."""
        earlier = read_record(self._done_path(part), Done)
        order = earlier.order if earlier else len(self.parts())
        self._write(self._done_path(part), Done(part=part, seconds=seconds, order=order))

    def _write(self, path: Path, record: Frozen) -> None:
        save_json(path, record.model_dump(mode="json", by_alias=True))

    def _write_all(self, path: Path, records: Sequence[Frozen]) -> None:
        save_json(path, [record.model_dump(mode="json", by_alias=True) for record in records])


def _named(name: str) -> str:
    if not NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name a file; use letters, digits, dot, dash and underscore, 100 at most")
    return name
