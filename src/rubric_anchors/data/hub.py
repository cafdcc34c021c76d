"""The one place that imports the `datasets` package: folders it saved, and data sets on the hub."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rubric_anchors.core.errors import DataError, SetupError
from rubric_anchors.core.words import near

HUB: Final = "hub:"


def open_hub(source: str) -> Iterator[object]:
    """The rows of `hub:owner/name[:split]`; the split is `train` unless named.

    Raises SetupError where the package is missing or the hub does not answer, DataError for a name without its parts.
    """
    name, _, split = source.removeprefix(HUB).partition(":")
    if name.count("/") != 1 or not all(name.split("/")):
        raise DataError(f"{source}: expected hub:owner/name or hub:owner/name:split")
    datasets = _datasets(source)
    try:
        # Data files only: since version 4 the package runs no code from a data set's repository.
        rows = datasets.load_dataset(name, split=split or "train")
    except Exception as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise SetupError(
            f"{source}: the hub does not give this data set ({cause}); check name, split and network"
        ) from error
    return iter(rows)


def open_folder(source: str) -> Iterator[object]:
    """The rows of a folder that `Dataset.save_to_disk` wrote; `FOLDER:SPLIT` for one with several splits."""
    folder, split = source, ""
    if not Path(folder).is_dir():
        folder, _, split = source.rpartition(":")
    if not any((Path(folder) / mark).is_file() for mark in ("state.json", "dataset_dict.json")):
        raise DataError(f"{source}: the folder was not saved by `datasets`; name a file in it, or save it anew")
    datasets = _datasets(source)
    try:
        loaded: Any = datasets.load_from_disk(folder)
    except Exception as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError(f"{source}: the datasets folder cannot be read ({cause}); save it anew") from error
    if isinstance(loaded, datasets.DatasetDict):
        names = list(loaded)
        split = split or (names[0] if len(names) == 1 else "train")
        if split not in names:
            raise DataError(
                f"{source}: no split {split!r}; write FOLDER:SPLIT with one of {', '.join(names)}{near(split, names)}"
            )
        loaded = loaded[split]
    elif split:
        raise DataError(f"{source}: the folder has no splits; name the folder alone")
    return iter(loaded)


def _datasets(source: str) -> ModuleType:
    try:
        import datasets
    except ImportError as error:
        what = f"{source}: reading it needs the `datasets` package"
        raise SetupError(f"{what}; pip install 'rubric-anchors[local]'") from error
    return datasets  # type: ignore[no-any-return]
