"""Every error a user can meet, in one tree.

    AnchorsError                     carries `exit_code`, what the command line exits with
    ├── InputError (ValueError)      2  a file, field or argument is not what was expected
    │   ├── RubricError              2  a rubric file
    │   ├── RecipeError              2  a recipe
    │   └── DataError                2  a data row
    ├── SetupError (RuntimeError)    2  a package, model, folder or endpoint is missing or unusable
    ├── Refused (RuntimeError)       1  the work ran, and a gate, threshold or budget said no
    └── CriticError (RuntimeError)   1  a critic could not do its work for reasons of its own

A message says what was seen, what was expected and what to do next, on one line.
"""

from typing import ClassVar


class AnchorsError(Exception):
    """Base of all errors raised on purpose. `str(error)` is one line, fit to be shown to a user."""

    exit_code: ClassVar[int] = 2


class InputError(AnchorsError, ValueError):
    """A file, field or argument is not what was expected."""


class RubricError(InputError):
    """A rubric file cannot be read as a rubric; the message names file, line and criterion."""


class RecipeError(InputError):
    """A recipe cannot be read as a recipe; the message names file, line and field."""


class DataError(InputError):
    """A data file or a row of it cannot be read; the message names file and row."""


class SetupError(AnchorsError, RuntimeError):
    """Something that the work needs is missing or unusable: a package, a model, a folder, an endpoint."""


class Refused(AnchorsError, RuntimeError):
    """The work ran, and a gate, threshold or budget said no."""

    exit_code = 1


class CriticError(AnchorsError, RuntimeError):
    """A critic could not do its work; says nothing about the answers it was given."""

    exit_code = 1
