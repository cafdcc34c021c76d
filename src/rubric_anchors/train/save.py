"""Saving a policy as a plain Hugging Face folder, whole or not at all."""

import shutil
from pathlib import Path
from typing import Any

from rubric_anchors.core.errors import SetupError
from rubric_anchors.train.config import LoraSettings


def save_policy(model: Any, tokenizer: Any, folder: Path, adapter: LoraSettings | None = None) -> None:
    """Write weights (safetensors), config and tokenizer to `folder`, which appears only once all is written."""
    if adapter is not None and adapter.merge:
        model = model.merge_and_unload()
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    except OSError as error:
        raise SetupError(f"the model could not be saved to {folder}: {error.strerror or error}; free some room") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)

