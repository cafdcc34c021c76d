"""Our verdicts on IFEval's instructions beside those of a second reading of them, kind by kind.

    python benchmarks/ifeval.py --data FOLDER [--show KIND]

FOLDER holds `input_data.jsonl` (prompts with `instruction_id_list` and `kwargs`) and `example_en_responses.jsonl` (a
response to each). The responses come without verdicts, so the other reader is here: a few lines a kind, written from
the instruction's wording alone with the standard library, sharing no code with the checks. Where the two differ, the
row is listed, to be read by a person; what came of that stands in docs/instructions.md. Writes
benchmarks/results/ifeval.json.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import rubric_anchors.critic.build  # noqa: F401  # importing it registers every check
from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.rubric.ifeval import criteria_of

RESULT: Final = Path(__file__).resolve().parent / "results" / "ifeval.json"
Given = dict[str, Any]


def ours(kind: str, given: Given, prompt: str, response: str) -> bool:
    """Whether every criterion of the instruction holds in full."""
    answer = Answer((Message("user", prompt),), response)
    return all(
        make_check(name, options).decide(answer).value > 1 - 1e-9 for _, name, options in criteria_of(kind, given)
    )


def related(count: int, given: Given, number: str, relation: str = "relation") -> bool:
    wanted = int(given[number])
    return count >= wanted if given[relation] == "at least" else count < wanted


def has_word(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def sentences(text: str) -> int:
    guarded = re.sub(r"\b(Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|No)\.", r"\1", text)
    guarded = re.sub(r"(?<=\d)\.(?=\d)", "", guarded)
    return len([part for part in re.split(r"(?<=[.!?])[\"”’')*]*\s+|\n+", guarded) if re.search(r"\w", part)])


def first_words(given: Given, text: str) -> bool:
    parts = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    at = given["nth_paragraph"] - 1
    if len(parts) != given["num_paragraphs"] or at >= len(parts):
        return False
    return re.match(r"\W*(\w+)", parts[at].lower()) is not None and has_word(
        given["first_word"], re.split(r"\s", parts[at].lstrip("#*\"'“ "))[0]
    )


def is_json(text: str) -> bool:
    bare = re.sub(r"^```\w*\s*|\s*```$", "", text.strip())
    try:
        json.loads(bare)
    except ValueError:
        return False
    return True


OTHER: Final[dict[str, Callable[[Given, str], bool]]] = {
    "keywords:existence": lambda g, t: all(has_word(word, t) for word in g["keywords"]),
    "keywords:frequency": lambda g, t: related(
        len(re.findall(rf"(?<!\w){re.escape(g['keyword'])}(?!\w)", t, re.IGNORECASE)), g, "frequency"
    ),
    "keywords:forbidden_words": lambda g, t: not any(has_word(word, t) for word in g["forbidden_words"]),
    "keywords:letter_frequency": lambda g, t: related(
        t.lower().count(g["letter"].lower()), g, "let_frequency", "let_relation"
    ),
    "length_constraints:number_sentences": lambda g, t: related(sentences(t), g, "num_sentences"),
    "length_constraints:number_paragraphs": lambda g, t: (
        len([part for part in t.split("***") if part.strip()]) == g["num_paragraphs"]
    ),
    "length_constraints:number_words": lambda g, t: related(
        len([word for word in t.split() if re.search(r"\w", word)]), g, "num_words"
    ),
    "length_constraints:nth_paragraph_first_word": first_words,
    "detectable_content:number_placeholders": lambda g, t: len(re.findall(r"\[[^\[\]]+\]", t)) >= g["num_placeholders"],
    "detectable_content:postscript": lambda g, t: g["postscript_marker"].lower() in t.lower(),
    "detectable_format:number_bullet_lists": lambda g, t: (
        len(re.findall(r"^\s*[*•+-]\s+\S", t, re.MULTILINE)) == g["num_bullets"]
    ),
    "detectable_format:constrained_response": lambda g, t: (
        t.strip() in {f"My answer is {a}." for a in ("yes", "no", "maybe")}
    ),
    "detectable_format:number_highlighted_sections": lambda g, t: (
        len(re.findall(r"\*\*[^*\n]+\*\*|\*[^*\s][^*\n]*\*", t)) >= g["num_highlights"]
    ),
    "detectable_format:multiple_sections": lambda g, t: (
        len(set(re.findall(rf"{g['section_spliter']}\s*(\w+)", t, re.IGNORECASE))) >= g["num_sections"]
    ),
    "detectable_format:json_format": lambda g, t: is_json(t),
    "detectable_format:title": lambda g, t: re.search(r"<<[^<>\n]*\w[^<>\n]*>>", t) is not None,
    "combination:two_responses": lambda g, t: len({part.strip() for part in t.split("******") if part.strip()}) == 2,
    "combination:repeat_prompt": lambda g, t: t.strip().lower().startswith(g["prompt_to_repeat"].strip().lower()),
    "startend:end_checker": lambda g, t: t.strip().strip("\"'”*").lower().endswith(g["end_phrase"].strip().lower()),
    "startend:quotation": lambda g, t: len(t.strip()) > 1 and t.strip()[0] in '"“' and t.strip()[-1] in '"”',
    "change_case:capital_word_frequency": lambda g, t: related(
        len([w for w in re.findall(r"[^\W\d_]{2,}", t) if w.isupper()]), g, "capital_frequency", "capital_relation"
    ),
    "change_case:english_capital": lambda g, t: t.upper() == t and re.search(r"[A-Z]", t) is not None,
    "change_case:english_lowercase": lambda g, t: t.lower() == t and re.search(r"[a-z]", t) is not None,
    "punctuation:no_comma": lambda g, t: "," not in t,
}
"""The other reading. Language has none: a person reads those few."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", help="print the rows of this kind on which the readings differ")
    options = parser.parse_args()
    responses = {
        row["prompt"]: row["response"]
        for row in map(json.loads, (options.data / "example_en_responses.jsonl").read_text("utf-8").splitlines())
    }
    tables: defaultdict[str, dict[str, Any]] = defaultdict(
        lambda: {"n": 0, "followed": 0, "agree": 0, "only_ours": [], "only_other": []}
    )
    for row in map(json.loads, (options.data / "input_data.jsonl").read_text("utf-8").splitlines()):
        response = responses.get(row["prompt"])
        if response is None:  # the two files may be different parts of the whole
            continue
        for kind, given in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            mine = ours(kind, given, row["prompt"], response)
            table = tables[kind]
            table["n"] += 1
            table["followed"] += mine
            if kind not in OTHER:
                table["agree"] = None
                if kind == options.show:
                    print(row["key"], mine, given, repr(response[:100]))
                continue
            other = OTHER[kind](given, response)
            table["agree"] += mine == other
            if mine != other:
                table["only_ours" if mine else "only_other"].append(row["key"])
                if kind == options.show:
                    print(f"{row['key']} ours {mine}, other {other}: {given}\n{response}\n{'-' * 60}")
    RESULT.write_text(json.dumps(dict(sorted(tables.items())), indent=2) + "\n", encoding="utf-8")
    for kind, table in sorted(tables.items()):
        print(f"{kind:48} {table['followed']:3}/{table['n']:3} followed, agree {table['agree']}", end=" ")
        print(f"only ours {table['only_ours']}, only the other {table['only_other']}")


if __name__ == "__main__":
    main()
