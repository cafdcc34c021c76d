"""`language`: the share of sentences that are well formed, by rules and a list of known words."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.core.errors import SetupError
from rubric_anchors.evaluate.measures.base import Sample
from rubric_anchors.evaluate.measures.text import LIST_LINE, ngrams, sentences, words

_MAY_DOUBLE: Final = frozenset("had that very so no ha is really many never again do blah knock bye there".split())
_DOUBLED: Final = re.compile(r"\b([a-z']+)\s+\1\b", re.IGNORECASE)
_TAILS: Final = frozenset(["", "s", "d", "ll", "ve", "re"])
_LONG: Final = 60
_LOOP: Final = 4
_SUBJECT: Final = (
    r"(?<!if )(?<!though )(?<!wish )(?<!than )(?<!and )(?<!or )(?<!of )(?<!with )(?<!for )(?<!to )(?<!about )"
)
_NOT_A_NOUN: Final = "".join(rf"(?<!\b{word} )" for word in "the a my his her their your this free good".split())
_PAST: Final = "is|are|was|were|went|made|took|came|gave|said"
_DETERMINER: Final = "the|a|an|my|your|our|their|its"
_NO_NOUN: Final = f"{_DETERMINER}|his|of|and|or|is|are|was|were|to|at|he|she|they|we|me|(?-i:us)|him|them"
_RULES: Final = tuple(
    (name, re.compile(pattern.replace("'", "['’]"), re.IGNORECASE))
    for name, pattern in (
        ("agreement", rf"{_SUBJECT}\b(?:he|she|it) (?:are|am|don't|aren't)\b"),
        ("agreement", rf"{_SUBJECT}\b(?:they|we) (?:is|was|has|does|am|isn't|wasn't|doesn't)\b"),
        ("agreement", rf"{_SUBJECT}\b(?-i:I) (?:is|are|has|does|be|isn't|aren't|doesn't)\b"),
        ("agreement", r"\b(?:these|those|many|several) (?:man|woman|child|person)\b"),
        ("agreement", r"\b(?:this|each|every) (?:children|people|men|women|things|days|years|times)\b"),
        ("modal", rf"{_NOT_A_NOUN}\b(?:can|could|will|would|should|must|might) (?:{_PAST}|has|does|did)\b"),
        ("modal", rf"\b(?:did|didn't|does|doesn't|don't) (?:not )?(?:{_PAST}|had|saw|knew)\b"),
        ("two verbs", r"\b(?:am|is|are|was|were) (?:am|are|was|were|have|has|had|do|does|did)\b(?! to\b)"),
        ("determiner", rf"\b(?:{_DETERMINER}) (?:{_NO_NOUN})\b(?!-)"),
        ("determiner", r"\b(?:of|to|and|with|from) (?:of|and|or)\b(?! all\b| course\b| fro\b)"),
        ("article", r"\ba (?=[aeio]\w{2})(?!one\b|once\b|eu|ewe)\w+"),
        ("article", r"\ban (?=[bcdfgjklmnpqrtvwyz][aeiou]\w)\w+"),
        ("punctuation", r",\s*[,.;]|;\s*[;,.]|(?<!\.)\.\.(?!\.)|\s[,;](?=\s)|[!?]{4,}"),
        ("lone i", r"(?<![\w.])(?-i:i)(?= (?:am|was|had|have|think|can|will|would|remember|know|do)\b)"),
    )
)
_SMALL_WORD: Final = re.compile(r"(?<![\w'’-])[a-z]+(?:['’][a-z]+)?(?![\w-])")
_BRITISH: Final = tuple(
    (re.compile(british), american)
    for british, american in (
        ("our", "or"),
        ("(?<=[a-z])is(?=e|ing|ation)", "iz"),
        ("ys(?=e|ing)", "yz"),
        ("tre(?=s?$)", "ter"),
        ("ll(?=ed|ing|er)", "l"),
        ("ae|oe", "e"),
        ("ence$", "ense"),
        ("ogue", "og"),
    )
)
"""British spellings and what the American dictionary has for them."""
_ENDED: Final = re.compile(r"[.!?…:;][\"'”’)\]*_]*$|[\"”]$")


class Language:
    """Share of the answer's sentences in which no rule finds a fault, 0..1. Margin 0.05.

    The rules: unknown words (a dictionary of 160,000, names and numbers let through), a word doubled, agreement of
    pronouns and verbs, two verbs or two determiners in a row, a/an, a lone `i`, doubled punctuation, quotes or
    brackets left open, a small first letter, a line that just ends (the answer's last sentence may be cut off, list
    items may be bare), more than 60 words, word salad (of ten words or more, fewer than 12% short ones), a
    sentence said before, and runs of four words used three times or more.

    Sees: language that breaks down, and loops. Misses: sense, facts, style and any fault that needs a parser; English
    only. People's edited prose scores about 0.9, so a fault is not always one.
    """

    name = "language"
    family = "language"
    higher_is_better = True
    margin: float | None = 0.05

    def __init__(self, known: Callable[[str], bool] | None = None) -> None:
        """`known` says whether a lower-case word exists; by default the dictionary of `pyspellchecker`."""
        self._known = known or _dictionary()

    def __call__(self, samples: Sequence[Sample]) -> NDArray[np.float64]:
        return np.array([self.score(sample.response) for sample in samples], dtype=np.float64)

    def score(self, text: str) -> float:
        """The share of well-formed sentences; 0 for a text without words."""
        found = self.faults(text)
        return sum(not faults for _, faults in found) / len(found) if found else 0.0

    def faults(self, text: str) -> list[tuple[str, list[str]]]:
        """Each sentence with the names of the faults found in it."""
        lines = [line.strip() for line in text.splitlines() if words(line)]
        runs = Counter(run for line in lines for run in ngrams(words(line), _LOOP))
        loops = {run for run, count in runs.items() if count >= 3}
        seen: set[str] = set()
        made: list[tuple[str, list[str]]] = []
        for place, line in enumerate(lines):
            bare, last_line = LIST_LINE.sub("", line), place == len(lines) - 1
            listed = bare != line
            parts = [part for part in sentences(bare) if words(part)]
            for number, part in enumerate(parts):
                key = " ".join(words(part))
                names = [name for name, pattern in _RULES if pattern.search(part)]
                cut = last_line and number == len(parts) - 1 and not _ENDED.search(part)
                names += self._of_words(part, cut=cut)
                names += ["said before"] if key in seen else []
                names += ["loop"] if loops.intersection(ngrams(words(part), _LOOP)) else []
                if not listed:
                    final = number == len(parts) - 1
                    greeting = part.endswith(",") and len(words(part)) <= 4
                    unended = final and not last_line and not greeting and not _ENDED.search(part)
                    names += ["unended"] if unended else []
                    names += ["small letter"] if part[:1].islower() else []
                seen.add(key)
                made.append((part, names))
            if parts and not last_line and _open(bare):
                made[-1][1].append("left open")
        return made

    def _of_words(self, sentence: str, *, cut: bool) -> list[str]:
        found, names = words(sentence), []
        if any(match.group(1).lower() not in _MAY_DOUBLE for match in _DOUBLED.finditer(sentence)):
            names.append("doubled word")
        if len(found) > _LONG:
            names.append("run-on")
        if len(found) >= 10 and sum(len(word) <= 3 for word in found) < 0.12 * len(found):
            names.append("word salad")
        small = _SMALL_WORD.findall(re.sub(r"[\w'’-]+$", "", sentence) if cut else sentence)
        if any(not self._known(word.replace("’", "'")) for word in small):
            names.append("unknown word")
        return names


def _open(line: str) -> bool:
    quotes = line.count('"') % 2 == 1 or line.count("“") != line.count("”")
    return quotes or line.count("(") > line.count(")") or line.count("[") != line.count("]")


@cache
def _dictionary() -> Callable[[str], bool]:
    """The only import site of `pyspellchecker`. Raises SetupError where it is missing."""
    try:
        from spellchecker import SpellChecker
    except ImportError as missing:
        raise SetupError("no dictionary is installed: `pip install pyspellchecker` brings one (7 MB)") from missing
    listed = frozenset(SpellChecker(language="en").word_frequency.dictionary)

    def known(word: str) -> bool:
        stem, _, tail = word.partition("'")
        if word in listed or word.replace("'", "") in listed or (stem in listed and tail in _TAILS):
            return True
        return any(pattern.sub(american, stem) in listed for pattern, american in _BRITISH)

    return known
