"""Records as JSON files that are whole or not there."""

import json
import math
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from rubric_anchors.core.disk import os_errors, read_bytes
from rubric_anchors.core.errors import DataError
from rubric_anchors.core.files import atomic_write_json

T = TypeVar("T")


def read_record(path: Path, kind: type[T]) -> T | None:
    """The record in `path`; None where there is no such file. Raises DataError where it holds something else."""
    if not path.exists():
        return None
    text = read_bytes(path, DataError)
    try:
        # Not pydantic's own JSON reader: it refuses lone surrogates, which an answer may hold.
        return TypeAdapter(kind).validate_python(json.loads(text))
    except ValidationError as error:
        raise DataError(f"{path}: {first_error(error)}; restore it, or remove it and resume the run") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is no JSON ({error}); restore it, or remove it and resume the run") from error


def save_json(path: Path, value: JsonValue) -> None:
    """Writes `value` as JSON. Raises ValueError where a number in it is NaN or infinite."""
    strange = _not_finite(value)
    if strange is not None:
        raise ValueError(f"{path.name}: {strange} is not a finite number; a record says None where nothing is known")
    make_folder(path.parent)
    atomic_write_json(path, value)


def make_folder(path: Path) -> None:
    """Makes the folder and those above it, where they are not there. Raises SetupError."""
    with os_errors("make the folder", path):
        path.mkdir(parents=True, exist_ok=True)


def first_error(error: ValidationError) -> str:
    """The first of a record's faults, as `field: what is wrong`."""
    seen = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, seen['loc'])) or 'content'}: {seen['msg']}"


def _not_finite(value: JsonValue, place: str = "") -> str | None:
    """Where in `value` the first NaN or infinity stands."""
    if isinstance(value, float):
        return None if math.isfinite(value) else place.lstrip(".")
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for key, item in inside if (found := _not_finite(item, f"{place}.{key}")) is not None), None)
