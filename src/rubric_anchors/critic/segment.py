"""Words of scripts that set no spaces between them: Chinese by rjieba, Japanese by Janome, Thai by PyThaiNLP's newmm.

Their dictionaries come with the packages (the extra `languages`); nothing is fetched. What a word is in these scripts
is a matter of convention: the three follow their dictionaries, and Janome cuts Japanese endings off (`行っ` `て`).
"""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import regex

from rubric_anchors.core.errors import SetupError
from rubric_anchors.critic.text import Span, TextView

PACKAGES: Final = ("janome", "pythainlp", "rjieba")
MOST: Final = 4000
"""Characters that a segmenter is given at once; a longer run is cut."""

_RUNS = regex.compile(
    r"(?P<cjk>[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]++)|(?P<thai>[\p{Script=Thai}]++)"
)
_KANA = regex.compile(r"[\p{Script=Hiragana}\p{Script=Katakana}]")


def require_segmenters() -> None:
    """Raises SetupError where the extra `languages` is not installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"words of Chinese, Japanese and Thai need {', '.join(missing)}: pip install 'rubric-anchors[languages]'"
        )


def segmented_words(view: TextView) -> int:
    """How many words a text has, runs of Chinese, Japanese and Thai cut into theirs. Japanese is told from Chinese by
    kana anywhere in the text."""
    japanese = _KANA.search(view.norm) is not None
    count, covered = 0, 0
    for run in _RUNS.finditer(view.norm):
        kind = "thai" if run["thai"] else "japanese" if japanese else "chinese"
        count += sum(len(_cut(piece, kind)) for piece in _pieces(run[0]))
        covered += len(view.words_in(Span(*run.span())))
    return count + len(view.words) - covered


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + MOST] for at in range(0, len(text), MOST))


def _cut(text: str, kind: str) -> list[str]:
    if kind == "chinese":
        import rjieba

        words = rjieba.cut(text)
    elif kind == "japanese":
        words = list(_janome().tokenize(text))
    else:
        from pythainlp.tokenize import word_tokenize

        words = word_tokenize(text, engine="newmm", keep_whitespace=False)
    return [word for word in words if any(map(str.isalnum, word))]


@cache
def _janome() -> Any:
    from janome.tokenizer import Tokenizer

    return Tokenizer(wakati=True)
