"""Log-likelihoods under a plain transformers model: whole passages, and the choices of multiple-choice items.

Logits are worked out for needed positions only: a vocabulary of 49,000 times every token of a batch is what makes
this slow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

BATCH_TOKENS: Final = 2048
"""Padded tokens in one forward pass; at 49,000 words of vocabulary its logits take 400 MB in float32."""

Model = Any
Tokenizer = Any
"""A transformers causal model and its tokenizer, already loaded; their own annotations are too loose to hold."""


@dataclass(frozen=True, slots=True)
class Item:
    """A multiple-choice item: the text before, the choices, and the place of the right one."""

    id: str
    context: str
    choices: tuple[str, ...]
    answer: int


def passage_logps(
    model: Model, tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int = 1024
) -> list[NDArray[np.float64]]:
    """Natural-log probability of each token of each text, the first given the start token. Texts are cut at
    `max_tokens`.
    """
    start = _start(tokenizer)
    rows = [[start, *tokenizer.encode(text, add_special_tokens=False)[:max_tokens]] for text in texts]
    found: list[NDArray[np.float64]] = [np.zeros(0)] * len(rows)
    for batch in _batches([len(row) for row in rows]):
        ids, mask = _padded([rows[at] for at in batch])
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
            for line, at in enumerate(batch):
                length = len(rows[at])
                found[at] = _gathered(logits[line, : length - 1], ids[line, 1:length])
    return found


def choice_logps(model: Model, tokenizer: Tokenizer, items: Sequence[Item]) -> list[NDArray[np.float64]]:
    """Sum of the natural-log probabilities of each choice after its context, shape [choices] for each item.

    A choice is joined to its context by one space unless either brings its own. The context is read once for all
    choices: its cache is repeated.
    """
    contexts: list[list[int]] = []
    endings: list[list[list[int]]] = []
    for item in items:
        context, tails = _split(tokenizer, item)
        contexts.append(context)
        endings.append(tails)
    found: list[NDArray[np.float64]] = [np.zeros(0)] * len(items)
    widths = [len(context) + sum(len(tail) for tail in tails) for context, tails in zip(contexts, endings, strict=True)]
    for batch in _batches(widths):
        for at, sums in zip(
            batch, _scored(model, [contexts[i] for i in batch], [endings[i] for i in batch]), strict=True
        ):
            found[at] = sums
    return found


def _split(tokenizer: Tokenizer, item: Item) -> tuple[list[int], list[list[int]]]:
    """Tokens of the context and of each choice, cut where the context alone ends, as the common harness does."""
    context = item.context.rstrip(" ")
    prefix = tokenizer.encode(context) if context else [_start(tokenizer)]
    tails = []
    for choice in item.choices:
        glue = "" if choice[:1].isspace() or context[-1:] in ("", "\n") else " "
        whole = tokenizer.encode(context + glue + choice) if context else [*prefix, *tokenizer.encode(choice)]
        tails.append(whole[len(prefix) :] or whole[-1:])
    return prefix, tails


def _scored(model: Model, contexts: list[list[int]], endings: list[list[list[int]]]) -> list[NDArray[np.float64]]:
    """One batch: contexts padded on the left so that all end at one column, then every choice on the repeated cache."""
    width = max(len(context) for context in contexts)
    ids = torch.zeros(len(contexts), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for line, context in enumerate(contexts):
        ids[line, width - len(context) :] = torch.tensor(context)
        mask[line, width - len(context) :] = 1
    places = (mask.cumsum(1) - 1).clamp(min=0)
    counts = torch.tensor([len(tails) for tails in endings])
    flat = [tail for tails in endings for tail in tails]
    with torch.inference_mode():
        output = model(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1)
        owner = torch.repeat_interleave(torch.arange(len(contexts)), counts)
        first = torch.log_softmax(output.logits[:, -1].float(), -1)
        sums = np.array([float(first[at, tail[0]]) for at, tail in zip(owner.tolist(), flat, strict=True)])
        longest = max(len(tail) for tail in flat) - 1
        if longest > 0:
            named = "cache" if "cache" in output else "past_key_values"  # transformers 5.24 renamed it
            cache = output[named]
            cache.batch_select_indices(owner)
            more, extra = _padded([tail[:-1] or [0] for tail in flat])
            steps = (
                torch.arange(more.shape[1])[None] + torch.tensor([len(contexts[at]) for at in owner.tolist()])[:, None]
            )
            seen = torch.cat([mask[owner], extra], dim=1)
            logits = model(input_ids=more, attention_mask=seen, position_ids=steps, **{named: cache}).logits
            for line, tail in enumerate(flat):
                if len(tail) > 1:
                    sums[line] += _gathered(logits[line, : len(tail) - 1], torch.tensor(tail[1:])).sum()
    return np.split(sums, np.cumsum(counts.numpy())[:-1])


def _gathered(logits: torch.Tensor, targets: torch.Tensor) -> NDArray[np.float64]:
    logits = logits.float()
    chosen = logits.gather(1, targets[:, None])[:, 0] - torch.logsumexp(logits, 1)
    return chosen.double().numpy()


def _padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids padded on the right and their mask, both shape [rows, longest]."""
    width = max(len(row) for row in rows)
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return ids, mask


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places in order of length, as many at a time as keep the padded batch within BATCH_TOKENS."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda place: (lengths[place], place)):
        if batch and (len(batch) + 1) * lengths[at] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _start(tokenizer: Tokenizer) -> int:
    """The token before a text's first: the tokenizer's start token, else its end token, else 0."""
    return next((t for t in (tokenizer.bos_token_id, tokenizer.eos_token_id) if t is not None), 0)
