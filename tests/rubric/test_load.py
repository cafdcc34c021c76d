import json
from pathlib import Path

import pytest
from tests.rubric.test_dump import PLAIN

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.nodes import plain
from rubric_anchors.core.yamltree import read_yaml
from rubric_anchors.rubric.load import load_rubric, load_rubrics, parse_carried, parse_rubric
from rubric_anchors.rubric.model import Rubric

SMALL = "id: small\ncriteria:\n  - {key: k, ask: It is., critic: {check: word_count}}\n"


def as_json(text: str) -> str:
    root = read_yaml(text)
    assert root is not None
    return json.dumps(plain(root), indent="\t")


def test_yaml_json_text_and_fields_give_the_same_rubric(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "r.json").write_text(as_json(PLAIN), encoding="utf-8")
    rubric = Rubric.load(tmp_path / "r.yaml")
    assert rubric.title == "Plain voice"
    assert load_rubric(tmp_path / "r.json") == rubric
    assert Rubric.load(str(tmp_path / "r.json")) == rubric
    assert Rubric.load(PLAIN) == rubric
    assert Rubric.load(as_json(PLAIN).replace("\n", "")) == rubric
    assert parse_rubric(json.loads(as_json(PLAIN))) == rubric
    assert parse_rubric(rubric.model_dump(mode="json", by_alias=True)) == rubric


def test_python_names_of_fields_are_not_a_files_names() -> None:
    with pytest.raises(RubricError, match="unknown field 'schema_version'"):
        parse_rubric(SMALL + "schema_version: 1\n")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        RubricError, match=r"cannot read '.*none\.yaml': there is no such file or folder; check the path"
    ):
        Rubric.load(tmp_path / "none.yaml")
    with pytest.raises(RubricError, match="it is a folder"):
        Rubric.load(str(tmp_path))


def test_a_folder_of_rubrics_is_read_by_id_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "b.yaml").write_text(SMALL)
    (tmp_path / "a.yml").write_text(SMALL.replace("small", "second"))
    (tmp_path / "deep" / "c.json").write_text(as_json(SMALL.replace("small", "third")))
    (tmp_path / ".hidden" / "d.yaml").write_text("broken: [")
    (tmp_path / "notes.txt").write_text("not a rubric")
    assert list(load_rubrics(tmp_path)) == ["second", "small", "third"]


def test_two_rubrics_with_one_id_name_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SMALL)
    (tmp_path / "b.yaml").write_text(SMALL)
    with pytest.raises(RubricError, match=r"b\.yaml: the id 'small' is that of .*a\.yaml too"):
        load_rubrics(tmp_path)


def test_a_folder_without_rubrics_and_no_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match=r"holds no rubric; expected files that end in .yaml, .yml, .json"):
        load_rubrics(tmp_path)
    with pytest.raises(RubricError, match="no such file or folder"):
        load_rubrics(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(RubricError, match="is a file, not a folder"):
        load_rubrics(tmp_path / "file")


@pytest.mark.parametrize(
    ("check", "options", "says"),
    [
        ("python", {"function": "os.getcwd"}, "names code to be run, and a data row may not"),
        ("fitted", {"file": "/etc/hostname"}, "names a file to be read, and a data row may not"),
        ("code_tests", {"isolation": "accept_weaker"}, "asks for a weaker sandbox, and a data row may not"),
    ],
)
def test_what_a_data_row_carries_reaches_nothing_but_the_answer(
    check: str, options: dict[str, object], says: str
) -> None:
    rubric = {"id": "r", "criteria": [{"key": "k", "ask": "It is.", "critic": {"check": check, "with": options}}]}
    parse_rubric(rubric)
    with pytest.raises(RubricError, match=says):
        parse_carried(rubric, "d.jsonl:1, rubric")
