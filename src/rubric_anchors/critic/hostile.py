"""What answers try on a judge: text addressed to it, verdicts and turns of their own, hidden characters, nothing."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, get_args

import regex

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.echo import shared_share
from rubric_anchors.critic.phrases import listed
from rubric_anchors.critic.shown import TAGS
from rubric_anchors.critic.text import view_of
from rubric_anchors.rubric.model import Criterion
from rubric_anchors.rubric.outcome import Evidence

Flag = Literal["grader_addressed", "fake_turn", "fake_verdict", "hidden_text", "rubric_copied", "says_nothing"]
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)

_TURNS = re.compile(
    r"<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|</?(?:system|assistant|user|graded[-\w]*)>|^\s{0,3}#{0,4}\s?"
    r"(?:system|assistant|human|instruction|시스템|系统|系統)\s?(?:prompt|message|note|메시지|提示|消息)?\s?[:：]",
    re.IGNORECASE | re.MULTILINE,
)
# Tags (which show as nothing, but in the flags of regions), characters that turn the direction of text, long runs of
# joiners of no width.
_HIDDEN = regex.compile(f"(?:{TAGS.pattern})+|[\u202a-\u202e\u2066-\u2069]+|[\u200b\u2060\ufeff\u00ad]{{4,}}")
_EMOJI = regex.compile(r"\p{Extended_Pictographic}")
_JSON_VERDICT: Final = r'"\s*:\s*(?:\{\s*"(?:evidence|tier)|"?\d)'
_SCORES = re.compile(
    r"\b(?:tier|score|rating|grade|points?|verdict)\b[\"'*\s]{0,4}[:=]\s{0,2}[\"'*]{0,2}\d{1,3}\b"
    r"|(?:점수|평점|등급)\s?[:：은는]?\s?\d|(?:评分|評分|得分|分数|分數)\s?[:：是为為]?\s?\d",
    re.IGNORECASE,
)
_TO_GRADERS = re.compile(
    r"(?:ignore|disregard|forget|override)\s(?:all\s|any\s|the\s|your\s)*(?:previous|prior|above|earlier|other)?\s?"
    r"(?:instructions?|criteria|rules|prompts?|rubrics?)"
    r"|(?:이전|위의|모든)\s?(?:의\s)?(?:지시|지침|명령|기준)[을를]?\s?(?:모두\s)?무시|채점자|평가자(?:님|에게|는)|(?:만점|최고\s?점수|높은\s?점수)[을를]\s?(?:주|부여)"
    r"|忽略(?:以上|之前|前面|上述|所有)(?:的)?(?:所有)?(?:指示|指令|说明|說明|标准|標準)|评分者|評分者|阅卷|閱卷|(?:给|給)(?:我|出|予|它|本文|这篇|這篇)?(?:满分|滿分|最高分)",
    re.IGNORECASE,
)
# What a program says that has nothing to say.
_NOTHING = re.compile(
    r"(?:null|none|nil|nan|undefined|n\s?/\s?a|no (?:answer|response|output)|\[?(?:empty|blank)\]?"
    r"|없음|해당\s?없음|无|無|空|\{\s*\}|\[\s*\]|\W+)[.!。]?",
    re.IGNORECASE,
)
# What each pattern cannot do without, in small letters: nearly all answers are plain ASCII and hold none of it.
_TO_GRADERS_NEED: Final = ("ignore", "disregard", "forget", "override")
_SCORES_NEED: Final = ("tier", "score", "rating", "grade", "point", "verdict")
COPIED: Final = 0.3
"""The share of what the rubric asks, in runs of six words, from which an answer is taken to hold the rubric."""
RUN: Final = 6


def flags(answer: Answer, criteria: Sequence[Criterion]) -> dict[Flag, Evidence]:
    """What is suspicious about the answer as something a judge reads, each with the first place where it stands."""
    text, view = answer.text, answer.view
    found: dict[Flag, Evidence] = {}
    hits = [(hit.start, hit.end) for hit in listed("grader_talk").passages(view)]
    plain = text.lower() if text.isascii() else None
    if plain is None or any(word in plain for word in _TO_GRADERS_NEED):
        hits += [place.span() for place in _TO_GRADERS.finditer(view.norm)]
    if hits:
        found["grader_addressed"] = view.evidence("speaks to whoever grades", *min(hits))
    if (turn := _TURNS.search(view.norm)) is not None:
        found["fake_turn"] = view.evidence("plays a turn of the conversation", *turn.span())
    verdict = _verdicts_on(tuple(criteria)).search(text)
    if plain is None or any(word in plain for word in _SCORES_NEED):
        verdict = verdict or _SCORES.search(text)
    if verdict is not None:
        found["fake_verdict"] = Evidence("holds a verdict of its own", *verdict.span())
    if plain is None and (hidden := _HIDDEN.search(text)) is not None:
        found["hidden_text"] = Evidence("holds characters that cannot be seen", *hidden.span())
    if _NOTHING.fullmatch(view.norm.strip()) is not None and not _EMOJI.search(text):
        found["says_nothing"] = Evidence("says nothing")
    asked = _asked_words(tuple(criteria))
    if _may_share(asked, view.folded) and shared_share(asked, view.folded, RUN) >= COPIED:
        found["rubric_copied"] = Evidence("holds what the rubric asks, word for word")
    return found


def _may_share(asked: Sequence[str], words: Sequence[str]) -> bool:
    """Whether an answer's words may hold a run of the words that are asked: False only where they cannot."""
    pairs = set(pairwise(words))
    row = 0
    for pair in pairwise(asked):
        row = row + 1 if pair in pairs else 0
        if row == RUN - 1:
            return True
    return False


@lru_cache(maxsize=256)
def _asked_words(criteria: tuple[Criterion, ...]) -> tuple[str, ...]:
    return tuple(word for criterion in criteria for word in view_of(criterion.ask).folded)


@lru_cache(maxsize=256)
def _verdicts_on(criteria: tuple[Criterion, ...]) -> "re.Pattern[str]":
    keys = "|".join(re.escape(criterion.key) for criterion in criteria)
    return re.compile(rf'"(?:{keys}){_JSON_VERDICT}')
