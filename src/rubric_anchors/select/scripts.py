"""Writing systems, as prompts are filtered by them."""

import sys
import unicodedata
from functools import lru_cache


def script_share(text: str, script: str) -> float:
    """The share of `text`'s letters that are of `script`, by the first word of their Unicode names; 1.0 with no
    letters.

    Han goes by `CJK`, as its characters are named so.
    """
    wanted = _named(script)
    letters = [_script(char) for char in text if char.isalpha()]
    return sum(name == wanted for name in letters) / len(letters) if letters else 1.0


@lru_cache(maxsize=64)
def is_script(script: str) -> bool:
    """Whether any letter is of `script`."""
    wanted = _named(script)
    letters = (char for char in map(chr, range(sys.maxunicode + 1)) if char.isalpha())
    return bool(wanted) and any(_script(letter) == wanted for letter in letters)


def _named(script: str) -> str:
    return {"HAN": "CJK"}.get(script.upper(), script.upper())


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ", 1)[0]
