import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rubric_anchors.core.errors import SetupError
from rubric_anchors.report.html import write_report
from rubric_anchors.runs.folder import RunFolder, RunWriter
from rubric_anchors.runs.records import FirstLook, SamplePair, SampleSide, Signature, StageResult

MakeRun = Callable[..., RunFolder]

VOID = {"meta", "br", "rect", "line", "circle", "polyline", "polygon"}
SECTIONS = [
    "samples", "measured", "outside", "kept", "curves", "hacks", "selection", "asked", "road", "cost", "again",
]  # fmt: skip
HOSTILE = (
    "<script>alert(1)</script></style></title><img src=x onerror=alert(1)> \"' ]]> --> {{ 7*7 }} {% raw %} "
    "\u202eevil\u2066 \x00\x1b[31m \ud800 &amp; \u2028 שלום \U0001f9ff"
)


class Page(HTMLParser):
    """A page read strictly: every element closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.values: list[float] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        assert len(given) == len(attrs), f"an attribute stands twice on {tag}"
        self.attributes.extend(given.items())
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "data":
            self.values.append(float(given["value"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(run: RunFolder) -> tuple[str, Page]:
    text = write_report(run).read_text("utf-8")
    return text, Page(text)


def hostile(run: RunWriter) -> None:
    verdict: dict[str, Any] = {
        HOSTILE: {
            "status": "judged",
            "tier": 0,
            "value": 0.5,
            "critic": HOSTILE,
            "evidence": [{"note": HOSTILE, "start": 3, "end": 9}],
            "cause": None,
        },
        "other": {"status": "unjudged", "tier": None, "value": None, "critic": "x", "evidence": [], "cause": {
            "kind": "answer", "code": HOSTILE, "detail": HOSTILE}},
    }  # fmt: skip
    side = SampleSide(
        response=HOSTILE,
        reward=0.5,
        verdicts=verdict,
        contributions=[{"step": HOSTILE, "delta": 0.5, "note": HOSTILE}],
    )
    run.write_samples([SamplePair(prompt_id=HOSTILE, family=HOSTILE, prompt=HOSTILE, before=side, after=side)])
    signature = Signature(
        kind="phrase",
        pattern=HOSTILE,
        early=0.0,
        late=1.0,
        strength=1.0,
        reward_with=None,
        reward_without=None,
        onset=None,
    )
    run.write_first_look(FirstLook(stage=HOSTILE, signatures=(signature,), veto={HOSTILE: HOSTILE}, note=HOSTILE))


def test_a_finished_run_makes_a_whole_and_balanced_page(make_run: MakeRun) -> None:
    text, page = read(make_run())
    assert page.ids == SECTIONS
    assert [value[1:] for name, value in page.attributes if name == "href"][: len(SECTIONS)] == SECTIONS
    assert "Missing:" not in text.replace("Missing: 1 answer named here", "")
    assert "On 64 held-out prompts the reward rose from 0.481 to 0.672: +0.191 (95% interval +0.150 to +0.232)." in text


def test_the_page_loads_nothing_and_runs_nothing(make_run: MakeRun) -> None:
    text, page = read(make_run())
    assert not {"script", "link", "iframe", "object", "embed", "img", "form", "base"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in {"src", "srcset"}]
    assert all(value.startswith("#") for name, value in page.attributes if name == "href")
    assert not re.search(r"@import|url\(|https?:", text)
    assert "default-src 'none'" in text
    assert len(text) < 3_000_000


def test_every_number_of_the_evaluation_stands_in_the_page_unrounded(make_run: MakeRun) -> None:
    run = make_run()
    shown = set(read(run)[1].values)
    evaluation = run.evaluation()
    assert evaluation is not None
    groups = [evaluation.measures, *evaluation.families.values()]
    for measured in (each for group in groups for each in group):
        assert {measured.before, measured.after, measured.delta, measured.low, measured.high} <= shown, measured.name
    for kept in evaluation.preservation:
        assert {kept.before, kept.after, kept.delta, kept.low, kept.high, kept.margin} <= shown, kept.name


def test_every_contribution_and_verdict_of_every_sample_stands_in_the_page(make_run: MakeRun) -> None:
    run = make_run()
    text, page = read(run)
    for pair in run.samples():
        for side in (pair.before, pair.after):
            assert {item["delta"] for item in side.contributions} <= set(page.values)
            assert all(str(item["note"]) in text for item in side.contributions)
            assert {verdict["value"] for verdict in side.verdicts.values() if isinstance(verdict, dict)} <= set(
                page.values
            )
            assert side.reward in page.values
            assert side.response in "".join(page.text)


def test_every_step_of_a_short_stage_stands_in_its_table_and_a_long_one_says_that_it_is_thinned(
    make_run: MakeRun,
) -> None:
    run = make_run()
    text, page = read(run)
    for result in run.stages():
        assert {step.reward for step in result.steps} <= set(page.values)
    assert "Evenly chosen from" not in text

    def longer(writer: RunWriter) -> None:
        voice = run.stage("voice")
        assert voice is not None
        steps = tuple(voice.steps[0].with_changes(step=number) for number in range(1, 301))
        writer.write_stage(StageResult(name="voice", steps=steps, ended="done", model="m", seconds=1.0))

    assert "Evenly chosen from 300 steps" in read(make_run("longer", longer))[0]


def test_text_from_models_stays_text(make_run: MakeRun) -> None:
    text, page = read(make_run(fill_with=hostile))
    plain = read(make_run("plain"))[1]
    assert set(page.tags) <= set(plain.tags), "no element comes from a text"
    assert text.count("</style>") == 1
    assert page.tags.count("title") == text.count("</title>")
    assert not re.search("[\x00\x1b\u202e\u2066]", text), "control and reordering characters are written out"
    shown = "".join(page.text)
    assert "<script>alert(1)</script></style></title>" in shown
    assert "[U+202E]evil[U+2066] [U+0000][U+001B][31m [U+D800] &amp; \u2028 שלום" in shown
    assert "{{ 7*7 }}" in shown


def test_the_same_run_gives_the_same_bytes(make_run: MakeRun) -> None:
    first, second = make_run("one"), make_run("two")
    assert write_report(first).read_bytes() == write_report(second).read_bytes() == write_report(first).read_bytes()


def test_an_empty_run_says_what_is_missing(make_run: MakeRun) -> None:
    text, page = read(make_run(fill_with=lambda run: run.mark_done("setup", 1.0)))
    assert page.ids == SECTIONS
    assert "Not measured yet" in text
    for missing in ("evaluation.json", "samples.json", "first_look.json", "selection.json", "stages/", "manifest.json"):
        assert re.search(f"Missing: [^<]*{missing}", text), missing


@pytest.mark.parametrize(
    "record",
    ["manifest.json", "rubrics.json", "selection.json", "evaluation.json", "samples.json", "first_look.json",
     "rollouts.parquet", "stages/voice.json"],
)  # fmt: skip
def test_the_report_stands_without_any_one_record(make_run: MakeRun, record: str) -> None:
    run = make_run()
    (run.path / record).unlink()
    _, page = read(run)
    assert page.ids == SECTIONS


def test_an_answer_that_could_not_be_scored_is_shown_as_unscored(make_run: MakeRun) -> None:
    def fill(run: RunWriter) -> None:
        side = SampleSide(response="", reward=None, verdicts={}, contributions=[])
        run.write_samples([SamplePair(prompt_id="p", family="", prompt="q", before=side, after=side)])

    text, page = read(make_run(fill_with=fill))
    assert text.count("<b>unscored</b>") == 2
    assert page.values == []


def test_figures_say_in_words_what_they_show_and_tables_name_their_columns(make_run: MakeRun) -> None:
    text, _ = read(make_run())
    figures = re.findall(r"<svg[^>]*>(.{0,8})", text, re.DOTALL)
    drawn = re.findall(r"<svg[^>]*>", text)
    assert len(figures) == len(drawn) > 30
    for opening, after in zip(drawn, figures, strict=True):
        assert 'aria-hidden="true"' in opening or ('role="img" aria-label="' in opening and "<title>" in after)
    assert all('scope="' in head for head in re.findall(r"<th(?=[ >])[^>]*>", text))


def test_a_folder_without_a_run_gets_no_report(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="holds no run"):
        write_report(RunFolder(tmp_path))
    assert list(tmp_path.iterdir()) == []
