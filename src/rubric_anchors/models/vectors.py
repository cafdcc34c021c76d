"""A store of vectors on disk, so that a text is embedded once and not once a run."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import SetupError

CHUNK: Final = 500
MOST: Final = 200_000
"""Vectors kept; about 350 MB for the embedded encoder."""
WAIT_SECONDS: Final = 30.0


class VectorStore:
    """Vectors of one encoder in an SQLite file; several processes may share the file, several encoders too.

    The file is a cache: it may be deleted at any time, the oldest half goes when there are `most` vectors in it, and
    where it can no longer be read or written (the disk is full, say) the work goes on without it.
    """

    def __init__(self, path: Path, fingerprint: str, most: int = MOST) -> None:
        """Raises SetupError where the file cannot be used to begin with."""
        self.path = path
        self.fingerprint = fingerprint
        self._most = most
        self._usable = True
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as connection, connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors_by_age "
                    "(age INTEGER PRIMARY KEY, encoder TEXT, text TEXT, vector BLOB, UNIQUE (encoder, text))"
                )
        except (OSError, sqlite3.Error) as error:
            raise SetupError(f"the vector cache {path} cannot be used: {error}; name another file, or none") from error

    def _open(self) -> sqlite3.Connection:
        # A connection a call: it costs microseconds beside embedding, and it may be used from any thread or forked
        # process.
        return sqlite3.connect(self.path, timeout=WAIT_SECONDS)

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors there are for `keys` (ids of texts)."""
        found: dict[str, NDArray[np.float32]] = {}
        if not self._usable:
            return found
        with self._using() as connection:
            for start in range(0, len(keys), CHUNK):
                part = keys[start : start + CHUNK]
                marks = ",".join("?" * len(part))
                rows = connection.execute(
                    f"SELECT text, vector FROM vectors_by_age WHERE encoder = ? AND text IN ({marks})",  # noqa: S608 (marks only)
                    (self.fingerprint, *part),
                )
                found.update({key: np.frombuffer(blob, dtype="<f4").astype(np.float32) for key, blob in rows})
        return found

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep `vectors`, by id of text."""
        if not self._usable:
            return
        rows = [(self.fingerprint, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._using() as connection, connection:
            connection.executemany(
                "INSERT OR IGNORE INTO vectors_by_age (encoder, text, vector) VALUES (?, ?, ?)", rows
            )
            # Ages have no gaps but those of vectors that stood there already: their span is at least the number.
            span = connection.execute("SELECT max(age) - min(age) + 1, max(age) FROM vectors_by_age").fetchone()
            if span[0] is not None and span[0] > self._most:
                connection.execute("DELETE FROM vectors_by_age WHERE age <= ?", (span[1] - self._most // 2,))

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The file for one use, which an error of it ends, and all later use with it; nobody is told."""
        try:
            with closing(self._open()) as connection:
                yield connection
        except sqlite3.Error:
            self._usable = False
