from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.stats import chisquare  # noqa: E402

from rubric_anchors.core.errors import Refused  # noqa: E402
from rubric_anchors.models import sampler  # noqa: E402
from rubric_anchors.models.policy import LocalPolicy  # noqa: E402
from rubric_anchors.models.sampler import Decoding, draw, sample, uniforms_for  # noqa: E402

ALMOST_ONE = 1.0 - 2.0**-24
"""The largest number below 1 that torch.rand gives in float32."""
PROMPTS = [
    [("user", "hi")],
    [("user", "What did you do on Sunday, and with whom?")],
    [("system", "Be brief."), ("user", "Why?")],
]
SEEDS = [11, 22, 33]


@pytest.fixture(scope="module")
def policy(tiny_policy: Path) -> LocalPolicy:
    return LocalPolicy.load(tiny_policy)


@pytest.fixture(scope="module")
def moe(tiny_moe: Path) -> LocalPolicy:
    return LocalPolicy.load(tiny_moe)


@pytest.fixture(params=["llama", "qwen3_moe"])
def either(request: pytest.FixtureRequest, policy: LocalPolicy, moe: LocalPolicy) -> LocalPolicy:
    return policy if request.param == "llama" else moe


def distribution(vocabulary: int, holes: bool = False) -> Any:
    """Uneven probabilities over a small vocabulary, float32, some exactly zero if asked."""
    weights = np.random.default_rng(vocabulary).gamma(2.0, size=vocabulary)
    if holes:
        weights[::3] = 0.0
        weights[-1] = 0.0
    return torch.tensor(weights / weights.sum(), dtype=torch.float32)


def drawn(probabilities: Any, uniforms: Any) -> Any:
    return draw(probabilities.expand(len(uniforms), -1), uniforms).numpy()


@pytest.mark.parametrize("vocabulary", [5, 256, 300, 700])
def test_tokens_follow_the_distribution(vocabulary: int) -> None:
    probabilities = distribution(vocabulary)
    uniforms = torch.rand(100_000, generator=torch.Generator().manual_seed(vocabulary))
    counts = np.bincount(drawn(probabilities, uniforms), minlength=vocabulary)
    assert len(counts) == vocabulary
    expected = probabilities.double().numpy() * len(uniforms) / probabilities.double().sum().item()
    assert chisquare(counts, expected).pvalue > 1e-3


def test_the_chi_square_sees_a_sampler_that_is_off_by_one_token() -> None:
    probabilities = distribution(300)
    uniforms = torch.rand(100_000, generator=torch.Generator().manual_seed(1))
    counts = np.bincount((drawn(probabilities, uniforms) + 1) % 300, minlength=300)
    expected = probabilities.double().numpy() * len(uniforms) / probabilities.double().sum().item()
    assert chisquare(counts, expected).pvalue < 1e-6


@pytest.mark.parametrize("vocabulary", [5, 257, 700, 1000])
def test_a_token_without_probability_is_never_drawn(vocabulary: int) -> None:
    probabilities = distribution(vocabulary, holes=True)
    random = torch.rand(20_000, generator=torch.Generator().manual_seed(0))
    edges = torch.tensor([0.0, 2.0**-24, 0.5, ALMOST_ONE, 1.0])
    assert (probabilities.numpy()[drawn(probabilities, torch.cat([edges, random]))] > 0).all()


@pytest.mark.parametrize("at", [0, 3, 255, 256, 511, 699])
def test_a_certain_token_is_drawn_at_both_ends_of_the_unit_interval(at: int) -> None:
    certain = torch.zeros(700)
    certain[at] = 1.0
    assert drawn(certain, torch.tensor([0.0, 0.5, ALMOST_ONE, 1.0])).tolist() == [at] * 4


def test_u_0_is_the_first_and_u_near_1_the_last_token_that_is_possible() -> None:
    probabilities = torch.zeros(1024)
    probabilities[[7, 300, 600]] = torch.tensor([0.25, 0.5, 0.25])
    assert drawn(probabilities, torch.tensor([0.0, 0.25, 0.7499, 0.75, ALMOST_ONE, 1.0])).tolist() == [
        *(7, 300, 300, 600, 600, 600)
    ]


def test_ties_of_bfloat16_logits_share_their_probability() -> None:
    logits = torch.tensor([1.0, 1.001, 1.002, -20.0], dtype=torch.bfloat16)
    assert len(set(logits.tolist())) == 2, "bfloat16 has made one of the first three"
    probabilities = torch.softmax(logits.float(), dim=-1)
    counts = np.bincount(drawn(probabilities, uniforms_for(3, 1, 100_000)[0]), minlength=4)
    assert chisquare(counts[:3]).pvalue > 1e-3
    assert counts[3] < 10


def test_uniform_numbers_depend_on_the_seed_alone_and_are_never_1() -> None:
    few, many = uniforms_for(5, 2, 8), uniforms_for(5, 2, 8)
    assert torch.equal(few, many)
    assert not torch.equal(few, uniforms_for(6, 2, 8))
    assert uniforms_for(2**63 + 5, 2, 8).equal(few)
    assert float(uniforms_for(1, 8, 10_000).max()) < 1.0


