"""Log-probabilities of chosen tokens, and entropies, from logits as the model makes them.

TRL's own head multiplies in float32, tile by tile, which spares a GPU's memory. On a CPU with bfloat16 units that
product is the dearest part of a step (over 40% of it on a 135M model); here the model multiplies in its own dtype,
which is also how the answers were sampled, and only what follows is in float32, a few rows at a time, so that they stay
in the processor's cache.
"""

from typing import Any, Final

import torch

ROWS: Final = 128
"""Rows worked on at once: 25 MB in float32 for a vocabulary of 49,000."""


class TokenLogps(torch.autograd.Function):
    """log softmax(logits / T) at the targets, and the entropy of the same distribution, which has no gradient."""

    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, targets: torch.Tensor, temperature: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`logits` [N, V] of any float dtype, `targets` [N]; both results are float32 [N]."""
        logps, norms, entropies = (torch.empty(len(targets), device=logits.device) for _ in range(3))
        for at in range(0, len(targets), ROWS):
            part = slice(at, at + ROWS)
            scaled = logits[part].float() / temperature
            norm = torch.logsumexp(scaled, dim=-1)
            logps[part] = scaled.gather(1, targets[part, None]).squeeze(1) - norm
            shares = torch.exp(scaled - norm[:, None])
            entropies[part] = norm - (shares * scaled).sum(-1)
            norms[part] = norm
        ctx.save_for_backward(logits, targets, norms)
        ctx.temperature = temperature
        ctx.mark_non_differentiable(entropies)
        return logps, entropies

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """d logp / d logits = (one-hot - softmax) / T."""
        logits, targets, norms = ctx.saved_tensors
        result = torch.empty_like(logits)
        for at in range(0, len(targets), ROWS):
            part = slice(at, at + ROWS)
            scaled = logits[part].float() / ctx.temperature
            shares = torch.exp(scaled.sub_(norms[part, None]))
            weight = grad[part, None] / ctx.temperature
            shares.mul_(-weight).scatter_add_(1, targets[part, None], weight)
            result[part] = shares
        return result, None, None


def token_logps(logits: torch.Tensor, targets: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities of `targets` [B, L] under `logits` [B, L, V], and entropies; float32 [B, L] each."""
    flat = logits.reshape(-1, logits.shape[-1])
    logps, entropies = TokenLogps.apply(flat, targets.reshape(-1), temperature)  # type: ignore[no-untyped-call]
    return logps.view_as(targets), entropies.view_as(targets)
