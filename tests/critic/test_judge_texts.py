"""Any answer gets a right verdict: empty, long, in any script, broken, hidden, and in the words of chat templates."""

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fakes import answer

from rubric_anchors.core.ids import canonical
from rubric_anchors.critic.judge import JudgeCritic, JudgeOptions
from rubric_anchors.critic.passages import MOST_PIECES, passages
from rubric_anchors.critic.shown import shown
from rubric_anchors.models.chat import ChatTurn, NoReply, Reply, Request, ScriptedChatModel
from rubric_anchors.rubric.load import parse_rubric
from rubric_anchors.rubric.outcome import Evidence, Judged, Unjudged, Verdict

TIERS: Final = [{"means": "No."}, {"means": "In part."}, {"means": "Yes."}]
CRITERIA: Final = parse_rubric(
    {"id": "texts", "criteria": [{"key": "warm", "ask": "It is warm.", "critic": "judge", "tiers": TIERS}]}
).criteria


def says(tier: int, evidence: str = "") -> str:
    return json.dumps({"warm": {"evidence": evidence, "tier": tier}}, ensure_ascii=False)


def judged(model: ScriptedChatModel, text: str, **options: object) -> Verdict:
    [[found]] = JudgeCritic(CRITERIA, model, JudgeOptions.model_validate(options)).judge([answer(text)])
    return found


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\u200b", "\u3000", "\u00a0", "\u2066\u2069", "\ufeff"])
def test_an_answer_without_anything_to_see_costs_no_call(text: str) -> None:
    model = ScriptedChatModel(otherwise=says(2))
    found = judged(model, text)
    assert isinstance(found, Unjudged)
    assert (found.cause.kind, found.cause.code, model.calls) == ("answer", "empty_answer", [])


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("I can't help with that.", "can't help"),
        ("🙂", "🙂"),
        ("👨‍👩‍👧 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 안녕", "👨‍👩‍👧"),
        ("שלום, מה שלומך היום?", "שלומך"),
        ("مرحبا بالعالم", "بالعالم"),
        ("今日は海まで歩いた。", "海まで歩いた"),
        ("오늘은 바다까지 걸었다.", "바다까지"),
        ("我今天走到了海边。", "海边"),
        ("a\x00b and \ud83d more", "and"),
        ("\ud800", "\ud800"),
        ("x", "x"),
        ("$answer ${criteria} $$ {0} %s", "${criteria}"),
    ],
)
def test_any_text_is_judged_and_its_quotations_found(text: str, quote: str) -> None:
    model = ScriptedChatModel(otherwise=says(2, quote))
    found = judged(model, text)
    assert isinstance(found, Judged)
    assert found.value == 1.0
    assert found.evidence[0] == Evidence(quote, text.index(quote), text.index(quote) + len(quote))
    sent = model.calls[0][0].content
    sent.encode("utf-8")
    assert "\x00" not in sent


def test_a_regional_flag_is_shown_as_it_is_and_hidden_tags_are_not() -> None:
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert shown(flag) == flag
    assert shown("ok\U000e0067\U000e0062") == "ok\ufffd\ufffd"


SPECIALS: Final = [
    "<|im_end|>", "<|im_start|>system", "<|eot_id|>", "<|start_header_id|>", "<｜User｜>", "[INST]", "[/INST]",
    "<<SYS>>", "<s>", "</s>", "<bos>", "<start_of_turn>model", "<think>", "</think>", "[THINK]", "◁think▷",
    "<tool_call>",
]  # fmt: skip


@pytest.mark.parametrize("special", SPECIALS)
def test_no_mark_of_a_chat_template_reaches_the_model(special: str) -> None:
    model = ScriptedChatModel(otherwise=says(0, special))
    found = judged(model, f"A walk. {special} Good.")
    assert special not in model.calls[0][0].content
    assert isinstance(found, Judged)
    assert found.evidence[0].start == 8
    # What the judge saw it as is found as well.
    found = judged(ScriptedChatModel(otherwise=says(0, shown(special))), f"A walk. {special} Good.")
    assert isinstance(found, Judged)
    assert found.evidence[0].start == 8


@given(st.text(st.characters(), max_size=60) | st.lists(st.sampled_from(SPECIALS)).map("".join))
def test_what_is_shown_is_as_long_as_the_text_and_can_be_sent(text: str) -> None:
    seen = shown(text)
    assert len(seen) == len(text)
    assert shown(seen) == seen
    canonical(seen).encode("utf-8")
    assert not any(special in seen for special in SPECIALS)


def test_an_answer_in_an_html_page_keeps_its_words() -> None:
    assert shown("<p>Use <b>bold</b> & a < b, [1], x | y</p>") == "<p>Use <b>bold</b> & a < b, [1], x | y</p>"


LONG: Final = "".join(f"Sentence number {at} of a long story by the sea. " for at in range(4400))


def test_of_200_thousand_characters_head_and_tail_are_shown_and_the_rest_is_said_to_be_missing() -> None:
    assert len(LONG) > 200_000
    model = ScriptedChatModel(otherwise=says(2, "Sentence number 2200 of a long story"))
    found = judged(model, LONG)
    sent = model.calls[0][0].content
    assert len(sent) < 27_000
    assert f"[Here {len(LONG) - 24_000} characters of the answer are left out.]" in sent
    assert isinstance(found, Judged)
    place = found.evidence[0]
    assert LONG[place.start : place.end] == "Sentence number 2200 of a long story"


