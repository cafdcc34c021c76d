"""The model card of a trained policy: what it is made of, how it was trained, what was measured, what to beware of."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.files import atomic_write_text
from rubric_anchors.runs.records import Evaluation, Manifest, Measured, Preserved, StageResult

LIMITS: Final = (
    "It was trained to score well by the rubrics named here. Whatever they do not ask for was not looked after, and"
    " what"
    " they can be tricked by may have been learnt.",
    "A rubric that rewards first-person narration makes a model tell invented memories as its own. Do not take what"
    " it says"
    " of itself, or of anything that happened, for true.",
    "The figures hold for prompts like the held-out ones, sampled as in training. Safety was not measured: what the"
    " base"
    " model must not be used for, this one must not be used for either.",
)
_SPECIAL: Final = frozenset("\\`*_{}[]()#+-.!|<>~&$:@/=\"'^%")


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What a card is made of: the run's own records and nothing else."""

    manifest: Manifest
    stages: Sequence[StageResult]
    """Those that led to this model, in order; the last is the one that left it."""
    base_model: str
    """Hub id of the model that the first stage started from, or what else names it."""
    license: str | None = None
    """Of the base model, as the hub spells it (`apache-2.0`); None: not known."""
    evaluation: Evaluation | None = None
    """Before against after; None where this model was not measured."""
    adapter: bool = False
    """The folder holds low-rank adapters alone, not merged weights."""


def write_card(folder: Path, card: CardFacts) -> Path:
    """Write README.md into the saved model's folder; returns its path. Raises SetupError where it cannot be written."""
    path = folder / "README.md"
    atomic_write_text(path, model_card(card))
    return path


def model_card(card: CardFacts) -> str:
    """The card as Markdown with YAML front matter. Names and texts from recipes and models come out as plain text."""
    parts = [
        _front_matter(card),
        f"# {plain(card.manifest.name)}",
        f"{plain(card.base_model)}, trained with [Rubric Anchors](https://pypi.org/project/rubric-anchors/): written"
        " rubrics"
        " as the reward of GRPO.",
        _section("Rubrics", _table(("rubric", "content id"), sorted(card.manifest.rubrics.items()))),
        _section("Data", _table(("file", "SHA-256"), sorted(card.manifest.data.items()))),
        _section("Training", _training(card)),
        _section("Figures", _figures(card.evaluation)),
        _section("Limits", "\n".join(f"- {limit}" for limit in LIMITS)),
        _section("Loading", _loading(card)),
    ]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """`text` on one line with everything that Markdown or HTML could read as markup escaped, control characters
    gone."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return "".join(f"&#{ord(char)};" if char in "<>&" else f"\\{char}" if char in _SPECIAL else char for char in line)


def _front_matter(card: CardFacts) -> str:
    library = "peft" if card.adapter else "transformers"
    lines = [
        *([f"license: {json.dumps(card.license)}"] if card.license else []),
        f"base_model: {json.dumps(card.base_model)}",
        f"library_name: {library}",
        "pipeline_tag: text-generation",
        "tags:",
        *(f"- {tag}" for tag in ("rubric-anchors", "grpo", "trl")),
    ]
    return "\n".join(["---", *lines, "---"])


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "None on record."
    lines = [head, ["---"] * len(head), *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _training(card: CardFacts) -> str:
    settings = {str(stage["name"]): stage for stage in _mappings(card.manifest.recipe.get("stages"))}
    head = (
        *("stage", "rubrics", "steps", "answers a step", "tokens", "temperature", "learning rate", "KL"),
        *("reward", "ended"),
    )
    rows = [_stage_row(result, settings.get(result.name, {})) for result in card.stages]
    policy = card.manifest.recipe.get("policy")
    adapter = policy.get("adapter") if isinstance(policy, dict) else None
    how = f"low-rank adapters of rank {adapter.get('rank')}" if isinstance(adapter, dict) else "all weights"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(card.manifest.versions.items()))
    lines = [
        _table(head, rows),
        f"Trained: {plain(how)}. Seed {card.manifest.seed}. Recipe {plain(card.manifest.recipe_id)}."
        f" {plain(versions)}.",
    ]
    return "\n\n".join(lines)


def _stage_row(result: StageResult, settings: Mapping[str, JsonValue]) -> list[str]:
    rewards = [step.reward for step in result.steps if step.reward is not None]
    rubrics = settings.get("rubrics")
    group, prompts = settings.get("group"), settings.get("prompts")
    answers = f"{prompts} x {group}" if group and prompts else "?"
    return [
        result.name,
        ", ".join(map(str, rubrics)) if isinstance(rubrics, list | tuple) else "?",
        str(len(result.steps)),
        answers,
        *(str(settings.get(name, "?")) for name in ("max_tokens", "temperature", "learning_rate", "kl")),
        f"{rewards[0]:.3f} to {rewards[-1]:.3f}" if rewards else "none scored",
        result.ended.replace("_", " "),
    ]


def _figures(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "This model was not measured."
    measured = [_measured_row(one) for one in evaluation.measures]
    kept = [_preserved_row(one) for one in evaluation.preservation]
    parts = [
        "On held-out prompts, before against after, with the 95% bootstrap interval of the change"
        f" ({evaluation.answers} answer(s) a prompt on each side, seed {evaluation.seed}).",
        _table(("measure", "in the reward", "better is", "before", "after", "change", "interval", "prompts"), measured),
    ]
    if kept:
        parts += [
            "What it could do before:",
            _table(("measure", "before", "after", "change", "interval", "kept"), kept),
        ]
    parts += [f"- {plain(note)}" for note in evaluation.notes]
    return "\n\n".join(parts)


def _measured_row(one: Measured) -> list[str]:
    return [
        one.name,
        "yes" if one.in_reward else "no",
        "higher" if one.higher_is_better else "lower",
        f"{one.before:.3f}",
        f"{one.after:.3f}",
        f"{one.delta:+.3f}",
        f"{one.low:+.3f} to {one.high:+.3f}",
        str(one.n),
    ]


def _preserved_row(one: Preserved) -> list[str]:
    verdict = {True: "kept", False: "not kept", None: "not shown"}[one.kept]
    return [
        one.name,
        f"{one.before:.3f}",
        f"{one.after:.3f}",
        f"{one.delta:.3f}",
        f"{one.low:.3f} to {one.high:.3f}",
        f"{verdict} ({one.n} items)",
    ]


def _loading(card: CardFacts) -> str:
    code = [
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        'folder = "."  # this folder, or the id it was uploaded under',
        "tokenizer = AutoTokenizer.from_pretrained(folder)",
        "model = AutoModelForCausalLM.from_pretrained(folder)",
        'messages = [{"role": "user", "content": "What did you do on Sunday?"}]',
        "inputs = tokenizer.apply_chat_template(",
        '    messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"',
        ")",
        "output = model.generate(**inputs, max_new_tokens=80, do_sample=True, temperature=0.7)",
        'print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))',
    ]
    note = (
        ["The folder holds adapters: PEFT must be installed, and the base model be there.", ""] if card.adapter else []
    )
    return "\n".join([*note, "```python", *code, "```"])


def _mappings(value: JsonValue | None) -> list[dict[str, JsonValue]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
