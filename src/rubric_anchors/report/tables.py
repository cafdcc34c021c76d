"""The report's tables as plain rows of text, for a terminal; the command line prints them."""

from collections.abc import Iterator
from dataclasses import dataclass

from rubric_anchors.report.parts.asked import road
from rubric_anchors.report.parts.measured import measures
from rubric_anchors.report.readings import is_ratio, ratio_limit
from rubric_anchors.report.text import duration, number, ratio, signed
from rubric_anchors.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table. Cells are plain text, some of it from models: print them without markup."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        ragged = [row for row in self.rows if len(row) != len(self.columns)]
        if ragged:
            raise ValueError(f"{self.title}: a row has {len(ragged[0])} cells for {len(self.columns)} columns")


def tables(run: RunFolder) -> tuple[Table, ...]:
    """What the run came to, as far as it went: stages, measures, families, preservation, suspected hacks, time."""
    return tuple(table for table in _tables(run) if table.rows)


def _tables(run: RunFolder) -> Iterator[Table]:
    yield _stages(run)
    evaluation = run.evaluation()
    if evaluation:
        yield from _measured(run)
    signatures = [(look.stage, signature) for look in run.first_looks() for signature in look.signatures]
    yield Table(
        "Suspected hacks",
        ("stage", "kind", "pattern", "early", "late", "from step"),
        tuple(
            (stage, each.kind, each.pattern, number(each.early), number(each.late), _step(each.onset))
            for stage, each in signatures
        ),
    )
    manifest = run.manifest()
    seconds = (manifest.seconds if manifest else None) or run.parts()
    yield Table("Time", ("part", "wall time"), tuple((part, duration(spent)) for part, spent in seconds.items()))


def _stages(run: RunFolder) -> Table:
    rows = []
    for stage in road(run).stages:
        steps = stage.result.steps if stage.result else ()
        rewards = [step.reward for step in steps if step.reward is not None]
        ends = (number(rewards[0]), number(rewards[-1])) if rewards else ("-", "-")
        spent = duration(stage.result.seconds) if stage.result else "-"
        rows.append((stage.name, stage.state, *ends, spent))
    return Table("Stages", ("stage", "state", "first reward", "last reward", "wall time"), tuple(rows))


def _measured(run: RunFolder) -> Iterator[Table]:
    evaluation = run.evaluation()
    if evaluation is None:
        return
    view = measures(evaluation)
    columns = ("before", "after", "change", "95% interval")
    for title, rows in (
        ("In the reward", view.inside),
        ("Outside the reward", view.outside),
        ("Outside the reward, for information", view.informative),
    ):
        yield Table(
            title,
            ("measure", *columns, "margin", "reading"),
            tuple(
                (
                    row.measured.name,
                    number(row.measured.before),
                    number(row.measured.after),
                    signed(row.measured.delta),
                    f"{signed(row.measured.low)} to {signed(row.measured.high)}",
                    number(row.measured.margin) if row.measured.margin is not None else "-",
                    row.reading.word,
                )
                for row in rows
            ),
        )
    yield Table(
        "Families of prompts",
        ("family", "measure", *columns, "reading"),
        tuple(
            (
                row.family,
                row.measured.name,
                number(row.measured.before),
                number(row.measured.after),
                signed(row.measured.delta),
                f"{signed(row.measured.low)} to {signed(row.measured.high)}",
                row.reading.word,
            )
            for row in view.families
        ),
    )
    yield Table(
        "Preservation",
        ("what", *columns, "limit", "reading"),
        tuple(
            (
                each.name,
                number(each.before),
                number(each.after),
                ratio(each.delta) if is_ratio(each) else signed(each.delta),
                f"{ratio(each.low)} to {ratio(each.high)}"
                if is_ratio(each)
                else f"{signed(each.low)} to {signed(each.high)}",
                ratio(ratio_limit(each)) if is_ratio(each) else signed(-each.margin),
                row.reading.word,
            )
            for row in view.preserved
            for each in [row.preserved]
        ),
    )


def _step(onset: int | None) -> str:
    return "-" if onset is None else str(onset)
