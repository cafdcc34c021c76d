"""How an endpoint is asked, as data: part of recipes, and what the command line makes of `--judge URL#MODEL`."""

import os
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, JsonValue, field_validator, model_validator

from rubric_anchors.core.errors import InputError, SetupError
from rubric_anchors.core.frozen import Frozen
from rubric_anchors.core.ids import content_id

Seconds = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
MILLION: Final = 1_000_000


class EndpointConfig(Frozen):
    """A language model behind an OpenAI-compatible `chat/completions` endpoint."""

    url: str
    """Base URL, e.g. `http://localhost:8000/v1`."""
    model: str = Field(min_length=1)
    """The model's name there."""
    key_env: str = ""
    """Name of the environment variable that holds the key; never the key itself."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    """0: a judge should say the same again."""
    max_tokens: int = Field(default=2048, ge=1)
    """Tokens of a reply, reasoning included."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of each request's body, e.g. `{chat_template_kwargs: {enable_thinking: false}}`."""
    structured: Literal["auto", "schema", "tools", "text"] = "auto"
    """How replies are held to a JSON Schema: by the endpoint (`schema`), as the arguments of a function that must be
    called (`tools`), or not at all (`text`). `auto`: by the first of these that it does not refuse."""
    concurrency: int = Field(default=32, ge=1, le=4096)
    """Requests in flight at once."""
    requests_per_minute: Annotated[float, Field(gt=0.0)] | None = None
    """The endpoint's limit; none unless given."""
    tokens_per_minute: Annotated[float, Field(gt=0.0)] | None = None
    """The endpoint's limit on tokens in and out; none unless given."""
    timeout: Seconds = 120.0
    """Seconds that one try of one request may take."""
    attempts: int = Field(default=5, ge=1, le=20)
    """Tries of one request, where another try can help."""
    patience: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 120.0
    """Seconds that an endpoint which answers nothing any more is looked at again, by one request at a time, before the
    work stops; one that has never answered gets 5 at most. 120: a server that is started anew loads its model."""
    batch_deadline: Seconds | None = None
    """Seconds until what has no reply of a batch is left without one; none unless given."""
    price_in: Price = 0.0
    """Of a million tokens in."""
    price_cached: Price | None = None
    """Of a million tokens in that the endpoint had in its prefix cache; as `price_in` unless given."""
    price_out: Price = 0.0
    """Of a million tokens out."""

    @field_validator("url")
    @classmethod
    def _a_base(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(
                f"an http or https URL was expected, e.g. http://localhost:8000/v1; seen {redacted(url)!r}"
            )
        if "@" in parts.netloc:
            raise ValueError("a URL with a user name or password in it was seen; put the key into a variable: key_env")
        return url.rstrip("/").removesuffix("/chat/completions")

    @field_validator("key_env")
    @classmethod
    def _a_name(cls, name: str) -> str:
        if name and not name.isidentifier():
            raise ValueError("key_env is the name of an environment variable, never the key itself")
        return name

    @model_validator(mode="after")
    def _ours(self) -> Self:
        ours = {"model", "messages", "stream", "n", "response_format", "tools", "tool_choice"}
        taken = sorted(ours & set(self.extra))
        if taken:
            raise ValueError(f"extra may not set {', '.join(taken)}: they are set by what is asked")
        return self

    @property
    def fingerprint(self) -> str:
        """Id of all that can change a reply: not the key, the limits or the prices."""
        return content_id({"url": self.url, **self._mind})

    @property
    def mind(self) -> str:
        """The same wherever the model is served: a server that has moved is no other judge."""
        return content_id(self._mind)

    @property
    def _mind(self) -> dict[str, JsonValue]:
        return {
            "model": self.model,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": self.extra,
            "structured": self.structured,
        }

    def key(self) -> str:
        """The key, empty where none is named. Raises SetupError where the variable is not set."""
        if not self.key_env:
            return ""
        value = os.environ.get(self.key_env, "").strip()
        if not value:
            raise SetupError(
                f"the key of {redacted(self.url)} is read from the environment variable {self.key_env}, which is not"
                f" set; export {self.key_env}=..."
            )
        return value

    def cost(self, prompt: int, cached: int, completion: int) -> float:
        """Of so many tokens; `cached` of the `prompt` tokens came from the prefix cache."""
        cached_price = self.price_in if self.price_cached is None else self.price_cached
        return ((prompt - cached) * self.price_in + cached * cached_price + completion * self.price_out) / MILLION


def parse_endpoint(text: str) -> tuple[str, str]:
    """`URL#MODEL` as both. Raises InputError."""
    url, _, model = text.partition("#")
    if not url or not model:
        raise InputError(
            "a judge is given as URL#MODEL, e.g. http://localhost:8000/v1#my-model, or as local#FOLDER; seen"
            f" {redacted(text)!r}"
        )
    return url, model


def redacted(url: str) -> str:
    """`url` without what may hold a key: user name, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(no URL)"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
