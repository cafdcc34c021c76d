"""Rubric Anchors: written rubrics as a reward that a language model can be trained on.

    from rubric_anchors import Reward, Rubric

    rubric = Rubric.load("rubrics/plain-narrative.yaml")
    reward = Reward(rubric)         # callable as TRL calls its reward functions

These names are the public face; what is not listed here may move. They are loaded at first use, so that importing the
package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rubric_anchors.core.errors import AnchorsError as AnchorsError
    from rubric_anchors.critic.answer import Answer as Answer
    from rubric_anchors.critic.base import Check as Check
    from rubric_anchors.critic.base import Critic as Critic
    from rubric_anchors.critic.base import Finding as Finding
    from rubric_anchors.reward.reward import Reward as Reward
    from rubric_anchors.rubric.model import Rubric as Rubric
    from rubric_anchors.rubric.outcome import Judged as Judged
    from rubric_anchors.rubric.outcome import Scored as Scored
    from rubric_anchors.rubric.outcome import Unjudged as Unjudged
    from rubric_anchors.rubric.outcome import Unscored as Unscored

__version__ = "0.1.0"

_HOMES: Final = {
    "AnchorsError": "core.errors",
    "Answer": "critic.answer",
    "Check": "critic.base",
    "Critic": "critic.base",
    "Finding": "critic.base",
    "Judged": "rubric.outcome",
    "Reward": "reward.reward",
    "Rubric": "rubric.model",
    "Scored": "rubric.outcome",
    "Unjudged": "rubric.outcome",
    "Unscored": "rubric.outcome",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are: {', '.join(_HOMES)}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
