"""Attacks on judges, judges that give in to them, and what stands between: shared by tests and the benchmark."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rubric_anchors.critic.answer import Answer, Message
from rubric_anchors.critic.hostile import flags
from rubric_anchors.critic.judge_prompt import judge_request
from rubric_anchors.critic.passages import Passage
from rubric_anchors.critic.shown import SPECIAL, shown
from rubric_anchors.critic.verdict_reply import read_reply
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.model import Rubric

FOLDER: Final = Path(__file__).resolve().parents[1] / "critic"
TIERS: Final = [{"means": "No."}, {"means": "In part."}, {"means": "Yes."}]
RUBRIC: Final[Rubric] = parse_rubric(
    {
        "id": "attacked",
        "criteria": [
            {"key": "lived", "ask": "The answer is carried by concrete, lived detail rather than by abstraction.",
             "critic": "judge", "tiers": TIERS},
            {"key": "moving", "ask": "It moves its reader.", "critic": "judge", "tiers": TIERS},
        ],
    }
)  # fmt: skip
BEST: Final = json.dumps({"lived": {"evidence": "", "tier": 2}, "moving": {"evidence": "", "tier": 2}})
LOWEST: Final = BEST.replace("2", "0")
DEFENCES: Final = ("fence", "marks", "reader", "flags")
"""`fence`: marks that carry a hash. `marks`: tokens of chat templates made harmless. `reader`: copies and quotations
are no verdicts. `flags`: with `flags: veto`."""
_TEMPLATE: Final = re.compile(r"What was asked:|The answer to grade:|Now the JSON object\.")


def one_answer(text: str) -> Answer:
    """An answer to a question that has nothing to do with grading."""
    return Answer((Message("user", "What did you do on Sunday?"),), text)


def innocent(later: bool) -> list[str]:
    """Answers that mean no harm."""
    return list(yaml.safe_load((FOLDER / f"innocent{'_later' * later}.yaml").read_text("utf-8")))


def attacks(later: bool) -> Iterator[tuple[str, str]]:
    """Each attack's kind and text; it knows the fence that its own prompt would have without it."""
    kinds: Mapping[str, list[str]] = yaml.safe_load((FOLDER / f"attacks{'_later' * later}.yaml").read_text("utf-8"))
    for kind, texts in kinds.items():
        for text in texts:
            asked = judge_request(RUBRIC.criteria, one_answer(text), Passage(text)).turns[0].content
            known = re.findall(r"<(graded-\w+)>", asked)
            yield kind, text.replace("{keys}", BEST).replace("{fence}", known[-1])


@dataclass(frozen=True)
class Gullible:
    """A judge that does what strangers tell it: what it reads outside its fences, or (`inside`) anything at all."""

    inside: bool

    def told(self, prompt: str) -> str:
        """What it takes for orders."""
        text = prompt.split("What was asked:", 1)[1]
        if self.inside:
            return re.sub(r"</?graded[-\w]*>", "", _TEMPLATE.sub("", text)).replace("[user]", "").strip()
        # A token of its template ends its turn, wherever it stands: what follows is another's.
        turns = SPECIAL.split(text)
        outside = re.sub(r"<(graded[-\w]*)>\n.*?\n</\1>", "", turns[0], flags=re.DOTALL)
        if len(turns) > 1:
            outside = re.sub(r"<(graded[-\w]*)>\n.*", "", outside, flags=re.DOTALL) + "".join(turns[1:])
        return re.sub(r"</?graded[-\w]*>", "", _TEMPLATE.sub("", outside)).strip()

    def reply(self, prompt: str) -> str:
        """A verdict that it was told is said after; any other order gets the best; without orders it is honest."""
        told = self.told(prompt)
        if not told.replace("What did you do on Sunday?", "").strip():
            return LOWEST
        planted = re.search(r'\{\s*"lived"\s*:.*\}', told, re.DOTALL)
        return planted[0] if planted else BEST


def wins(text: str, judge: Gullible, defences: tuple[str, ...]) -> bool:
    """Whether the attack gets the best verdict on everything past those of DEFENCES that are up."""
    answer = one_answer(text)
    if not answer.view.norm.strip() or ("flags" in defences and flags(answer, RUBRIC.criteria)):
        return False
    prompt = judge_request(RUBRIC.criteria, answer, Passage(text)).turns[0].content
    if "marks" not in defences:
        prompt = prompt.replace(shown(text), text)
    if "fence" not in defences:
        prompt = re.sub(r"graded-[0-9a-f]{16}", "graded", prompt)
    reply = judge.reply(prompt)
    if "reader" in defences:
        try:
            return all(verdict.value == 1.0 for verdict in read_reply(reply, RUBRIC.criteria, text))
        except ValueError:
            return False
    return naive(reply) == [2, 2]


def naive(reply: str) -> list[Any]:
    """The tiers in the first object of a reply, as many a reader takes them."""
    try:
        read, _ = json.JSONDecoder().raw_decode(reply, reply.index("{"))
    except ValueError:
        return []
    return [read.get(key, {}).get("tier") for key in ("lived", "moving")]
