"""One thing to judge: a criterion with its tiers, its critic and its veto."""

from bisect import bisect_right
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, field_validator, model_validator

from rubric_anchors.core.frozen import Expected, Frozen, Misfit
from rubric_anchors.core.ids import canonical
from rubric_anchors.core.words import kind_of, near

# -0.0 equals 0.0 and is another text in JSON, so it would be another content id.
PLAIN_ZERO: Final = AfterValidator(lambda number: number + 0.0)
Unit = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), PLAIN_ZERO]
Weight = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False), PLAIN_ZERO]
Text = Annotated[str, Field(pattern=r"\S"), Expected("some text")]
Key = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_]{0,63}$"),
    Expected("a key of lower-case letters, digits and underscores that begins with a letter, at most 64 long"),
]


RUNS_CODE: Final = "python"
"""The check that is a function of the user's."""
READS_FILE: Final = "fitted"
"""The check that is learnt, and stands in a file."""
WEAKER: Final = "accept_weaker"
"""The `isolation` of checks that run an answer's program, where it may run without a sandbox."""
NO_AND_YES: Final = ("No.", "Yes.")
SMALLEST_WEIGHT: Final = 1e-9
"""A smaller one is a slip, or so small that products with it lose their digits."""


class Tier(Frozen):
    """One described level of a criterion."""

    means: Text
    """What an answer on this level is like."""
    value: Unit
    """Its place on the criterion's scale, 0..1. Left out in a file, the tiers stand on an even ladder from 0 to 1."""
    anchors: tuple[Text, ...] = ()
    """Example answers pinned to this level."""


def _critic_shorthand(value: object) -> object:
    """`exemplar`, `judge`, `{exemplar: tiers}` and `{check: NAME, with: {...}}` as the full form."""
    if isinstance(value, str):
        return {"kind": value}
    if not isinstance(value, dict) or "kind" in value:
        return value
    heads = [key for key in value if key != "with"]
    if not heads:
        raise ValueError(f"{_CRITIC_FORMS}; seen {kind_of(value)} that names none")
    kind = next((key for key in ("check", "exemplar", "judge") if key in value), heads[0])
    others = [key for key in heads if key != kind]
    if others:
        message = f"unknown field {others[0]!r}; a critic's options stand under `with`{near(others[0], ['with'])}"
        raise Misfit(message, others[0])
    if not isinstance(value[kind], str):
        raise Misfit(f"expected the name of the {kind}, seen {kind_of(value[kind])}; {_CRITIC_FORMS}", kind)
    return {"kind": kind, "name": value[kind], "with": value.get("with", {})}


_CRITIC_FORMS: Final = "a critic is `exemplar`, `judge` or {check: NAME, with: {...}}"


class CriticSpec(Frozen):
    """Which critic decides a criterion, and with what options."""

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$"), Expected("a kind of critic: check, exemplar or judge")]
    """`check`, `exemplar`, `judge`, or a kind that an installed package registers."""
    name: str = ""
    """For a check: its name in the registry; for an exemplar critic `tiers`; elsewhere empty or the kind's own word."""
    options: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    """The critic's own options; validated by the critic when the rubric is read."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.kind == "check" and not self.name:
            raise ValueError("a check needs a name: {check: NAME, with: {...}}")
        if self.kind == "exemplar" and self.name not in ("", "tiers"):
            raise ValueError(f"an exemplar critic compares with the anchors of the tiers: exemplar; seen {self.name!r}")
        if self.kind == "exemplar":
            object.__setattr__(self, "name", "tiers")
        try:
            canonical(self.options)
        except ValueError:
            raise Misfit("a critic's options hold a number that is not finite", "with") from None
        return self


class Veto(Frozen):
    """Caps or scales the whole reward when its criterion's *value* (not goodness) is on the wrong side of a line."""

    below: Unit | None = None
    """Fires when the value is below this."""
    above: Unit | None = None
    """Fires when the value is above this: for a pitfall."""
    below_tier: int | None = Field(default=None, ge=1)
    """Fires when the tier's index is below this (0 is the first tier)."""
    reward: Unit | None = None
    """The reward when it fires: min(reward, this). 0 where neither this nor `factor` is given; None beside a factor."""
    factor: Unit | None = None
    """What the reward is multiplied by when it fires, in place of `reward`."""

    @model_validator(mode="after")
    def _one_line_one_effect(self) -> Self:
        lines = [name for name in ("below", "above", "below_tier") if getattr(self, name) is not None]
        if len(lines) != 1:
            raise ValueError(f"a veto has exactly one of below, above, below_tier; seen: {', '.join(lines) or 'none'}")
        if self.reward is not None and self.factor is not None:
            raise ValueError("a veto has one effect, reward or factor; seen both")
        if self.below == 0.0 or self.above == 1.0:
            raise Misfit(f"a value is never {lines[0]} {getattr(self, lines[0]):g}: the veto could not fire", lines[0])
        if self.reward is None and self.factor is None:
            # Spelled out here, so that the content id does not depend on whether a file spells it out.
            object.__setattr__(self, "reward", 0.0)
        return self


