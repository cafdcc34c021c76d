"""Instructions as IFEval writes them (Zhou et al. 2023, "Instruction-Following Evaluation for Large Language Models"),
read as rubrics of checks: a row's `instruction_id_list` names the kinds, its `kwargs` their arguments.

Each instruction becomes a criterion (one kind becomes two). A value of 1 says that the instruction was followed; below
that the soft ends of the checks say how nearly, which is what learning needs. Where the benchmark's own program and the
plain meaning of an instruction part, the meaning is followed: docs/instructions.md has them one by one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.errors import RubricError
from rubric_anchors.core.ids import content_id
from rubric_anchors.core.words import kind_of, near
from rubric_anchors.rubric.model import Rubric

Arguments = Mapping[str, JsonValue]
Asked = tuple[str, str, dict[str, JsonValue]]
"""What is asked, in words; the check; its options."""

ANSWERS: Final = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
SEPARATOR: Final = "******"
DIVIDER: Final = "***"
MOST: Final = 1_000_000
"""Of anything that an instruction counts."""


def ifeval_rubric(instructions: Sequence[str], arguments: Sequence[Arguments], rubric_id: str | None = None) -> Rubric:
    """The rubric of one row: all instructions of equal weight.

    Raises RubricError for an unknown kind, a missing argument or one of the wrong type.
    """
    if not instructions or len(instructions) != len(arguments):
        raise RubricError(
            f"instruction_id_list has {len(instructions)} entries and kwargs {len(arguments)}; as many are wanted"
        )
    criteria: list[JsonValue] = []
    for number, (name, given) in enumerate(zip(instructions, arguments, strict=True), start=1):
        for at, (ask, check, options) in enumerate(criteria_of(name, given)):
            key = f"i{number}_{name.partition(':')[2]}" + ("" if at == 0 else f"_{at + 1}")
            criteria.append({"key": key, "ask": ask, "critic": {"check": check, "with": options}})
    fields: dict[str, JsonValue] = {"schema": 1, "title": "Instructions to be followed", "criteria": criteria}
    fields["id"] = rubric_id or f"ifeval-{content_id(criteria)[:16]}"
    return Rubric.model_validate(fields)


def criteria_of(name: str, given: Arguments) -> list[Asked]:
    """What one instruction asks. Raises RubricError that names the instruction."""
    if name not in KINDS:
        raise RubricError(f"no instruction {name!r}{near(name, KINDS)}; there are: {', '.join(sorted(KINDS))}")
    try:
        return KINDS[name](_Given(given))
    except RubricError as error:
        raise RubricError(f"instruction {name!r}: {error}") from error


class _Given:
    """Arguments of one instruction, each of the type that is wanted. Some files fill every row up with nulls."""

    def __init__(self, values: Arguments) -> None:
        self._values = {key: value for key, value in values.items() if value is not None}

    def text(self, *names: str) -> str:
        value = self._one(names)
        if not isinstance(value, str) or not value.strip():
            raise RubricError(f"{names[0]} is a text; seen {kind_of(value)}")
        return value

    def number(self, name: str) -> int:
        value = self._one((name,))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST or value % 1:
            raise RubricError(f"{name} is a whole number from 0 to {MOST}; seen {kind_of(value)}")
        return int(value)

    def texts(self, name: str) -> list[JsonValue]:
        value = self._one((name,))
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one.strip() for one in value):
            raise RubricError(f"{name} is a list of words; seen {kind_of(value)}")
        return value

    def range(self, number: str, relation: str) -> tuple[str, dict[str, JsonValue]]:
        """`at least N` or `less than N` in words, and as min or max."""
        count, how = self.number(number), self.text(relation)
        if how == "at least":
            return f"at least {count}", {"min": count}
        if how == "at most":
            return f"at most {count}", {"max": count}
        if how == "less than" and count > 0:
            return f"fewer than {count}", {"max": count - 1}
        raise RubricError(f"{relation} is `at least` or `less than` (a number from 1); seen {how!r} {count}")

    def _one(self, names: Sequence[str]) -> JsonValue:
        for name in names:
            if name in self._values:
                return self._values[name]
        raise RubricError(f"the argument {names[0]!r} is missing; there are: {', '.join(self._values) or 'none'}")


def _quoted(texts: Sequence[JsonValue]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _counted(check: str, what: str, number: str, relation: str, part: float) -> Callable[[_Given], list[Asked]]:
    def asked(given: _Given) -> list[Asked]:
        words, ends = given.range(number, relation)
        return [(f"It has {words} {what}.", check, {**ends, "soft": _soft(ends, part)})]

    return asked


def _soft(ends: Mapping[str, JsonValue], part: float) -> float:
    """How far from the end of a range the value reaches 0: a share of that end, at least 1."""
    end = ends.get("min", ends.get("max", 0))
    return max(1.0, round(part * float(end if isinstance(end, int) else 0), 2))


def _exactly(check: str, what: str, number: str, **more: JsonValue) -> Callable[[_Given], list[Asked]]:
    def asked(given: _Given) -> list[Asked]:
        count = given.number(number)
        options: dict[str, JsonValue] = {"min": count, "max": count, "soft": max(1.0, count / 2), **more}
        return [(f"It has exactly {count} {what}.", check, options)]

    return asked


def _at_least(check: str, what: str, number: str, **more: JsonValue) -> Callable[[_Given], list[Asked]]:
    def asked(given: _Given) -> list[Asked]:
        count = given.number(number)
        return [(f"It has at least {count} {what}.", check, {"min": count, "soft": max(1, count), **more})]

    return asked


def _simply(ask: str, check: str, **options: JsonValue) -> Callable[[_Given], list[Asked]]:
    return lambda given: [(ask, check, dict(options))]


def _keywords(given: _Given) -> list[Asked]:
    words = given.texts("keywords")
    return [(f"It contains {_quoted(words)}.", "contains", {"words": words})]


def _keyword_frequency(given: _Given) -> list[Asked]:
    words, ends = given.range("frequency", "relation")
    keyword = given.text("keyword")
    options: dict[str, JsonValue] = {"words": [keyword], **ends, "soft": _soft(ends, 0.5)}
    return [(f"It contains `{keyword}` {words} times.", "occurrences", options)]


def _forbidden(given: _Given) -> list[Asked]:
    words = given.texts("forbidden_words")
    return [(f"It contains none of {_quoted(words)}.", "avoids", {"words": words})]


def _letter(given: _Given) -> list[Asked]:
    words, ends = given.range("let_frequency", "let_relation")
    letter = given.text("letter")
    options: dict[str, JsonValue] = {"letter": letter, **ends, "soft": _soft(ends, 0.5)}
    return [(f"The letter `{letter}` stands in it {words} times.", "letter_frequency", options)]


def _language(given: _Given) -> list[Asked]:
    language = given.text("language")
    return [(f"It is written in the language `{language}`.", "language", {"language": language})]


def _divided(given: _Given) -> list[Asked]:
    count = given.number("num_paragraphs")
    ask = f"It has exactly {count} paragraphs, divided by `{DIVIDER}`."
    return [(ask, "parts", {"count": max(count, 2), "separator": DIVIDER, "alike": True})]


def _first_word(given: _Given) -> list[Asked]:
    count, place, word = given.number("num_paragraphs"), given.number("nth_paragraph"), given.text("first_word")
    ends: dict[str, JsonValue] = {"min": count, "max": count, "soft": max(1.0, count / 2)}
    options: dict[str, JsonValue] = {"phrases": [word], "paragraph": max(place, 1)}
    return [
        (f"Paragraph {place} begins with `{word}`.", "paragraph_starts", options),
        (f"It has exactly {count} paragraphs.", "paragraph_count", ends),
    ]


def _postscript(given: _Given) -> list[Asked]:
    marker = given.text("postscript_marker")
    return [(f"It ends with a postscript that begins with `{marker}`.", "postscript", {"marker": marker})]


def _sections(given: _Given) -> list[Asked]:
    word, count = given.text("section_spliter", "section_splitter"), given.number("num_sections")
    ask = f"It has at least {count} sections, each headed `{word} 1` and so on."
    return [(ask, "sections", {"word": word, "min": count, "soft": max(1, count)})]


def _repeat(given: _Given) -> list[Asked]:
    return [("It repeats the request first.", "repeats_prompt", {"text": given.text("prompt_to_repeat")})]


def _ending(given: _Given) -> list[Asked]:
    phrase = given.text("end_phrase")
    return [(f"It ends with `{phrase}` and nothing after it.", "ends_with", {"phrases": [phrase], "partial": True})]


KINDS: Final[Mapping[str, Callable[[_Given], list[Asked]]]] = {
    "keywords:existence": _keywords,
    "keywords:frequency": _keyword_frequency,
    "keywords:forbidden_words": _forbidden,
    "keywords:letter_frequency": _letter,
    "language:response_language": _language,
    "length_constraints:number_sentences": _counted("sentence_count", "sentences", "num_sentences", "relation", 0.5),
    "length_constraints:number_paragraphs": _divided,
    "length_constraints:number_words": _counted("word_count", "words", "num_words", "relation", 0.2),
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": _at_least("placeholders", "placeholders in brackets", "num_placeholders"),
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _exactly("item_count", "bullet points", "num_bullets", marker="bullet"),
    "detectable_format:constrained_response": _simply(
        f"It is one of {_quoted(ANSWERS)}.", "one_of", texts=list(ANSWERS)
    ),
    "detectable_format:number_highlighted_sections": _at_least("highlights", "highlighted passages", "num_highlights"),
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _simply("All of it is JSON.", "is_json"),
    "detectable_format:title": _simply("It has a title in double angular brackets.", "title", style="angle"),
    "combination:two_responses": _simply(
        f"It gives two different responses, divided by `{SEPARATOR}`.", "parts", count=2, separator=SEPARATOR
    ),
    "combination:repeat_prompt": _repeat,
    "startend:end_checker": _ending,
    "startend:quotation": _simply("All of it stands in double quotation marks.", "quoted", double=True),
    "change_case:capital_word_frequency": _counted(
        "capital_words", "words in capitals", "capital_frequency", "capital_relation", 0.5
    ),
    "change_case:english_capital": _simply("It is in capital letters only.", "all_uppercase"),
    "change_case:english_lowercase": _simply("It is in lowercase letters only.", "all_lowercase"),
    "punctuation:no_comma": _simply("It has no comma.", "no_commas"),
}
