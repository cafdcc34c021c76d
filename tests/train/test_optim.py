import math
from typing import Any

import pytest
import torch

from rubric_anchors.train.config import StageConfig
from rubric_anchors.train.optim import MasterAdamW, learning_rate_schedule, optimizer_for


def model(dtype: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)).to(dtype)


def give_gradients(net: Any, step: int) -> None:
    source = torch.Generator().manual_seed(step)
    for weight in net.parameters():
        weight.grad = torch.randn(weight.shape, generator=source).to(torch.bfloat16).to(weight.dtype)


def test_it_is_adamw_on_float32_copies_rounded_into_the_weights() -> None:
    rounded = model(torch.bfloat16)
    exact = model(torch.float32)
    exact.load_state_dict({name: weight.float() for name, weight in rounded.state_dict().items()})
    mine = MasterAdamW(rounded.parameters(), lr=1e-3, weight_decay=0.01)
    stock = torch.optim.AdamW(exact.parameters(), lr=1e-3, weight_decay=0.01)
    for step in range(20):
        for net, optimizer in ((rounded, mine), (exact, stock)):
            give_gradients(net, step)
            optimizer.step()
    for left, right in zip(rounded.parameters(), exact.parameters(), strict=True):
        # Fused AdamW adds up in another order, so a float32 at the edge may round the other way.
        assert (left == right.to(torch.bfloat16)).float().mean() > 0.97
        torch.testing.assert_close(left.float(), right, rtol=2**-7, atol=1e-6)


def test_updates_too_small_for_bfloat16_add_up_instead_of_being_lost() -> None:
    start = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    naive = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    mine, stock = MasterAdamW([start], lr=1e-4), torch.optim.AdamW([naive], lr=1e-4, weight_decay=0.0)
    for _ in range(100):
        for weight, optimizer in ((start, mine), (naive, stock)):
            weight.grad = torch.ones_like(weight)
            optimizer.step()
    assert torch.equal(naive, torch.ones_like(naive)), "each update of 1e-4 rounds away beside 1"
    torch.testing.assert_close(start.float(), torch.full((4,), 0.99), atol=2**-8, rtol=0)


def test_a_loaded_state_goes_on_bit_for_bit(tmp_path: Any) -> None:
    whole, cut = model(torch.bfloat16), model(torch.bfloat16)
    one, two = MasterAdamW(whole.parameters(), lr=1e-4), MasterAdamW(cut.parameters(), lr=1e-4)
    for step in range(3):
        for net, optimizer in ((whole, one), (cut, two)):
            give_gradients(net, step)
            optimizer.step()
    torch.save(two.state_dict(), tmp_path / "optimizer.pt")
    again = model(torch.bfloat16, seed=9)
    again.load_state_dict(cut.state_dict())
    three = MasterAdamW(again.parameters(), lr=1.0)
    three.load_state_dict(torch.load(tmp_path / "optimizer.pt", weights_only=True))
    assert three.param_groups[0]["lr"] == 1e-4
    for step in range(3, 6):
        for net, optimizer in ((whole, one), (again, three)):
            give_gradients(net, step)
            optimizer.step()
    assert all(torch.equal(left, right) for left, right in zip(whole.parameters(), again.parameters(), strict=True))


def test_a_state_of_another_model_is_refused() -> None:
    state = MasterAdamW(model(torch.bfloat16).parameters(), lr=1.0).state_dict()
    with pytest.raises(ValueError, match="another model"):
        MasterAdamW([torch.nn.Parameter(torch.ones(3))], lr=1.0).load_state_dict(state)


def test_a_weight_without_a_gradient_stays() -> None:
    moved, still = (torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)) for _ in range(2))
    optimizer = MasterAdamW([moved, still], lr=0.1)
    moved.grad = torch.ones_like(moved)
    optimizer.step()
    assert torch.equal(still, torch.ones_like(still))
    assert not torch.equal(moved, torch.ones_like(moved))


def test_masters_are_made_where_weights_are_bfloat16_and_frozen_ones_are_left_out() -> None:
    assert isinstance(optimizer_for(model(torch.bfloat16), 1e-3), MasterAdamW)
    net = model(torch.float32)
    net[0].requires_grad_(False)
    optimizer = optimizer_for(net, 1e-3)
    assert isinstance(optimizer, torch.optim.AdamW)
    assert len(optimizer.param_groups[0]["params"]) == 2
    assert optimizer.param_groups[0]["weight_decay"] == 0.0


def rates(schedule: str, warmup: int, steps: int) -> list[float]:
    stage = StageConfig.model_validate(
        {"name": "a", "rubrics": ["r"], "data": ["d"], "learning_rate": 1.0, "warmup": warmup, "schedule": schedule}
    )
    optimizer = optimizer_for(model(torch.bfloat16), 1.0)
    schedule_of = learning_rate_schedule(optimizer, stage, steps)
    found = []
    for _ in range(steps):
        found.append(float(schedule_of.get_last_lr()[0]))
        optimizer.step()
        schedule_of.step()
    return found


def test_the_learning_rate_warms_up_from_above_nought_and_then_keeps_to_its_schedule() -> None:
    assert rates("constant", 2, 5) == pytest.approx([1 / 3, 2 / 3, 1, 1, 1])
    assert rates("constant", 0, 2) == [1, 1]
    assert rates("linear", 2, 6) == pytest.approx([1 / 3, 2 / 3, 1, 0.75, 0.5, 0.25])
    assert rates("cosine", 0, 4) == pytest.approx([1, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125)])


def test_a_warm_up_longer_than_the_stage_stays_in_it() -> None:
    assert rates("linear", 9, 3) == pytest.approx([0.1, 0.2, 0.3])
