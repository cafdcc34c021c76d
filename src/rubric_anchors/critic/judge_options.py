"""What may stand under `with` of a judge criterion."""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.frozen import Frozen
from rubric_anchors.core.words import near
from rubric_anchors.critic.hostile import FLAGS, Flag
from rubric_anchors.critic.kinds import read_options
from rubric_anchors.critic.passages import Long
from rubric_anchors.rubric.model import Criterion

Act = Literal["mark", "veto", "off"]
Mode = Literal["tier", "expected", "compare", "group"]
Wording = Literal["plain", "strict"]
MODES: Final = get_args(Mode)
ACTS: Final = get_args(Act)
DIGITS: Final = 10
"""The most tiers that single digits can name."""


class JudgeOptions(Frozen):
    """How criteria are judged; those with equal options are asked about together."""

    mode: Mode = "tier"
    """`tier`: the judge names one. `expected`: the mean of the tiers' values by the probabilities of the digit that
    names the tier; needs an endpoint that gives log-probabilities. `compare`: the answer is compared with every anchor,
    in both orders, and placed on the ladder that they make. `group`: the answers to one prompt are judged against each
    other."""
    samples: Annotated[int, Field(ge=1, le=64)] = 1
    """How often each answer is judged, with other seeds (at a temperature above 0 they differ) and the criteria in
    another order."""
    models: Annotated[tuple[str, ...], Field(max_length=8)] = ()
    """Names of the judges that decide together; left out: the one judge that is configured."""
    wordings: Annotated[tuple[Wording, ...], Field(min_length=1)] = ("plain",)
    """Wordings of the prompt that decide together. `strict` asks for the lower of two tiers in doubt."""
    merge: Literal["mean", "median", "lowest"] = "mean"
    """What becomes of several verdicts (by samples, models, wordings) on one criterion. `lowest` is the least good."""
    per_call: Annotated[int, Field(ge=1)] | None = None
    """The most criteria that one call decides; left out: all. Fewer are dearer, and lean on each other less."""
    support: Literal["mark", "demand"] = "mark"
    """`demand`: a verdict above the lowest tier whose quotation does not stand in the answer is asked for once more,
    and then decides nothing."""
    long: Long = "head_tail"
    """What becomes of an answer of more than `longest` characters: its head and tail are shown, with a note of how much
    is missing; or it is judged in chunks; or it counts as one that cannot be judged."""
    longest: Annotated[int, Field(ge=200)] = 24_000
    """Characters of an answer that are shown in one call."""
    chunks: Literal["lowest", "mean"] = "lowest"
    """What becomes of the verdicts on the chunks of one answer."""
    flags: Act | dict[Flag, Act] = "mark"
    """What becomes of an answer that speaks to the judge, plays a turn, holds a verdict, hides text, copies the rubric
    or says nothing: evidence, or it counts as one that cannot be judged. One word for all, or a word for each flag;
    flags that are not named are marked."""
    mass: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
    """Under `expected`: the least probability that all tiers have together; below it nothing is decided."""
    always: bool = False
    """Whether the judge is asked even where a veto has already brought the reward to 0."""

    @field_validator("mode", mode="before")
    @classmethod
    def _there(cls, mode: object) -> object:
        if mode not in MODES:
            raise ValueError(f"no mode {mode!r} in this version{near(str(mode), MODES)}; there are: {', '.join(MODES)}")
        return mode

    @field_validator("flags", mode="before")
    @classmethod
    def _known(cls, flags: object) -> object:
        acts = flags if isinstance(flags, dict) else {FLAGS[0]: flags}
        for name, act in acts.items():
            if name not in FLAGS:
                raise ValueError(f"no flag {name!r}{near(str(name), FLAGS)}; there are: {', '.join(FLAGS)}")
            if act not in ACTS:
                raise ValueError(f"a flag is one of {', '.join(ACTS)}; seen {act!r}{near(str(act), ACTS)}")
        return flags

    @model_validator(mode="after")
    def _together(self) -> Self:
        for name, given in (("models", self.models), ("wordings", self.wordings)):
            if len(set(given)) < len(given):
                raise ValueError(f"{name}: one stands twice; more votes of one judge are `samples`")
        if self.mode in ("compare", "group"):
            fixed = ["samples", "models", "wordings", "support", *(["per_call"] if self.mode == "compare" else [])]
            for name in fixed:
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"mode {self.mode} takes no {name!r}")
            if self.long == "chunks":
                raise ValueError(f"mode {self.mode} takes no chunks: an answer is compared whole; `long: head_tail`")
        return self

    def act(self, flag: Flag) -> Act:
        """What becomes of an answer with that flag."""
        return self.flags.get(flag, "mark") if isinstance(self.flags, dict) else self.flags


def judge_options(criterion: Criterion) -> JudgeOptions:
    """The options of a judge criterion. Raises RubricError that says what was seen and what there is."""
    where = f"criterion {criterion.key!r}: judge option"
    options = read_options(criterion, JudgeOptions)
    if options.mode == "expected" and len(criterion.tiers) > DIGITS:
        raise RubricError(f"{where} 'mode': expected reads one digit; {len(criterion.tiers)} tiers, at most {DIGITS}")
    if options.mode == "compare":
        seen = sum(bool(tier.anchors) for tier in criterion.tiers)
        if seen < 2:
            raise RubricError(f"{where} 'mode': compare needs anchors in at least two tiers; {seen} have some")
    return options
