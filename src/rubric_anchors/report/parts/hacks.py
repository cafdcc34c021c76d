"""Hacks that were seen, with answers that show them, and the veto drafted against them."""

from dataclasses import dataclass
from typing import Final

import yaml
from pydantic import JsonValue

from rubric_anchors.report.text import plural
from rubric_anchors.runs.folder import RunFolder
from rubric_anchors.runs.records import FirstLook, Rollout, Signature

EXAMPLES: Final = 3
"""Answers shown for a signature; its ids are all in first_look.json."""
OPEN: Final = 10
"""Patterns that start unfolded: the records hold the strongest first."""
WORDINGS: Final = ("opener", "phrase", "closer")
FUNCTION_WORDS: Final = frozenset(
    """a an the this that these those some any no all each i me my mine myself you your yours he him his she her hers it
    its we us our ours they them their theirs who which what and or but nor so if when while as than then because though
    of in on at to from with by for into onto over under up down out off about after before through around is am are was
    were be been being have has had having do does did will would can could may might must shall should not there here
    just only very too also""".split()
)
"""English words that carry grammar and no matter."""


@dataclass(frozen=True, slots=True)
class SignatureView:
    signature: Signature
    examples: tuple[Rollout, ...]
    missing: int
    """Examples named in the record whose rollouts the run does not hold."""
    is_share: bool
    """Whether early and late are shares of the answers."""
    vetoed: bool
    """Whether the drafted veto names this wording: it became a template."""
    grammar: bool
    """Whether it is made of function words alone."""

    @property
    def shows_any(self) -> bool:
        return bool(self.examples or self.missing)


@dataclass(frozen=True, slots=True)
class Look:
    look: FirstLook
    signatures: tuple[SignatureView, ...]
    veto: str
    """The drafted rubric, as its file would read; empty where none was called for."""
    templates: int
    """Wordings that the drafted veto names; 0 where it holds only what is always held."""

    @property
    def grammar(self) -> tuple[SignatureView, ...]:
        return tuple(each for each in self.signatures if each.grammar)


def wanted(run: RunFolder) -> frozenset[str]:
    """Ids of the rollouts that the section shows."""
    return frozenset(
        example
        for look in run.first_looks()
        for signature in look.signatures
        for example in signature.examples[:EXAMPLES]
    )


def looks(run: RunFolder, rollouts: dict[str, Rollout]) -> tuple[Look, ...]:
    return tuple(_look(look, rollouts) for look in run.first_looks())


def _look(look: FirstLook, rollouts: dict[str, Rollout]) -> Look:
    vetoed = _vetoed(look.veto)
    return Look(
        look=look,
        signatures=tuple(_signature(signature, rollouts, vetoed) for signature in look.signatures),
        veto=yaml.safe_dump(look.veto, sort_keys=False, allow_unicode=True, width=100) if look.veto else "",
        templates=len(vetoed),
    )


def _vetoed(veto: dict[str, JsonValue] | None) -> frozenset[str]:
    """The wordings that a drafted rubric spells out; a named list, such as `flattery`, is not one of them."""
    criteria = veto.get("criteria") if veto else None
    found: set[str] = set()
    for criterion in criteria if isinstance(criteria, list) else ():
        critic = criterion.get("critic") if isinstance(criterion, dict) else None
        options = critic.get("with") if isinstance(critic, dict) else None
        phrases = options.get("phrases") if isinstance(options, dict) else None
        found.update(str(phrase) for phrase in (phrases if isinstance(phrases, list) else ()))
    return frozenset(found)


def _signature(signature: Signature, rollouts: dict[str, Rollout], vetoed: frozenset[str]) -> SignatureView:
    named = signature.examples[:EXAMPLES]
    found = tuple(rollouts[example] for example in named if example in rollouts)
    wording = signature.kind in WORDINGS
    return SignatureView(
        signature=signature,
        examples=found,
        missing=len(named) - len(found),
        is_share=wording and 0 <= min(signature.early, signature.late) <= max(signature.early, signature.late) <= 1,
        vetoed=wording and signature.pattern in vetoed,
        grammar=wording and is_grammar(signature.pattern),
    )


def is_grammar(pattern: str) -> bool:
    """Whether all words of a wording are function words, as in `i was`."""
    words = [word.strip(".,;:!?'’\"") for word in pattern.lower().split()]
    return bool(words) and FUNCTION_WORDS.issuperset(words)


def hack_words(seen: tuple[Look, ...]) -> str:
    """What was seen in a few words, for the top of the page."""
    count = sum(len(look.signatures) for look in seen)
    templates = sum(look.templates for look in seen)
    if templates:
        return f"{plural(templates, 'template')} vetoed; {plural(count, 'pattern')} rose"
    return f"no template; {plural(count, 'pattern')} rose" if count else "none seen"
