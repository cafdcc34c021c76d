"""How likely a frozen causal language model finds an answer, token by token."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray

from rubric_anchors.models.embedded import embedded_policy
from rubric_anchors.models.folder import local_folder, weights_fingerprint
from rubric_anchors.models.policy import LocalPolicy

MAX_TOKENS: Final = 1024
BATCH_TOKENS: Final = 4096
LOGIT_ROWS: Final = 512
HEAD_TOLERANCE: Final = 5e-2
DOCUMENT_END: Final = "<|endoftext|>"


class Turn(Protocol):
    """A message of a conversation."""

    @property
    def role(self) -> str: ...

    @property
    def content(self) -> str: ...


class AnsweredPrompt(Protocol):
    """An answer with what was asked; an empty prompt: the text by itself, not as the turn of a chat."""

    @property
    def prompt(self) -> Sequence[Turn]: ...

    @property
    def text(self) -> str: ...


class CausalLikelihood:
    """A frozen causal model as a judge of language: it never sees a gradient, so a policy cannot move it.

    Answers are sorted by length and padded on the right; logits are made for the answer's tokens alone, 512 at a time,
    so that memory stays near 100 MB x vocabulary / 49k however many answers come.
    """

    def __init__(self, policy: LocalPolicy, folder: Path, max_tokens: int = MAX_TOKENS) -> None:
        self.policy = policy
        self.folder = folder
        self.max_tokens = max_tokens
        policy.model.requires_grad_(False)
        policy.model.eval()

    @classmethod
    def load(
        cls, model: str | Path | None = None, dtype: torch.dtype = torch.float32, max_tokens: int = MAX_TOKENS
    ) -> Self:
        """Load a folder or hub id (None: the embedded policy) from safetensors, no code of its own run.

        Of prompt and answer together the model sees `max_tokens` at a time; a longer answer is read in windows that
        overlap by half. Raises SetupError where the model cannot be had.
        """
        folder = local_folder(model) if model is not None else embedded_policy()
        return cls(LocalPolicy.load(folder, dtype), folder, max_tokens)

    @cached_property
    def fingerprint(self) -> str:
        """Id of the weights, the tokenizer, the dtype and the window."""
        return weights_fingerprint(self.folder, str(self.policy.model.dtype), f"max_tokens={self.max_tokens}")

    def token_logps(self, answers: Sequence[AnsweredPrompt]) -> list[NDArray[np.float32]]:
        """For each answer, the natural-log probability of each of its tokens, float32 [tokens]; empty for an empty
        answer.

        Each is given the prompt, as the model's chat template writes it, and the answer's tokens before it.
        """
        windows = [window for index, answer in enumerate(answers) for window in self._windows(index, answer)]
        windows.sort(key=lambda window: (len(window.ids), window.answer, window.place))
        parts: list[list[tuple[int, NDArray[np.float32]]]] = [[] for _ in answers]
        for batch in _batches(windows):
            for window, logps in zip(batch, self._read(batch), strict=True):
                parts[window.answer].append((window.place, logps))
        none = np.zeros(0, dtype=np.float32)
        return [np.concatenate([none, *(logps for _, logps in sorted(part, key=lambda one: one[0]))]) for part in parts]

    def _windows(self, index: int, answer: AnsweredPrompt) -> list["_Window"]:
        text = answer.text.encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self.policy.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            return []
        head = (
            self.policy.encode([(turn.role, turn.content) for turn in answer.prompt]) if answer.prompt else self._start
        )
        # A very long prompt keeps its end, where the question stands, and leaves at least half of the window to the
        # answer.
        head = head[-max(1, self.max_tokens - min(len(ids), self.max_tokens // 2)) :]
        first = min(len(ids), self.max_tokens - len(head))
        windows = [_Window(index, 0, [*head, *ids[:first]], len(head))]
        half = max(1, self.max_tokens // 2)
        for start in range(first, len(ids), half):
            before = ids[max(0, start - half) : start]
            windows.append(_Window(index, len(windows), [*before, *ids[start : start + half]], len(before)))
        return windows

    @property
    def _start(self) -> list[int]:
        """What stands before a text that answers nothing: the token that begins or parts documents."""
        tokenizer = self.policy.tokenizer
        # SmolLM2's documents are parted by <|endoftext|>, its unk token; its bos opens a chat turn, which a bare text
        # is not.
        found = tokenizer.convert_ids_to_tokens(tokenizer.convert_tokens_to_ids(DOCUMENT_END) or 0)
        named = tokenizer.convert_tokens_to_ids(DOCUMENT_END) if found == DOCUMENT_END else None
        ids = (named, tokenizer.bos_token_id, tokenizer.eos_token_id)
        return [next((int(token) for token in ids if token is not None), 0)]

    @torch.inference_mode()
    def _read(self, batch: Sequence["_Window"]) -> list[NDArray[np.float32]]:
        model = self.policy.model
        width = max(len(window.ids) for window in batch)
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        mask = torch.zeros((len(batch), width), dtype=torch.long)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = torch.tensor(window.ids)
            mask[row, : len(window.ids)] = 1
        places = [(row, place - 1) for row, window in enumerate(batch) for place in range(window.head, len(window.ids))]
        rows, before = (torch.tensor(column) for column in zip(*places, strict=True))
        device = next(model.parameters()).device
        states = self._states(ids.to(device), mask.to(device))[rows.to(device), before.to(device)]
        targets = ids[rows, before + 1].to(device)
        logps = (
            torch.cat([_logps(self._logits(part), target) for part, target in _pairs(states, targets)]).cpu().numpy()
        )
        cuts = np.cumsum([len(window.ids) - window.head for window in batch])[:-1]
        return np.split(logps.astype(np.float32), cuts)

    def _states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """What `_logits` makes logits of: the last hidden states, or the logits themselves where the head is not
        plain."""
        model = self.policy.model
        if self._plain_head:
            states: torch.Tensor = model.base_model(
                input_ids=ids, attention_mask=mask, use_cache=False
            ).last_hidden_state
            return states
        logits: torch.Tensor = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        return logits

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.policy.model.get_output_embeddings()(states) if self._plain_head else states
        return logits

    @cached_property
    @torch.inference_mode()
    def _plain_head(self) -> bool:
        """Whether the logits are the output embedding of the last hidden state, seen on eight tokens.

        Some architectures scale or cap them after; then the model's own logits are used, at the price of memory.
        """
        model = self.policy.model
        ids = (torch.arange(8) % max(1, model.config.get_text_config().vocab_size)).unsqueeze(0)
        ids = ids.to(next(model.parameters()).device)
        head = model.get_output_embeddings()
        if head is None:
            return False
        ours = head(model.base_model(input_ids=ids, use_cache=False).last_hidden_state).float()
        own = model(input_ids=ids, use_cache=False).logits.float()
        return ours.shape == own.shape and bool((ours - own).abs().max() <= HEAD_TOLERANCE)


class _Window:
    """A stretch of tokens of one answer, the first `head` of which are context."""

    __slots__ = ("answer", "head", "ids", "place")

    def __init__(self, answer: int, place: int, ids: list[int], head: int) -> None:
        self.answer, self.place, self.ids, self.head = answer, place, ids, head


def _batches(windows: Sequence[_Window]) -> list[list[_Window]]:
    """`windows`, sorted by length, in runs of at most 4096 tokens with their padding."""
    batches: list[list[_Window]] = []
    for window in windows:
        if batches and (len(batches[-1]) + 1) * len(window.ids) <= BATCH_TOKENS:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches


def _pairs(states: torch.Tensor, targets: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return list(zip(torch.split(states, LOGIT_ROWS), torch.split(targets, LOGIT_ROWS), strict=True))


def _logps(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    wide = logits.float()
    chosen: torch.Tensor = wide.gather(1, targets.unsqueeze(1)).squeeze(1) - torch.logsumexp(wide, dim=1)
    return chosen
