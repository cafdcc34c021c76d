"""A critic learnt from what somebody likes: plain stories against help pages."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.command import anchors
from tests.support.recipes import write_rows

from rubric_anchors import Reward, Rubric
from rubric_anchors.app.liking import explain_text, fit_critic
from rubric_anchors.core.errors import CriticError, DataError, InputError, RubricError, SetupError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.fitted import FittedCritic, Liked, fit
from rubric_anchors.critic.logistic import area, calibration_error, logistic
from rubric_anchors.rubric.outcome import Judged

DID = "walked swam carried mended painted watched counted folded".split()
THINGS = "boat coat fence kettle stone ladder bucket window".split()
IDEAS = "resilience balance wellbeing productivity awareness growth communication motivation".split()


def story(number: int) -> str:
    draw = random.Random(number)
    parts = [f"I {draw.choice(DID)} to the {draw.choice(THINGS)} and it was cold." for _ in range(4)]
    return " ".join([*parts, f"We kept the {draw.choice(THINGS)}."])


def page(number: int) -> str:
    draw = random.Random(1000 + number)
    lines = [f"- It is important to consider {draw.choice(IDEAS)} and {draw.choice(IDEAS)}." for _ in range(4)]
    return "\n".join(["Here are some tips you can use:", *lines])


def texts(count: int = 30) -> list[Liked]:
    liked = [Liked(story(n), True, f"author{n % 6}") for n in range(count)]
    return liked + [Liked(page(n), False, f"author{n % 6}") for n in range(count)]


class Hashed:
    """An encoder of words, each a dimension by chance."""

    fingerprint = "hashed"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 16), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                row[sum(map(ord, word)) % 16] += 1
        unit: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return unit


def test_unseen_texts_are_told_apart_and_it_says_why() -> None:
    critic = fit(texts(), None, "1")
    assert critic.measured.by == "group"
    assert critic.measured.area > 0.95
    assert critic.measured.low > 0.5
    good, bad = critic.judge([story(500), page(500)], None)
    assert good.value > 0.8 > 0.2 > bad.value
    assert dict(good.reasons)["first person"] > 0 > dict(bad.reasons)["list items"]
    total = sum(moved for _, moved in good.reasons) + critic.slope * critic.bias + critic.offset
    assert good.value == pytest.approx(1 / (1 + np.exp(-total)))


def test_the_same_texts_give_the_same_critic_in_any_order() -> None:
    some = texts(12)
    shuffled = random.Random(3).sample(some, len(some))
    one, other = fit(some, None, "1"), fit(shuffled, None, "1")
    assert (one.liked, one.disliked) == (other.liked, other.disliked)
    assert np.allclose(one.weights, other.weights, atol=1e-6)


def test_texts_that_do_not_differ_cannot_be_told_apart() -> None:
    same = [Liked(story(n), n % 2 == 0, f"author{n % 10}") for n in range(80)]
    assert fit(same, None, "1").measured.low <= 0.5


def test_a_file_says_the_same_as_the_critic_that_was_fitted(tmp_path: Path) -> None:
    write_rows(tmp_path / "liked.jsonl", [{"text": story(n), "who": f"a{n % 6}"} for n in range(20)])
    write_rows(tmp_path / "not.jsonl", [{"response": page(n), "who": f"a{n % 6}"} for n in range(20)])
    made = fit_critic(
        tmp_path / "liked.jsonl", tmp_path / "not.jsonl", tmp_path / "c.json", group="who", encoder=Hashed
    )
    liking = explain_text(story(77), tmp_path / "c.json", Hashed)
    again = made.judge([story(77)], Hashed())[0]
    assert liking.value == pytest.approx(again.value, abs=1e-6)
    assert liking.nearest is not None
    assert liking.nearest.liked
    assert made.space == "both"
    assert json.loads((tmp_path / "c.json").read_text())["liked"]["texts"] == 20


def test_another_encoder_is_refused() -> None:
    critic = fit(texts(12), Hashed(), "1")
    other = Hashed()
    other.fingerprint = "another"
    with pytest.raises(CriticError, match="fit it anew"):
        critic.judge(["text"], other)


def test_a_fitted_critic_judges_in_a_rubric(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(fit(texts(), None, "1").model_dump_json(), encoding="utf-8")
    critic: dict[str, Any] = {"check": "fitted", "with": {"file": str(tmp_path / "c.json")}}
    rubric = Rubric.model_validate(
        {"id": "mine", "criteria": [{"key": "liked", "ask": "I like it.", "critic": critic}]}
    )
    marks = Reward(rubric).score("Tell me.", story(9))
    verdict = marks.verdicts["liked"]
    assert isinstance(verdict, Judged)
    assert verdict.value > 0.8
    assert any(item.note.startswith("for: ") for item in verdict.evidence)
    changed = {**critic, "with": {**critic["with"], "sha256": "0" * 64}}
    with pytest.raises(RubricError, match="the rubric wants 0000"):
        Reward(rubric.model_copy(update={"criteria": (rubric.criteria[0].with_changes(critic=changed),)}))
    with pytest.raises(RubricError, match=r"gone\.json"):
        Reward(rubric.model_copy(update={"criteria": (_elsewhere(rubric, tmp_path / "gone.json"),)}))


def _elsewhere(rubric: Rubric, path: Path) -> Any:
    critic = {"check": "fitted", "with": {"file": str(path)}}
    return rubric.criteria[0].with_changes(critic=critic)


@pytest.mark.parametrize(
    ("some", "words"),
    [
        (texts(9), "9 liked texts"),
        ([*texts(12), Liked(story(1), False, "x")], "stands on both sides"),
        ([Liked(one.text, one.liked, "me") for one in texts(12)], "of one group"),
    ],
)
def test_what_cannot_be_fitted_is_said(some: list[Liked], words: str) -> None:
    with pytest.raises(DataError, match=words):
        fit(some, None, "1")


def test_the_command_line_fits_and_explains(tmp_path: Path) -> None:
    for name, make in (("liked", story), ("not", page)):
        (tmp_path / name).mkdir()
        for number in range(15):
            (tmp_path / name / f"{number}.txt").write_text(make(number), encoding="utf-8")
    asked = ("critic", "fit", tmp_path / "liked", tmp_path / "not", "--out", tmp_path / "c.json", "--style-only")
    ran = anchors(*asked)
    assert ran.code == 0
    assert "no --group was given" in ran.err
    assert "area under the ROC curve" in ran.out
    assert anchors(*asked).code == 2
    told = anchors("critic", "explain", story(3), "--critic", tmp_path / "c.json")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("liked with probability ")
    broken = anchors("critic", "explain", "text", "--critic", tmp_path / "liked" / "1.txt")
    assert (broken.code, broken.err.count("\n")) == (2, 1)


def test_logistic_regression_finds_the_known_optimum() -> None:
    # One feature, perfectly symmetric: the bias is 0 and d/dw of the loss vanishes.
    rows, truth = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    weights, bias = logistic(rows, truth, 1.0)
    w = float(weights[0])
    assert bias == pytest.approx(0.0, abs=1e-6)
    assert w == pytest.approx(4 / (1 + np.exp(w)), abs=1e-6)


def test_area_and_calibration_by_hand() -> None:
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    assert area(np.array([3.0, 1.0, 2.0, 1.0]), truth) == pytest.approx((2 + 0.5) / 4)
    assert calibration_error(np.array([0.95, 0.95, 0.05, 0.05]), truth) == pytest.approx(0.05)


def test_a_critic_s_file_is_small_and_plain() -> None:
    critic = fit(texts(12), Hashed(), "1")
    assert FittedCritic.model_validate_json(critic.model_dump_json()) == critic


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (lambda it: it["columns"].reverse(), "its columns of style are not those of this version; fit the critic anew"),
        (lambda it: it["weights"].pop(), "have a number for each column; seen 30, 30 and 29"),
        (lambda it: [it[name].append(1.0) for name in ("centre", "spread", "weights")], "seen 31, 31 and 31"),
        (lambda it: it["spread"].__setitem__(3, 0.0), "spread"),
        (lambda it: it.update(bias=1e308), "bias: expected a number of at most"),
        (lambda it: it["examples"][0].update(vector=[1.0]), "the examples' vectors are not as long"),
    ],
)
def test_a_file_that_was_changed_is_refused_and_never_half_understood(
    tmp_path: Path, changed: Callable[[dict[str, Any]], object], says: str
) -> None:
    made = json.loads(fit(texts(12), None, "1").model_dump_json())
    changed(made)
    (tmp_path / "c.json").write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(RubricError, match=says):
        explain_text("I walked.", tmp_path / "c.json")


@pytest.mark.parametrize("text", ["", " \n", "!!!"])
def test_a_text_without_words_is_liked_by_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(fit(texts(12), None, "1").model_dump_json(), encoding="utf-8")
    check = make_check("fitted", {"file": str(tmp_path / "c.json")})
    assert check.decide(Answer((), text)).value == 0.0
    with pytest.raises(InputError, match="no words in the text"):
        explain_text(text, tmp_path / "c.json")


def test_what_a_fit_reads_is_never_replaced_and_a_folder_is_missed_before_the_work(tmp_path: Path) -> None:
    liked = write_rows(tmp_path / "liked.jsonl", [{"text": story(n)} for n in range(12)])
    other = write_rows(tmp_path / "not.jsonl", [{"text": page(n)} for n in range(12)])
    with pytest.raises(SetupError, match="is read and would be replaced"):
        fit_critic(liked, other, other, style_only=True, force=True)
    with pytest.raises(SetupError, match="there is no such file or folder"):
        fit_critic("nowhere", other, tmp_path / "none" / "c.json", style_only=True)
