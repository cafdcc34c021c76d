"""The tables of the pages on AI tone, liking, exemplars and calibration are those of the measurements."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULT = json.loads((ROOT / "benchmarks" / "results" / "ai_tone.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "ai-tone.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RESULT["sets"])
def test_a_row_of_the_page_has_the_measured_figures(name: str) -> None:
    found = RESULT["sets"][name]
    low, high = found["interval"]
    row = f"| {found['human']} + {found['machine']} | {found['area']:.3f} ({low:.3f} to {high:.3f}) |"
    row += f" {found['same_length']['area']:.3f} | {found['alarms_at_90_recall']:.0%} |"
    assert row in PAGE


def test_the_page_says_how_often_people_are_accused() -> None:
    people = RESULT["people"]
    assert f"Of {people['texts']} texts" in PAGE
    assert all(f"`{name}` {share:.1%}" in PAGE for name, share in people["accused"].items())


WEIGHED = json.loads((ROOT / "benchmarks" / "results" / "tone_weights.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WEIGHED)
def test_a_row_on_weights_has_the_measured_figures(name: str) -> None:
    found = WEIGHED[name]
    low, high = found["difference"]
    row = f"| {name} | {found['human']} + {found['machine']} | {found['plain']:.3f} | {found['weighed']:.3f} |"
    assert f"{row} {low:+.3f} to {high:+.3f} |" in PAGE


LIKING = json.loads((ROOT / "benchmarks" / "results" / "liking.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LIKING)
def test_a_row_on_liking_has_the_measured_figures(name: str) -> None:
    found = LIKING[name]
    low, high = found["interval"]
    row = f"| {name} | {found['liked']} + {found['disliked']} | {found['area']:.3f} ({low:.3f} to {high:.3f}) |"
    assert row in (ROOT / "docs" / "liking.md").read_text(encoding="utf-8")


EXEMPLAR = json.loads((ROOT / "benchmarks" / "results" / "exemplar.json").read_text(encoding="utf-8"))
EXEMPLARS = (ROOT / "docs" / "exemplars.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXEMPLAR["people"])
def test_a_row_on_rated_anchors_has_the_measured_figures(name: str) -> None:
    found = EXEMPLAR["people"][name]
    low, high = found["exemplar"]["interval"]
    row = f"| {name} | {found['texts']} | {found['exemplar']['order']:.3f} ({low:.3f} to {high:.3f}) |"
    row += "".join(f" {found[way]['order']:.3f} |" for way in ("style alone", "nearest anchor", "length"))
    assert f"{row} {found['warned']:.0%} |" in EXEMPLARS


@pytest.mark.parametrize("name", EXEMPLAR["anchors"])
def test_a_row_on_the_demo_s_anchors_has_the_measured_figures(name: str) -> None:
    found = EXEMPLAR["anchors"][name]
    low, high = found["interval"]
    row = f"| {found['order']:.3f} ({low:.3f} to {high:.3f}) | {found['right']:.0%} | {found['confident']:.0%} |"
    assert f"{row} {found['nearest anchor']:.3f} |" in EXEMPLARS


CALIBRATED = json.loads((ROOT / "benchmarks" / "results" / "calibrate.json").read_text(encoding="utf-8"))
AGREEMENT = (ROOT / "docs" / "calibrate.md").read_text(encoding="utf-8")
PAIRED = [name for name, found in CALIBRATED.items() if found["kind"] == "pairs"]


def cell(figure: Any) -> str:
    """`value (low to high)`; a dash where the result has a reason in place of a figure."""
    if isinstance(figure, str):
        return "-"
    return f"{figure[0]:.3f} ({figure[1]:.3f} to {figure[2]:.3f})" if len(figure) == 3 else f"{figure[0]:.3f}"


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name, found in CALIBRATED.items() if name not in PAIRED for key in found["targets"]],
)
def test_a_row_on_scores_has_the_measured_figures(name: str, key: str) -> None:
    found = CALIBRATED[name]["targets"][key]
    figures = " | ".join(cell(found["figures"][figure]) for figure in ("kappa", "spearman", "order"))
    people = cell(found["people"]["order"]) if found["people"] else "-"
    [row] = [line for line in AGREEMENT.splitlines() if line.startswith(f"| {name} | {key} |")]
    assert row.endswith(f"| {found['n']} | {figures} | {people} |")


def test_the_rows_on_pairs_have_the_measured_figures_and_are_bold_where_a_coin_is_left_out() -> None:
    named = " | ".join(f"{name} ({CALIBRATED[name]['rows']})" for name in PAIRED)
    assert f"| critic | {named} |" in AGREEMENT
    bold = 0
    for key in CALIBRATED[PAIRED[0]]["targets"]:
        cells = []
        for name in PAIRED:
            figure = CALIBRATED[name]["targets"][key]["figures"]["order"]
            clear = len(figure) == 3 and not figure[1] <= 0.5 <= figure[2]
            bold += clear
            cells.append(f"**{cell(figure)}**" if clear else cell(figure))
        assert f"| {key} | {' | '.join(cells)} |" in AGREEMENT
    assert f"{bold} of the 66 are bold" in AGREEMENT


def test_the_page_says_how_people_and_the_whole_rubric_do_on_pandalm() -> None:
    found = CALIBRATED["pandalm"]["targets"]["reward"]
    people, rubric = found["people"]["order"][0], found["figures"]["order"][0]
    assert f"in {people:.3f} of pairs, and the whole rubric in {rubric:.3f}" in AGREEMENT


SMALL_JUDGES = json.loads((ROOT / "benchmarks" / "results" / "calibrate_judge.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("judge", "name"), [(judge, name) for judge, found in SMALL_JUDGES.items() for name in found if name != "mode"]
)
def test_a_row_on_small_judges_has_the_measured_figures(judge: str, name: str) -> None:
    found = SMALL_JUDGES[judge][name]
    figures = " | ".join(cell(found["figures"].get(figure, "")) for figure in ("kappa", "spearman", "order"))
    people = cell(found["people"]["order"]) if found["people"] else "-"
    assert f"| {judge} | {name} | {found['used']} of {found['rows']} | {figures} | {people} |" in AGREEMENT


def test_the_page_says_that_no_small_judge_is_told_from_a_coin() -> None:
    sets = [one for found in SMALL_JUDGES.values() for name, one in found.items() if name != "mode"]
    orders = [one["figures"]["order"] for one in sets]
    assert all(len(order) == 1 or order[1] <= 0.5 <= order[2] for order in orders)
    assert "**None of them can be told from a coin.**" in AGREEMENT


JUDGED = json.loads((ROOT / "benchmarks" / "results" / "judge.json").read_text(encoding="utf-8"))
JUDGE = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
TIMED = {
    "a bare loop that posts the same bodies": JUDGED["bare loop"],
    "`anchors score`, cache and journal on": JUDGED["anchors"]["first"],
    "the same again, from the cache": JUDGED["anchors"]["from the cache"],
    'autorubric 1.6.1, `llm_calls="per_item"`': JUDGED["autorubric"],
    "rubric 2.2.0, one-shot, by openai 3.57.0": JUDGED["rubric"],
}


@pytest.mark.parametrize("name", TIMED)
def test_a_row_on_the_judge_s_time_has_the_measured_figures(name: str) -> None:
    found = TIMED[name]
    ratio = found["seconds"] / JUDGED["limit_seconds"]
    row = f"| {name} | {found['seconds']:.1f} | {ratio:.2f} | {found['cpu_ms_an_answer']:.2f} |"
    assert row in JUDGE


def test_the_page_says_what_a_core_sustains_and_how_many_tokens_an_answer_takes() -> None:
    tokens = [JUDGED[name]["prompt_tokens"] / JUDGED["answers"] for name in ("anchors", "autorubric", "rubric")]
    assert "takes {:.0f} prompt tokens here, {:.0f} in autorubric and {:.0f} in rubric".format(*tokens) in JUDGE
    assert f"{JUDGED['answers_a_second_without_latency']} answers a second" in JUDGE
    assert f"{JUDGED['prompt_tokens_of_one_call_a_criterion']:.0%} of the prompt tokens" in JUDGE


CHECKED = json.loads((ROOT / "benchmarks" / "results" / "checks.json").read_text(encoding="utf-8"))
CHECKS_COST = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CHECKED["milliseconds_each"])
def test_a_row_on_a_check_s_time_has_the_measured_figures(name: str) -> None:
    others = ", ".join(f"{peer} {time:.4f}" for peer, time in CHECKED["peers_milliseconds"].get(name, {}).items())
    assert f"| `{name}` | {CHECKED['milliseconds_each'][name]:.3f} | {others} |" in CHECKS_COST


def test_the_page_says_how_long_ten_checks_and_the_slowest_one_take() -> None:
    assert f"{CHECKED['one_process_seconds']:.1f} seconds in\none process" in CHECKS_COST
    assert f"{CHECKED['all_cores_slowest_seconds']:.1f} in {CHECKED['cores']} processes" in CHECKS_COST
    worst = CHECKED["hostile"]
    assert f"the slowest took {worst['most_seconds']:.1f} s\nfor a text (`{worst['longest'][0][1]}`)" in CHECKS_COST


VERIFIED = json.loads((ROOT / "benchmarks" / "results" / "verify.json").read_text(encoding="utf-8"))
SETS = {"gsm8k": "GSM8K", "math500": "MATH-500", "mbpp": "MBPP"}


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in SETS for kind in VERIFIED[name]])
def test_a_row_on_verified_answers_has_the_measured_figures(name: str, kind: str) -> None:
    found = VERIFIED[name][kind]
    row = f"| {SETS[name]}: {kind} | {found['answers']} | {found['full_marks']} | {found['none']} |"
    assert row in (ROOT / "docs" / "verifiable.md").read_text(encoding="utf-8")
