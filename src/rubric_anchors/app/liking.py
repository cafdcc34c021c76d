"""Fitting a critic on what somebody likes, and asking it why."""

from collections.abc import Callable
from pathlib import Path

from rubric_anchors import __version__
from rubric_anchors.app.unfinished import refuse_out
from rubric_anchors.core.disk import read_bytes
from rubric_anchors.core.errors import DataError, InputError, RubricError
from rubric_anchors.core.files import atomic_write_json
from rubric_anchors.core.yamlfile import decode, read_config
from rubric_anchors.critic.base import Encoder
from rubric_anchors.critic.fitted import FittedCritic, Liked, Liking, fit
from rubric_anchors.critic.text import TextView
from rubric_anchors.data.cells import Cells
from rubric_anchors.data.tables import BadRow, read_rows
from rubric_anchors.reward.tools import default_tools

COLUMNS = ("text", "response")


def fit_critic(
    liked: str | Path,
    disliked: str | Path,
    out: str | Path,
    *,
    group: str = "",
    style_only: bool = False,
    seed: int = 0,
    force: bool = False,
    encoder: Callable[[], Encoder] | None = None,
) -> FittedCritic:
    """Fit a critic on two tables (or folders of .txt files) and write it to `out`, as JSON.

    `group`: the column with author or source. Raises DataError for tables that cannot be used, SetupError where `out`
    is there already, cannot be written or is one of the tables.
    """
    out = Path(out)
    refuse_out(out, resume=False, force=force, sources=(liked, disliked))
    texts = [
        Liked(text, side, of)
        for side, source in ((True, liked), (False, disliked))
        for text, of in _texts(source, group)
    ]
    made = (encoder or default_tools().encoder)() if not style_only else None
    critic = fit(texts, made, __version__, seed)
    atomic_write_json(out, critic.model_dump(mode="json"))
    return critic


def explain_text(text: str, critic: str | Path, encoder: Callable[[], Encoder] | None = None) -> Liking:
    """What the critic in the file `critic` says of `text`. Raises RubricError where it is none, InputError for a text
    without words."""
    if not TextView(text).words:
        raise InputError("there are no words in the text; give one to explain")
    fitted = read_config(critic, FittedCritic, RubricError)
    made = None if fitted.space == "style" else (encoder or default_tools().encoder)()
    return fitted.judge([text], made)[0]


def _texts(source: str | Path, group: str) -> list[tuple[str, str]]:
    """The texts of a table or folder with the group of each; empty ones are left out."""
    folder = Path(source)
    files = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    if files:
        if group:
            raise DataError(f"{source}: a folder of texts has no column {group!r}; give a table, or no --group")
        found = [(decode(read_bytes(file, DataError), str(file), DataError), "") for file in files]
    else:
        found = [_row(row, group) for row in read_rows(source)]
    kept = [(text, of) for text, of in found if text.strip()]
    if not kept:
        raise DataError(f"{source}: there is no text in it")
    return kept


def _row(row: object, group: str) -> tuple[str, str]:
    if isinstance(row, BadRow):
        raise row.error
    cells = Cells(row)  # type: ignore[arg-type]  # the other kind of row
    text = next((found for name in COLUMNS if (found := cells.whole(name)) is not None), None)
    if text is None:
        raise DataError(f"{row.where}: there is no column `text` or `response`")  # type: ignore[attr-defined]
    of = cells.text(group) if group else ""
    if group and not of:
        raise DataError(f"{row.where}: the column {group!r} is missing or empty")  # type: ignore[attr-defined]
    return text, of or ""
