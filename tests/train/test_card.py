from pathlib import Path
from typing import Any

import pytest
import yaml

from rubric_anchors.core.errors import SetupError
from rubric_anchors.runs.records import Evaluation, Manifest, Measured, Preserved, StageResult, StepRecord
from rubric_anchors.train.card import CardFacts, model_card, plain, write_card
from rubric_anchors.train.config import StageConfig

NASTY = "evil](javascript:1) <script>alert(1)</script> | `x`\n# Title\x1b[31m"


def step(number: int, reward: float | None) -> StepRecord:
    blank: dict[str, Any] = dict.fromkeys(("reward_std", "kl", "entropy", "loss", "grad_norm"))
    zero: dict[str, Any] = dict.fromkeys(("length", "truncated", "no_signal", "unscored", "seconds"), 0.0)
    return StepRecord(step=number, reward=reward, criteria={}, **blank, **zero)


def manifest(name: str = "demo", adapter: bool = False, **changes: Any) -> Manifest:
    stage = StageConfig(name="style", rubrics=("plain",), data=("open",), learning_rate=3e-5)
    recipe: dict[str, Any] = {
        "name": name,
        "policy": {"model": "embedded", "adapter": {"rank": 16} if adapter else None},
        "stages": [stage.model_dump(mode="json")],
    }
    facts: dict[str, Any] = {
        "name": name,
        "seed": 7,
        "recipe": recipe,
        "recipe_id": "0123456789abcdef",
        "rubrics": {"plain-narrative": "fedcba9876543210"},
        "data": {"data/open.jsonl": "ab" * 32},
        "versions": {"torch": "2.13.0", "trl": "1.16.0"},
        "git": None,
        "machine": {},
        "threads": 2,
        "choices": {},
        "started": "2026-01-01T00:00:00+00:00",
    }
    return Manifest.model_validate(facts | changes)


RESULT = StageResult(
    name="style", steps=(step(1, 0.5), step(2, None), step(3, 0.75)), ended="rolled_back", model="style", seconds=1.0
)
EVALUATION = Evaluation(
    measures=(
        Measured(
            name="reward",
            family="",
            in_reward=True,
            higher_is_better=True,
            before=0.61,
            after=0.74,
            delta=0.13,
            low=0.09,
            high=0.17,
            margin=None,
            n=60,
        ),
    ),
    preservation=(
        Preserved(
            name="choices", before=0.4, after=0.39, delta=-0.01, low=-0.05, high=0.03, margin=0.03, kept=None, n=200
        ),
    ),
    wall_seconds=1.0,
    peak_rss_mb=1.0,
    answers=2,
    seed=7,
    notes=("One measure was left out.",),
)


def card(**changes: Any) -> CardFacts:
    facts: dict[str, Any] = {
        "manifest": manifest(),
        "stages": [RESULT],
        "base_model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "license": "apache-2.0",
        "evaluation": EVALUATION,
    }
    return CardFacts(**(facts | changes))


def front_matter(text: str) -> dict[str, Any]:
    _, front, _ = text.split("---\n", 2)
    found: dict[str, Any] = yaml.safe_load(front)
    return found


def test_the_front_matter_is_what_the_hub_reads() -> None:
    front = front_matter(model_card(card()))
    assert front["base_model"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert (front["license"], front["library_name"]) == ("apache-2.0", "transformers")
    assert "rubric-anchors" in front["tags"]
    assert "license" not in front_matter(model_card(card(license=None)))


@pytest.mark.parametrize(
    "stated",
    [
        "| plain\\-narrative | fedcba9876543210 |",
        f"| data\\/open\\.jsonl | {'ab' * 32} |",
        "| style | plain | 3 | 4 x 8 | 80 | 0\\.7 | 3e\\-05 | 0\\.0 | 0\\.500 to 0\\.750 | rolled back |",
        "| reward | yes | higher | 0\\.610 | 0\\.740 | \\+0\\.130 | \\+0\\.090 to \\+0\\.170 | 60 |",
        "| choices | 0\\.400 | 0\\.390 | \\-0\\.010 | \\-0\\.050 to 0\\.030 | not shown \\(200 items\\) |",
        "One measure was left out",
        "Trained: all weights. Seed 7. Recipe 0123456789abcdef. torch 2\\.13\\.0, trl 1\\.16\\.0.",
        "tell invented memories as its own",
        "from_pretrained(folder)",
    ],
)
def test_the_card_states(stated: str) -> None:
    assert stated in model_card(card())


def test_a_model_that_was_not_measured_says_so() -> None:
    assert "This model was not measured." in model_card(card(evaluation=None))


def test_adapters_alone_are_a_peft_model() -> None:
    text = model_card(card(adapter=True, manifest=manifest(adapter=True)))
    assert front_matter(text)["library_name"] == "peft"
    assert "low\\-rank adapters of rank 16" in text
    assert "PEFT must be installed" in text


def test_names_from_a_recipe_cannot_put_markup_on_the_page_or_break_a_table() -> None:
    nasty = manifest(rubrics={NASTY: "0"}, data={NASTY: "1"}, versions={NASTY: "2"})
    text = model_card(card(manifest=nasty, base_model=NASTY, stages=[RESULT.with_changes(name=NASTY)]))
    body = text.split("---\n", 2)[2]
    assert "<script" not in body
    assert "](javascript" not in body
    assert "\x1b" not in text
    assert "\n# Title" not in body
    assert front_matter(text)["base_model"] == NASTY
    [row] = [line for line in body.splitlines() if line.endswith("| 1 |")]
    assert row.replace("\\|", "").count("|") == 3


def test_plain_text_reads_as_it_was_written() -> None:
    assert plain("a_b*c\n d") == "a\\_b\\*c d"
    assert plain("<b> & 안녕") == "&#60;b&#62; &#38; 안녕"


def test_the_card_stands_in_the_model_s_folder(tmp_path: Path) -> None:
    assert write_card(tmp_path, card()).read_text(encoding="utf-8") == model_card(card())
    with pytest.raises(SetupError):
        write_card(tmp_path / "nowhere", card())


def test_the_same_records_give_the_same_card() -> None:
    assert model_card(card()) == model_card(card())


def test_the_code_of_the_card_runs(tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    import os
    import shutil

    folder = Path(shutil.copytree(tiny_policy, tmp_path / "model"))
    code = write_card(folder, card()).read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(folder)
    assert os.path.exists("README.md")
    said: list[str] = []
    exec(code, {"print": said.append})  # noqa: S102
    assert len(said) == 1
