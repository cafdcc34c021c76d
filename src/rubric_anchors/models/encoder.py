"""Texts to unit vectors, by any sentence-transformers model; the default is the embedded all-MiniLM-L6-v2."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.embedded import cache_folder, embedded_encoder
from rubric_anchors.models.folder import local_folder, weights_fingerprint
from rubric_anchors.models.vectors import VectorStore

BATCH: Final = 32
REMEMBERED: Final = 16_384


class SentenceEncoder:
    """A frozen sentence-transformers model.

    Each different text is embedded once: vectors are kept in memory (the `remembered` last used, 1.5 KB each for
    MiniLM), and in an SQLite file where `store` names one. Deterministic on one machine with one thread count; the
    text's neighbours in a batch can move the last bits (about 1e-7).
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        max_tokens: int | None = None,
        store: str | Path | None = None,
        remembered: int = REMEMBERED,
        device: str | None = None,
    ) -> None:
        """`model`: a folder or hub id, None for the embedded one. `max_tokens`: texts are cut there; None: the model's
        own."""
        self.folder = local_folder(model) if model is not None else embedded_encoder()
        self.max_tokens = max_tokens
        self._device = device
        self._remembered = max(1, remembered)
        self._memory: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._store = VectorStore(Path(store), self.fingerprint) if store is not None else None

    def keep_in_cache(self) -> None:
        """Keep vectors in the cache folder from now on, where that can be written."""
        with suppress(SetupError):
            self._store = VectorStore(cache_folder() / "vectors.sqlite", self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """Id of the weights, the tokenizer and the length limit."""
        return weights_fingerprint(self.folder, f"max_tokens={self.max_tokens}")

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError as error:
            raise SetupError(
                "this rubric needs embeddings, and sentence-transformers is not installed; "
                "`pip install 'rubric-anchors[local]'`"
            ) from error
        try:
            model = SentenceTransformer(
                str(self.folder), device=self._device, trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise SetupError(
                f"no sentence encoder could be loaded from {self.folder}: {reason}; "
                "give the folder or hub id of a sentence-transformers model with safetensors weights"
            ) from error
        if self.max_tokens is not None:
            model.max_seq_length = self.max_tokens
        return model.eval()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32, shape [len(texts), dimension]. Raises SetupError where the model cannot be loaded."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        known = self._known(keys)
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if fresh:
            made = self._embed(list(fresh.values()))
            new = dict(zip(fresh, made, strict=True))
            if self._store:
                self._store.put(new)
            known |= new
        for key in dict.fromkeys(keys):
            self._memory[key] = known[key]
            self._memory.move_to_end(key)
        while len(self._memory) > self._remembered:
            self._memory.popitem(last=False)
        return np.stack([known[key] for key in keys])

    @cached_property
    def dimension(self) -> int:
        """The number of coordinates of a vector."""
        return int(self._embed([""]).shape[1])

    def _known(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        known = {key: self._memory[key] for key in keys if key in self._memory}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        if self._store and missing:
            known |= self._store.get(missing)
        return known

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        # Lone surrogates cannot be tokenised; sentence-transformers sorts by length and batches by itself.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        vectors = self._model.encode(
            clean, batch_size=BATCH, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)
