"""Everything in a recipe that would only come out late on the road is refused before it begins."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rubric_anchors.app.config import Recipe
from rubric_anchors.core.errors import RecipeError, SetupError
from rubric_anchors.evaluate.config import EvaluateConfig
from rubric_anchors.evaluate.measures import MEASURES
from rubric_anchors.evaluate.preservation.read import read_items, read_passages
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.records import PromptRow

LEAST_HELD_OUT: Final = 2
Data = Mapping[str, Sequence[PromptRow]]


def refuse(path: Path, recipe: Recipe, book: Mapping[str, Rubric], train: Data, held_out: Data) -> None:
    """Raises InputError or SetupError for the first thing that the road would trip over. `book`: the rubrics by id;
    `train`, `held_out`: prompts by the recipe's names.
    """
    _refuse_unknown_rubrics(path, recipe, book, [*train.values(), *held_out.values()])
    _refuse_shared_prompts(path, train, held_out)
    _refuse_too_few(path, recipe, train, held_out)
    if recipe.evaluate:
        _refuse_unreadable(path, recipe.evaluate)
    _refuse_missing_packages(recipe)


def _refuse_unknown_rubrics(
    path: Path, recipe: Recipe, book: Mapping[str, Rubric], data: Sequence[Sequence[PromptRow]]
) -> None:
    named = [(f"stage {stage.name!r}", rubric) for stage in recipe.stages for rubric in stage.rubrics]
    if recipe.evaluate:
        named += [("evaluate", rubric) for rubric in recipe.evaluate.rubrics]
        named += [(f"family {family.name!r}", rubric) for family in recipe.evaluate.others for rubric in family.rubrics]
    named += [(f"prompt {row.id!r}", rubric) for rows in data for row in rows for rubric in row.rubrics]
    for who, rubric in named:
        if rubric not in book:
            there = ", ".join(sorted(book)[:8])
            raise RecipeError(
                f"{path}: {who} names rubric {rubric!r}, which no file of `rubrics` holds; there: {there}"
            )


def _refuse_shared_prompts(path: Path, train: Data, held_out: Data) -> None:
    seen = {" ".join(row.text.casefold().split()): name for name, rows in train.items() for row in rows}
    for name, rows in held_out.items():
        for row in rows:
            if (twin := seen.get(" ".join(row.text.casefold().split()))) is not None:
                raise RecipeError(
                    f"{path}: held-out prompt {row.id!r} of {name!r} is also in training data {twin!r};"
                    " what is trained on cannot measure, remove it from one of them"
                )


def _refuse_too_few(path: Path, recipe: Recipe, train: Data, held_out: Data) -> None:
    """Prompts that a part of the road would miss, or could not tell apart, hours from now."""
    for stage in recipe.stages:
        count = _refuse_twice(path, f"stage {stage.name!r}", stage.data, train)
        if count < stage.prompts:
            raise RecipeError(
                f"{path}: stage {stage.name!r} takes {stage.prompts} prompts a step and its data has {count};"
                " add prompts or lower `prompts`"
            )
    if recipe.evaluate:
        kinds = [recipe.evaluate.data, *(family.data for family in recipe.evaluate.others)]
        # Two families may be measured on the same data, by rubrics of their own.
        _refuse_twice(path, "evaluate", list(dict.fromkeys(name for kind in kinds for name in kind)), held_out)
        for kind in kinds:
            _refuse_twice(path, "evaluate", kind, held_out)
            if sum(len(held_out[name]) for name in kind) < LEAST_HELD_OUT:
                raise RecipeError(
                    f"{path}: evaluate measures on {', '.join(kind)}, which has fewer than {LEAST_HELD_OUT}"
                    " prompts; an interval needs more"
                )


def _refuse_twice(path: Path, who: str, names: Sequence[str], there: Data) -> int:
    """The number of prompts under `names`; raises RecipeError where one id stands there twice."""
    homes: dict[str, str] = {}
    for name in names:
        for row in there[name]:
            if row.id in homes:
                raise RecipeError(
                    f"{path}: {who} has prompt {row.id!r} twice, from {homes[row.id]!r} and {name!r};"
                    " rename or remove one"
                )
            homes[row.id] = name
    return len(homes)


def _refuse_unreadable(path: Path, config: EvaluateConfig) -> None:
    """Measures and held sets that will not do; each file is read once to see it."""
    unknown = [name for name in config.measures if name not in MEASURES]
    if unknown:
        raise RecipeError(f"{path}: no measure is called {unknown[0]!r}; there are: {', '.join(MEASURES)}")
    kept, base = config.preservation, path.parent
    if kept.text:
        read_passages(base / kept.text)
    if kept.choices:
        read_items(base / kept.choices)
    folders = sorted({(base / task).parent for task in kept.tasks})
    if len(folders) > 1:
        raise RecipeError(f"{path}: the files of preservation.tasks lie in {len(folders)} folders; put them into one")
    for folder in folders:
        if not folder.is_dir():
            raise RecipeError(f"{path}: preservation.tasks names the folder {folder}, which is not there")


def _refuse_missing_packages(recipe: Recipe) -> None:
    """What the last parts of the road import: missing after hours of training, it would be missed dearly."""
    wanted = [("jinja2", "report")] if recipe.output.report else []
    if recipe.evaluate and recipe.evaluate.preservation.tasks:
        wanted.append(("lm_eval", "eval"))
    for package, extra in wanted:
        if find_spec(package) is None:
            raise SetupError(
                f"this recipe needs {package}, which is not installed; pip install 'rubric-anchors[{extra}]'"
            )
    for tracker in recipe.output.trackers:
        if find_spec(tracker) is None and not (tracker == "tensorboard" and find_spec("tensorboardX")):
            raise SetupError(f"this recipe reports to {tracker}, which is not installed; pip install {tracker}")
