"""How long work tells of itself. The road calls these; the command line shows them; nothing here prints."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of work under way."""

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        """`amount` more units are done; `note` replaces the words beside the bar."""
        ...


class Progress(Protocol):
    """Where long work reports: rate and time left are the shower's business."""

    def task(self, title: str, total: float, unit: str) -> AbstractContextManager[Task]:
        """A piece of work of `total` units, for the length of a `with` block."""
        ...

    def say(self, line: str) -> None:
        """One line that stays."""
        ...


class Silent:
    """Shows nothing: the default for use from Python."""

    def say(self, line: str) -> None:
        del line

    @contextmanager
    def task(self, title: str, total: float, unit: str) -> Iterator[Task]:
        del title, total, unit
        yield _Nothing()


class _Nothing:
    def advance(self, amount: float = 1.0, note: str = "") -> None:
        del amount, note
