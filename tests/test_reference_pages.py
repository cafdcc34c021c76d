"""docs/recipe.yaml and docs/rubric.yaml are the reference of what files can say: they load, and name every field."""

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

pytest.importorskip("torch", reason="a recipe's stages need PyTorch")

from rubric_anchors.app.config import Recipe, load_recipe
from rubric_anchors.rubric.load import load_rubric
from rubric_anchors.rubric.model import Rubric

PAGE = Path(__file__).parents[1] / "docs" / "recipe.yaml"


def models_in(kind: object) -> set[type[BaseModel]]:
    """The models that a field's type holds, at any depth of unions, tuples and dicts."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {kind}
    return {model for part in get_args(kind) for model in models_in(part)}


def fields_of(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[str]:
    """The names of all fields of a model and of the models under it, as a file spells them."""
    if model in seen:
        return set()
    seen.add(model)
    names: set[str] = set()
    for name, field in model.model_fields.items():
        names.add(field.alias or name)
        for inner in models_in(field.annotation):
            names |= fields_of(inner, seen)
    return names


def test_the_sample_recipe_loads() -> None:
    recipe = load_recipe(PAGE)
    assert recipe.name == "sample"


def test_the_sample_recipe_names_every_field() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = {name for name in fields_of(Recipe, set()) if not re.search(rf"\b{name}\s*:", text)}
    assert not missing, f"docs/recipe.yaml does not show: {', '.join(sorted(missing))}"


def test_the_sample_rubric_loads_and_names_every_field() -> None:
    page = PAGE.with_name("rubric.yaml")
    assert load_rubric(page).id == "campfire"
    text = page.read_text(encoding="utf-8")
    # `kind`, `name` and `options` of a critic are spelled in the short form.
    fields = fields_of(Rubric, set()) - {"kind", "name"}
    missing = {name for name in fields if not re.search(rf"\b{name}\s*:", text)}
    assert not missing, f"docs/rubric.yaml does not show: {', '.join(sorted(missing))}"


@pytest.mark.parametrize("recipe", ["demo.yaml", "plain-narrative.yaml"])
def test_the_shipped_recipes_load(recipe: str) -> None:
    load_recipe(PAGE.parents[1] / "recipes" / recipe)
