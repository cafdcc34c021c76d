"""A recipe made ready: everything it names is found, read and held against everything else before any work starts."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import torch

from rubric_anchors.app.config import Recipe, load_recipe
from rubric_anchors.app.refuse import refuse
from rubric_anchors.core.errors import RecipeError, SetupError
from rubric_anchors.critic.base import Encoder, Likelihood, Tools
from rubric_anchors.data.hub import HUB
from rubric_anchors.data.rows import read_prompts
from rubric_anchors.models.embedded import EMBEDDED, embedded_encoder, embedded_policy
from rubric_anchors.models.encoder import SentenceEncoder
from rubric_anchors.models.folder import local_folder
from rubric_anchors.models.likelihood import CausalLikelihood
from rubric_anchors.reward.judging import Judge, with_judge
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.load import load_rubric
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.runs.records import PromptRow


@dataclass(frozen=True)
class Prepared:
    """A recipe with what it names, read."""

    path: Path
    recipe: Recipe
    rubrics: Mapping[str, Rubric]
    """By id: those of the recipe's files and those that prompts carry."""
    train: Mapping[str, tuple[PromptRow, ...]]
    held_out: Mapping[str, tuple[PromptRow, ...]]
    hashes: Mapping[str, str]
    """SHA-256 of each local file the recipe names."""
    _tools: dict[torch.dtype, Tools] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def start(self) -> Path:
        """The folder of the policy before training."""
        return model_folder(self.recipe.policy.model, self.path.parent)

    @cached_property
    def judge(self) -> Judge | None:
        """The recipe's judge; its client is opened when a critic first needs it."""
        return None if self.recipe.judge is None else Judge(self.recipe.judge)

    def scorer(self, dtype: torch.dtype = torch.float32, extra: Sequence[Rubric] = ()) -> Scorer:
        """A scorer over all rubrics, with the frozen base policy in `dtype`; its models are loaded when a critic
        first needs one, and then shared. `extra` rubrics, the drafted defences, carry vetoes and no weight in the
        mean.
        """
        if dtype not in self._tools:
            tools = lazy_tools(lambda: self.start, dtype, self.recipe.allow_code)
            self._tools[dtype] = with_judge(tools, self.judge)
        book = {**self.rubrics, **{rubric.id: rubric for rubric in extra}}
        return Scorer(book, self._tools[dtype], weights={rubric.id: 0.0 for rubric in extra})

    def rows(self, names: Sequence[str], *, held_out: bool = False) -> tuple[PromptRow, ...]:
        """The prompts under `names`, in order."""
        there = self.held_out if held_out else self.train
        return tuple(row for name in names for row in there[name])

    def system(self, row: PromptRow) -> PromptRow:
        """The row with the recipe's system message, where it has none."""
        message = self.recipe.policy.system
        if message is None or row.messages[0][0] == "system":
            return row
        return row.with_changes(messages=(("system", message), *row.messages))


def model_folder(model: str, beside: Path = Path()) -> Path:
    """The folder of a model named by a path (relative to `beside`), a hub id or `embedded`. Raises SetupError where
    it is not there or holds no safetensors weights.
    """
    if model == EMBEDDED:
        return embedded_policy()
    near = beside / model
    folder = local_folder(near if near.is_dir() else model)
    if not any(folder.glob("*.safetensors")):
        raise SetupError(f"{folder}: holds no safetensors weights; other formats can run code and are not read")
    if not any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
        raise SetupError(f"{folder}: holds no config.json; give a Hugging Face model folder")
    return folder


def lazy_tools(base: Callable[[], Path], dtype: torch.dtype, allow_code: bool = False) -> Tools:
    """Tools over the embedded encoder and the language model in the folder that `base` gives."""

    @cache
    def encoder() -> Encoder:
        return SentenceEncoder(embedded_encoder())

    @cache
    def likelihood() -> Likelihood:
        return CausalLikelihood.load(base(), dtype=dtype)

    return Tools(encoder=encoder, likelihood=likelihood, allow_code=allow_code)


def prepare(path: str | Path) -> Prepared:
    """Read a recipe and all that it names. Raises InputError naming the file and place of the first fault."""
    path = Path(path)
    recipe = load_recipe(path)
    base = path.parent
    book: dict[str, Rubric] = {}
    for name in recipe.rubrics:
        _add(book, load_rubric(base / name), name)
    train = {name: _prompts(base, source, book) for name, source in recipe.data.train.items()}
    held_out = {name: _prompts(base, source, book) for name, source in recipe.data.held_out.items()}
    refuse(path, recipe, book, train, held_out)
    files = [path, *(base / name for name in recipe.rubrics)]
    sources = (*recipe.data.train.values(), *recipe.data.held_out.values())
    files += [base / source for source in sources if not source.startswith(HUB)]
    if recipe.evaluate:
        kept = recipe.evaluate.preservation
        files += [base / file for file in (kept.text, kept.choices, *kept.tasks) if file]
    hashes = {
        str(file.relative_to(base) if file.is_relative_to(base) else file): _sha256(file)
        for file in files
        if file.is_file()
    }
    prepared = Prepared(path, recipe, book, train, held_out, hashes)
    # A check that does not exist, a judge that is not configured, a model that is not there: said now, not in an hour.
    prepared.scorer()
    _ = prepared.start
    return prepared


def _prompts(base: Path, source: str, book: dict[str, Rubric]) -> tuple[PromptRow, ...]:
    prompts = read_prompts(source if source.startswith(HUB) else base / source)
    for rubric in prompts.rubrics.values():
        _add(book, rubric, source)
    return prompts.rows


def _add(book: dict[str, Rubric], rubric: Rubric, source: str) -> None:
    if rubric.id in book and book[rubric.id] != rubric:
        raise RecipeError(
            f"{source}: another rubric of this recipe is called {rubric.id!r} too; give one of them another id"
        )
    book[rubric.id] = rubric


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
