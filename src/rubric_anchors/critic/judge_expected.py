"""The expected value of a verdict by the probabilities of the digit that names its tier (G-Eval's weighting of scores,
arXiv 2303.16634): finer than the named tier, for the price of the same call."""

import json
import math
import re
from collections.abc import Sequence
from typing import Final

from rubric_anchors.critic.judge_asking import CRITIC
from rubric_anchors.models.chat import Token
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Cause, Evidence, Judged, Unjudged, Verdict

_PIECE = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:,]|[^\s{}\[\]:,"]++', re.DOTALL)
_DIGIT = re.compile(r"\s*(\d)(?!\d)")
SURE: Final = 8
"""Characters that have to agree again after a token that does not spell its text."""


def expected(
    criterion: Criterion, named: Judged, tokens: Sequence[Token], text: str, place: tuple[int, int], mass: float
) -> Verdict:
    """`named` with the mean of the tiers' values in place of its own: sum_t p_t v_t / sum_t p_t over the tiers t whose
    digits are among the likely tokens at `place`, the characters of `text` that name the tier.

    Unjudged by the answer where the tiers together have less than `mass`; by infrastructure where the endpoint gave no
    probabilities there.
    """
    found = _token_at(tokens, text, place[0])
    if found is None:
        detail = "the endpoint gave no log-probabilities" if not tokens else "its tokens do not spell the reply"
        return Unjudged(Cause("infrastructure", "no_logprobs", detail), CRITIC)
    token, before = found
    probabilities = dict.fromkeys(range(len(criterion.tiers)), 0.0)
    for spelled, logp in dict([(token.text, token.logp), *token.alternatives]).items():
        digit = _digit(spelled, token.text[:before])
        if digit in probabilities:
            probabilities[digit] += math.exp(min(logp, 0.0))
    whole = math.fsum(probabilities.values())
    stated = ", ".join(f"{tier}: {share:.2f}" for tier, share in probabilities.items())
    if not whole >= mass:
        detail = f"the tiers together have a probability of {whole:.2f}, at least {mass:g} is wanted ({stated})"
        return Unjudged(Cause("answer", "low_mass", detail), CRITIC)
    values = [tier.value for tier in criterion.tiers]
    value = math.fsum(share * values[tier] for tier, share in probabilities.items()) / whole
    value = min(max(value, values[0]), values[-1])
    note = Evidence(f"expected over tiers {stated}; mass {min(whole, 1.0):.2f}")
    return Judged(value, criterion.tier_of(value), CRITIC, (note, *named.evidence))


def tier_places(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Where the tier of each key stands, in the object {key: {..., tier}} that begins at `start` of `text`."""
    places: dict[str, tuple[int, int]] = {}
    depth, key, field, last = 0, "", "", ""
    for piece in _PIECE.finditer(text, start):
        seen = piece[0]
        if seen in ("{", "["):
            depth += 1
        elif seen in ("}", "]"):
            depth -= 1
            if not depth:
                break
        elif seen == ":":
            if depth == 1:
                key = str(json.loads(last, strict=False))
            elif depth == 2:
                field = str(json.loads(last, strict=False))
        elif seen[0] == '"':
            last = seen
        elif seen != "," and depth == 2 and field == "tier":
            places[key] = piece.span()
    return places


def _digit(spelled: str, before: str) -> int | None:
    """The digit that a token spells after what its place spells before the tier."""
    if before.strip():
        if not spelled.startswith(before):
            return None
        spelled = spelled[len(before) :]
    found = _DIGIT.match(spelled)
    return int(found[1]) if found else None


def _token_at(tokens: Sequence[Token], text: str, place: int) -> tuple[Token, int] | None:
    """The token that holds character `place` of `text`, and how many of its characters stand before it."""
    at, lost = 0, False
    for number, token in enumerate(tokens):
        if lost:
            # A character cut into several tokens spells nothing: go on where the next ones agree for long enough.
            ahead = ""
            for after in tokens[number:]:
                ahead += after.text
                if len(ahead) >= SURE:
                    break
            resumed = text.find(ahead, at) if ahead else -1
            if resumed < 0:
                continue
            at, lost = resumed, False
        if not text.startswith(token.text, at):
            lost = True
            continue
        if at <= place < at + len(token.text):
            return token, place - at
        at += len(token.text)
        if at > place:
            return None
    return None
