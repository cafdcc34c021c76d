"""Hacks that were seen, with answers that show them, and the veto drafted against them."""

from dataclasses import dataclass
from typing import Final

import yaml

from rubric_anchors.report.text import plural
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import FirstLook, Rollout, Signature

EXAMPLES: Final = 3
"""Answers shown for a signature; its ids are all in first_look.json."""


@dataclass(frozen=True, slots=True)
class SignatureView:
    signature: Signature
    examples: tuple[Rollout, ...]
    missing: int
    """Examples named in the record whose rollouts the run does not hold."""


@dataclass(frozen=True, slots=True)
class Look:
    look: FirstLook
    signatures: tuple[SignatureView, ...]
    veto: str
    """The drafted rubric, as its file would read; empty where none was called for."""


def wanted(run: RunFolder) -> frozenset[str]:
    """Ids of the rollouts that the section shows."""
    return frozenset(
        example
        for look in run.first_looks()
        for signature in look.signatures
        for example in signature.examples[:EXAMPLES]
    )


def looks(run: RunFolder, rollouts: dict[str, Rollout]) -> tuple[Look, ...]:
    return tuple(
        Look(
            look=look,
            signatures=tuple(_signature(signature, rollouts) for signature in look.signatures),
            veto=yaml.safe_dump(look.veto, sort_keys=False, allow_unicode=True, width=100) if look.veto else "",
        )
        for look in run.first_looks()
    )


def _signature(signature: Signature, rollouts: dict[str, Rollout]) -> SignatureView:
    named = signature.examples[:EXAMPLES]
    found = tuple(rollouts[example] for example in named if example in rollouts)
    return SignatureView(signature, found, len(named) - len(found))


def hack_words(seen: tuple[Look, ...]) -> str:
    """What was seen in a few words, for the top of the page."""
    count = sum(len(look.signatures) for look in seen)
    vetoes = sum(bool(look.veto) for look in seen)
    drafted = f", {plural(vetoes, 'veto', 'vetoes')} drafted" if vetoes else ""
    return f"{plural(count, 'pattern')}{drafted}" if count else "none seen"
