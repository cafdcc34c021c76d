import sys
from pathlib import Path
from typing import Any

import pytest

from rubric_anchors.core.errors import DataError, SetupError
from rubric_anchors.data.rows import read_answers, read_prompts

ROWS = [{"prompt": "x", "response": "y"}, {"prompt": [{"role": "user", "content": "z"}], "response": "w"}]


@pytest.fixture
def datasets() -> Any:
    return pytest.importorskip("datasets", reason="needs `pip install 'rubric-anchors[local]'`")


def texts(source: str | Path) -> list[str]:
    return [row.text for row in read_prompts(source).rows]


def turns(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_a_saved_folder_is_read(tmp_path: Path, datasets: Any) -> None:
    datasets.Dataset.from_list([{"prompt": turns("x")}, {"prompt": turns("y")}]).save_to_disk(tmp_path / "d")
    assert texts(tmp_path / "d") == ["x", "y"]
    with pytest.raises(DataError, match=r"the folder has no splits"):
        texts(f"{tmp_path / 'd'}:train")


def test_a_folder_with_splits_gives_the_one_that_is_named(tmp_path: Path, datasets: Any) -> None:
    parts = {name: datasets.Dataset.from_list([{"prompt": name}]) for name in ("train", "held_out")}
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "d")
    assert texts(tmp_path / "d") == ["train"]
    assert texts(f"{tmp_path / 'd'}:held_out") == ["held_out"]
    with pytest.raises(DataError, match=r"no split 'heldout'; write FOLDER:SPLIT with one of train, held_out"):
        texts(f"{tmp_path / 'd'}:heldout")


def test_a_folder_that_is_none_is_one_line(tmp_path: Path, datasets: Any) -> None:
    del datasets
    with pytest.raises(DataError, match="was not saved by `datasets`"):
        texts(tmp_path)
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(DataError, match=r"cannot be read .*; save it anew") as caught:
        texts(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_hub_id_is_loaded_with_its_split(monkeypatch: pytest.MonkeyPatch, datasets: Any) -> None:
    asked: list[tuple[str, str]] = []

    def load_dataset(name: str, *, split: str) -> Any:
        asked.append((name, split))
        return datasets.Dataset.from_list([{"prompt": turns("x"), "response": "y"}])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert texts("hub:owner/name") == ["x"]
    assert read_answers("hub:owner/name:test[:5]").rows[0].response == "y"
    assert asked == [("owner/name", "train"), ("owner/name", "test[:5]")]


def test_a_hub_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch, datasets: Any) -> None:
    def load_dataset(*args: object, **options: object) -> object:
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(SetupError, match=r"the hub does not give this data set .ConnectionError: no route to the hub."):
        texts("hub:owner/name")


@pytest.mark.parametrize("source", ["hub:name", "hub:a/b/c", "hub:/b", "hub:"])
def test_a_hub_id_has_two_parts(source: str) -> None:
    with pytest.raises(DataError, match="expected hub:owner/name"):
        texts(source)


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SetupError, match=r"needs the `datasets` package; pip install 'rubric-anchors\[local\]'"):
        texts("hub:owner/name")