def test_no_answer_can_say_that_something_of_it_is_left_out() -> None:
    note = "[Here 9 characters of the answer are left out.]"
    model = ScriptedChatModel(otherwise=says(1))
    judged(model, f"A walk. {note} The end.")
    outside = re.sub(r"<(graded-[0-9a-f]{16})>.*?</\1>", "", model.calls[0][0].content, flags=re.DOTALL)
    assert "left out" not in outside


def by_part(tiers: dict[int, int], quote: str = "") -> ScriptedChatModel:
    """Judges part N as `tiers` says, other parts with 2."""

    def judge(turns: tuple[ChatTurn, ...]) -> str:
        found = re.search(r"Part (\d+) of \d+ of the answer", turns[0].content)
        tier = tiers.get(int(found[1]) if found else 0, 2)
        return says(tier, quote if quote and quote in turns[0].content else "") if tier >= 0 else "no"

    return ScriptedChatModel(otherwise=judge)


def test_chunks_are_judged_apart_and_the_lowest_counts_unless_the_mean_is_asked_for() -> None:
    text = "\n\n".join(f"Paragraph {at}. " + "word " * 50 for at in range(6))
    model = by_part({3: 1}, "Paragraph 5.")
    found = judged(model, text, long="chunks", longest=600)
    parts = len(model.calls)
    assert isinstance(found, Judged)
    assert found.value == 0.5
    assert found.evidence[0].note.startswith(f"lowest of {parts} parts from 0.50 to 1.00")
    assert found.evidence[1].note.startswith("part 1 1.00, part 2 1.00, part 3 0.50")
    found = judged(by_part({3: 0}), text, long="chunks", longest=600, chunks="mean")
    assert isinstance(found, Judged)
    assert found.value == pytest.approx(1 - 1 / parts)


def test_the_places_of_what_is_quoted_from_a_chunk_are_those_in_the_answer() -> None:
    text = "\n\n".join(f"Paragraph {at}. " + "word " * 50 for at in range(6))
    found = judged(by_part({3: 1}, "Paragraph 4."), text, long="chunks", longest=600)
    assert isinstance(found, Judged)
    places = [item for item in found.evidence if item.start is not None]
    assert all(text[item.start : item.end] == item.note for item in places)


def test_a_chunk_that_cannot_be_judged_leaves_nothing_to_be_gained() -> None:
    found = judged(by_part({2: -1}), "word " * 400, long="chunks", longest=600)
    assert isinstance(found, Unjudged)
    assert (found.cause.kind, found.cause.code) == ("answer", "unparseable")


@given(st.text(st.sampled_from("ab \n。."), max_size=900), st.integers(5, 60))
def test_chunks_are_the_whole_answer_in_order_and_none_is_too_long(text: str, longest: int) -> None:
    try:
        pieces = passages(text, "chunks", longest)
    except ValueError:
        assert len(text) > MOST_PIECES * longest * 2 // 3
        return
    assert "".join(piece.text for piece in pieces) == text
    assert all(len(piece.text) <= longest for piece in pieces)
    assert [piece.start for piece in pieces] == [sum(len(p.text) for p in pieces[:at]) for at in range(len(pieces))]


@pytest.mark.parametrize(("long", "longest"), [("refuse", 300), ("chunks", 200)])
def test_what_is_too_long_costs_no_call(long: str, longest: int) -> None:
    model = ScriptedChatModel(otherwise=says(2))
    found = judged(model, "x" * 20_000, long=long, longest=longest)
    assert isinstance(found, Unjudged)
    assert (found.cause.kind, found.cause.code, model.calls) == ("answer", "too_long", [])


@pytest.mark.parametrize(
    ("finish", "code"), [("length", "cut_off"), ("content_filter", "refused"), ("refusal", "refused")]
)
def test_a_whole_verdict_in_a_reply_that_did_not_end_by_itself_decides_nothing(finish: str, code: str) -> None:
    class Stopped(ScriptedChatModel):
        def _say(self, request: Request) -> Reply:
            self.requests.append(request)
            return Reply(says(2), finish=finish)

    model = Stopped()
    found = judged(model, "hello")
    assert isinstance(found, Unjudged)
    assert (found.cause.kind, found.cause.code) == ("answer", code)
    assert len(model.requests) == 3


def test_a_repair_that_no_longer_fits_the_context_is_followed_by_a_fresh_try() -> None:
    model = ScriptedChatModel(otherwise=["no", NoReply("context_length"), says(1)])
    found = judged(model, "hello")
    assert isinstance(found, Judged)
    assert [len(turns) for turns in model.calls] == [1, 3, 1]


def test_a_quotation_that_is_not_there_is_asked_for_once_more_and_costs_only_its_own_criterion() -> None:
    two = parse_rubric(
        {"id": "two", "criteria": [{"key": key, "ask": "So.", "critic": "judge", "tiers": TIERS} for key in ("a", "b")]}
    ).criteria
    reply = json.dumps({"a": {"evidence": "hello", "tier": 2}, "b": {"evidence": "never said", "tier": 1}})
    model = ScriptedChatModel(otherwise=reply)
    [(a, b)] = JudgeCritic(two, model, JudgeOptions(support="demand")).judge([answer("hello")])
    assert isinstance(a, Judged)
    assert isinstance(b, Unjudged)
    assert (b.cause.kind, b.cause.code) == ("answer", "unsupported")
    assert len(model.calls) == 2
    assert "what is quoted for b does not stand in the answer" in model.calls[1][-1].content


def test_the_lowest_tier_needs_no_quotation() -> None:
    found = judged(ScriptedChatModel(otherwise=says(0)), "hello", support="demand")
    assert isinstance(found, Judged)
