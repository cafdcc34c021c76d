"""From a rubric to its critics. Importing this module registers every built-in kind of critic and every check."""

from rubric_anchors.core.errors import RubricError, SetupError
from rubric_anchors.critic import check_critic, checks, exemplar, fluency, judge, relevance
from rubric_anchors.critic.base import Critic, Tools
from rubric_anchors.critic.check_critic import CheckCritic
from rubric_anchors.critic.kinds import critic_registry
from rubric_anchors.rubric.model import Criterion, Rubric

__all__ = ["build_critics", "check_critic", "checks", "exemplar", "fluency", "judge", "relevance"]


def build_critics(rubric: Rubric, tools: Tools) -> list[Critic]:
    """The critics that together decide every criterion of `rubric`, one for each kind that it names.

    Raises RubricError, naming the rubric and the criterion, for an unknown kind, an unknown check or a bad option, and
    SetupError where a judge is asked for and none is configured.
    """
    by_kind: dict[str, list[Criterion]] = {}
    for criterion in rubric.criteria:
        by_kind.setdefault(criterion.critic.kind, []).append(criterion)
    critics: list[Critic] = []
    for kind, criteria in by_kind.items():
        try:
            factory = critic_registry.get(kind)
        except RubricError as error:
            raise RubricError(f"rubric {rubric.id!r}, criterion {criteria[0].key!r}: {error}") from error
        try:
            critic = factory(criteria, tools)
        except (RubricError, SetupError) as error:
            raise type(error)(f"rubric {rubric.id!r}: {error}") from error
        critics.append(critic.within(rubric) if isinstance(critic, CheckCritic) else critic)
    return critics
