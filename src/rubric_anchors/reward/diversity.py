"""How far the answers of one step differ from each other."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)?")


def folded_words(text: str) -> list[str]:
    """The words of `text`, folded: `Don't stop.` gives `don't`, `stop`."""
    return _WORD.findall(text.casefold())


def own_pairs(texts: Sequence[str]) -> list[float]:
    """For each text the share of its pairs of neighbouring words that no other of `texts` holds, 0..1.

    1: it shares no pair with any other; 0: all that it says stands elsewhere too, or it has fewer than two words. It
    falls as more texts are compared, so only steps with as many answers compare. Distinct-2 (Li et al. 2016), turned
    round so that each text has its own figure.
    """
    pairs = [set(pairwise(folded_words(text))) for text in texts]
    holders = Counter(pair for held in pairs for pair in held)
    return [sum(holders[pair] == 1 for pair in held) / len(held) if held else 0.0 for held in pairs]
