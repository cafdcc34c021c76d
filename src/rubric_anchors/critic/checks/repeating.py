"""Checks on saying things again: repetition inside an answer, copying from elsewhere, variety of words and of
rhythm."""

import re
from collections import Counter
from functools import lru_cache
from math import ceil
from statistics import fmean, pstdev
from typing import Annotated, Literal, Self

from pydantic import Field

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.options import Amount, Place, PositiveShare, Ranged, Share, falling, finding, number
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.text import TextView, view_of
from rubric_anchors.rubric.model import Rubric

_RUN = re.compile(r"(\S)\1{9,}+")
_SENTENCE_WORDS = 3
COMPARED = 20
"""Sentences that share a rare word, of which a sentence is held against."""


@check("repetition")
class Repetition(Check):
    """1 where nothing is said twice. Falls with the share that repeats something before it: of word n-grams, of
    sentences (nearly the same ones too, with `alike`), or of characters in runs of ten and more, whichever is
    largest."""

    n: Annotated[int, Field(ge=1, le=20)] = 4
    """Words in an n-gram."""
    free: Share = 0.02
    """The share that any text repeats."""
    soft: PositiveShare = 0.25
    """How far above `free` the value reaches 0."""
    alike: PositiveShare = 1.0
    """From which share of words in common, of all words of the two, a sentence repeats another. 1: all words, in the
    same order."""

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        places: list[Place] = []
        grams = _repeated_grams(view, self.n, places)
        if self.alike < 1.0:
            sentences = _alike_sentences(view, self.alike, places)
        else:
            sentences = _repeated_sentences(view, places)
        runs = [found.span() for found in _RUN.finditer(view.norm)]
        places.extend(("a run of one character", start, end) for start, end in runs)
        run_share = sum(end - start for start, end in runs) / max(len(view.norm), 1)
        share = max(grams, sentences, run_share)
        return finding(falling(share - self.free, self.soft), f"{number(share)} repeats what went before", view, places)


def _repeated_grams(view: TextView, n: int, places: list[Place]) -> float:
    grams = list(zip(*(view.folded[start:] for start in range(n)), strict=False))
    if len(frozenset(grams)) == len(grams):
        return 0.0
    seen: set[tuple[str, ...]] = set()
    again, free_from = 0, 0
    for at, gram in enumerate(grams):
        if gram in seen:
            again += 1
            if at >= free_from:
                places.append((f"again: {' '.join(gram)[:80]}", view.words[at].start, view.words[at + n - 1].end))
                free_from = at + n
        seen.add(gram)
    return again / len(grams)


def _repeated_sentences(view: TextView, places: list[Place]) -> float:
    seen: set[tuple[str, ...]] = set()
    again = long_enough = 0
    for span, words in zip(view.sentences, view.sentence_words, strict=True):
        if len(words) < _SENTENCE_WORDS:
            continue
        long_enough += 1
        key = tuple(view.folded[words.start : words.stop])
        if key in seen:
            again += 1
            places.append(("a sentence again", span.start, span.end))
        seen.add(key)
    return again / long_enough if long_enough else 0.0


def _alike_sentences(view: TextView, least: float, places: list[Place]) -> float:
    """The share of sentences that have `least` of their words in common with one before (Jaccard), word order aside.

    Two such sentences share one of their rarest words: only sentences under one of those are held against each other
    (prefix filtering; Chaudhuri et al. 2006), and under each the last COMPARED of them.
    """
    sets = [frozenset(view.folded[words.start : words.stop]) for words in view.sentence_words]
    often = Counter(word for words in sets for word in words)
    under: dict[str, list[frozenset[str]]] = {}
    again = long_enough = 0
    for span, words in zip(view.sentences, sets, strict=True):
        if len(words) < _SENTENCE_WORDS:
            continue
        long_enough += 1
        rarest = sorted(words, key=lambda word: (often[word], word))[: len(words) - ceil(least * len(words)) + 1]
        others = [other for word in rarest for other in under.get(word, ())]
        if any(len(words & other) >= least * len(words | other) for other in others):
            again += 1
            places.append(("nearly a sentence again", span.start, span.end))
        for word in rarest:
            row = under.setdefault(word, [])
            row.append(words)
            del row[:-COMPARED]
    return again / long_enough if long_enough else 0.0


@lru_cache(maxsize=256)
def _grams_of(text: str, n: int) -> frozenset[tuple[str, ...]]:
    folded = view_of(text).folded
    return frozenset(zip(*(folded[start:] for start in range(n)), strict=False))


