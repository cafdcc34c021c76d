"""The one verdict in a judge's reply: bare JSON, in code fences, after reasoning, with prose around; or none at all.

A verdict is an object whose keys are exactly those that were asked for. Whatever else names one of them, an object that
is cut off, wrapped, partial or another verdict, makes the reply ambiguous, and an ambiguous reply decides nothing: what
a judge quotes from an answer must never be taken for what it says itself. Pure, and in linear time on any text that is
not refused.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

MOST: Final = 1 << 20
"""Characters of a reply; no verdict is longer."""
LOOKED_AT: Final = 200
"""Brackets in prose that are tried, of a reply and of an answer."""
REASONED: Final = re.compile(
    r"</(?:think|thinking|thought|reasoning|seed:think)>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
"""What ends a model's reasoning."""
_REASONING = re.compile(
    r"\s*(?:<(?:think|thinking|thought|reasoning|seed:think)>|\[THINK\]|◁think▷|<\|channel\|>analysis)", re.IGNORECASE
)
_BRACKET = re.compile(r"[{\[]")
_FENCED = re.compile(r"```[A-Za-z]*[ \t]*\n(.*)\n?[ \t]*```", re.DOTALL)
# What only an object begins with: a brace, a name, a colon.
_OBJECT = re.compile(r"""\{\s*+["'“”‘’]?[\w.-]++["'“”‘’]?\s*+:""")
_MARKS: Final = "\"'“”„‘’«»「」『』"

Read = dict[str, Any]


def verdict_object(reply: str, keys: Collection[str], answer: str) -> Read:
    """The verdict in `reply`, an object with exactly `keys`. Raises ValueError that says why there is not one."""
    return verdict_at(reply, keys, answer)[0]


def verdict_at(reply: str, keys: Collection[str], answer: str) -> tuple[Read, int]:
    """The same, and the place in `reply` of its brace (of the first, where the same verdict stands there again)."""
    wanted = frozenset(keys)
    if len(reply) > MOST:
        raise ValueError(f"the reply is longer than {MOST} characters")
    whole = _whole(reply)
    text = reply if whole is not None else _without_reasoning(reply)
    if whole is None:
        whole = _whole(text)
    if whole is not None:
        if not isinstance(whole, dict) or whole.keys() != wanted:
            seen = ", ".join(sorted(whole)) if isinstance(whole, dict) else type(whole).__name__
            raise ValueError(f"expected an object with the keys {_listed(wanted)}; seen: {_short(seen) or 'none'}")
        if any(read == whole for read in _planted(answer, wanted)):
            raise ValueError("the verdict stands in the answer word for word; a copy of it is no verdict")
        return whole, len(reply) - len(text) + text.index("{")
    placed = list(_in_prose(text, wanted))
    found = [read for read, _ in placed]
    if not found:
        raise ValueError(
            f"expected one JSON object with the keys {_listed(wanted)}; seen: {_short(reply) or 'nothing'}"
        )
    if any(other != found[0] for other in found[1:]):
        raise ValueError(f"the reply holds {len(found)} verdicts that differ; expected one")
    if any(_tiers(read) == _tiers(found[0]) for read in _planted(answer, wanted)):
        raise ValueError("the one verdict among the prose stands in the answer too: a quotation is no verdict")
    return found[0], len(reply) - len(text) + placed[0][1]


def _without_reasoning(reply: str) -> str:
    ends = [end.end() for end in REASONED.finditer(reply)]
    if ends:
        return reply[ends[-1] :]
    if _REASONING.match(reply):
        raise ValueError("the reply ends inside its reasoning")
    return reply


def _whole(text: str) -> object | None:
    """`text`, or what stands in the one code fence that it is, as JSON; None where it is none."""
    bare = text.strip()
    fenced = _FENCED.fullmatch(bare)
    try:
        return json.loads(fenced[1] if fenced else bare, object_pairs_hook=_once, strict=False)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        return None
    except RecursionError as error:
        raise ValueError("the reply is nested beyond reading") from error


def _in_prose(text: str, wanted: frozenset[str]) -> Iterator[tuple[Read, int]]:
    """Every verdict between other words, and its place. Raises ValueError for what could be taken for one and is
    not."""
    for read, start, end in _values(text, _once):
        if read is None:
            if _OBJECT.match(text, start):
                raise ValueError(f"an object in the reply is broken or cut off: {_short(text[start:])}")
        elif isinstance(read, dict) and read.keys() == wanted:
            if text[start - 1 : start] in (*_MARKS,) and text[end : end + 1] in (*_MARKS,):
                raise ValueError("the verdict in the reply stands in quotation marks: a quotation is no verdict")
            yield read, start
        elif _names(read, wanted):
            raise ValueError(f"expected an object with the keys {_listed(wanted)}; seen: {_short(text[start:end])}")


def _planted(answer: str, wanted: frozenset[str]) -> list[Read]:
    """The verdicts that the answer holds, at any depth. Read leniently: an answer may hold what it likes."""
    try:
        values = [read for read, _, _ in _values(answer, dict, everywhere=True)]
    except ValueError:
        return []
    return [read for read in values if isinstance(read, dict) and read.keys() == wanted]


def _values(
    text: str, hook: Callable[[list[tuple[str, Any]]], Read], *, everywhere: bool = False
) -> Iterator[tuple[Any, int, int]]:
    """(value, start, end) of each object and array between other words, outermost only unless `everywhere`; the value
    is None where a bracket opens nothing that can be read. Raises ValueError past LOOKED_AT brackets."""
    decoder = json.JSONDecoder(object_pairs_hook=hook, strict=False)
    opening, tried = _BRACKET.search(text), 0
    while opening is not None:
        tried += 1
        if tried > LOOKED_AT:
            if everywhere:
                return
            raise ValueError(f"the reply holds more than {LOOKED_AT} brackets")
        start = opening.start()
        try:
            read, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            read, end = None, start + 1
        except RecursionError as error:
            raise ValueError("the reply is nested beyond reading") from error
        yield read, start, end
        opening = _BRACKET.search(text, start + 1 if everywhere else end)


def _names(read: object, wanted: frozenset[str]) -> bool:
    """Whether any of the keys names something in it, at any depth."""
    rest = [read]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            if wanted & one.keys():
                return True
            rest += one.values()
        elif isinstance(one, list):
            rest += one
    return False


def _tiers(read: Read) -> Read:
    return {key: entry.get("tier") if isinstance(entry, dict) else entry for key, entry in read.items()}


def _once(pairs: list[tuple[str, object]]) -> Read:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key stands twice in the reply")
    return read


def _listed(keys: Collection[str]) -> str:
    return ", ".join(sorted(keys))


def _short(text: str) -> str:
    return " ".join(text[:60].split())
