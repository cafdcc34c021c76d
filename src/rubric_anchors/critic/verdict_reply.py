"""From what a judge said to verdicts: one strict reader for bare JSON, code fences, reasoning before and prose around.

A reply decides nothing unless it holds exactly one verdict: an object with exactly the criteria as keys, each with a
tier in range and evidence. Two that differ, a key twice, a tier as text, a reply that was cut off: refused, and nothing
is guessed or filled in. Where there is prose around, an object that stands in the answer too is a quotation of it.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from rubric_anchors.critic.answer import THINK_CLOSE, THINK_OPEN
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Evidence, Judged

MOST: Final = 1 << 20
"""Characters of a reply; no verdict is longer."""
OBJECTS: Final = 200
"""Objects that are looked at in a reply."""
_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)```", re.DOTALL)
_BLANKS = re.compile(r"\s+")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\]|\[…\])\s*")
_QUOTES: Final = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "`": "'"}
)


def read_reply(reply: str, criteria: Sequence[Criterion], answer: str, critic: str = "judge") -> tuple[Judged, ...]:
    """The verdicts in a judge's reply, in the order of `criteria`. Raises ValueError that says what was seen and what
    was expected."""
    keys = sorted(criterion.key for criterion in criteria)
    found = _verdicts_in(reply, keys, answer)
    if not found:
        raise ValueError(f"expected one JSON object with the keys {', '.join(keys)}; seen: {_shown(reply)}")
    if any(other != found[0] for other in found[1:]):
        raise ValueError(f"the reply holds {len(found)} verdicts that differ; expected one")
    folded = _Folded(answer)
    return tuple(_verdict(criterion, found[0][criterion.key], folded, critic) for criterion in criteria)


def _verdicts_in(reply: str, keys: list[str], answer: str) -> list[dict[str, Any]]:
    """Every object in the reply that has exactly `keys`. Raises ValueError for what cannot be relied on."""
    if len(reply) > MOST:
        raise ValueError(f"the reply is longer than {MOST} characters")
    text = _without_reasoning(reply).strip()
    whole = _loaded(text)
    if whole is not None:
        if not isinstance(whole, dict) or sorted(whole) != keys:
            seen = ", ".join(sorted(whole)) if isinstance(whole, dict) else type(whole).__name__
            raise ValueError(f"expected an object with the keys {', '.join(keys)}; seen: {seen or 'none'}")
        return [whole]
    fenced = [block for block in map(_loaded, _FENCE.findall(text)) if isinstance(block, dict)]
    if fenced:
        held = [block for block in fenced if sorted(block) == keys]
        return _not_quoted(held, keys, answer) if _FENCE.sub("", text).strip() else held
    held = [read for read in _objects(text, _once) if sorted(read) == keys]
    return _not_quoted(held, keys, answer)


def _not_quoted(held: list[dict[str, Any]], keys: list[str], answer: str) -> list[dict[str, Any]]:
    """Those that do not stand in the answer. It is read leniently: what stands there is nobody's to refuse here."""
    quoted = [read for read in _objects(answer, dict) if sorted(read) == keys] if held else []
    return [read for read in held if read not in quoted]


def _without_reasoning(reply: str) -> str:
    if THINK_CLOSE in reply:
        return reply.rsplit(THINK_CLOSE, 1)[1]
    if THINK_OPEN in reply:
        raise ValueError("the reply ends inside its reasoning")
    return reply


def _loaded(text: str) -> object | None:
    """`text` as JSON; None where it is none. Raises ValueError for a key that stands twice."""
    try:
        return json.loads(text, object_pairs_hook=_once)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        return None
    except RecursionError as error:
        raise ValueError("the reply is nested beyond reading") from error


def _objects(text: str, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The objects in prose, outermost only, OBJECTS braces at most."""
    decoder = json.JSONDecoder(object_pairs_hook=hook)
    at = text.find("{")
    for _ in range(OBJECTS):
        if at < 0:
            return
        try:
            read, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            at = text.find("{", at + 1)
            continue
        except RecursionError as error:
            raise ValueError("the reply is nested beyond reading") from error
        yield read
        at = text.find("{", end)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key stands twice in the reply")
    return read


def _verdict(criterion: Criterion, entry: object, answer: "_Folded", critic: str) -> Judged:
    if not isinstance(entry, dict) or set(entry) != {"tier", "evidence"}:
        raise ValueError(f"{criterion.key}: expected {{evidence, tier}}; seen {str(entry)[:60]}")
    tier, evidence = entry["tier"], entry["evidence"]
    if not isinstance(tier, int) or isinstance(tier, bool) or not 0 <= tier < len(criterion.tiers):
        raise ValueError(f"{criterion.key}: a tier is 0 to {len(criterion.tiers) - 1}; seen {str(tier)[:20]}")
    if not isinstance(evidence, str):
        raise ValueError(f"{criterion.key}: evidence is text; seen {str(evidence)[:60]}")
    value = criterion.tiers[tier].value
    # Of tiers that share a value the highest is reached, whichever of them was named.
    return Judged(value, criterion.tier_of(value), critic, answer.evidence(evidence))


def supported(verdict: Judged) -> bool:
    """Whether what the judge quotes stands in the answer."""
    return bool(verdict.evidence) and all(item.start is not None for item in verdict.evidence)


class _Folded:
    """An answer as quotations are looked for in it: case, width, blanks and kinds of quotation marks aside."""

    def __init__(self, text: str) -> None:
        self._text = text

    def evidence(self, quote: str) -> tuple[Evidence, ...]:
        """Where the parts of `quote` (cut at ellipses) stand; one note without a place where any of them does not."""
        # Nearly always it stands there as it is quoted.
        start = self._text.find(quote) if quote.strip() else -1
        if start >= 0:
            return (Evidence(quote, start, start + len(quote)),)
        wanted = [part for part in map(_fold, _ELLIPSIS.split(quote)) if part]
        if not wanted:
            return ()
        places: list[Evidence] = []
        text, origins = self._folded
        at = 0
        for part in wanted:
            start = text.find(part, at)
            if start < 0:
                return (Evidence(f"not in the answer: {quote}"),)
            at = start + len(part)
            first, last = origins[start], origins[at - 1] + 1
            places.append(Evidence(self._text[first:last], first, last))
        return tuple(places)

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The folded text and, for each of its characters, where it comes from."""
        folded: list[str] = []
        origins: list[int] = []
        for at, character in enumerate(self._text):
            for piece in _fold_character(character):
                if piece == " " and folded and folded[-1] == " ":
                    continue
                folded.append(piece)
                origins.append(at)
        return "".join(folded), origins


def _fold_character(character: str) -> str:
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKC", character).casefold().translate(_QUOTES)


def _fold(text: str) -> str:
    return _BLANKS.sub(" ", "".join(map(_fold_character, text))).strip().strip('"')


def _shown(reply: str) -> str:
    return " ".join(reply[:60].split()) or "nothing"
