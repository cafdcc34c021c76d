"""What single sections show, fold and count."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from rubric_anchors.report.html import render
from rubric_anchors.report.parts.hacks import is_grammar
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.folder import RunFolder, RunWriter
from rubric_anchors.runs.records import FirstLook, SamplePair, SampleSide, Signature

MakeRun = Callable[..., RunFolder]


def part(text: str, section: str) -> str:
    """One section of the page."""
    return text.partition(f'<section id="{section}">')[2].partition("</section>")[0]


def test_measures_without_a_margin_stand_apart_and_are_not_counted(make_run: MakeRun) -> None:
    text = render(make_run())
    head, apart = text.partition("<nav")[0], part(text, "outside").partition("For information")[2]
    assert [tuple(found) for found in re.findall(r'class="count (\w+)">(?:.) (\d [\w ]+)<', head)] == [
        ("good", "1 better"), ("good", "2 within margin"), ("open", "1 not shown"), ("bad", "1 beyond margin"),
        ("good", "1 kept"), ("open", "1 not shown"),
    ]  # fmt: skip
    assert "answer length" in apart
    assert "<span>rose</span>" in apart
    assert not re.search(r'class="[^"]*\b(good|bad|open)\b', apart)


def test_rubrics_of_single_prompts_are_folded_into_one_list_and_counted(make_run: MakeRun) -> None:
    whole = make_run("whole")
    manifest = whole.manifest()
    assert manifest is not None

    def carried(run: RunWriter) -> None:
        run.write_manifest(manifest)
        ask = {"key": "length", "critic": {"check": "word_count", "with": {"max": 9}}}
        rows = [
            Rubric.model_validate({"id": f"row-{index}", "criteria": [{**ask, "ask": f"Ask {index}."}]})
            for index in range(144)
        ]
        run.write_rubrics([*rows, *whole.rubrics()])

    text = render(make_run(fill_with=carried))
    asked = part(text, "asked")
    assert asked.count("<h3>") == 1, "only the recipe's own rubric stands in full"
    assert "144 rubrics of single prompts" in asked
    assert asked.count("<code>row-") == 40
    assert "104 more rubrics in rubrics.json" in asked
    assert "Ask 39." in asked


def test_the_first_pairs_are_open_and_the_rest_are_folded(make_run: MakeRun) -> None:
    def many(run: RunWriter) -> None:
        verdict: dict[str, Any] = {"status": "judged", "tier": 1, "value": 0.25, "critic": "x", "evidence": []}
        before = SampleSide(response="a", reward=0.25, verdicts={"r/one": verdict, "r/two": verdict}, contributions=[])
        after = SampleSide(response="b", reward=0.75, verdicts={"r/one": {**verdict, "value": 0.75}}, contributions=[])
        run.write_samples(
            [SamplePair(prompt_id=f"p{n}", family="f", prompt="q", before=before, after=after) for n in range(9)]
        )

    text = render(make_run(fill_with=many))
    assert text.count('<details class="pair" open>') == 6
    assert text.count('<details class="pair">') == 3
    rows = re.findall(r'<li([^>]*)><code>(\w+)</code>.*?class="values">(.*?)</span>', text, re.DOTALL)
    assert [(row[1], "moved" in row[0], re.sub("<[^>]+>", "", row[2])) for row in rows[:2]] == [
        ("one", True, "0.250 → 0.750"),
        ("two", False, "0.250 → –"),
    ]


def test_function_words_that_rose_are_called_a_style_and_a_vetoed_wording_a_template(make_run: MakeRun) -> None:
    def signature(pattern: str) -> Signature:
        return Signature(
            kind="phrase",
            pattern=pattern,
            early=0.1,
            late=0.5,
            strength=9.0,
            reward_with=0.9,
            reward_without=None,
            onset=2,
        )

    def rose(run: RunWriter) -> None:
        signatures = (signature("i was"), *(signature(f"old harbour {index}") for index in range(13)))
        run.write_first_look(
            FirstLook(stage="s", signatures=signatures, veto=None, note="No wording became a template.")
        )

    text = render(make_run(fill_with=rose))
    hacks = part(text, "hacks")
    assert "No wording became a template." in hacks
    assert "1 of them is made of function words alone, such as “<bdi>i was</bdi>”: that is a change of style" in hacks
    assert "4 weaker patterns" in hacks
    assert "no template; 14 patterns rose" in text

    text = render(make_run("vetoed"))
    assert "1 template vetoed; 2 patterns rose" in text
    assert "▼ opener, vetoed" in text
    assert "change of style" not in text


@pytest.mark.parametrize(
    ("pattern", "expected"), [("i was", True), ("And, I", True), ("was standing", False), ("", False)]
)
def test_a_wording_is_grammar_only_where_every_word_is(pattern: str, expected: bool) -> None:
    assert is_grammar(pattern) is expected
