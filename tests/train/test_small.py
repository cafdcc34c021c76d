"""The small parts of a stage: the order of prompts, saving, fitting steps to a budget."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from tests.support.training import ROWS, BenchMaker, same_weights

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.runs.records import PromptRow
from rubric_anchors.train.config import AutoSteps
from rubric_anchors.train.order import prompt_order
from rubric_anchors.train.plan import step_seconds, steps_for
from rubric_anchors.train.save import save_policy


def rows(count: int) -> list[PromptRow]:
    return [PromptRow(id=str(number), messages=(("user", str(number)),)) for number in range(count)]


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 20), st.integers(0, 9))
def test_no_step_asks_a_prompt_twice_and_each_round_asks_as_many_as_fill_steps(
    extra: int, a_step: int, steps: int, seed: int
) -> None:
    there = rows(a_step + extra - 1)
    order = [row.id for row in prompt_order(there, steps, a_step, seed, "style")]
    assert len(order) == steps * a_step
    assert all(len(set(order[at : at + a_step])) == a_step for at in range(0, len(order), a_step))
    a_round = len(there) // a_step * a_step
    assert all(
        len(set(part)) == len(part) for part in (order[at : at + a_round] for at in range(0, len(order), a_round))
    )


def test_the_order_depends_on_seed_stage_and_ids_and_not_on_the_file_s_order() -> None:
    there = rows(9)
    order = prompt_order(there, 6, 3, 1, "style")
    assert prompt_order(there[::-1], 6, 3, 1, "style") == order
    assert prompt_order(there, 6, 3, 2, "style") != order
    assert prompt_order(there, 6, 3, 1, "other") != order
    assert order[:9] != order[9:]
    assert prompt_order(there, 3, 3, 1, "style") == order[:9], "a longer stage begins as a shorter one"


def test_steps_are_as_many_as_fit_within_their_bounds() -> None:
    assert steps_for(7, 1e9) == 7
    auto = AutoSteps(minutes=2, least=4, most=30)
    assert [steps_for(auto, seconds) for seconds in (1.0, 10.0, 1000.0)] == [30, 12, 4]


@pytest.mark.parametrize("kind", ["tiny_policy", "tiny_moe"])
def test_measuring_a_step_leaves_the_policy_as_it_was(
    bench: BenchMaker, request: pytest.FixtureRequest, kind: str
) -> None:
    policy = LocalPolicy.load(request.getfixturevalue(kind))
    before = {name: weight.clone() for name, weight in policy.model.state_dict().items()}
    stage = bench().job().stage.with_changes(kl=0.1)
    scored: list[tuple[list[str], int]] = []

    def score(rows: Sequence[PromptRow], texts: Sequence[str]) -> None:
        scored.append(([row.id for row in rows], len(texts)))

    assert step_seconds(policy, stage, ROWS, score) > 0
    # Once to load what scoring needs; then all answers of a step, each beside the row that it answers.
    first, whole = scored
    assert first == ([ROWS[0].id], 1)
    assert whole == ([row.id for row in ROWS[: stage.prompts] for _ in range(stage.group)], stage.prompts * stage.group)
    assert all((weight == before[name]).all() for name, weight in policy.model.state_dict().items())
    assert all(weight.grad is None for weight in policy.model.parameters())
    assert not policy.model.training


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), SafetensorError("I/O error: full")]
)
def test_a_full_disk_leaves_the_old_model_and_nothing_half_written(
    tiny_policy: Path, tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = LocalPolicy.load(tiny_policy)
    target = tmp_path / "models" / "style"
    save_policy(policy.model, policy.tokenizer, target)

    def full(folder: Path, **_: Any) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise error

    monkeypatch.setattr(policy.model, "save_pretrained", full)
    with pytest.raises(SetupError, match="could not be saved") as caught:
        save_policy(policy.model, policy.tokenizer, target)
    assert "\n" not in str(caught.value)
    assert [path.name for path in target.parent.iterdir()] == ["style"]
    assert same_weights(target, tiny_policy)
