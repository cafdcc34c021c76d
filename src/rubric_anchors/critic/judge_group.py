"""The answers to one prompt judged against each other: all are shown together, in two orders, and get places."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from pydantic import JsonValue

from rubric_anchors.core.ids import derive_seed
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.judge_asking import CRITIC, Ask, Reading
from rubric_anchors.critic.judge_merge import first_failure
from rubric_anchors.critic.judge_prompt import conversation, fenced, schema_of, stated, template
from rubric_anchors.critic.passages import Passage, passages
from rubric_anchors.critic.quotations import Quotable
from rubric_anchors.critic.reply_object import verdict_object
from rubric_anchors.models.chat import ChatTurn, Reply, Request
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Evidence, Judged, Verdict

SHOWN_AT_LEAST: Final = 200
"""Characters of each answer, however many share a call."""


@dataclass(frozen=True, slots=True)
class Group:
    """Answers to one prompt, in the order in which they are shown."""

    answers: tuple[int, ...]
    """Their numbers."""
    shown: tuple[Passage, ...]

    @property
    def backwards(self) -> "Group":
        """The same in the other order."""
        return Group(self.answers[::-1], self.shown[::-1])

    def asks(self, answer: Answer, criteria: tuple[Criterion, ...], at: int) -> Ask:
        """What is asked about all of them, under the number `at`; `answer` is one of them."""
        whole = Passage("\n\n".join(passage.text for passage in self.shown))
        # A verdict for each criterion and text, the texts of a criterion together.
        each = tuple(criterion for criterion in criteria for _ in self.shown)
        return Ask(at, each, whole, "", _request(answer, criteria, self.shown))


def groups(answers: Sequence[Answer], judged: Iterable[int], longest: int, again: int) -> list[Group]:
    """The answers whose numbers stand in `judged`, by prompt; shuffled by what they say, not by how they came. Those of
    one prompt share `longest` characters."""
    by_prompt: dict[object, list[int]] = {}
    for at in judged:
        by_prompt.setdefault(answers[at].prompt, []).append(at)
    found = []
    for members in by_prompt.values():
        members.sort(key=lambda at: answers[at].text)
        texts = [answers[at].text for at in members]
        Random(derive_seed("group", again, *texts)).shuffle(members)
        room = max(SHOWN_AT_LEAST, longest // len(members))
        found.append(Group(tuple(members), tuple(passages(answers[at].text, "head_tail", room)[0] for at in members)))
    return found


def _request(answer: Answer, criteria: Sequence[Criterion], shown: Sequence[Passage]) -> Request:
    prompt = conversation(answer)
    texts = "\n\n".join(_text(number, passage, prompt) for number, passage in enumerate(shown, 1))
    names = [str(number) for number in range(1, len(shown) + 1)]
    filled = template("group").substitute(
        criteria="\n\n".join(map(stated, criteria)),
        asked=fenced(prompt),
        texts=texts,
        shape=json.dumps({one.key: {"evidence": "...", "places": dict.fromkeys(names, 1)} for one in criteria}),
    )
    place: JsonValue = {"type": "integer", "enum": list(range(1, len(shown) + 1))}
    places: JsonValue = {
        "type": "object",
        "properties": dict.fromkeys(names, place),
        "required": list(names),
        "additionalProperties": False,
    }
    fields: dict[str, JsonValue] = {"evidence": {"type": "string"}, "places": places}
    return Request((ChatTurn("user", filled),), schema=schema_of(dict.fromkeys((one.key for one in criteria), fields)))


def _text(number: int, passage: Passage, prompt: str) -> str:
    # By its number too: a text that repeats another one has marks of its own.
    note = f"\n[Here {passage.left_out} characters of text {number} are left out.]\n"
    return f"Text {number}:\n{note.join(fenced(part, str(number), prompt) for part in passage.parts)}"


def read_places(ask: Ask, reply: Reply, group: Group) -> Reading:
    """The value of each text on each criterion, those of a criterion together. Raises ValueError."""
    criteria = tuple(dict.fromkeys(ask.criteria))
    read = verdict_object(reply.text, [one.key for one in criteria], ask.passage.text)
    quotable = [Quotable(passage.text) for passage in group.shown]
    verdicts: list[Verdict] = []
    for criterion in criteria:
        places, evidence = _places(criterion.key, read[criterion.key], len(group.shown))
        for value, text in zip(standing(places), quotable, strict=True):
            here = tuple(item for item in text.evidence(evidence) if item.start is not None)
            verdicts.append(Judged(value, criterion.tier_of(value), CRITIC, here))
    return Reading(tuple(verdicts))


def _places(key: str, entry: object, texts: int) -> tuple[list[int], str]:
    names = [str(number) for number in range(1, texts + 1)]
    if not isinstance(entry, dict) or set(entry) != {"evidence", "places"}:
        raise ValueError(f"{key}: expected {{evidence, places}}; seen {str(entry)[:60]}")
    places, evidence = entry["places"], entry["evidence"]
    if not isinstance(places, dict) or set(places) != set(names) or not isinstance(evidence, str):
        raise ValueError(f"{key}: expected a place for each of the texts 1 to {texts}; seen {str(places)[:60]}")
    found = [places[name] for name in names]
    if not all(type(place) is int and 1 <= place <= texts for place in found):
        raise ValueError(f"{key}: a place is a whole number from 1 to {texts}; seen {str(found)[:60]}")
    return found, evidence


def standing(places: Sequence[int]) -> list[float]:
    """Each text's share of all texts that it stands above, itself and those on its place counted by half: 0..1, mean
    1/2, whatever numbers the places have. Of one text: 1/2."""
    return [
        (sum(other > place for other in places) + sum(other == place for other in places) / 2.0) / len(places)
        for place in places
    ]


def ranked(criteria: Sequence[Criterion], there: Sequence[Verdict], back: Sequence[Verdict]) -> list[list[Verdict]]:
    """For each text of a group a verdict for each of `criteria`: the mean of both orders. `there` and `back`: what
    `read_places` gave for the group and for the same backwards. A failure fails all texts: nobody can say whose it was.
    """
    size = len(there) // len(criteria)
    table: list[list[Verdict]] = [[] for _ in range(size)]
    for number, criterion in enumerate(criteria):
        own = slice(number * size, (number + 1) * size)
        failed = first_failure([*there[own], *back[own]])
        for text, (one, other) in enumerate(zip(there[own], back[own][::-1], strict=True)):
            if not isinstance(one, Judged) or not isinstance(other, Judged) or failed is not None:
                table[text].append(failed or one)
                continue
            value = (one.value + other.value) / 2.0
            note = Evidence(f"stands at {one.value:.2f} and {other.value:.2f} in two orders, among {size} answers")
            quoted = dict.fromkeys((*one.evidence, *other.evidence))
            table[text].append(Judged(value, criterion.tier_of(value), CRITIC, (note, *quoted)))
    return table


def alone(criteria: Sequence[Criterion]) -> list[Verdict]:
    """The verdicts on the only answer to its prompt: level with itself."""
    note = (Evidence("the only answer to its prompt: nothing to stand above or below"),)
    return [Judged(0.5, criterion.tier_of(0.5), CRITIC, note) for criterion in criteria]
