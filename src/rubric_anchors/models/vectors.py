"""A store of vectors on disk, so that a text is embedded once and not once a run."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import SetupError

CHUNK: Final = 500
WAIT_SECONDS: Final = 30.0


class VectorStore:
    """Vectors of one encoder in an SQLite file; several processes may share the file, several encoders too.

    The file is a cache: it may be deleted at any time.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._open() as connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors "
                    "(encoder TEXT, text TEXT, vector BLOB, PRIMARY KEY (encoder, text)) WITHOUT ROWID"
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
        connection = self._open()
        try:
            for start in range(0, len(keys), CHUNK):
                part = keys[start : start + CHUNK]
                marks = ",".join("?" * len(part))
                rows = connection.execute(
                    f"SELECT text, vector FROM vectors WHERE encoder = ? AND text IN ({marks})",  # noqa: S608 (marks only)
                    (self.fingerprint, *part),
                )
                found.update({key: np.frombuffer(blob, dtype="<f4").astype(np.float32) for key, blob in rows})
        finally:
            connection.close()
        return found

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep `vectors`, by id of text."""
        rows = [(self.fingerprint, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        connection = self._open()
        try:
            with connection:
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
        finally:
            connection.close()
