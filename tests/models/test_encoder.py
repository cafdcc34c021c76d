from pathlib import Path

import numpy as np
import pytest

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.encoder import SentenceEncoder
from rubric_anchors.models.folder import local_folder, weights_fingerprint
from rubric_anchors.models.vectors import VectorStore

TEXTS = ["The kettle sat on the stove.", "Interest rates rose again.", "", "The kettle sat on the stove.", "öäü \ud800"]


@pytest.fixture(scope="module")
def encoder(real_encoder: Path) -> SentenceEncoder:
    return SentenceEncoder(real_encoder)


def test_vectors_are_unit_float32_in_the_order_of_the_texts(encoder: SentenceEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[3])
    assert encoder.encode([]).shape == (0, 384)


def test_a_text_about_the_question_is_nearer_than_one_about_something_else(encoder: SentenceEncoder) -> None:
    asked, near, far = encoder.encode(["What is in your kitchen?", TEXTS[0], TEXTS[1]])
    assert asked @ near > asked @ far + 0.1


def test_a_text_is_embedded_once(encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encoder.encode(["Said once."])
    monkeypatch.setattr(encoder, "_embed", lambda texts: pytest.fail(f"embedded again: {texts}"))
    assert np.array_equal(encoder.encode(["Said once."]), first)


def test_memory_holds_the_last_used_and_no_more(real_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, embedded = SentenceEncoder(real_encoder, remembered=2), []

    def embed(texts: list[str]) -> np.ndarray:
        embedded.extend(texts)
        return np.eye(3, dtype=np.float32)[: len(texts)]

    monkeypatch.setattr(small, "_embed", embed)
    small.encode(["a", "b"])
    small.encode(["a"])
    small.encode(["c"])
    small.encode(["a", "b"])
    assert embedded == ["a", "b", "c", "b"]


def test_vectors_outlive_the_process_in_a_store(real_encoder: Path, tmp_path: Path) -> None:
    file = tmp_path / "cache" / "vectors.sqlite"
    first = SentenceEncoder(real_encoder, store=file)
    vectors = first.encode(["Kept.", "Kept too."])
    held = VectorStore(file, first.fingerprint)
    assert len(held.get([*first._memory])) == 2
    assert VectorStore(file, "another").get([*first._memory]) == {}
    again = SentenceEncoder(real_encoder, store=file)
    assert np.array_equal(again.encode(["Kept too.", "Kept."]), vectors[::-1])
    assert "_model" not in again.__dict__


def test_a_store_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(SetupError, match="name another file, or none"):
        VectorStore(tmp_path / "vectors.sqlite", "id")


def test_the_oldest_half_goes_when_a_store_is_full(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vectors.sqlite", "id", most=10)
    for at in range(11):
        store.put({f"text {at}": np.full(3, at, dtype=np.float32)})
    held = store.get([f"text {at}" for at in range(11)])
    assert sorted(held) == sorted(f"text {at}" for at in range(6, 11))
    assert held["text 7"].tolist() == [7.0, 7.0, 7.0]


def test_a_store_that_fails_later_is_done_without(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vectors.sqlite", "id")
    store.put({"text": np.zeros(3, dtype=np.float32)})
    (tmp_path / "vectors.sqlite").write_bytes(b"no database" * 1000)
    assert store.get(["text"]) == {}
    store.put({"text": np.zeros(3, dtype=np.float32)})


def test_the_default_encoder_keeps_its_vectors_in_the_cache_where_it_can(
    real_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRIC_ANCHORS_CACHE", str(tmp_path))
    encoder = SentenceEncoder(real_encoder)
    encoder.keep_in_cache()
    encoder.encode(["Kept."])
    assert (tmp_path / "vectors.sqlite").is_file()
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("RUBRIC_ANCHORS_CACHE", str(tmp_path / "file" / "cache"))
    other = SentenceEncoder(real_encoder)
    other.keep_in_cache()
    assert other.encode(["Not kept."]).shape == (1, 384)


def test_a_fingerprint_follows_weights_and_settings(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"one")
    first = weights_fingerprint(tmp_path)
    assert weights_fingerprint(tmp_path) == first != weights_fingerprint(tmp_path, "max_tokens=8")
    weights.write_bytes(b"two")
    assert weights_fingerprint(tmp_path) != first


def test_weights_in_other_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(SetupError, match="no safetensors"):
        weights_fingerprint(tmp_path)


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/model", "nowhere", "a/b/c"])
def test_a_missing_folder_is_named_and_not_looked_for_on_the_hub(model: str) -> None:
    with pytest.raises(SetupError, match="no model folder at"):
        local_folder(model)


def test_a_folder_without_a_model_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no sentence encoder could be loaded"):
        SentenceEncoder(tmp_path).encode(["x"])
