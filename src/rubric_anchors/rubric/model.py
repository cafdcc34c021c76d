"""The nouns of a rubric. Hardly any logic: what a rubric file says, and what makes it a valid one.

A rubric is criteria (each with ordered tiers, a signed weight and a critic) plus the relations between them and the
shape of the reward. Nothing here decides a verdict; see `rubric_anchors.critic`. Nothing here adds up; see
`rubric_anchors.aggregate`.
"""

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rubric_anchors.core.frozen import Expected, Frozen, Misfit
from rubric_anchors.core.words import near
from rubric_anchors.rubric.criterion import NO_AND_YES as NO_AND_YES
from rubric_anchors.rubric.criterion import PLAIN_ZERO
from rubric_anchors.rubric.criterion import Criterion as Criterion
from rubric_anchors.rubric.criterion import CriticSpec as CriticSpec
from rubric_anchors.rubric.criterion import Key as Key
from rubric_anchors.rubric.criterion import Tier as Tier
from rubric_anchors.rubric.criterion import Unit as Unit
from rubric_anchors.rubric.criterion import Veto as Veto

RubricId = Annotated[
    str,
    Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,127}$"),
    Expected("an id of lower-case letters, digits, dots, underscores and hyphens, at most 128 long"),
]
BelowOne = Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False), PLAIN_ZERO]

Scope = Literal["dataset", "task", "instance"]
InteractionKind = Literal["synergy", "conflict", "gate"]
Unjudgeable = Literal["worst", "veto"]


class Saturate(Frozen):
    """Goodness of `key` beyond a point counts for less."""

    key: Key
    beyond: BelowOne
    """The goodness b beyond which returns diminish."""
    curve: Literal["knee", "exponential"] = "knee"
    """`knee`: slope 1 to b, then `slope`. `exponential`: slope 1 to b, then falling smoothly from 1 towards 0."""
    slope: Unit = 0.25
    """The slope beyond b of the linear knee; unused by `exponential`."""


class Interact(Frozen):
    """Two criteria whose joint goodness counts beside their own."""

    keys: tuple[Key, Key]
    kind: InteractionKind
    strength: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)] = 0.2
    """synergy adds strength x g_i g_j, conflict subtracts it, gate lets the second count only as far as the first
    holds."""

    @model_validator(mode="after")
    def _two_different(self) -> Self:
        if self.keys[0] == self.keys[1]:
            raise ValueError(f"an interaction needs two different criteria; seen {self.keys[0]} twice")
        return self


class Relation(Frozen):
    """One entry of `relations`: exactly one of its fields is set."""

    saturate: Saturate | None = None
    interact: Interact | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.saturate is None) == (self.interact is None):
            raise ValueError("a relation is either {saturate: ...} or {interact: ...}")
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.saturate.key,) if self.saturate else self.interact.keys if self.interact else ()


class Shape(Frozen):
    """A strictly increasing map of 0..1 onto itself that widens differences among good answers."""

    kind: Literal["stretch"] = "stretch"
    start: BelowOne = Field(default=0.7, alias="from")
    """Where the stretched region begins."""
    power: Annotated[float, Field(gt=1.0, le=8.0, allow_inf_nan=False)] = 2.0
    """The slope of the stretched region, relative to slope 1 of the plain mean, before both ends are pinned."""


class RewardRule(Frozen):
    """How a scorecard becomes a reward, beyond weights, relations and vetoes."""

    shape: Shape | None = None
    formula: Literal["mean", "healthbench"] = "mean"
    """`mean`: the weighted mean of goodness. `healthbench`: met points over the sum of positive points, clipped to
    0..1, for comparison with published numbers; takes no relations and no shape."""
    unjudgeable: Unjudgeable = "worst"
    """What an answer that breaks its own judging gets: `worst`, the lowest reward that any verdicts on the missing
    criteria could give; `veto`, reward 0."""


class Provenance(Frozen):
    """Where a rubric comes from."""

    by: Literal["human", "model", "hybrid"] = "human"
    author: str = ""
    reviewed_by: str = ""
    source: str = Field(default="", alias="from")


class Rubric(Frozen):
    """What quality means for some prompts, as data. Read one with `rubric_anchors.Rubric.load`."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    id: RubricId
    title: str = ""
    scope: Scope = "task"
    tags: tuple[str, ...] = ()
    language: str = ""
    """BCP 47 tag of the language the rubric is written in; empty: not stated."""
    provenance: Provenance = Provenance()
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    relations: tuple[Relation, ...] = ()
    reward: RewardRule = RewardRule()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        keys = [criterion.key for criterion in self.criteria]
        again = next((index for index, key in enumerate(keys) if key in keys[:index]), None)
        if again is not None:
            message = f"criterion keys must differ; {keys[again]!r} stands more than once"
            raise Misfit(message, "criteria", again, "key")
        for index, relation in enumerate(self.relations):
            unknown = next((key for key in relation.keys if key not in keys), None)
            if unknown is not None:
                message = f"{unknown!r} is no criterion; there are: {', '.join(keys)}{near(unknown, keys)}"
                raise Misfit(message, "relations", index)
        related = {key for relation in self.relations for key in relation.keys}
        idle = next(
            (i for i, c in enumerate(self.criteria) if c.weight == 0 and not c.veto and c.key not in related), None
        )
        if idle is not None:
            message = "weight 0 and neither a veto nor a relation: it can decide nothing"
            raise Misfit(message, "criteria", idle, "weight")
        if all(criterion.weight == 0 for criterion in self.criteria):
            raise Misfit("the weights are all 0: at least one criterion must carry weight", "criteria")
        saturated = [relation.saturate.key if relation.saturate else None for relation in self.relations]
        for index, key in enumerate(saturated):
            if key is not None and key in saturated[:index]:
                raise Misfit(f"criterion {key!r} has more than one saturate relation; keep one", "relations", index)
        if self.reward.formula == "healthbench":
            if self.relations or self.reward.shape:
                raise Misfit("formula healthbench takes neither relations nor a shape", "reward", "formula")
            if all(criterion.weight <= 0 for criterion in self.criteria):
                raise Misfit("formula healthbench needs at least one positive weight", "reward", "formula")
        return self

    @classmethod
    def load(cls, source: str | Path) -> "Rubric":
        """The rubric in a YAML or JSON file, or in a text of several lines or in braces. Raises RubricError."""
        from rubric_anchors.rubric.load import load_rubric, parse_rubric

        is_text = isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{"))
        return parse_rubric(str(source)) if is_text else load_rubric(source)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The criteria's keys, in order."""
        return tuple(criterion.key for criterion in self.criteria)

    def criterion(self, key: str) -> Criterion:
        """The criterion named `key`. Raises KeyError."""
        if key not in self.keys:
            raise KeyError(f"no criterion {key!r}; there are: {', '.join(self.keys)}")
        return self.criteria[self.keys.index(key)]
