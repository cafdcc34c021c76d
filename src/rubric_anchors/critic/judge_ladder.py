"""The answer placed on the ladder of a criterion's anchors, by comparing it with each of them in both orders."""

import json
import math
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.judge_asking import CRITIC, Ask, Reading
from rubric_anchors.critic.judge_merge import SHOWN, first_failure
from rubric_anchors.critic.judge_prompt import conversation, fenced, schema_of, template
from rubric_anchors.critic.passages import Passage
from rubric_anchors.critic.quotations import Quotable
from rubric_anchors.critic.reply_object import verdict_object
from rubric_anchors.critic.shown import shown
from rubric_anchors.models.chat import ChatTurn, Reply, Request
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Evidence, Judged, Verdict

SLOPE: Final = 8.0
"""How sure a comparison is: an answer half the scale above an anchor beats it with probability 1 / (1 + exp(-4))."""
WINS: Final = {"first": 1.0, "second": 0.0, "equal": 0.5}


def rungs(criterion: Criterion) -> list[tuple[int, str]]:
    """(tier, anchor) of every anchor, lowest tier first."""
    return [(at, anchor) for at, tier in enumerate(criterion.tiers) for anchor in tier.anchors]


def comparison(criterion: Criterion, answer: Answer, passage: Passage, rung: int, *, answer_first: bool) -> Request:
    """The request that compares the answer with one anchor; the answer stands first or second."""
    prompt = conversation(answer)
    note = f"\n[Here {passage.left_out} characters of the text are left out.]\n"
    own = note.join(fenced(part, prompt) for part in passage.parts)
    anchor = fenced(rungs(criterion)[rung][1], prompt)
    filled = template("compare").substitute(
        key=criterion.key,
        ask=shown(criterion.ask),
        asked=f"What was asked:\n{fenced(prompt)}",
        first=own if answer_first else anchor,
        second=anchor if answer_first else own,
        shape=json.dumps({criterion.key: {"evidence": "...", "more": "first"}}),
    )
    fields: dict[str, JsonValue] = {
        "evidence": {"type": "string"},
        "more": {"type": "string", "enum": list(WINS)},
    }
    return Request((ChatTurn("user", filled),), schema=schema_of({criterion.key: fields}))


def read_comparison(ask: Ask, reply: Reply) -> Reading:
    """Whether the text that stood first shows more: a value of 1, 0, or 1/2 for equal. Raises ValueError."""
    [criterion] = ask.criteria
    entry = verdict_object(reply.text, [criterion.key], ask.passage.text)[criterion.key]
    if not isinstance(entry, dict) or set(entry) != {"more", "evidence"}:
        raise ValueError(f"{criterion.key}: expected {{evidence, more}}; seen {str(entry)[:60]}")
    more, evidence = entry["more"], entry["evidence"]
    if not isinstance(more, str) or more not in WINS or not isinstance(evidence, str):
        raise ValueError(f"{criterion.key}: more is {', '.join(WINS)}, evidence is text; seen {str(entry)[:60]}")
    # What is quoted from the anchor says nothing about the answer.
    here = tuple(one for one in Quotable(ask.passage.text).evidence(evidence) if one.start is not None)
    return Reading((Judged(WINS[more], 0, CRITIC, here),))


def placed(criterion: Criterion, verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict from the comparisons with every rung: for each first with the answer first, then the other way round.

    Bradley and Terry's model (1952) with the anchors held at their tiers' values v_i: an answer at x beats anchor i
    with probability s(x - v_i) = 1 / (1 + exp(-SLOPE (x - v_i))); x is where the likelihood of what was said, r_i, is
    greatest in 0..1, which is where sum_i r_i - s(x - v_i) is 0, or an end. One comparison that failed fails all.
    """
    if (failed := first_failure(verdicts)) is not None:
        return failed
    won = [verdict.value for verdict in verdicts if isinstance(verdict, Judged)]
    won = [1.0 - value if at % 2 else value for at, value in enumerate(won)]
    pairs = list(zip(won[::2], won[1::2], strict=True))
    ladder = rungs(criterion)
    results = [(one + other) / 2.0 for one, other in pairs]
    x = place([criterion.tiers[tier].value for tier, _ in ladder], results)
    said = ", ".join(
        f"{'above' if result > 0.5 else 'below' if result < 0.5 else 'level with'} an anchor of tier {tier}"
        for (tier, _), result in zip(ladder[:SHOWN], results, strict=False)
    )
    alike = sum(one == other for one, other in pairs)
    notes = (
        Evidence(f"compared with {len(ladder)} anchors: {said}"),
        Evidence(f"the same in both orders: {alike} of {len(ladder)}"),
    )
    quoted = [item for verdict in verdicts if isinstance(verdict, Judged) for item in verdict.evidence]
    return Judged(x, criterion.tier_of(x), CRITIC, (*notes, *dict.fromkeys(quoted[:SHOWN])))


def place(values: Sequence[float], results: Sequence[float]) -> float:
    """Where in 0..1 the likelihood of `results` against anchors at `values` is greatest; see `placed`."""

    def slope(x: float) -> float:
        chances = (1.0 / (1.0 + math.exp(-SLOPE * (x - value))) for value in values)
        return math.fsum(result - chance for result, chance in zip(results, chances, strict=True))

    low, high = 0.0, 1.0
    if slope(low) <= 0.0:
        return low
    if slope(high) >= 0.0:
        return high
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return (low + high) / 2.0
