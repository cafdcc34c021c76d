"""What was asked (the rubrics) and the road that was taken (the stages)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from rubric_anchors.report.text import cells, plural
from rubric_anchors.rubric.model import NO_AND_YES, Criterion, Relation, Rubric, Veto
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import Manifest, StageResult

CARRIED_SHOWN: Final = 40
"""Rubrics of prompt rows on the page; the rest are counted, and stay in rubrics.json."""


@dataclass(frozen=True, slots=True)
class CriterionView:
    criterion: Criterion
    share: float
    """Its part of the weighted mean, 0..1."""
    critic: str
    options: str
    """The critic's settings in short; empty where it has none."""
    veto: str
    tiered: bool
    """Whether its tiers say more than No and Yes."""


@dataclass(frozen=True, slots=True)
class RubricView:
    rubric: Rubric
    criteria: tuple[CriterionView, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CarriedRubric:
    """A rubric that came with prompt rows, in short."""

    id: str
    asks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    rubrics: tuple[RubricView, ...]
    """The recipe's own, as its stages and its evaluation name them, and those drafted on the road."""
    carried: tuple[CarriedRubric, ...]
    """Of the others, the first `CARRIED_SHOWN`."""
    carried_more: int
    named_only: tuple[str, ...]
    """Ids of rubrics that the manifest names and whose text the run does not hold."""

    @property
    def carried_count(self) -> int:
        return len(self.carried) + self.carried_more


def asked(run: RunFolder) -> Asked:
    rubrics, manifest = run.rubrics(), run.manifest()
    own = _own(run, manifest, rubrics)
    carried = [rubric for rubric in rubrics if rubric.id not in own]
    known = {rubric.id for rubric in rubrics}
    return Asked(
        rubrics=tuple(_rubric(rubric) for rubric in rubrics if rubric.id in own),
        carried=tuple(
            CarriedRubric(rubric.id, tuple(criterion.ask for criterion in rubric.criteria))
            for rubric in carried[:CARRIED_SHOWN]
        ),
        carried_more=max(0, len(carried) - CARRIED_SHOWN),
        named_only=tuple(name for name in (manifest.rubrics if manifest else {}) if name not in known),
    )


def _own(run: RunFolder, manifest: Manifest | None, rubrics: Sequence[Rubric]) -> set[str]:
    """Ids of the rubrics that the recipe names by itself or that were drafted on the road; without a recipe, those
    written for more than one prompt."""
    named = set(_named(manifest.recipe)) if manifest else set()
    if not named:
        return {rubric.id for rubric in rubrics if rubric.scope != "instance"}
    return named | {str(look.veto["id"]) for look in run.first_looks() if look.veto and "id" in look.veto}


def _named(recipe: Mapping[str, JsonValue]) -> Iterator[str]:
    evaluate = recipe.get("evaluate")
    stages = recipe.get("stages")
    others = evaluate.get("others") if isinstance(evaluate, dict) else None
    for part in (
        *(stages if isinstance(stages, list) else ()),
        evaluate,
        *(others if isinstance(others, list) else ()),
    ):
        names = part.get("rubrics") if isinstance(part, dict) else None
        yield from (str(name) for name in (names if isinstance(names, list) else ()))


def _rubric(rubric: Rubric) -> RubricView:
    total = sum(abs(criterion.weight) for criterion in rubric.criteria)
    return RubricView(
        rubric=rubric,
        criteria=tuple(
            CriterionView(
                criterion=criterion,
                share=abs(criterion.weight) / total,
                critic=f"{criterion.critic.kind} {criterion.critic.name}".strip(),
                options=cells(criterion.critic.options) if criterion.critic.options else "",
                veto=veto_words(criterion.veto) if criterion.veto else "",
                tiered=tuple(tier.means for tier in criterion.tiers) != NO_AND_YES
                or any(tier.anchors for tier in criterion.tiers),
            )
            for criterion in rubric.criteria
        ),
        relations=(
            *(relation_words(relation) for relation in rubric.relations),
            *([_shape(rubric)] if rubric.reward.shape else []),
        ),
    )


def _shape(rubric: Rubric) -> str:
    shape = rubric.reward.shape
    return f"The reward is stretched from {shape.start:g} with power {shape.power:g}." if shape else ""


def veto_words(veto: Veto) -> str:
    """A veto as a sentence."""
    line = (
        f"below {veto.below:g}"
        if veto.below is not None
        else f"above {veto.above:g}"
        if veto.above is not None
        else f"below tier {veto.below_tier}"
    )
    effect = f"is multiplied by {veto.factor:g}" if veto.factor is not None else f"is at most {veto.reward or 0:g}"
    return f"Veto: {line}, the whole reward {effect}."


def relation_words(relation: Relation) -> str:
    """A relation as a sentence."""
    if relation.saturate:
        saturate = relation.saturate
        return f"{saturate.key} counts for less beyond {saturate.beyond:g} ({saturate.curve})."
    if relation.interact:
        one, other = relation.interact.keys
        strength = f"strength {relation.interact.strength:g}"
        if relation.interact.kind == "gate":
            return f"{other} counts only as far as {one} holds ({strength})."
        verb = "add to" if relation.interact.kind == "synergy" else "take from"
        return f"{one} and {other} together {verb} the reward ({strength})."
    return ""


@dataclass(frozen=True, slots=True)
class StageView:
    name: str
    result: StageResult | None
    settings: dict[str, str]
    """As the recipe states them."""
    state: str


@dataclass(frozen=True, slots=True)
class Road:
    stages: tuple[StageView, ...]
    setting_names: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]
    """What was chosen by measuring at the start, and frozen."""


def road(run: RunFolder) -> Road:
    manifest, results = run.manifest(), {result.name: result for result in run.stages()}
    settings = {name: _settings(manifest, name) for name in run.stage_names()}
    names = (*settings, *(name for name in results if name not in settings))
    stages = tuple(
        StageView(name, results.get(name), settings.get(name, {}), _state(results.get(name))) for name in names
    )
    return Road(
        stages=stages,
        setting_names=tuple(dict.fromkeys(key for stage in stages for key in stage.settings)),
        choices=tuple((key, cells(value)) for key, value in manifest.choices.items()) if manifest else (),
    )


def _settings(manifest: Manifest | None, name: str) -> dict[str, str]:
    stages = manifest.recipe.get("stages") if manifest else None
    for stage in stages if isinstance(stages, list) else ():
        if isinstance(stage, dict) and stage.get("name") == name:
            return {key: cells(value) for key, value in stage.items() if key != "name"}
    return {}


def _state(result: StageResult | None) -> str:
    if result is None:
        return "not finished"
    ended = {"done": "done", "stopped": "stopped by a gate", "rolled_back": "rolled back by a gate"}[result.ended]
    return f"{ended} after {plural(len(result.steps), 'step')}"


def stage_words(stages: Sequence[StageView]) -> str:
    """The stages in a few words, for the top of the page."""
    steps = sum(len(stage.result.steps) for stage in stages if stage.result)
    return f"{plural(len(stages), 'stage')}, {plural(steps, 'step')}"
