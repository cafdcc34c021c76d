"""Log-probabilities from the model's own head: right values, right gradients, and the logits are left as they are."""

import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from rubric_anchors.train.logps import ROWS, token_logps  # noqa: E402


@pytest.mark.parametrize("rows", [3, ROWS + 5])
@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_values_and_gradients_are_those_of_log_softmax(rows: int, temperature: float) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, rows, 300, generator=generator, requires_grad=True)
    targets = torch.randint(0, 300, (2, rows), generator=generator)
    upstream = torch.randn(2, rows, generator=generator)
    logps, entropies = token_logps(logits, targets, temperature)
    scaled = torch.log_softmax(logits / temperature, dim=-1)
    plain = scaled.gather(-1, targets[..., None]).squeeze(-1)
    torch.testing.assert_close(logps, plain)
    torch.testing.assert_close(entropies, -(scaled.exp() * scaled).sum(-1))
    (ours,) = torch.autograd.grad((logps * upstream).sum(), logits)
    (theirs,) = torch.autograd.grad((plain * upstream).sum(), logits)
    torch.testing.assert_close(ours, theirs)


def test_the_logits_are_left_as_they_are() -> None:
    logits = torch.randn(1, 4, 50)
    before = logits.clone()
    token_logps(logits, torch.zeros(1, 4, dtype=torch.long), 0.5)
    assert torch.equal(logits, before)


def test_bfloat16_logits_get_bfloat16_gradients() -> None:
    logits = torch.randn(1, 4, 50).to(torch.bfloat16).requires_grad_(True)
    logps, _ = token_logps(logits, torch.zeros(1, 4, dtype=torch.long), 1.0)
    logps.sum().backward()  # type: ignore[no-untyped-call]
    assert logps.dtype == torch.float32
    assert logits.grad is not None
    assert logits.grad.dtype == torch.bfloat16