def test_batches_and_order_do_not_change_which_numbers_an_answer_gets(
    policy: LocalPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[bytes, Any] = {}
    real = sampler.sample_group

    def spy(model: Any, prompts: Any, answers: int, uniforms: Any, how: Decoding) -> Any:
        for row, prompt in enumerate(prompts):
            mine = uniforms[row * answers : (row + 1) * answers]
            assert torch.equal(seen.setdefault(str(list(prompt)).encode(), mine), mine)
        return real(model, prompts, answers, uniforms, how)

    monkeypatch.setattr(sampler, "sample_group", spy)
    encoded = [policy.encode(turns) for turns in PROMPTS]
    how = policy.decoding(2, 1.0)
    for batch in (2, 4, 64):
        sample(policy.model, encoded, SEEDS, 2, how, batch)
    sample(policy.model, encoded[::-1], SEEDS[::-1], 2, how)
    assert len(seen) == 3


def test_prompts_of_different_lengths_together_give_the_tokens_of_each_alone(either: LocalPolicy) -> None:
    together = either.generate(PROMPTS, answers=3, max_tokens=12, temperature=1.0, seeds=SEEDS)
    for turns, seed, answers in zip(PROMPTS, SEEDS, together, strict=True):
        [alone] = either.generate([turns], answers=3, max_tokens=12, temperature=1.0, seeds=[seed])
        assert [one.token_ids for one in alone] == [one.token_ids for one in answers]
        assert [one.logp for one in alone] == pytest.approx([one.logp for one in answers], abs=1e-4)


def test_dropping_answers_that_have_ended_changes_no_token(
    either: LocalPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = [either.encode(turns) for turns in PROMPTS]
    # A third of the bytes end an answer, so that rows drop out all the way.
    how = Decoding(20, 1.0, tuple(range(1, len(either.tokenizer), 10)), either.tokenizer.pad_token_id)
    dropped, sums = sample(either.model, encoded, SEEDS, 4, how)
    lengths = {len(ids) for ids in dropped}
    assert len(lengths) > 3
    assert min(lengths) < 20
    monkeypatch.setattr(sampler, "COMPACT_SHARE", -1.0)
    kept, sums_kept = sample(either.model, encoded, SEEDS, 4, how)
    assert dropped == kept
    assert sums == pytest.approx(sums_kept, abs=1e-4)


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.5])
def test_logp_is_the_teacher_forced_sum_at_that_temperature(either: LocalPolicy, temperature: float) -> None:
    generated = either.generate(PROMPTS, answers=2, max_tokens=10, temperature=temperature, seeds=SEEDS)
    for turns, answers in zip(PROMPTS, generated, strict=True):
        prompt = either.encode(turns)
        for one in answers:
            ids = torch.tensor([[*prompt, *one.token_ids]])
            with torch.inference_mode():
                logits = either.model(input_ids=ids).logits[0, len(prompt) - 1 : -1].float() / temperature
            logps = torch.log_softmax(logits, dim=-1).gather(1, torch.tensor(one.token_ids).unsqueeze(1))
            assert one.logp == pytest.approx(logps.sum().item(), abs=1e-3)


def test_an_answer_ends_with_its_first_end_token_or_is_truncated(policy: LocalPolicy) -> None:
    how = Decoding(16, 1.0, (40, 41, 42, 43), policy.tokenizer.pad_token_id)
    tokens, _ = sample(policy.model, [policy.encode(turns) for turns in PROMPTS], SEEDS, 16, how)
    ended = [ids for ids in tokens if ids[-1] in how.end_ids]
    assert ended
    assert len(ended) < len(tokens)
    assert all(not set(ids[:-1]) & set(how.end_ids) for ids in tokens)
    assert all(len(ids) == 16 for ids in tokens if ids[-1] not in how.end_ids)


def test_truncated_says_whether_the_limit_cut_the_answer(policy: LocalPolicy) -> None:
    [answers] = policy.generate(PROMPTS[:1], answers=64, max_tokens=60, temperature=1.0, seeds=[0])
    for one in answers:
        assert one.truncated == (policy.tokenizer.eos_token_id != one.token_ids[-1])
        assert len(one.token_ids) == 60 or not one.truncated
        assert "<|im_end|>" not in one.text
    assert {one.truncated for one in answers} == {True, False}


@pytest.mark.parametrize("training", [True, False])
def test_the_training_flag_of_the_model_is_put_back(policy: LocalPolicy, training: bool) -> None:
    policy.model.train(training)
    try:
        policy.generate(PROMPTS[:1], answers=1, max_tokens=1, temperature=1.0, seeds=[0])
        assert policy.model.training is training
        with pytest.raises(IndexError):
            policy.generate(PROMPTS[:1], answers=1, max_tokens=1, temperature=1.0, seeds=[])
        assert policy.model.training is training
    finally:
        policy.model.eval()


def test_progress_counts_every_answer_once(policy: LocalPolicy) -> None:
    told: list[int] = []
    policy.generate(PROMPTS, answers=3, max_tokens=1, temperature=1.0, seeds=SEEDS, batch=4, progress=told.append)
    assert told == [3, 3, 3]


def test_weights_that_are_no_numbers_are_refused_with_one_line(tiny_policy: Path) -> None:
    broken = LocalPolicy.load(tiny_policy)
    with torch.no_grad():
        broken.model.lm_head.weight[5] = float("nan")
    with pytest.raises(Refused, match="diverged") as caught:
        broken.generate(PROMPTS[:1], answers=2, max_tokens=3, temperature=1.0, seeds=[0])
    assert "\n" not in str(caught.value)
