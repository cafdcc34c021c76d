"""A chat model that is asked what it was asked before, as if for the first time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.models.chat import SEEDS, ChatModel, Follow, Request, Said


@dataclass(frozen=True, slots=True)
class Anew:
    """`model`, with a seed of its own for every request: no reply to an earlier time will do, from a cache neither.

    A seed is part of what replies are kept under, so what is said now is kept too: the same once more costs nothing.
    """

    model: ChatModel
    again: int
    """How often the same was asked before; at least 1."""

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """As `model` does."""

        def anew(at: int, said: Said) -> Request | None:
            after = None if follow is None else follow(at, said)
            return None if after is None else self._anew(after)

        return self.model.ask([self._anew(request) for request in requests], anew)

    def _anew(self, request: Request) -> Request:
        seed = () if request.seed is None else (request.seed,)
        return replace(request, seed=derive_seed("anew", self.again, *seed) % SEEDS)