class Criterion(Frozen):
    """One thing to judge."""

    key: Key
    """Its name inside the rubric: lower-case letters, digits and underscores."""
    ask: Text
    """The statement that is judged, e.g. `It is 60 to 120 words long.`"""
    weight: Weight = 1.0
    """Its share in the weighted mean is |weight|. Negative marks a pitfall: the less of what `ask` states, the better.
    0 is allowed only beside a veto or a relation."""
    critic: Annotated[CriticSpec, BeforeValidator(_critic_shorthand)]
    tiers: tuple[Tier, ...] = ()
    """From least to most of what `ask` states. May be left out for checks: then No (0) and Yes (1)."""
    veto: Veto | None = None

    @field_validator("tiers", mode="before")
    @classmethod
    def _even_ladder(cls, tiers: object) -> object:
        if not isinstance(tiers, list | tuple) or not all(isinstance(tier, dict) for tier in tiers):
            return tiers
        bare = [index for index, tier in enumerate(tiers) if "value" not in tier]
        if bare and len(bare) != len(tiers):
            seen = f"{len(tiers) - len(bare)} of {len(tiers)} have one"
            raise Misfit(f"give every tier a value or none: {seen}, tier {bare[0]} has not", bare[0])
        steps = max(len(tiers) - 1, 1)
        return [{"value": index / steps, **tier} for index, tier in enumerate(tiers)]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if 0 < abs(self.weight) < SMALLEST_WEIGHT:
            raise Misfit(f"a weight is 0 or at least {SMALLEST_WEIGHT:g} in size; seen {self.weight:g}", "weight")
        if not self.tiers:
            if self.critic.kind != "check":
                hint = "" if self.critic.kind in ("exemplar", "judge") else f" (or write {{check: {self.critic.kind}}})"
                raise ValueError(
                    f"a criterion decided by {self.critic.kind!r} needs at least two tiers; seen none{hint}"
                )
            object.__setattr__(
                self, "tiers", tuple(Tier(means=means, value=float(at)) for at, means in enumerate(NO_AND_YES))
            )
        if len(self.tiers) < 2:
            raise Misfit("a criterion needs at least two tiers; seen one", "tiers")
        values = [tier.value for tier in self.tiers]
        fall = next((index for index in range(1, len(values)) if values[index] < values[index - 1]), None)
        if fall is not None:
            seen = ", ".join(f"{value:g}" for value in values)
            raise Misfit(f"tier values must never decrease, from least to most; seen {seen}", "tiers", fall)
        if values[0] == values[-1]:
            raise Misfit(f"the first and the last tier must differ in value; both are {values[0]:g}", "tiers")
        if self.veto and self.veto.below_tier is not None and self.veto.below_tier >= len(self.tiers):
            reach = f"the tiers are 0 to {len(values) - 1}"
            raise Misfit(f"below_tier {self.veto.below_tier} can never be reached: {reach}", "veto", "below_tier")
        if self.veto and self.veto.below_tier is not None and values[self.veto.below_tier] == 0.0:
            seen = f"tier {self.veto.below_tier} has the value 0, and no value is below it"
            raise Misfit(f"{seen}: the veto could not fire", "veto", "below_tier")
        bare = [index for index, tier in enumerate(self.tiers) if not tier.anchors]
        if self.critic.kind == "exemplar" and bare:
            raise Misfit(
                f"an exemplar criterion needs anchors in every tier; tier {bare[0]} has none", "tiers", bare[0]
            )
        return self

    def tier_of(self, value: float) -> int:
        """The index of the highest tier whose value is <= `value`; 0 where none is."""
        return max(bisect_right(self.tiers, value, key=_value) - 1, 0)


def _value(tier: Tier) -> float:
    return tier.value
