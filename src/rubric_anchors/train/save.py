"""Saving a policy as a plain Hugging Face folder, whole or not at all, and putting saved weights back into a model."""

import shutil
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.train.config import LoraSettings

ADAPTER: Final = "default"
"""PEFT's name for the adapter that is trained; TRL may add a frozen copy beside it, `ref`, to measure KL against."""


def with_adapter(model: Any, adapter: LoraSettings | None, seed: int) -> Any:
    """`model` with fresh low-rank adapters, drawn by `seed`, or as it is."""
    if adapter is None:
        return model
    from peft import LoraConfig, get_peft_model

    make: Any = LoraConfig
    settings = make(
        r=adapter.rank, lora_alpha=adapter.alpha, target_modules=adapter.target, lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return get_peft_model(model, settings)


def save_policy(model: Any, tokenizer: Any, folder: Path, adapter: LoraSettings | None = None) -> None:
    """Write weights (safetensors), config and tokenizer to `folder`, which appears only once all is written.

    Raises SetupError where the disk says no.
    """
    options: dict[str, Any] = {}
    if adapter is not None and adapter.merge:
        model = model.merge_and_unload(adapter_names=[ADAPTER])
    elif adapter is not None:
        options = {"selected_adapters": [ADAPTER]}
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        model.save_pretrained(partial, **options)
        tokenizer.save_pretrained(partial)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    except (OSError, SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SetupError(f"the model could not be saved to {folder}: {reason}; free some room") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@torch.no_grad()
def restore_weights(model: Any, source: Path, dtype: torch.dtype, adapter: LoraSettings | None) -> None:
    """Put the weights of `source`, a checkpoint or a policy's folder, into `model` (with `adapter`: the adapters
    alone)."""
    if adapter is None:
        model.load_state_dict(LocalPolicy.load(source, dtype).model.state_dict())
        return
    from peft import load_peft_weights, set_peft_model_state_dict

    weights = load_peft_weights(str(source), device=str(model.device))
    set_peft_model_state_dict(model, weights, adapter_name=ADAPTER)


@torch.no_grad()
def forget_adapter(model: Any) -> None:
    """Make the trained adapters do nothing again, as they did before the first step."""
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.zero_()
