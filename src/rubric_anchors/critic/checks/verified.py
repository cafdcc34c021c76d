"""Checks on answers that are right or wrong: mathematics, multiple choice, exact match."""

import re
from typing import Annotated, Final

from pydantic import Field, field_validator

from rubric_anchors.core.errors import DataError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding
from rubric_anchors.critic.checks.figures import before_minus
from rubric_anchors.critic.checks.options import finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.finals import Found, From, final_answer
from rubric_anchors.critic.fold import fold
from rubric_anchors.critic.mathematics import compare, plain_number, require_math_verify
from rubric_anchors.critic.text import TextView, view_of

ARTICLES: Final = frozenset(("a", "an", "the"))
_LETTER = re.compile(
    r"(?:(?:option|choice|answer)\s*+)?(?:\\text\s*+\{)?[(\[*]*+([A-Za-z])(?:[)\]*}]++(?:[.:]?)|[.:]|(?=[가-힣ぁ-ヿ一-鿿])|(?![\w'’]))",
    re.IGNORECASE,
)
# B입니다, Bです: what is written onto the letter is no part of a word that begins with it.
_PARTICLE = re.compile(r"[가-힣ぁ-ヿ一-鿿]")
# C++ is not C, nor A+ A.
_SIGN = re.compile(r"[+#]++(?!\w)")
_ALONE = re.compile(r"(?<![\w'’(])\(?([A-Z])(?:\)|(?![\w'’)]))")


