from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rubric_anchors.core.errors import SetupError  # noqa: E402
from rubric_anchors.critic.answer import Answer, Message  # noqa: E402
from rubric_anchors.models import likelihood as module  # noqa: E402
from rubric_anchors.models.likelihood import CausalLikelihood  # noqa: E402

QUESTION = (Message("user", "What did you eat?"),)


@pytest.fixture(scope="module")
def tiny(tiny_policy: Path) -> CausalLikelihood:
    return CausalLikelihood.load(tiny_policy)


def plainly(model: CausalLikelihood, answer: Answer) -> np.ndarray:
    """The same figures by the plainest road: one text, all logits, log-softmax."""
    head = model.policy.encode([(turn.role, turn.content) for turn in answer.prompt]) if answer.prompt else model._start
    ids = model.policy.tokenizer(answer.text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model.policy.model(input_ids=torch.tensor([[*head, *ids]])).logits[0].float()
    logps = torch.log_softmax(logits, dim=-1)[len(head) - 1 : -1]
    return np.asarray(logps[torch.arange(len(ids)), torch.tensor(ids)].numpy())


def test_batches_give_what_one_text_at_a_time_gives(tiny: CausalLikelihood) -> None:
    texts = ["Soup.", "A much longer answer, with eggs and toast.", "", "Tee ☕", "Soup."]
    answers = [Answer(QUESTION if at % 2 else (), text) for at, text in enumerate(texts)]
    found = tiny.token_logps(answers)
    assert len(found[2]) == 0
    for answer, logps in zip(answers, found, strict=True):
        if answer.text:
            np.testing.assert_allclose(logps, plainly(tiny, answer), atol=1e-4)
    np.testing.assert_allclose(found[0], found[4], atol=1e-5)


def test_small_batches_and_few_logits_at_a_time_change_nothing(
    tiny: CausalLikelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [Answer(QUESTION, "word " * count) for count in (1, 7, 3)]
    whole = tiny.token_logps(answers)
    monkeypatch.setattr(module, "LOGIT_ROWS", 5)
    monkeypatch.setattr(module, "BATCH_TOKENS", 1)
    for one, other in zip(whole, tiny.token_logps(answers), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_head_that_is_not_plain_gives_the_models_own_logits(
    tiny_moe: Path, tiny: CausalLikelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    moe = CausalLikelihood.load(tiny_moe)
    answer = Answer(QUESTION, "Soup, mostly.")
    assert moe._plain_head
    np.testing.assert_allclose(moe.token_logps([answer])[0], plainly(moe, answer), atol=1e-4)
    monkeypatch.setitem(moe.__dict__, "_plain_head", False)
    np.testing.assert_allclose(moe.token_logps([answer])[0], plainly(moe, answer), atol=1e-4)


def test_every_token_of_a_long_answer_is_read_though_the_window_is_short(tiny_policy: Path) -> None:
    short = CausalLikelihood.load(tiny_policy, max_tokens=32)
    text = "abcdefgh" * 20
    logps = short.token_logps([Answer((Message("user", "long " * 40),), text)])[0]
    assert len(logps) == len(text)
    assert np.isfinite(logps).all()
    assert (logps < 0).all()


def test_a_fingerprint_names_weights_dtype_and_window(tiny_policy: Path, tiny: CausalLikelihood) -> None:
    assert tiny.fingerprint == CausalLikelihood.load(tiny_policy).fingerprint
    assert tiny.fingerprint != CausalLikelihood.load(tiny_policy, max_tokens=32).fingerprint
    assert tiny.fingerprint != CausalLikelihood.load(tiny_policy, torch.bfloat16).fingerprint


def test_the_model_is_frozen(tiny: CausalLikelihood) -> None:
    assert not any(weight.requires_grad for weight in tiny.policy.model.parameters())
    assert not tiny.policy.model.training


def test_a_missing_model_is_one_sentence() -> None:
    with pytest.raises(SetupError, match="no model folder"):
        CausalLikelihood.load("./nowhere")
