"""A local policy: a causal language model with its tokenizer, which answers prompts."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.folder import local_folder
from rubric_anchors.models.quiet import quiet
from rubric_anchors.models.sampler import Decoding, Generation, sample

PLAIN_TEMPLATE: Final = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
"""For base models that bring no chat template of their own."""

ADVICE: Final = (
    "give a folder with config.json, a tokenizer and safetensors weights that are whole, a hub id, or `embedded`"
)
ADAPTER_CONFIG: Final = "adapter_config.json"
DEVICE: Final = "cuda" if torch.cuda.is_available() else "cpu"

Turns = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class LocalPolicy:
    """A causal language model in this process, from safetensors only, with no code of its own run."""

    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, path: str | Path, dtype: torch.dtype = torch.float32) -> Self:
        """Load a Hugging Face folder or hub id onto the accelerator, where there is one.

        A folder of adapters is loaded with them merged into its base model. Raises SetupError where it cannot be had.
        """
        folder = local_folder(path)
        try:
            model = _weights(folder, dtype)
            tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        except SetupError:
            raise
        except Exception as error:  # readers of weights and tokenizers raise bare Exceptions too
            reason = " ".join(str(error).split())[:300]
            raise SetupError(f"no model could be loaded from {str(path)!r}: {reason}; {ADVICE}") from error
        if tokenizer.chat_template is None:
            tokenizer.chat_template = PLAIN_TEMPLATE
        if tokenizer.pad_token_id is None:
            if tokenizer.eos_token is None:
                raise SetupError(f"the tokenizer of {str(path)!r} has neither an end nor a padding token; {ADVICE}")
            tokenizer.pad_token = tokenizer.eos_token
        return cls(model.to(DEVICE).eval(), tokenizer)

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The tokens that end an answer: the tokenizer's and the generation config's."""
        configured = getattr(self.model.generation_config, "eos_token_id", None)
        found = configured if isinstance(configured, list) else [configured]
        return tuple(sorted({token for token in [*found, self.tokenizer.eos_token_id] if token is not None}))

    def encode(self, turns: Turns) -> list[int]:
        """Token ids of a conversation, ready to be answered."""
        messages = [{"role": role, "content": content} for role, content in turns]
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        text: str = self.tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text

    def decoding(self, max_tokens: int, temperature: float) -> Decoding:
        """How this policy's answers are sampled."""
        return Decoding(max_tokens, temperature, self.end_ids, int(self.tokenizer.pad_token_id))

    def generate(
        self,
        prompts: Sequence[Turns],
        *,
        answers: int,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
        batch: int = 64,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Generation]]:
        """`answers` sampled answers to each prompt, a seed a prompt; `batch` answers at a time."""
        how = self.decoding(max_tokens, temperature)
        encoded = [self.encode(turns) for turns in prompts]
        tokens, logps = sample(self.model, encoded, seeds, answers, how, batch, progress)
        flat = [
            Generation(self.decode(ids), tuple(ids), logp, ids[-1] not in how.end_ids)
            for ids, logp in zip(tokens, logps, strict=True)
        ]
        return [flat[start : start + answers] for start in range(0, len(flat), answers)]


def _weights(folder: Path, dtype: torch.dtype) -> Any:
    """The model in `folder`; weights that its architecture has and the files lack are refused, not drawn at random."""
    if (folder / ADAPTER_CONFIG).is_file():
        from peft import PeftConfig, PeftModel

        base = PeftConfig.from_pretrained(str(folder)).base_model_name_or_path
        with quiet():
            adapted: Any = PeftModel.from_pretrained(_weights(local_folder(str(base)), dtype), str(folder))
        return adapted.merge_and_unload()
    make: Any = AutoModelForCausalLM.from_pretrained
    model, info = make(
        str(folder), dtype=dtype, use_safetensors=True, trust_remote_code=False, output_loading_info=True
    )
    if missing := sorted(info["missing_keys"]):
        raise SetupError(
            f"the weights in {str(folder)!r} lack {len(missing)} that its config asks for, {missing[0]!r} among them;"
            f" {ADVICE}"
        )
    return model


def fastest_dtype() -> torch.dtype:
    """bfloat16 where this machine multiplies it at least 1.3 times as fast as float32, measured in about a second."""
    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    seconds = {dtype: _matmul_seconds(dtype) for dtype in (torch.float32, torch.bfloat16)}
    return torch.bfloat16 if seconds[torch.bfloat16] * 1.3 <= seconds[torch.float32] else torch.float32


def _matmul_seconds(dtype: torch.dtype, size: int = 1024, rounds: int = 5) -> float:
    left = torch.ones(size, size, dtype=dtype)
    right = torch.ones(size, size, dtype=dtype)
    torch.mm(left, right)
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        torch.mm(left, right)
        best = min(best, time.perf_counter() - started)
    return best
