"""A judge at an endpoint or in this process, made ready for critics: the client, its cache of replies, its ledger; and
what it would be asked."""

import atexit
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from pydantic import Field, field_validator, model_validator

from rubric_anchors.critic.base import Tools
from rubric_anchors.models.chat import ChatModel, Follow, NoReply, Request, Said
from rubric_anchors.models.embedded import EMBEDDED, cache_folder, embedded_policy
from rubric_anchors.models.endpoint import Endpoint
from rubric_anchors.models.endpoint_config import EndpointConfig
from rubric_anchors.models.ledger import Account, Ledger
from rubric_anchors.models.local_chat import LocalChat
from rubric_anchors.models.replies import ReplyStore
from rubric_anchors.models.wire import estimated_tokens

LOCAL: Final = "local"
"""In place of a URL: in this process."""
REPLIES: Final = "replies.sqlite"
BATCH: Final = 128
"""Answers judged together, and lost to a kill at most where one process judges."""
WAVES: Final = 8
"""A judge gets so many batches of its concurrency at once: the last calls of a batch leave it half idle."""
TOKENS_A_VERDICT: Final = 60
"""What a verdict on one criterion takes, with its evidence; for estimates."""


class JudgeConfig(EndpointConfig):
    """A language model as judge, at an OpenAI-compatible endpoint; or with `local` for the URL one in this process, its
    model a folder or a hub id."""

    max_cost: float | None = Field(default=None, ge=0.0, allow_inf_nan=False)
    """The most that may be spent, in the currency of the prices; a call that could pass it is not made."""
    cache: str | None = None
    """SQLite file of replies, shared by all processes that name it; in the user's cache folder unless given."""

    @field_validator("url")
    @classmethod
    def _a_base(cls, url: str) -> str:
        return url if url == LOCAL else super()._a_base(url)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.url == LOCAL:
            of_endpoints = (
                "key_env",
                "extra",
                "structured",
                "requests_per_minute",
                "tokens_per_minute",
                "batch_deadline",
            )
            for name in of_endpoints:
                if getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True):
                    raise ValueError(f"a judge in this process takes no {name}: that is for endpoints")
        return self


class Judge:
    """One endpoint for the length of a `with`, or of the process; the client is opened at the first use."""

    def __init__(self, config: JudgeConfig) -> None:
        self.config = config
        self.ledger = Ledger(config, config.max_cost)
        self._endpoint: Endpoint | LocalChat | None = None
        self._store: ReplyStore | None = None

    def model(self) -> ChatModel:
        """The client. Raises SetupError where the key, the cache or the model in this process cannot be had."""
        if self._endpoint is None:
            self.config.key()  # before anything is opened that would have to be closed again
            file = Path(self.config.cache) if self.config.cache else cache_folder() / REPLIES
            self._store = ReplyStore(file)
            if self.config.url == LOCAL:
                folder = embedded_policy() if self.config.model == EMBEDDED else self.config.model
                self._endpoint = LocalChat.load(folder, self.config, store=self._store, ledger=self.ledger)
            else:
                self._endpoint = Endpoint(self.config, store=self._store, ledger=self.ledger)
            atexit.register(self.close)
        return self._endpoint

    def close(self) -> None:
        """Closes connections and file; a second call does nothing."""
        if self._endpoint is not None:
            self._endpoint.close()
        if self._store is not None:
            self._store.close()
        self._endpoint = self._store = None
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Estimate:
    """A chat model that only counts what it is asked: every reply fails, and nobody is asked anything."""

    config: JudgeConfig
    requests: dict[Request, int] = field(default_factory=dict)
    """Each different request with its prompt tokens, estimated from characters (rather too high than too low)."""

    @property
    def fingerprint(self) -> str:
        return self.config.fingerprint

    def ask(self, requests: Sequence[Request], follow: Follow | None = None) -> list[Said]:
        """Counts; follows nothing up."""
        del follow
        for request in requests:
            self.requests[request] = estimated_tokens(request)
        return [NoReply("dry_run", "nobody was asked") for _ in requests]

    @property
    def calls(self) -> int:
        return len(self.requests)

    @property
    def prompt_tokens(self) -> int:
        return sum(self.requests.values())

    @property
    def cost(self) -> float:
        """With about TOKENS_A_VERDICT tokens out a criterion, none from a prefix cache and none tried again."""
        out = sum(len(json.loads(request.schema)["properties"]) for request in self.requests) * TOKENS_A_VERDICT
        return self.config.cost(self.prompt_tokens, 0, out)


def with_judge(tools: Tools, judge: Judge | Estimate | None) -> Tools:
    """`tools` with the judge that critics ask."""
    if judge is None:
        return tools
    return replace(tools, judge=judge.model if isinstance(judge, Judge) else lambda: judge)


@contextmanager
def asking(config: JudgeConfig | None, tools: Tools) -> Iterator[tuple[Tools, Judge | None]]:
    """`tools` with the judge of that config, and the judge, open for the length of the block; as they are without
    one."""
    if config is None:
        yield tools, None
        return
    with Judge(config) as judge:
        yield with_judge(tools, judge), judge


def batch_size(config: JudgeConfig | None) -> int:
    """How many answers are best judged together."""
    return BATCH if config is None else max(BATCH, WAVES * config.concurrency)


def account_line(account: Account) -> str:
    """An account in a few words, for a progress line."""
    parts = [f"{account.calls} calls"]
    if account.cached:
        parts.append(f"{account.cached} from the cache")
    if account.cost:
        parts.append(f"cost {account.cost:.4g}")
    if failed := sum(account.failures.values()):
        parts.append(f"{failed} failed")
    if account.maybe_billed:
        parts.append(f"{account.maybe_billed} perhaps billed without a reply")
    if account.maybe_cost:
        parts.append(f"perhaps {account.maybe_cost:.4g} more")
    return ", ".join(parts)
