"""Words in any of their forms (`run`: ran, runs, running), by the dictionaries in the package simplemma."""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from typing import Final, Literal

from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.fold import fold
from rubric_anchors.critic.phrases import Hit, PhraseSet
from rubric_anchors.critic.text import TextView

LemmaLanguage = Literal[
    "ar", "bg", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "ga", "gl", "hbs", "he", "hi",
    "hu", "hy", "id", "is", "it", "ka", "la", "lt", "lv", "mk", "ms", "nb", "nl", "nn", "pl", "pt", "ro", "ru", "sk",
    "sl", "sq", "sv", "sw", "tl", "tr", "uk",
]  # fmt: skip
LONGEST: Final = 60
"""Characters of a word that is looked up; a longer one is its own lemma."""


def require_lemmas() -> None:
    """Raises SetupError where the extra `languages` is not installed."""
    if find_spec("simplemma") is None:
        raise SetupError("forms of words need simplemma: pip install 'rubric-anchors[languages]'")


@lru_cache(maxsize=1 << 16)
def lemma(word: str, language: LemmaLanguage) -> str:
    """The dictionary form of `word` as it is written, folded; of a form with several, one of them."""
    from simplemma import lemmatize

    if not word or len(word) > LONGEST or not word.isprintable():
        return fold(word)
    plain = word.lower() if len(word) > 1 and word.isupper() else word
    return fold(lemmatize(plain, lang=language))


class LemmaSet(PhraseSet):
    """As its base, and each entry of a single word is found in any of its forms."""

    def __init__(self, entries: Sequence[str], language: LemmaLanguage) -> None:
        super().__init__(entries)
        self._language: LemmaLanguage = language

    @cached_property
    def _by_lemma(self) -> dict[str, list[int]]:
        table: dict[str, list[int]] = {}
        for index, entry in enumerate(self.entries):
            word = entry.strip()
            if word.isalpha():
                table.setdefault(lemma(word, self._language), []).append(index)
        return table

    def _all(self, view: TextView) -> Iterator[Hit]:
        yield from super()._all(view)
        for start, end in zip(view.atoms.starts, view.atoms.ends, strict=True):
            for index in self._by_lemma.get(lemma(view.norm[start:end], self._language), ()):
                yield Hit(index, start, end)
