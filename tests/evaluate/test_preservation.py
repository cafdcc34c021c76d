"""Log-likelihoods agree with reading everything token by token; what changed is found; held files are read strictly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rubric_anchors.core.errors import DataError, InputError

torch = pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")
transformers = pytest.importorskip("transformers", reason="needs the models of `pip install 'rubric-anchors[local]'`")

from rubric_anchors.evaluate.preservation.keep import Held, answered_rightly, hold, preserved  # noqa: E402
from rubric_anchors.evaluate.preservation.loglik import Item, choice_logps, passage_logps  # noqa: E402
from rubric_anchors.evaluate.preservation.read import read_items, read_passages  # noqa: E402

ITEMS = (
    Item("a", "To open a tin you need", ("an opener.", "a towel.", "the long rolling pin."), 0),
    Item("b", "Snow is", ("cold", "hot"), 0),
    Item("c", "", ("Yes.", "No."), 1),
    Item("d", "Question: what is wet?\nAnswer:", (" water", " sand", " a stone", " fire"), 0),
)
PASSAGES = ("The tide went out.", "Bread rises slowly in a cold room, and nobody minds.", "Yes.")


@pytest.fixture(scope="module", params=["tiny_policy", "tiny_moe"])
def loaded(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    folder = request.getfixturevalue(request.param)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def by_hand(model: Any, tokens: list[int], start: int) -> float:
    """The log probability of tokens[start:] given what stands before, read alone and whole."""
    with torch.no_grad():
        logps = torch.log_softmax(model(torch.tensor([tokens])).logits[0].double(), -1)
    return sum(float(logps[at - 1, tokens[at]]) for at in range(start, len(tokens)))


def test_choices_on_a_shared_context_score_as_if_each_was_read_alone(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    for item, found in zip(ITEMS, choice_logps(model, tokenizer, ITEMS), strict=True):
        prefix = tokenizer.encode(item.context) or [tokenizer.bos_token_id]
        for choice, logp in zip(item.choices, found, strict=True):
            glue = "" if choice.startswith(" ") or not item.context else " "
            whole = prefix + tokenizer.encode(glue + choice)
            assert logp == pytest.approx(by_hand(model, whole, len(prefix)), abs=1e-3), (item.id, choice)


def test_passages_of_different_lengths_in_one_batch_score_as_if_read_alone(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    for text, found in zip(PASSAGES, passage_logps(model, tokenizer, PASSAGES), strict=True):
        tokens = [tokenizer.bos_token_id, *tokenizer.encode(text)]
        assert len(found) == len(tokens) - 1
        assert found.sum() == pytest.approx(by_hand(model, tokens, 1), abs=1e-3)


def test_long_passages_are_cut(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    assert len(passage_logps(model, tokenizer, ["abcdefgh"], max_tokens=5)[0]) == 5


def test_a_choice_is_picked_by_its_log_probability_for_each_character() -> None:
    item = Item("x", "", ("ab", "abcdefgh"), 1)
    assert answered_rightly([np.array([-2.0, -4.0])], [item]).tolist() == [True]  # -1 against -0.5 a character
    assert answered_rightly([np.array([-2.0, -9.0])], [item]).tolist() == [False]


def test_the_same_model_is_kept_and_a_broken_one_is_not(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    passages = [f"Passage {number}: {PASSAGES[number % 3]}" for number in range(24)]
    before = hold(model, tokenizer, passages, ITEMS)
    perplexity, accuracy = preserved(before, before, seed=0)
    assert (perplexity.delta, perplexity.low, perplexity.high, perplexity.kept) == (1.0, 1.0, 1.0, True)
    assert (accuracy.delta, accuracy.kept) == (0.0, None)  # four items show nothing
    worse = Held(
        tuple(logp - 0.1 * n for logp, n in zip(before.logps, before.tokens, strict=True)), before.tokens, before.right
    )
    perplexity = preserved(before, worse, seed=0)[0]
    assert perplexity.delta == pytest.approx(np.exp(0.1))
    assert perplexity.kept is False
    assert perplexity.after / perplexity.before == pytest.approx(perplexity.delta)


def test_accuracy_lost_on_many_items_is_found() -> None:
    before = Held((), (), (True,) * 300 + (False,) * 100)
    after = Held((), (), (True,) * 250 + (False,) * 150)
    (row,) = preserved(before, after, seed=0)
    assert (row.name, row.n, row.kept) == ("accuracy", 400, False)
    assert row.delta == pytest.approx(-0.125)


def test_sides_held_against_different_sets_are_refused() -> None:
    with pytest.raises(InputError, match="different sets"):
        preserved(Held((-1.0,), (3,), ()), Held((-1.0,), (4,), ()), seed=0)


def test_held_files_are_read_in_order(tmp_path: Path) -> None:
    text, choices = tmp_path / "text.jsonl", tmp_path / "choices.jsonl"
    text.write_text('{"id": "t1", "text": "One."}\n\n{"id": "t2", "text": "Two.", "register": "note"}\n', "utf-8")
    choices.write_text('{"id": "c1", "context": "Ice is", "choices": ["cold", "hot"], "answer": 0}\n', "utf-8")
    assert read_passages(text) == ("One.", "Two.")
    assert read_items(choices) == (Item("c1", "Ice is", ("cold", "hot"), 0),)


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ('{"context": 3, "choices": ["a", "b"], "answer": 0}', "context"),
        ('{"context": "x", "choices": ["a"], "answer": 0}', "choices"),
        ('{"context": "x", "choices": ["a", ""], "answer": 0}', "choices"),
        ('{"context": "x", "choices": ["a", "b"], "answer": 2}', "0 to 1"),
        ('{"context": "x", "choices": ["a", "b"], "answer": true}', "0 to 1"),
        ("[1]", "object"),
        ("", "empty"),
    ],
)
def test_a_broken_item_names_file_and_line(tmp_path: Path, row: str, word: str) -> None:
    path = tmp_path / "choices.jsonl"
    path.write_text(row, "utf-8")
    with pytest.raises(DataError, match=word) as caught:
        read_items(path)
    assert str(path) in str(caught.value)