@check("copying")
class Copying(Check):
    """1 where the answer is in words of its own. Falls with the share of its word n-grams that stand in the sources."""

    of: tuple[Literal["prompt", "reference", "anchors", "asks"], ...] = ("prompt",)
    """What else is a source: all turns of the prompt, the reference answer, the anchors of the rubric that the check
    stands in, what that rubric asks (the asks and the meanings of its tiers)."""
    texts: tuple[str, ...] = ()
    """Further sources."""
    n: Annotated[int, Field(ge=1, le=20)] = 5
    """Words in an n-gram; an answer of fewer words is one n-gram."""
    free: Share = 0.1
    """The share that may stand in the sources: names and terms come back in any answer."""
    soft: PositiveShare = 0.4
    """How far above `free` the value reaches 0."""

    def within(self, rubric: Rubric) -> Self:
        """With the rubric's own texts among the sources, where they are asked for."""
        tiers = [tier for criterion in rubric.criteria for tier in criterion.tiers]
        own = [anchor for tier in tiers for anchor in tier.anchors] if "anchors" in self.of else []
        if "asks" in self.of:
            own += [criterion.ask for criterion in rubric.criteria] + [tier.means for tier in tiers]
        return self.with_changes(texts=(*self.texts, *own)) if own else self

    def decide(self, answer: Answer) -> Finding:
        view = answer.view
        n = min(self.n, len(view.words))
        if n == 0:
            return finding(1.0, "no words")
        sources = [grams for text in self._sources(answer) if (grams := _grams_of(text, n))]
        hits = [
            at
            for at, gram in enumerate(zip(*(view.folded[start:] for start in range(n)), strict=False))
            if any(gram in grams for grams in sources)
        ]
        share = len(hits) / (len(view.words) - n + 1)
        places = [("copied", view.words[first].start, view.words[last + n - 1].end) for first, last in _runs(hits)]
        return finding(falling(share - self.free, self.soft), f"{number(share)} stands in the sources", view, places)

    def _sources(self, answer: Answer) -> list[str]:
        sources = list(self.texts)
        if "prompt" in self.of:
            sources += [message.content for message in answer.prompt]
        if "reference" in self.of and answer.reference:
            sources.append(answer.reference)
        return sources


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for one in numbers:
        if runs and one == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], one)
        else:
            runs.append((one, one))
    return runs


_BEFORE = re.compile(r"[^\s\"'“”‘’«»„*_`#>]|>>|<<")


@check("repeats_prompt")
class RepeatsPrompt(Check):
    """How much of the request the answer repeats, word for word, at its very start: the share of the request's words. A
    tenth of it is lost where other characters than quotation marks and emphasis stand before."""

    text: str | None = None
    """What is to be repeated; left out: the last user turn."""

    def decide(self, answer: Answer) -> Finding:
        wanted = view_of(self.text if self.text is not None else answer.question).folded
        seen = answer.view.folded
        same = next((at for at, pair in enumerate(zip(seen, wanted, strict=False)) if pair[0] != pair[1]), None)
        same = min(len(seen), len(wanted)) if same is None else same
        value = same / len(wanted) if wanted else 0.0
        if answer.view.words and _BEFORE.search(answer.view.norm, 0, answer.view.words[0].start):
            value *= 0.9
        place = [("repeated", answer.view.words[0].start, answer.view.words[same - 1].end)] if same else []
        return finding(value, f"{same} of {len(wanted)} words repeated", answer.view, place)


@check("lexical_variety")
class LexicalVariety(Ranged):
    """1 where the share of different words in a window, moved over the answer word by word and averaged, is at least
    `min`.

    The moving-average type-token ratio of Covington and McFall (2010), which, unlike the plain ratio, does not fall as
    texts get longer. Answers shorter than the window are one window.
    """

    unit = "share of different words in a window"

    window: Annotated[int, Field(ge=2, le=1000)] = 50
    """Words in the window."""
    min: Amount | None = 0.72
    """The least that is right."""
    soft: Amount = 0.25
    """How far below that the value reaches 0."""

    def measure(self, view: TextView) -> float:
        words = view.folded
        size = min(self.window, len(words))
        if size == 0:
            return 0.0
        # Each word counts in the windows, of those that begin at `first` to `final`, where it is the first of its kind.
        last: dict[str, int] = {}
        windows = len(words) - size + 1
        total = 0
        for at, word in enumerate(words):
            first = at - size + 1
            if (before := last.get(word, -1)) >= first:
                first = before + 1
            final = at if at < windows else windows - 1
            if final >= first:
                total += final - first + 1
            last[word] = at
        return total / windows / size


@check("sentence_rhythm")
class SentenceRhythm(Ranged):
    """1 where sentence lengths vary enough: their standard deviation over their mean is at least `min`. 0 for an answer
    of fewer than three sentences, which has no rhythm."""

    unit = "spread of sentence lengths over their mean"

    min: Amount | None = 0.3
    """The least that is right."""
    soft: Amount = 0.3
    """How far below that the value reaches 0."""

    def measure(self, view: TextView) -> float:
        lengths = [len(words) for words in view.sentence_words if words]
        return pstdev(lengths) / fmean(lengths) if len(lengths) >= 3 else 0.0

    def closeness(self, figure: float) -> float:
        return super().closeness(figure) if figure > 0.0 else 0.0
