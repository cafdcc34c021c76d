"""What a recipe says about choosing training prompts."""

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from rubric_anchors.core.frozen import Frozen
from rubric_anchors.select.scripts import is_script

Quantile = Annotated[float, Field(ge=0.0, le=1.0)]


class SelectConfig(Frozen):
    """The filter before a stage: the policy answers each prompt, the critics score, the central band is kept."""

    answers: int = Field(default=4, ge=1, le=256)
    """Answers sampled for each prompt. Spread needs at least 2."""
    band: tuple[Quantile, Quantile] = (0.1, 0.9)
    """Quantiles of the prompts' mean rewards between which prompts are kept: above it there is little left to learn,
    below it the signal is mostly noise."""
    least_spread: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.01
    """Prompts whose answers all get rewards within this standard deviation teach nothing and are dropped."""
    limit: int | None = Field(default=None, ge=1)
    """Consider at most this many prompts, drawn by seed. Sampling for selection costs as much as training on it."""
    duplicate_overlap: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
    """A prompt whose word trigrams overlap an earlier one's by this Jaccard share is a duplicate."""
    max_prompt_tokens: int = Field(default=1024, ge=1)
    script: str | None = None
    """Keep only prompts whose letters are mostly of this script (`Latin`, `Hangul`, `Han`, ...). Absent: any."""

    @model_validator(mode="after")
    def _band(self) -> Self:
        if self.band[0] >= self.band[1]:
            raise ValueError(f"band runs from a lower to a higher quantile; seen {self.band[0]} to {self.band[1]}")
        return self

    @field_validator("script")
    @classmethod
    def _a_script(cls, script: str | None) -> str | None:
        if script is not None and not is_script(script):
            raise ValueError(f"script is a writing system such as Latin, Hangul, Han or Arabic; seen {script!r}")
        return script
