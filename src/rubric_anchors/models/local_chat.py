"""A language model in this process as a chat model: the policy's own sampler behind the seam that endpoints stand at.

For a judge where there is no endpoint. It is not held to schemas: whoever asks reads its replies as strictly as any.
PyTorch is loaded when it is made.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models.chat import Follow, NoReply, Reply, Request, Said, Token, Usage
from rubric_anchors.models.endpoint_config import EndpointConfig
from rubric_anchors.models.folder import local_folder, weights_fingerprint
from rubric_anchors.models.ledger import Ledger
from rubric_anchors.models.replies import ReplyStore, reply_key

if TYPE_CHECKING:
    from rubric_anchors.models.policy import LocalPolicy

GREEDY: Final = 1e-6
"""A temperature at which only the likeliest token is ever drawn."""
UNLIKELY: Final = -1e30
"""Log-probabilities below it are of tokens that the model cannot say."""


class LocalChat:
    """A `ChatModel` over a causal language model. It says the same again to the same request, but for what last bits
    decide, which depend on what is sampled beside it: a seed that is not given follows from the request.

    Of `config`: `max_tokens` of a reply, its `temperature`, and as `concurrency` how many are sampled at once.
    """

    def __init__(
        self,
        policy: "LocalPolicy",
        weights: str,
        config: EndpointConfig,
        *,
        store: ReplyStore | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        """`weights`: an id of the policy's weights."""
        self.ledger = ledger or Ledger(config)
        self._policy = policy
        self._fingerprint = f"{weights}-{config.max_tokens}-{config.temperature:g}"
        self._config = config
        self._store = store
        self._one = threading.Lock()
        self._closed = False
        policy.model.register_forward_pre_hook(self._while_open)

    @classmethod
    def load(
        cls, path: str | Path, config: EndpointConfig, *, store: ReplyStore | None = None, ledger: Ledger | None = None
    ) -> Self:
        """The model in a folder or at a hub id. Raises SetupError where it cannot be had."""
        folder = local_folder(path)
        weights = weights_fingerprint(folder)
        try:
            from rubric_anchors.models.policy import LocalPolicy
        except ModuleNotFoundError as error:
            raise SetupError(
                f"a judge in this process needs {error.name}, which is not installed; pip install"
                " 'rubric-anchors[local]', or name an endpoint"
            ) from error
        return cls(LocalPolicy.load(folder), weights, config, store=store, ledger=ledger)

    @property
    def fingerprint(self) -> str:
        """Id of the weights and the sampling settings."""
        return self._fingerprint

    def close(self) -> None:
        """What is being sampled ends at its next token; nothing can be asked any more."""
        self._closed = True

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """See `ChatModel.ask`. Goes in rounds: what `follow` gives is asked in the next. Raises SetupError where it was
        closed, Refused where the weights give no probabilities."""
        said: dict[int, Said] = {}
        now = list(enumerate(requests))
        with self._one:
            while now:
                different = list({request: None for _, request in now})
                replies = dict(zip(different, self._known_or_said(different), strict=True))
                after: list[tuple[int, Request]] = []
                for at, request in now:
                    said[at] = replies[request]
                    if follow is not None and (following := follow(at, said[at])) is not None:
                        after.append((at, following))
                now = after
        return [said[at] for at in range(len(requests))]

    def _while_open(self, *_: object) -> None:
        if self._closed:
            raise SetupError("nothing can be asked of a model that was closed")

    def _known_or_said(self, requests: Sequence[Request]) -> list[Said]:
        keys = [reply_key(self._fingerprint, request) for request in requests]
        found: list[Said | None] = [self._store.get(key) if self._store else None for key in keys]
        for known in found:
            if known is not None:
                self.ledger.from_cache()
        new = [at for at, known in enumerate(found) if known is None]
        size = self._config.concurrency
        for start in range(0, len(new), size):
            part = new[start : start + size]
            for at, said in zip(part, self._say([requests[at] for at in part]), strict=True):
                found[at] = said
                self._enter(keys[at], said)
        return [said for said in found if said is not None]

    def _enter(self, key: str, said: Said) -> None:
        """In the books, and on disk before it is used."""
        if isinstance(said, NoReply):
            self.ledger.failed(said.code)
            return
        self.ledger.settle(0.0, said.usage)
        if self._store is not None:
            self._store.put(key, said).result()

    def _say(self, requests: Sequence[Request]) -> list[Said]:
        from rubric_anchors.models.sampler import sample

        said: list[Said] = [NoReply("refused_request")] * len(requests)
        # By the length that a reply may have, mostly one and the same: what else is asked does not change it.
        by_length: dict[int, dict[int, list[int]]] = {}
        for at, request in enumerate(requests):
            read = self._encode(request)
            if isinstance(read, NoReply):
                said[at] = read
            else:
                by_length.setdefault(self._room(read), {})[at] = read
        for length, prompts in by_length.items():
            how = self._policy.decoding(length, self._config.temperature or GREEDY)
            seeds = [self._seed(requests[at]) for at in prompts]
            tokens, _ = sample(self._policy.model, list(prompts.values()), seeds, 1, how, self._config.concurrency)
            for (at, prompt), reply in zip(prompts.items(), tokens, strict=True):
                said[at] = self._reply(requests[at], prompt, reply)
        return said

    def _room(self, prompt: Sequence[int]) -> int:
        """Tokens that a reply to it may have; below 1: none."""
        context: int | None = getattr(self._policy.model.config, "max_position_embeddings", None)
        most = self._config.max_tokens
        return most if context is None else min(most, context - len(prompt))

    def _encode(self, request: Request) -> list[int] | NoReply:
        try:
            ids = self._policy.encode([(turn.role, turn.content) for turn in request.turns])
        except Exception as error:  # noqa: BLE001  a chat template refuses turns by raising what it likes
            return NoReply("refused_request", " ".join(f"{type(error).__name__}: {error}".split())[:200])
        if self._room(ids) < 1:
            return NoReply("context_length", f"{len(ids)} tokens, more than the model can read and still reply")
        return ids

    def _seed(self, request: Request) -> int:
        """A seed of the request's own; its `seed` field is a part of that."""
        return int(reply_key(self._fingerprint, request)[:15], 16)

    def _reply(self, request: Request, prompt: Sequence[int], reply: Sequence[int]) -> Said:
        ended = bool(reply) and reply[-1] in self._policy.end_ids
        text = self._policy.decode(reply)
        if ended and not text.strip():
            return NoReply("empty_reply", "the model ended its reply before it began")
        words = reply[:-1] if ended else reply
        tokens = self._tokens(prompt, words, request.alternatives) if request.alternatives else ()
        return Reply(text, "stop" if ended else "length", tokens, Usage(len(prompt), 0, len(reply)))

    def _tokens(self, prompt: Sequence[int], words: Sequence[int], alternatives: int) -> tuple[Token, ...]:
        """The tokens of a reply with the likeliest at their places, at temperature 1 whatever they were drawn at."""
        if not words:
            return ()
        import torch

        model: Any = self._policy.model
        ids = torch.tensor([[*prompt, *words]], device=next(model.parameters()).device)
        with torch.inference_mode():
            logits = model(input_ids=ids, logits_to_keep=len(words) + 1).logits[0, :-1].float()
        logps = torch.log_softmax(logits, dim=-1)
        best = logps.topk(min(alternatives, logps.shape[-1]), dim=-1)
        own = logps.gather(1, ids[0, len(prompt) :].unsqueeze(1)).squeeze(1).tolist()
        return tuple(
            Token(
                self._word(word),
                logp,
                tuple(
                    (self._word(other), value) for other, value in zip(others, values, strict=True) if value > UNLIKELY
                ),
            )
            for word, logp, values, others in zip(words, own, best.values.tolist(), best.indices.tolist(), strict=True)
        )

    def _word(self, token: int) -> str:
        return str(self._policy.tokenizer.decode([token]))
