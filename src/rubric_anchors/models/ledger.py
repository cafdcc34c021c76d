"""What an endpoint was asked, what it cost, and what failed. Thread-safe."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rubric_anchors.models.chat import Usage
from rubric_anchors.models.endpoint_config import EndpointConfig


@dataclass(frozen=True, slots=True)
class Account:
    """A ledger at one moment."""

    calls: int = 0
    """Requests that were answered, from the cache aside."""
    retries: int = 0
    """Tries beyond a request's first."""
    cached: int = 0
    """Requests answered from the cache of replies: not paid again."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    """By the prices of the config."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Requests that got no reply, by code."""
    maybe_billed: int = 0
    """Tries that were sent and came to no reply: the endpoint may charge for them."""
    maybe_cost: float = 0.0
    """What these, and replies that came without a count of tokens, can have cost at most. Counts against the budget."""


class Ledger:
    """Keeps the account of one endpoint, and holds it to a budget."""

    def __init__(self, config: EndpointConfig, max_cost: float | None = None) -> None:
        """`max_cost`: in the currency of the prices; None: no limit."""
        self._config = config
        self._max_cost = max_cost
        self._lock = threading.Lock()
        self._calls = self._retries = self._cached = self._maybe_billed = 0
        self._prompt = self._prefix = self._completion = 0
        self._cost = self._maybe_cost = self._reserved = 0.0
        self._failures: Counter[str] = Counter()

    def reserve(self, prompt_tokens: int) -> float | None:
        """Sets aside what a call may cost at most (its prompt, estimated, and a reply of full length); None where that
        could pass the budget. Give it back by `settle`, `assume` or `release`."""
        amount = self._config.cost(prompt_tokens, 0, self._config.max_tokens)
        with self._lock:
            spent = self._cost + self._maybe_cost + self._reserved
            if self._max_cost is not None and spent + amount > self._max_cost:
                return None
            self._reserved += amount
            return amount

    def settle(self, reserved: float, usage: Usage) -> None:
        """A call was answered."""
        with self._lock:
            self._reserved -= reserved
            self._calls += 1
            self._prompt += usage.prompt
            self._prefix += usage.cached
            self._completion += usage.completion
            self._cost += self._config.cost(usage.prompt, usage.cached, usage.completion)
            if not usage.prompt and not usage.completion:
                self._maybe_cost += reserved  # an endpoint that does not count tokens is not free

    def assume(self, reserved: float) -> None:
        """A try was sent and came to no reply: it may have to be paid for all the same."""
        with self._lock:
            self._reserved -= reserved
            self._maybe_billed += 1
            self._maybe_cost += reserved

    def release(self, reserved: float) -> None:
        """A call came to nothing, and cannot have to be paid for."""
        with self._lock:
            self._reserved -= reserved

    def retried(self) -> None:
        with self._lock:
            self._retries += 1

    def from_cache(self) -> None:
        with self._lock:
            self._cached += 1

    def failed(self, code: str) -> None:
        with self._lock:
            self._failures[code] += 1

    def account(self) -> Account:
        """What stands in it now."""
        with self._lock:
            usage = Usage(self._prompt, self._prefix, self._completion)
            return Account(
                calls=self._calls,
                retries=self._retries,
                cached=self._cached,
                usage=usage,
                cost=self._cost,
                failures=dict(self._failures),
                maybe_billed=self._maybe_billed,
                maybe_cost=self._maybe_cost,
            )