class Verified(Check):
    """A check that holds an answer against what is right."""

    answer: tuple[str, ...] | str | None = None
    """What is right; several: any of them. Left out: the row's `reference`."""

    @field_validator("answer")
    @classmethod
    def _something(cls, given: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if given is not None and not (given.strip() if isinstance(given, str) else all(part.strip() for part in given)):
            raise ValueError("an answer that is right has text; leave the option out to take the row's reference")
        if given == ():
            raise ValueError("the list is empty; leave the option out to take the row's reference")
        return given

    def right(self, answer: Answer) -> tuple[str, ...]:
        """The answers that are right. Raises DataError where neither the rubric nor the row gives any."""
        if isinstance(self.answer, tuple):
            return self.answer
        given = self.answer if self.answer is not None else answer.reference
        if given is None or not given.strip():
            raise DataError(f"{self.name} has nothing to compare with: give the row a reference, or the option answer")
        return (given,)


def _stated(found: Found, note: str, value: float, view: TextView) -> Finding:
    return finding(value, note, view, [(f"the final answer ({found.how})", found.start, found.end)])


@check("math_answer")
class MathAnswer(Verified):
    """The final answer equals the right one as mathematics: numbers, expressions, sets, intervals, tuples, matrices.

    `1/2`, `0.5` and `\\frac{1}{2}` are one answer, and so are `x + 1` and `1 + x`, `{1, 2}` and `{2, 1}`, `12` and
    `$12.00`, `50%` and `0.5`. Units are passed over, not converted: `5` and `5 cm` are one answer, and so are `5 cm`
    and `5 m`. An answer that states several has stated the last. A reference may be the whole worked solution: its own
    final answer is taken.

    Compared by math-verify in a process that is ended when it has computed for `seconds`: an answer that cannot be
    decided by then has value 0, so that no answer gains by being hard to check. Where the reference itself takes that
    long, the criterion is left unjudged, since that says nothing of the answer.
    """

    needs = ("verify",)

    final: From = "auto"
    """Where the final answer stands: `boxed` (`\\boxed{...}`), `hashes` (after `####`), `says` (after "the answer is"),
    `last` (the last number), `whole` (all of it); `auto`: the first of these, `whole` apart, that is there."""
    digits: Annotated[int, Field(ge=0, le=12)] = 6
    """Decimal places to which numbers have to agree."""
    seconds: Annotated[float, Field(gt=0.0, le=60.0)] = 2.0
    """CPU seconds that a comparison may take."""

    def ready(self) -> None:
        """Raises SetupError where math-verify is not installed."""
        require_math_verify()

    def decide(self, answer: Answer) -> Finding:
        right, view = self.right(answer), answer.view
        found = final_answer(view.norm, self.final)
        if found is None:
            return finding(0.0, "no final answer was found")
        for given in right:
            stated = _reference(given)
            compared = compare(stated, found.text, self.seconds, self.digits)
            if compared.result == "equal":
                return _stated(found, f"{found.text[:60]!r} equals {stated[:60]!r}", 1.0, view)
            if compared.result == "too long" and not compared.read:
                raise DataError(f"the reference {stated[:60]!r} was not understood within {self.seconds:g} s")
            if compared.result == "too long":
                note = f"whether {found.text[:60]!r} equals {stated[:60]!r} was not decided within {self.seconds:g} s"
                return _stated(found, note, 0.0, view)
        return _stated(found, f"{found.text[:60]!r} is not {_reference(right[0])[:60]!r}", 0.0, view)


def _reference(given: str) -> str:
    """The final answer of a worked solution; of a bare answer, itself."""
    for how in ("boxed", "hashes"):
        found = final_answer(view_of(given).norm, "boxed" if how == "boxed" else "hashes")
        if found is not None:
            return found.text
    return given.strip()


@check("choice_answer")
class ChoiceAnswer(Verified):
    """The answer chooses the right option of a multiple choice.

    The choice is the letter in `\\boxed{}`, after `####` or after "the answer is"; a letter that opens the answer
    (`B.`, `(b)`); the last capital letter that stands alone in parentheses or at the end; or, with `choices`, an
    option's text said alone. A text that chooses several has chosen the last; letters beyond the options are no choice.
    """

    choices: tuple[str, ...] = ()
    """The options' texts, in order: then `answer` may be a letter, a text or a number from 0, and an answer may give
    the text."""
    letters: Annotated[int, Field(ge=2, le=26)] = 5
    """How many options there are, where `choices` is left out."""

    def decide(self, answer: Answer) -> Finding:
        count = len(self.choices) or self.letters
        right = {self._index(given, count) for given in self.right(answer)}
        view = answer.view
        chosen = self._chosen(view, count)
        if chosen is None:
            return finding(0.0, "no choice was found")
        index, found = chosen
        wanted = ", ".join(sorted(chr(65 + at) for at in right))
        return _stated(found, f"chose {chr(65 + index)}, right is {wanted}", float(index in right), view)

    def _index(self, given: str, count: int) -> int:
        """The option that is right. Raises DataError where `given` names none."""
        bare = given.strip().strip("().*")
        if len(bare) == 1 and bare.isascii() and bare.isalpha() and ord(bare.upper()) - 65 < count:
            return ord(bare.upper()) - 65
        texts = [fold(" ".join(view_of(choice).norm.split())) for choice in self.choices]
        said = fold(" ".join(view_of(given).norm.split()))
        if said in texts:
            return texts.index(said)
        if bare.isascii() and bare.isdigit() and int(bare[:4]) < count:
            return int(bare[:4])
        raise DataError(
            f"the right choice {given[:40]!r} is no letter from A to {chr(64 + count)} and no option's text"
        )

    def _chosen(self, view: TextView, count: int) -> tuple[int, Found] | None:
        text = view.norm
        for how in (final_answer(text, "boxed"), final_answer(text, "hashes"), final_answer(text, "says")):
            if how is not None and (index := self._option(how.text, count)) is not None:
                return index, how
        stripped = final_answer(text, "whole")
        if stripped is None:
            return None
        index = self._option(stripped.text, count, opening=True)
        if index is not None:
            return index, stripped
        last = None
        for found in _ALONE.finditer(text):
            bracketed = found[0].startswith("(") and found[0].endswith(")")
            at_end = not text[found.end() :].strip(" .\n*")
            if ord(found[1]) - 65 < count and (bracketed or at_end):
                last = found
        return (ord(last[1]) - 65, Found(last[0], last.start(), last.end(), "letter")) if last else None

    def _option(self, said: str, count: int, opening: bool = False) -> int | None:
        """The option that `said` is: a letter, or an option's text; `opening`: it may begin a longer text."""
        folded = fold(" ".join(said.split())[:2000]).strip(" .")
        for at, choice in enumerate(self.choices):
            if folded == fold(" ".join(view_of(choice).norm.split())).strip(" ."):
                return at
        found = _LETTER.match(said)
        if found is None or not 0 <= ord(found[1].upper()) - 65 < count:
            return None
        marked = found[0][-1] in ").]:*}."
        # "A dog" opens with an article; "B dog" and "I think" with no choice either.
        whole = not said[found.end() :].strip(" .*)")
        alone = found[1] not in "AI" or _PARTICLE.match(said, found.end())
        if whole or marked or (not opening and found[1].isupper() and alone):
            return ord(found[1].upper()) - 65
        return None


@check("exact_answer")
class ExactAnswer(Verified):
    """The answer is the right one, word for word or after levelling what does not matter.

    Levelled (`level`): case, width and styled letters; articles; punctuation between words, but for a minus before a
    number and `+` or `#` after a word; spaces; how numbers are written (`1,000` and `1000.0`). With `final`, only the
    stated answer is held against the right one.
    """

    final: From = "whole"
    """Where the answer stands: see `math_answer`."""
    level: bool = True
    """`false`: only spaces around it are passed over."""

    def decide(self, answer: Answer) -> Finding:
        right, view = self.right(answer), answer.view
        found = final_answer(view.norm, self.final)
        if self.final == "whole" and view.norm.strip():
            start = len(view.norm) - len(view.norm.lstrip())
            found = Found(view.norm.strip(), start, start + len(view.norm.strip()), "whole")
        if found is None:
            return finding(0.0, "no answer was found")
        said = self._levelled(found.text)
        for given in right:
            if said == self._levelled(view_of(given).norm.strip()):
                return _stated(found, f"it is {given[:60]!r}", 1.0, view)
        return _stated(found, f"{found.text[:60]!r} is not {right[0][:60]!r}", 0.0, view)

    def _levelled(self, text: str) -> tuple[object, ...]:
        if not self.level:
            return (text,)
        number = plain_number(text)
        if number is not None:
            return (number,)
        kept = TextView(text)
        words: list[str] = []
        for span, folded in zip(kept.words, kept.folded, strict=True):
            sign = _SIGN.match(kept.norm, span.end)
            split = re.split(r"[-‐‑_]", f"{folded}{sign[0] if sign else ''}")
            parts = [part for part in split if part and part not in ARTICLES]
            figures = [plain_number(part) for part in parts]
            if figures and figures[0] is not None and before_minus(kept.norm, span.start):
                figures[0] = -figures[0]
            words += [part if figure is None else str(figure) for part, figure in zip(parts, figures, strict=True)]
        # Where nothing but marks or articles is left, they are the answer.
        return tuple(words) if words else (fold(text),)
