"""Checks that count words, sentences, paragraphs and the like."""

from typing import Literal, Self

from pydantic import model_validator

from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.checks.options import Found, Place, Ranged
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.segment import require_segmenters, segmented_words
from rubric_anchors.critic.text import TextView

Marker = Literal["any", "bullet", "number"]


@check("word_count")
class WordCount(Ranged):
    """1 where the number of words lies in min..max. A Chinese or Japanese character counts as a word, as their readers
    count, and so does a stretch of Thai between spaces; `segmented` counts their words."""

    unit = "words"

    segmented: bool = False
    """Whether Chinese, Japanese and Thai are cut into words, by dictionaries: needs the extra `languages` (275 MB).
    Lao, Khmer and Burmese are not cut."""

    @model_validator(mode="after")
    def _can_cut(self) -> Self:
        if self.segmented:
            try:
                require_segmenters()
            except SetupError as error:
                raise ValueError(str(error)) from error
        return self

    def measure(self, view: TextView) -> float:
        return segmented_words(view) if self.segmented else len(view.words)


@check("sentence_count")
class SentenceCount(Ranged):
    """1 where the number of sentences lies in min..max. A heading and a list item are sentences too."""

    unit = "sentences"

    def measure(self, view: TextView) -> float:
        return len(view.sentences)


@check("paragraph_count")
class ParagraphCount(Ranged):
    """1 where the number of paragraphs, blocks between blank lines or rules, lies in min..max."""

    unit = "paragraphs"

    def measure(self, view: TextView) -> float:
        return len(view.paragraphs)


@check("line_count")
class LineCount(Ranged):
    """1 where the number of lines that are not blank lies in min..max."""

    unit = "lines"

    def measure(self, view: TextView) -> float:
        return sum(1 for line in view.lines if view.norm[line.start : line.end].strip())


@check("character_count")
class CharacterCount(Ranged):
    """1 where the number of characters lies in min..max, as a reader counts them: an emoji or a letter with marks is
    one."""

    unit = "characters"

    def measure(self, view: TextView) -> float:
        return view.graphemes


@check("sentence_length")
class SentenceLength(Ranged):
    """1 where the mean length of a sentence lies in min..max words. 0 for an answer without sentences."""

    unit = "mean words in a sentence"

    def measure(self, view: TextView) -> float:
        return sum(map(len, view.sentence_words)) / max(len(view.sentences), 1)

    def closeness(self, figure: float) -> float:
        return super().closeness(figure) if figure > 0.0 else 0.0


@check("item_count")
class ItemCount(Found):
    """1 where the number of list items lies in min..max."""

    unit = "list items"

    marker: Marker = "any"
    """`bullet` counts -, * and other bullets, `number` counts 1. and a), `any` both."""

    def find(self, view: TextView) -> list[Place]:
        return [("item", line.body, line.end) for line in view.items if self.marker in ("any", line.kind)]


@check("questions")
class Questions(Found):
    """1 where the number of sentences that end with a question mark lies in min..max."""

    unit = "questions"

    def find(self, view: TextView) -> list[Place]:
        return _ending_with(view, "?？؟", "question")


@check("exclamations")
class Exclamations(Found):
    """1 where the number of sentences that end with an exclamation mark lies in min..max."""

    unit = "exclamations"

    def find(self, view: TextView) -> list[Place]:
        return _ending_with(view, "!！", "exclamation")


@check("capital_words")
class CapitalWords(Found):
    """1 where the number of words written all in capitals (two letters or more) lies in min..max."""

    unit = "words in capitals"

    def find(self, view: TextView) -> list[Place]:
        return [
            (view.norm[start:end], start, end)
            for start, end in view.words
            if end - start > 1 and view.norm[start:end].isupper() and sum(map(str.isalpha, view.norm[start:end])) > 1
        ]


def _ending_with(view: TextView, marks: str, note: str) -> list[Place]:
    # The mark may be followed by closing quotation marks or an emoji: look at what follows the last word.
    places = []
    for span in view.sentences:
        words = view.words_in(span)
        if words and any(mark in view.norm[view.words[words[-1]].end : span.end] for mark in marks):
            places.append((note, span.start, span.end))
    return places
