import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.support.fakes import fake_tools

from rubric_anchors.core.errors import DataError, InputError, RubricError
from rubric_anchors.models.chat import NoReply, ScriptedChatModel
from rubric_anchors.reward.failure import Fallback
from rubric_anchors.reward.reward import Reward

SEA = """
id: sea
criteria:
  - {key: sea, ask: It names the sea., critic: {check: contains, with: {words: [sea]}}}
"""
BOAT: dict[str, Any] = {
    "id": "boat",
    "criteria": [{"key": "boat", "ask": "A boat.", "critic": {"check": "contains", "with": {"words": ["boat"]}}}],
}
ASKED = "Where were you?"
TURNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]


@pytest.fixture
def reward() -> Reward:
    return Reward(SEA, tools=fake_tools())


def test_strings_and_messages_are_scored_alike(reward: Reward) -> None:
    said = [[{"role": "assistant", "content": "At sea."}], "At sea.", [{"role": "assistant", "content": "At home."}]]
    assert reward(prompts=[TURNS, ASKED, TURNS], completions=said) == [1.0, 1.0, 0.0]


def test_content_in_parts_is_read_as_text(reward: Reward) -> None:
    prompt = [{"role": "user", "content": [{"type": "text", "text": ASKED}, {"type": "image"}]}]
    said = [{"role": "assistant", "content": [{"type": "text", "text": "At sea."}]}]
    assert reward([prompt], [said]) == [1.0]


def test_of_several_turns_the_last_of_the_assistant_is_judged(reward: Reward) -> None:
    said = [
        {"role": "assistant", "content": "At sea."},
        {"role": "tool", "content": "sea"},
        {"role": "assistant", "content": "At home."},
    ]
    assert reward([TURNS], [said]) == [0.0]


def test_reasoning_is_not_judged_unless_asked() -> None:
    thought = "<think>The sea, the sea.</think>At home."
    assert Reward(SEA, tools=fake_tools())([ASKED], [thought]) == [0.0]
    assert Reward(SEA, tools=fake_tools(), judge_reasoning=True)([ASKED], [thought]) == [1.0]


def test_reasoning_that_the_prompt_opened_and_nothing_closed_is_no_answer(reward: Reward) -> None:
    assert reward([f"{ASKED}<think>\n"], ["I was at sea"]) == [0.0]
    assert reward([f"{ASKED}<think>\n"], ["hm</think>At sea."]) == [1.0]


def test_a_column_adds_rubrics_to_those_given() -> None:
    both = Reward([SEA, json.dumps(BOAT)], tools=fake_tools())
    cells = [None, "boat", ["sea", "boat"], json.dumps(["sea"]), "", "sea, boat"]
    assert both([ASKED] * 6, ["the sea"] * 6, rubric=cells) == [0.5] * 6, "each judges once, however often it is named"
    [alone, joined] = Reward(SEA, tools=fake_tools()).marks([ASKED] * 2, ["the sea"] * 2, rubrics=[None, [BOAT]])
    assert (alone.reward, alone.rubrics) == (1.0, ("sea",))
    assert joined.reward == 0.5
    assert next(iter(joined.verdicts)) == "sea/sea"
    assert len(joined.rubrics) == 2


def test_a_veto_of_a_rubric_given_holds_whatever_the_row_adds() -> None:
    no_home = {"key": "home", "ask": "No home.", "critic": {"check": "avoids", "with": {"words": ["home"]}}}
    vetoed = {"id": "not-home", "criteria": [{**no_home, "veto": {"below": 1.0}}]}
    reward = Reward(json.dumps(vetoed), tools=fake_tools())
    assert reward([ASKED] * 2, ["a boat at home", "a boat"], rubric=[BOAT, BOAT]) == [0.0, 1.0]


def test_rubrics_come_inline_as_objects_or_json(reward: Reward) -> None:
    cells = [BOAT, json.dumps(BOAT), {"criteria": BOAT["criteria"]}, ["sea", BOAT]]
    assert reward([ASKED] * 4, ["a boat at sea"] * 4, rubric=cells) == [1.0] * 4
    assert reward([ASKED] * 4, ["a boat"] * 4, rubric=cells) == [0.5] * 4


def test_an_inline_rubric_with_a_taken_id_does_not_pass_for_the_other(reward: Reward) -> None:
    other = {**BOAT, "id": "sea"}
    assert reward([ASKED] * 3, ["a boat"] * 3, rubric=[other, "sea", other]) == [0.5, 0.0, 0.5]


def test_fields_that_arrow_filled_with_nothing_are_not_read(reward: Reward) -> None:
    filled = {**BOAT, "title": None, "criteria": [{**BOAT["criteria"][0], "weight": None, "tiers": None, "veto": None}]}
    assert reward([ASKED], ["a boat at sea"], rubric=[filled]) == [1.0]


