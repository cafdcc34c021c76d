from collections.abc import Callable

import pytest

from rubric_anchors.runs.records import Manifest, Rollout


@pytest.fixture
def make_rollout() -> Callable[..., Rollout]:
    """Makes a rollout; fields given by name replace the usual ones."""

    def make(**changes: object) -> Rollout:
        fields: dict[str, object] = {
            "id": "a-1-0",
            "stage": "a",
            "step": 1,
            "policy": "base@0",
            "prompt_id": "p0",
            "prompt": [("system", "Be plain."), ("user", "What did you see?")],
            "response": "A heron, and the tide going out.",
            "tokens": 9,
            "logp": -12.5,
            "rubric": ["plain"],
            "verdicts": {"length": {"status": "judged", "tier": 1, "value": 1.0, "critic": "check word_count"}},
            "contributions": [{"step": "weighted", "delta": 1.0, "note": "length"}],
            "reward": 1.0,
            "status": "scored",
        }
        return Rollout.model_validate({**fields, **changes})

    return make


@pytest.fixture
def make_manifest() -> Callable[..., Manifest]:
    """Makes a manifest with the stages named."""

    def make(*stages: str) -> Manifest:
        return Manifest(
            name="run",
            seed=1,
            recipe={"stages": [{"name": stage} for stage in stages]},
            recipe_id="0",
            rubrics={},
            data={},
            versions={},
            git=None,
            machine={},
            threads=1,
            choices={},
            started="2025-01-01T00:00:00Z",
        )

    return make
