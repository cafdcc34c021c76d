"""Small pieces of messages: what a value is, in words, what was probably meant, how large something is."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


def kind_of(value: object) -> str:
    """What a JSON value is, in words: `a list`, `the number 3`, `the text 'abc'`, `true`, `nothing`."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    if isinstance(value, str):
        return f"the text {value if len(value) <= 60 else value[:57] + '...'!r}"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return type(value).__name__


def near(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?` for the names close to `name`, or an empty string."""
    close = get_close_matches(name.lower(), list(names), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(one) for one in close)}?" if close else ""


def human_size(size: int) -> str:
    """`8 MiB`, `1.5 MiB`, `300 bytes`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} bytes"
