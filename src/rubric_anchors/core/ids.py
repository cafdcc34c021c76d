"""Content ids and seeds: the same content has the same id on every machine, and seeds come from ids, not from order."""

import hashlib
import json
from typing import Final

from pydantic import JsonValue

ID_LENGTH: Final = 16


def canonical(value: JsonValue) -> str:
    """`value` as JSON with one spelling: sorted keys, no spaces, Unicode as it stands, no NaN or infinity.

    Raises ValueError on NaN and infinity: an id over a number that equals nothing would equal nothing too.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_id(value: JsonValue) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of `value`'s canonical JSON."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:ID_LENGTH]


def derive_seed(*parts: str | int) -> int:
    """A seed in 0 .. 2**63 - 1 that depends on `parts` and on nothing else."""
    digest = hashlib.sha256(canonical(list(parts)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1
