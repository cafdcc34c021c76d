"""The kinds of critic that a rubric can name, and who makes each: `check`, `exemplar`, `judge`, and other packages'
own."""

from typing import Final

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.registry import Registry
from rubric_anchors.critic.base import CriticFactory

critic_registry: Final[Registry[CriticFactory]] = Registry(
    "kind of critic", "rubric_anchors.critics", accepts=callable, error=RubricError
)
