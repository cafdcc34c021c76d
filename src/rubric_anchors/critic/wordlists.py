"""The word and phrase lists that ship with the package: `lists/NAME.txt`, one entry a line, `#` starts a comment
line."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from rubric_anchors.core.words import near

SUFFIX: Final = ".txt"
GRAMMAR: Final = "grammar"
"""The folder of lists that checks use and rubrics do not name: commonest words, irregular forms."""


@cache
def list_names() -> tuple[str, ...]:
    """The names of the shipped lists, sorted."""
    folder = files("rubric_anchors.critic") / "lists"
    return tuple(sorted(file.name.removesuffix(SUFFIX) for file in folder.iterdir() if file.name.endswith(SUFFIX)))


@cache
def word_list(name: str) -> tuple[str, ...]:
    """The entries of the shipped list `name`, in file order. Raises ValueError with the near names."""
    if name not in list_names():
        raise ValueError(
            f"no shipped list {name!r}{near(name, list_names())}; there are: {', '.join(list_names())}; "
            "words or phrases of your own stand in a list: [one, another]"
        )
    return tuple(_entries(files("rubric_anchors.critic") / "lists" / f"{name}{SUFFIX}"))


@cache
def grammar_words(name: str) -> frozenset[str]:
    """The words of a list of grammar, which may stand several in a line. Raises FileNotFoundError."""
    entries = _entries(files("rubric_anchors.critic") / "lists" / GRAMMAR / f"{name}{SUFFIX}")
    return frozenset(word for entry in entries for word in entry.split())


def list_note(name: str) -> str:
    """What the first line of the shipped list `name` says it is."""
    text = (files("rubric_anchors.critic") / "lists" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return text.split("\n", 1)[0].lstrip("# ").strip()


def _entries(file: Traversable) -> Iterator[str]:
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return (line for line in lines if line and not line.startswith("#"))
