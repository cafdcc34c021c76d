"""The road of `anchors calibrate`: rows to verdicts to figures, with what is missing counted and said."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.fakes import fake_tools
from tests.support.recipes import WORDS, write_rows, write_yaml

from rubric_anchors.app.calibrate import Calibrated, How, calibrate_pairs, calibrate_scores
from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.evaluate.calibration import Calibration, Target
from rubric_anchors.models.chat import ScriptedChatModel

LONG: dict[str, Any] = {
    "key": "long",
    "ask": "It is long.",
    "critic": {"check": "word_count", "with": {"min": 20, "soft": 20}},
}
LIKE: dict[str, Any] = {"key": "like", "ask": "It is like the reference.", "critic": {"check": "similar_to_reference"}}
JUDGED: dict[str, Any] = {
    "key": "warm",
    "ask": "It is warm.",
    "critic": "judge",
    "tiers": [{"means": "Cold."}, {"means": "Warm."}],
}


def rubric(folder: Path, *criteria: dict[str, Any]) -> Path:
    return write_yaml(folder / "r.yaml", {"id": "mine", "criteria": list(criteria)})


def text(words: int) -> str:
    return " ".join(WORDS[at % len(WORDS)] for at in range(words))


def answers(n: int = 24, **more: Any) -> list[dict[str, Any]]:
    """n answers of 1 to 20 words, two a prompt, whose score is their number of words in fifths."""
    made = []
    for at in range(n):
        words = 1 + (7 * at) % 20
        made.append({"prompt": f"Say {at // 2}.", "response": text(words), "score": 1 + words // 5, **more})
    return made


def target(made: Calibrated, key: str) -> Target:
    return next(each for each in made.calibration.targets if each.key == key)


def test_a_length_check_agrees_with_people_who_score_by_length(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", answers())
    made = calibrate_scores(data, rubric(tmp_path, LONG), ["long=score", "reward=score"], tools=fake_tools())
    found = target(made, "long")
    assert (found.kind, found.used, found.unlabelled, found.unjudged, found.scale) == ("criterion", 24, 0, {}, "1..5")
    assert found.figures["order"].value == 1.0
    assert found.figures["order_within_prompt"].value == 1.0
    spearman, low = found.figures["spearman"].value, found.figures["spearman"].low
    assert spearman is not None
    assert low is not None
    assert 0.9 < low < spearman
    assert target(made, "reward").kind == "reward"
    assert target(made, "reward").figures["order"] == found.figures["order"]
    assert found.again is not None
    assert (found.again.n, found.again.changed) == (24, 0)
    assert (made.calibration.rows, made.calibration.clusters, made.unlabelled) == (24, "prompt", ())


def test_unjudged_answers_are_counted_left_out_and_never_a_number(tmp_path: Path) -> None:
    rows = [row if at % 3 else {**row, "reference": text(9)} for at, row in enumerate(answers())]
    made = calibrate_scores(
        write_rows(tmp_path / "d.jsonl", rows), rubric(tmp_path, LIKE, LONG), ["like=score", "reward=score"],
        tools=fake_tools(),
    )  # fmt: skip
    found = target(made, "like")
    assert (found.used, found.unjudged) == (8, {"critic_error (infrastructure)": 16})
    assert found.figures["order"].n < 8 * 7
    assert "no interval from" in found.figures["order"].reason
    assert target(made, "reward").used == 8
    assert made.unlabelled == ("long",)


def test_rows_without_a_label_are_not_judged(tmp_path: Path) -> None:
    rows = [row if at < 20 else {**row, "score": None} for at, row in enumerate(answers())]
    model = ScriptedChatModel({"": json.dumps({"warm": {"tier": 1, "evidence": ""}})})
    made = calibrate_scores(
        write_rows(tmp_path / "d.jsonl", rows), rubric(tmp_path, JUDGED), ["warm=score"], how=How(again=0),
        tools=fake_tools(model),
    )  # fmt: skip
    assert len(model.calls) == 20
    assert (target(made, "warm").used, target(made, "warm").unlabelled) == (20, 4)
    assert target(made, "warm").figures["kappa"].reason == "the critic gives every answer the same, 1"
    assert target(made, "warm").again is None


def test_a_judge_that_changes_its_mind_is_found_out(tmp_path: Path) -> None:
    said = [json.dumps({"warm": {"tier": tier, "evidence": ""}}) for tier in (0, 1, 0, 1, 1, 1)]
    model = ScriptedChatModel({"": list(said)})
    rows = [{"prompt": f"{at}", "response": text(at + 1), "h": at} for at in range(4)]
    made = calibrate_scores(
        write_rows(tmp_path / "d.jsonl", rows), rubric(tmp_path, JUDGED), ["warm=h"], how=How(again=2),
        tools=fake_tools(model),
    )  # fmt: skip
    again = target(made, "warm").again
    assert again is not None
    # 0, 1, 0, 1 at first; then the second answer and the first, both 1
    assert (again.n, again.changed, again.mean_change) == (2, 1, 0.5)
    assert len(model.calls) == 6


def test_a_judge_that_is_not_there_is_said_before_anything_is_judged(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", answers())
    with pytest.raises(SetupError, match="need one, and none is configured"):
        calibrate_scores(data, rubric(tmp_path, JUDGED), ["warm=score"], tools=fake_tools())


def test_several_raters_are_also_held_against_each_other(tmp_path: Path) -> None:
    rows = [{**row, "other": min(5, row["score"] + at % 2)} for at, row in enumerate(answers())]
    made = calibrate_scores(
        write_rows(tmp_path / "d.jsonl", rows), rubric(tmp_path, LONG), ["long=score,other"], tools=fake_tools()
    )
    found = target(made, "long")
    assert found.raters == 2
    assert set(found.people) == {"alpha", "alpha_ordinal", "order"}
    assert found.people["alpha"].value == pytest.approx(0.9, abs=0.1)


def pairs(n: int = 20) -> list[dict[str, Any]]:
    """The longer answer is preferred; it stands first in every other row."""
    made = []
    for at in range(n):
        short, long = text(1 + at % 5), text(8 + at % 5)
        first, second = (long, short) if at % 2 else (short, long)
        made.append({"prompt": f"Say {at}.", "a": first, "b": second, "best": "a" if at % 2 else "b"})
    return made


def test_preferences_are_compared_in_goodness(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", pairs())
    pitfall = {**LONG, "key": "not_long", "weight": -1}
    made = calibrate_pairs(data, rubric(tmp_path, LONG, pitfall), "a,b", ["best"], tools=fake_tools())
    assert target(made, "long").figures["order"].value == 1.0
    assert target(made, "not_long").figures["order"].value == 0.0
    # Equal weights for a criterion and its opposite: the reward is the same for all.
    assert target(made, "reward").figures["order"].value is None
    assert made.calibration.kind == "pairs"
    again = target(made, "long").again
    assert again is not None
    assert (again.n, again.changed) == (20, 0)


def test_chosen_and_rejected_need_no_preference(tmp_path: Path) -> None:
    rows = [{"prompt": f"{at}", "chosen": text(9 + at % 7), "rejected": text(2 + at % 3)} for at in range(15)]
    made = calibrate_pairs(write_rows(tmp_path / "d.jsonl", rows), rubric(tmp_path, LONG), "chosen,rejected",
                           tools=fake_tools())  # fmt: skip
    assert target(made, "long").figures["order"].value == 1.0
    assert target(made, "long").figures["position"].value is None


def test_what_is_found_can_be_written_and_read_again_and_holds_no_text_of_the_data(tmp_path: Path) -> None:
    made = calibrate_pairs(
        write_rows(tmp_path / "d.jsonl", pairs()), rubric(tmp_path, LONG), "a,b", ["best"], tools=fake_tools()
    )
    written = json.dumps(made.calibration.model_dump(mode="json"), allow_nan=False)
    assert Calibration.model_validate(json.loads(written)) == made.calibration
    assert not any(word in written for word in WORDS)


@pytest.mark.parametrize(
    ("labels", "scales", "words"),
    [
        ([], [], "give --labels CRITERION=COLUMN"),
        (["lng=score"], [], "did you mean 'long'"),
        (["long=score"], ["reward=1..5"], "there are no labels for 'reward'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path: Path, labels: list[str], scales: list[str], words: str) -> None:
    data = write_rows(tmp_path / "d.jsonl", answers())
    with pytest.raises(InputError) as caught:
        calibrate_scores(data, rubric(tmp_path, LONG), labels, scales, tools=fake_tools())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_criterion_called_reward_is_refused(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", answers())
    with pytest.raises(InputError, match="names the whole reward; rename it"):
        calibrate_scores(data, rubric(tmp_path, {**LONG, "key": "reward"}), ["reward=score"], tools=fake_tools())


def test_the_same_seed_gives_the_same_figures_whatever_the_order_of_the_labels(tmp_path: Path) -> None:
    data, mine = write_rows(tmp_path / "d.jsonl", answers()), rubric(tmp_path, LONG)
    one, other = (
        calibrate_scores(data, mine, labels, tools=fake_tools())
        for labels in (["long=score", "reward=score"], ["reward=score", "long=score"])
    )
    assert target(one, "long") == target(other, "long")
