"""Rubrics from files, texts and what a data row carries."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rubric_anchors.core.disk import os_errors
from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.yamlfile import parse_config, read_config
from rubric_anchors.rubric.criterion import READS_FILE, RUNS_CODE, WEAKER, CriticSpec
from rubric_anchors.rubric.model import Rubric

SUFFIXES: Final = (".yaml", ".yml", ".json")


def load_rubric(path: str | Path) -> Rubric:
    """The rubric in a file: JSON where its name ends in .json, otherwise YAML.

    Raises RubricError with one line: file, line, column, criterion, what was expected and seen, what to do.
    """
    return read_config(path, Rubric, RubricError)


def parse_carried(content: str | Mapping[str, object], source: str) -> Rubric:
    """The rubric that a data row carries. Rows are often somebody else's: raises RubricError also where it names code
    to be run or a file to be read, or lets programs out of their sandbox."""
    rubric = parse_rubric(content, source)
    for criterion in rubric.criteria:
        if reach := _reach(criterion.critic):
            raise RubricError(
                f"{source}: criterion {criterion.key!r} {reach}, and a data row may not; put the rubric into a file of"
                " yours"
            )
    return rubric


def _reach(critic: CriticSpec) -> str:
    """What a critic would do to the machine it runs on, in words; empty for one that only looks at the answer."""
    if critic.kind != "check":
        return ""
    if critic.name == RUNS_CODE:
        return "names code to be run"
    if critic.name == READS_FILE:
        return "names a file to be read"
    return "asks for a weaker sandbox" if critic.options.get("isolation") == WEAKER else ""


def parse_rubric(content: str | Mapping[str, object], source: str = "rubric") -> Rubric:
    """A rubric from a YAML or JSON text, or from fields already read; `source` names it in errors.

    Raises RubricError, as `load_rubric`.
    """
    return parse_config(content, Rubric, RubricError, source=source)


def load_rubrics(folder: str | Path) -> dict[str, Rubric]:
    """Every rubric file in `folder` and the folders below it, by id, in the order of the file names.

    Raises RubricError where a file is no rubric, two rubrics have one id, or there is none.
    """
    found: dict[str, Rubric] = {}
    homes: dict[str, Path] = {}
    for path in _files(Path(folder)):
        rubric = load_rubric(path)
        if rubric.id in found:
            raise RubricError(f"{path}: the id {rubric.id!r} is that of {homes[rubric.id]} too; give one another id")
        found[rubric.id], homes[rubric.id] = rubric, path
    if not found:
        raise RubricError(f"{folder}: the folder holds no rubric; expected files that end in {', '.join(SUFFIXES)}")
    return found


def _files(folder: Path) -> list[Path]:
    with os_errors("read", folder, RubricError):
        list(folder.iterdir())  # says what is wrong with the folder itself: rglob would find nothing in silence
        below = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
        return sorted(
            path for path in below if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        )
