"""The optimiser and its schedule: AdamW, for bfloat16 weights with float32 master copies.

A bfloat16 weight has 8 bits of precision: an update smaller than 1/256 of the weight rounds away, and at the learning
rates of reinforcement learning most are. So the optimiser keeps each weight in float32, updates that, and rounds into
the model.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from rubric_anchors.train.config import StageConfig


class MasterAdamW(torch.optim.Optimizer):
    """`torch.optim.AdamW` (fused where the device has it) over float32 copies of the parameters it is given."""

    def __init__(
        self,
        params: Iterable[torch.nn.Parameter],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(list(params), {"lr": lr})
        self._masters = [p.detach().clone().float().requires_grad_(True) for p in self._params()]
        self._inner = torch.optim.AdamW(
            self._masters, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=True
        )

    def _params(self) -> list[torch.nn.Parameter]:
        return [param for group in self.param_groups for param in group["params"]]

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One AdamW update of the masters from the parameters' gradients, rounded into the parameters."""
        del closure
        params = self._params()
        for master, param in zip(self._masters, params, strict=True):
            master.grad = None if param.grad is None else param.grad.float()
        for group in self._inner.param_groups:
            group["lr"] = self.param_groups[0]["lr"]
        self._inner.step()
        for master, param in zip(self._masters, params, strict=True):
            param.copy_(master)
            master.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Masters and moments; the parameters themselves are the model's to save."""
        outer = super().state_dict()
        return {**outer, "inner": self._inner.state_dict(), "masters": [master.detach() for master in self._masters]}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Inverse of `state_dict`. Raises ValueError where shapes differ."""
        masters = state_dict["masters"]
        if [m.shape for m in masters] != [m.shape for m in self._masters]:
            raise ValueError("the optimiser state is of another model: its shapes differ from this one's")
        super().load_state_dict({key: state_dict[key] for key in ("state", "param_groups")})
        self._inner.load_state_dict(state_dict["inner"])
        for mine, theirs in zip(self._masters, masters, strict=True):
            mine.copy_(theirs)


def optimizer_for(model: Any, learning_rate: float) -> torch.optim.Optimizer:
    """AdamW without weight decay over the weights that are trained, with float32 masters where they are bfloat16."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if any(weight.dtype == torch.bfloat16 for weight in weights):
        return MasterAdamW(weights, lr=learning_rate)
    return torch.optim.AdamW(weights, lr=learning_rate, weight_decay=0.0, fused=True)


def learning_rate_schedule(
    optimizer: torch.optim.Optimizer, stage: StageConfig, steps: int
) -> torch.optim.lr_scheduler.LambdaLR:
    """Warm-up, then the stage's schedule, as a factor of its learning rate.

    Step t (from 0) of w warm-up steps has factor (t + 1) / (w + 1): the stock warm-up begins at 0, and so spends its
    first step's answers on no update at all.
    """

    def factor(step: int) -> float:
        if step < stage.warmup:
            return (step + 1) / (stage.warmup + 1)
        if stage.schedule == "constant":
            return 1.0
        done = min((step - stage.warmup) / max(steps - stage.warmup, 1), 1.0)
        return 1.0 - done if stage.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
