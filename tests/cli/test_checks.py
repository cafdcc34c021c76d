"""`anchors checks`."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from tests.support.command import PROGRAM, anchors, anchors_process

from rubric_anchors.critic.checks.registry import check_registry


def test_the_list_holds_every_check_with_its_options() -> None:
    ran = anchors("checks", "list", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = {info["name"]: info for info in json.loads(ran.out)}
    assert sorted(found) == sorted(check_registry)
    options = {option["name"]: option for option in found["word_count"]["options"]}
    assert list(options) == ["min", "max", "soft", "segmented"]
    assert (options["min"]["default"], options["soft"]["default"]) == ("none", "0")
    assert "soft" in options["soft"]["note"] or "outside the range" in options["soft"]["note"]
    assert (found["word_count"]["topic"], found["word_count"]["needs"]) == ("Counts", [])
    assert found["fluency"]["needs"] == ["local"]
    assert next(o for o in found["letter_frequency"]["options"] if o["name"] == "letter")["default"] is None


def test_the_list_for_people_names_every_check() -> None:
    ran = anchors("checks", "list")
    assert ran.code == 0
    assert all(name in ran.out for name in check_registry)
    assert f"{len(list(check_registry))} checks" in ran.out


def test_a_check_is_tried_on_a_text() -> None:
    ran = anchors("checks", "try", "contains", "The cat sat.", "--with", "words=[cat, dog]")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:3] == ["contains: 0.5", "  missing: 'dog'", "  found 'cat'  [4:7]"]


def test_a_text_may_come_from_a_file_or_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answer.txt").write_text("one two three", encoding="utf-8")
    ran = anchors("checks", "try", "word_count", f"@{tmp_path / 'answer.txt'}", "--with", "min=3")
    assert ran.out.startswith("word_count: 1\n")
    with (tmp_path / "answer.txt").open(encoding="utf-8") as answer:
        monkeypatch.setattr(sys, "stdin", answer)
        assert anchors("checks", "try", "word_count", "-", "--with", "min=4").out.startswith("word_count: 0\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["word_cout", "x"], "did you mean 'word_count'"),
        (["word_count", "x"], "give min, max or both"),
        (["word_count", "x", "--with", "min=lots"], "min"),
        (["word_count", "x", "--with", "mim=3"], "did you mean 'min'"),
        (["word_count", "x", "--with", "3"], "KEY=VALUE"),
        (["contains", "x", "--with", "words=[a, b"], "words"),
        (["avoids", "x", "--with", "phrases=hedge"], "hedges"),
        (["word_count", "@nowhere.txt", "--with", "min=1"], "nowhere.txt"),
        (["relevance", "x"], "needs a question"),
    ],
)
def test_what_cannot_be_tried_is_one_line(arguments: list[str], words: str) -> None:
    ran = anchors("checks", "try", *arguments)
    assert ran.code in (1, 2)
    assert ran.err.startswith("anchors: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err


def test_text_cannot_draw_on_the_terminal() -> None:
    ran = anchors("checks", "try", "contains", "\x1b[31mcat", "--with", "words=[cat]")
    assert "\x1b" not in ran.out


PLUGIN = """
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.rubric.outcome import Evidence

class Shout(Check):
    \"\"\"1 where the answer shouts.\"\"\"

    name = "shout"
    least: int = 1

    def decide(self, answer):
        count = answer.text.count("!")
        return Finding(float(count >= self.least), (Evidence(f"{count} marks"),))

class Nameless(Check):
    pass
"""


def test_an_installed_package_adds_a_check_and_a_broken_one_harms_no_other(tmp_path: Path) -> None:
    (tmp_path / "shouting.py").write_text(PLUGIN, encoding="utf-8")
    dist = tmp_path / "shouting-1.0.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n", encoding="utf-8")
    (dist / "entry_points.txt").write_text(
        "[rubric_anchors.checks]\nshout = shouting:Shout\ngone = shouting:Gone\n"
        "no_check = shouting:PLUGIN\nnameless = shouting:Nameless\n",
        encoding="utf-8",
    )
    program = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM
    ran = anchors_process("checks", "try", "shout", "Ha!", "--with", "least=1", program=program)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "shout: 1\n  1 marks\n"
    listed = anchors_process("checks", "list", "--json", program=program)
    found = {info["name"]: info for info in json.loads(listed.out)}
    assert listed.code == 0
    assert found["shout"]["meaning"] == "1 where the answer shouts."
    assert found["shout"]["options"] == [{"name": "least", "takes": "whole number", "default": "1", "note": ""}]
    assert not {"gone", "no_check", "nameless"} & set(found)
    assert [line.split("'")[1] for line in listed.err.splitlines()] == ["gone", "nameless", "no_check"]
    one = anchors_process("checks", "try", "gone", "Ha!", program=program)
    assert one.code == 2
    assert one.err.count("\n") == 1
    assert "package 'shouting'" in one.err


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_character_of_a_text(tmp_path: Path, mark: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(mark + "né".encode())
    ran = anchors("checks", "try", "character_count", f"@{tmp_path / 'a.txt'}", "--with", "min=2", "--with", "max=2")
    assert ran.out.startswith("character_count: 1\n"), ran


def test_a_text_that_is_not_utf_8_is_not_guessed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_bytes("eins\nné".encode("latin-1"))
    said = anchors("checks", "try", "word_count", f"@{tmp_path / 'a.txt'}", "--with", "min=1")
    assert (said.code, said.err) == (
        2,
        f"anchors: {tmp_path / 'a.txt'}:2:2: byte 0xE9 is not UTF-8; save the file as UTF-8\n",
    )
    said = anchors("checks", "try", "word_count", "n\udce9", "--with", "min=1")
    assert (said.code, said.err) == (2, "anchors: the text:1:2: byte 0xE9 is not UTF-8; save the file as UTF-8\n")
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"x" * ((16 << 20) + 1))))
    said = anchors("checks", "try", "word_count", "-", "--with", "min=1")
    assert said.code == 2
    assert "standard input: there is more than 16 MiB" in said.err


def test_an_argument_is_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    ran = anchors_process("checks", "try", "character_count", "né", "--with", "min=2", "--with", "max=2")
    assert ran.out.startswith("character_count: 1\n"), ran


def test_an_option_given_twice_is_not_chosen_from() -> None:
    said = anchors("checks", "try", "word_count", "a", "--with", "min=1", "--with", "min=2")
    assert (said.code, said.err) == (
        2,
        "anchors: --with min is given twice; give it once, a list as 'min=[one, two]'\n",
    )