def test_many_inline_rubrics_do_not_pile_up(reward: Reward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubric_anchors.reward.reward.INLINE_LIMIT", 3)
    for at in range(10):
        assert reward([ASKED], ["a boat"], rubric=[{**BOAT, "id": f"boat-{at}"}]) == [0.5]
    assert len(reward._scorer._ready) <= 5


@pytest.mark.parametrize(
    ("cell", "error", "message"),
    [
        ("nothing", DataError, "no rubric 'nothing'; there are: sea"),
        ('{"id": ', DataError, "broken JSON"),
        (3, DataError, "seen int"),
        ({"id": "x"}, RubricError, "criteria"),
    ],
)
def test_a_rubric_cell_that_makes_no_sense_is_named(reward: Reward, cell: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        reward([ASKED], ["a boat"], rubric=[cell])


def test_criteria_and_verdicts_are_logged() -> None:
    reward = Reward([SEA, json.dumps(BOAT)], tools=fake_tools())
    metrics: dict[str, float] = {}
    extra: dict[str, list[str]] = {}
    reward([ASKED] * 2, ["the sea", "at home"], log_metric=metrics.__setitem__, log_extra=extra.__setitem__)
    assert metrics == {"criteria/sea/sea": 0.5, "criteria/boat/boat": 0.0, "unscored": 0.0}
    [(name, cells)] = extra.items()
    assert name == "rubric_verdicts"
    assert [json.loads(cell)["sea/sea"]["value"] for cell in cells] == [1.0, 0.0]


def test_an_answer_that_could_not_be_judged_is_left_out_unless_chosen_otherwise() -> None:
    judged = {"key": "warm", "ask": "Warm.", "critic": "judge", "tiers": [{"means": "No."}, {"means": "Yes."}]}
    text = json.dumps({"id": "warm", "criteria": [judged]})
    tools = fake_tools(ScriptedChatModel(otherwise=NoReply("timeout")))
    assert Reward(text, tools=tools)([ASKED], ["hello"]) == [None]
    assert Reward(text, tools=tools, failure=Fallback(0.1))([ASKED], ["hello"]) == [0.1]


def test_it_can_be_pickled_and_scores_the_same(reward: Reward) -> None:
    plain = Reward(SEA)
    plain([ASKED], ["a boat"], rubric=[BOAT])
    again = pickle.loads(pickle.dumps(plain))  # noqa: S301  our own bytes
    assert again([ASKED, ASKED], ["a boat", "the sea"], rubric=[BOAT, None]) == [0.5, 1.0]
    assert again.__name__ == "rubric"


def test_score_gives_marks_for_one_answer(reward: Reward) -> None:
    marks = reward.score(ASKED, "At sea.")
    assert marks.reward == 1.0
    assert "sea" in repr(marks)
    assert reward.score(TURNS, "At home.").reward == 0.0


def test_a_rubric_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "sea.yaml").write_text(SEA)
    assert Reward(tmp_path / "sea.yaml").score(ASKED, "At sea.").reward == 1.0


def test_a_weight_is_of_a_rubric_that_there_is() -> None:
    two = [SEA, json.dumps(BOAT)]
    assert Reward(two, tools=fake_tools(), weights={"sea": 3.0})([ASKED], ["the sea"]) == [0.75]
    with pytest.raises(InputError, match="given for 'see'; the rubrics are: sea, boat; did you mean 'sea'"):
        Reward(two, tools=fake_tools(), weights={"see": 3.0})


def test_two_rubrics_of_one_id_are_refused() -> None:
    with pytest.raises(DataError, match="same id: sea, sea"):
        Reward([SEA, SEA], tools=fake_tools())


@pytest.mark.filterwarnings("ignore")  # TRL's own defaults are deprecated by transformers
def test_trl_calls_it_as_a_reward_function(tiny_policy: Path, tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    reward = Reward(SEA, tools=fake_tools())
    arguments = GRPOConfig(
        output_dir=str(tmp_path),
        num_generations=2,
        per_device_train_batch_size=2,
        use_cpu=True,
        report_to=[],
        bf16=False,
    )
    row = {"prompt": TURNS, "rubric": json.dumps(BOAT)}
    trainer = GRPOTrainer(str(tiny_policy), reward_funcs=reward, args=arguments, train_dataset=Dataset.from_list([row]))
    said = [[{"role": "assistant", "content": text}] for text in ("a boat at sea", "a boat")]
    table = trainer._calculate_rewards([row, row], [TURNS, TURNS], said, [[1], [2]])
    assert table.tolist() == [[1.0], [0.5]]
    assert trainer.reward_func_names == ["rubric"]
    assert trainer._pending_metrics["criteria/sea/sea"] == [0.5]
    assert len(trainer._pending_extra_logs["rubric_verdicts"]) == 2
