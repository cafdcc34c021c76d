"""How a text is written, as a short row of numbers: sentences, words, person, tense, marks. Nothing of what it is
about.

An encoder of sentences sees the subject and hardly the manner (measured on all-MiniLM-L6-v2), so the exemplar critic
takes the manner from here. Shares are of words, rates are per sentence; everything is bounded, so that one endless
sentence or one strange mark cannot throw a text out of all measure.

The word lists are closed classes of English. On other languages those columns stand near 0 for every anchor, their
weight falls out in the fit, and the columns that need no list remain.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rubric_anchors.critic.text import TextView

FIRST: Final = frozenset(
    "i me my mine myself we us our ours ourselves i'm i've i'd i'll we're we've we'd we'll".split()
)
SECOND: Final = frozenset("you your yours yourself yourselves you're you've you'd you'll".split())
THIRD: Final = frozenset("he she him her his hers they them their theirs he'd she'd he's she's they'd".split())
BEING_NOW: Final = frozenset("is are am be being has have do does it's that's there's".split())
BEING_THEN: Final = frozenset("was were had did been wasn't weren't hadn't didn't couldn't wouldn't".split())
MODAL: Final = frozenset("can may might must should shall will would could cannot can't need let's".split())
LINKING: Final = frozenset(
    "however therefore moreover furthermore additionally overall ultimately instead thus hence because although while "
    "whereas despite including such also both either whether".split()
)
PLACING: Final = frozenset(
    "on in at by under over behind beside down up out off into onto through across along round above below inside "
    "outside near against upstairs downstairs".split()
)
ARTICLE: Final = frozenset("the a an".split())
THEN_WORDS: Final = frozenset(
    "then when after before until once twice again still already later first next morning evening night week day year "
    "minute hour".split()
)
IRREGULAR: Final = frozenset(
    "went came took got made said told saw heard felt stood sat lay held kept left brought bought thought found "
    "gave ran rang sang drank ate wrote read spoke broke woke wore tore bore swore drove rode rose fell grew knew "
    "threw drew flew blew shook hung dug stuck swung cut put set let shut hit hurt cost lost sold paid laid led met "
    "slept swept wept crept dealt meant sent spent lent built bent burnt learnt smelt spelt spilt caught taught "
    "fought sought began swam sank shrank stank sprang hid bit slid lit fed bled sped won shone shot".split()
)
ABSTRACT_ENDING: Final = re.compile(
    r"\w{3,}(?:tions?|sions?|ments?|ness|ities|ity|ances?|ences?|ships?|isms?|ive|ful|able|ible|ous|ial|ual)\Z"
)
PAST_ENDING: Final = re.compile(r"[a-z]{2,}ed\Z")
LONG: Final = 8

COLUMNS: Final[tuple[tuple[str, float], ...]] = (
    ("sentence length", 0.45),
    ("sentence variety", 0.20),
    ("word length", 0.45),
    ("long words", 0.08),
    ("different words", 0.10),
    ("first person", 0.06),
    ("second person", 0.04),
    ("third person", 0.05),
    ("present being", 0.03),
    ("past being", 0.03),
    ("past tense", 0.06),
    ("modal verbs", 0.02),
    ("linking words", 0.02),
    ("placing words", 0.03),
    ("articles", 0.04),
    ("words of time", 0.02),
    ("abstract endings", 0.05),
    ("adverbs in -ly", 0.02),
    ("words in -ing", 0.03),
    ("joined by and", 0.02),
    ("contractions", 0.02),
    ("commas", 0.50),
    ("exclamations", 0.20),
    ("questions", 0.20),
    ("other marks", 0.20),
    ("digits", 0.02),
    ("quotations", 0.20),
    ("names", 0.03),
    ("list items", 0.20),
    ("other markup", 0.20),
)
"""Name of each column, and a usual spread of it over short English prose (standard deviation, rounded): the least that
a difference is measured by, so that anchors which happen to agree in a column do not make it decide everything."""

WIDTH: Final = len(COLUMNS)
NAMES: Final = tuple(name for name, _ in COLUMNS)
SPREADS: Final[NDArray[np.float64]] = np.array([spread for _, spread in COLUMNS])

_MARKUP = re.compile(r"\*\*|__|`|^#{1,6} |\|", re.MULTILINE)
_OTHER_MARKS = re.compile(r"[;:()\[\]—–]")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


def style_row(view: TextView) -> NDArray[np.float64]:
    """The style of one text, float64 [WIDTH], columns as in `COLUMNS`; all 0 for a text without words."""
    words = view.folded
    if not words:
        return np.zeros(WIDTH)
    count, text = len(words), view.norm
    sentences = max(1, len(view.sentences))
    lengths = [max(1, len(words)) for words in view.sentence_words] or [count]
    logs = np.log(np.minimum(lengths, 80))
    window = words[:120]

    def share(of: frozenset[str]) -> float:
        return sum(word in of for word in words) / count

    def rate(hits: int) -> float:
        return min(hits / sentences, 3.0)

    def ending(end: str, least: int = 5) -> float:
        return sum(word.endswith(end) and len(word) >= least for word in words) / count

    past = sum(word in IRREGULAR or word in BEING_THEN or PAST_ENDING.match(word) is not None for word in words)
    return np.array(
        [
            float(logs.mean()),
            float(logs.std()),
            float(np.mean([min(len(word), 14) for word in words])),
            sum(len(word) >= LONG for word in words) / count,
            len(set(window)) / len(window) ** 0.9,
            share(FIRST),
            share(SECOND),
            share(THIRD),
            share(BEING_NOW),
            share(BEING_THEN),
            past / count,
            share(MODAL),
            share(LINKING),
            share(PLACING),
            share(ARTICLE),
            share(THEN_WORDS),
            sum(ABSTRACT_ENDING.match(word) is not None for word in words) / count,
            ending("ly"),
            ending("ing"),
            sum(word == "and" for word in words) / count,
            sum("'" in word for word in words) / count,
            rate(text.count(",")),
            rate(text.count("!")),
            rate(text.count("?")),
            rate(len(_OTHER_MARKS.findall(text))),
            sum(any(character.isdigit() for character in word) for word in words) / count,
            rate(len(view.quoted)),
            len(_NAME.findall(text)) / count,
            rate(len(view.items)),
            rate(len(_MARKUP.findall(text))),
        ]
    )


def style_rows(views: Sequence[TextView]) -> NDArray[np.float64]:
    """The styles of texts, float64 [len(views), WIDTH]."""
    return np.stack([style_row(view) for view in views]) if views else np.zeros((0, WIDTH))


def spread_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """What one unit of difference is in each column, [WIDTH]: the rows' standard deviation, at least the usual
    spread."""
    return np.maximum(rows.std(axis=0), SPREADS) if len(rows) else SPREADS
