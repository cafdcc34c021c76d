"""The word and phrase lists that ship with the package: `lists/NAME.txt`, one entry a line, `#` starts a comment
line."""

from functools import cache
from importlib.resources import files
from typing import Final

from rubric_anchors.core.registry import near

SUFFIX: Final = ".txt"
INTERNAL: Final = "grammar/"
"""The folder of lists that checks use and rubrics cannot name."""


@cache
def list_names() -> tuple[str, ...]:
    """The names of the shipped lists, sorted."""
    folder = files("rubric_anchors.critic") / "lists"
    return tuple(sorted(file.name.removesuffix(SUFFIX) for file in folder.iterdir() if file.name.endswith(SUFFIX)))


@cache
def word_list(name: str) -> tuple[str, ...]:
    """The entries of the shipped list `name`, in file order. Raises ValueError with the near names."""
    if name not in list_names() and not name.startswith(INTERNAL):
        raise ValueError(
            f"no shipped list {name!r}{near(name, list_names())}; there are: {', '.join(list_names())}; "
            "words or phrases of your own stand in a list: [one, another]"
        )
    text = (files("rubric_anchors.critic") / "lists" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
