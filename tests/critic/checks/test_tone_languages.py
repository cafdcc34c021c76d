"""Ordinary Korean and Chinese sound like nobody's assistant. The texts were written for this test."""

import json
import os
from importlib.resources import files
from pathlib import Path

import pytest
from tests.critic.checks.table import answer

from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.checks.tone import TONE_LISTS
from rubric_anchors.critic.wordlists import word_list

DATA = Path(os.environ.get("RUBRIC_ANCHORS_TEST_DATA") or Path(__file__).parents[4] / "shared" / "data")
ORDINARY = [
    "어제 비가 와서 우산을 들고 나갔는데 금방 그쳤다.",
    "엄마가 시장에서 고등어를 두 마리 사 오셨다. 저녁에 무를 깔고 조렸다.",
    "버스를 놓쳐서 삼십 분을 걸었다. 발뒤꿈치가 까졌다.",
    "동생뿐만 아니라 나도 늦잠을 잤다.",
    "이 문제는 중요합니다. 내일까지 답을 주세요.",
    "할머니 댁 마당에는 감나무가 한 그루 있다.",
    "회의는 두 시에 시작합니다. 자료는 메일로 보냈습니다.",
    "그는 의사가 아니라 약사다.",
    "질문이 하나 있는데요, 몇 시에 닫아요?",
    "나는 좋은 질문을 하지 못했다.",
    "국가 대표 경기를 보다가 바다 이야기가 나왔다.",
    "김치가 너무 시어서 찌개를 끓였다.",
    "昨天下雨，我忘了带伞，淋了一身。",
    "妈妈在市场买了两条鱼，晚上红烧。",
    "错过了末班车，只好走回去，脚后跟都磨破了。",
    "不是我不想去，是真的没有时间。",
    "他不是医生，而是药剂师。",
    "爷爷家的院子里有一棵柿子树，每年秋天结很多果子。",
    "會議兩點開始，資料我已經寄給大家了。",
    "這家店的麵很好吃，就是排隊太久。",
    "我有一个问题，你们几点关门？",
    "请把窗户关上，外面太吵了。",
    "孩子发烧，我们半夜去了医院，排了三个小时。",
    "这件事不仅他知道，我也知道。",
    "地铁里有人在拉二胡，拉得不错。",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_korean_and_chinese_sound_like_nobody_s_assistant(text: str) -> None:
    assert make_check("ai_tone", {}).decide(answer(text)).value == 1.0


ASSISTANTS = {
    "좋은 질문입니다! 오늘은 건강한 식단에 대해 알아보겠습니다. 균형을 이루는 것이 중요합니다.": 3,
    "물론입니다! 다음은 요청하신 이메일입니다. 추가 질문이 있으시면 언제든지 물어보세요.": 4,
    "결론적으로, 독서는 단순한 취미를 넘어 삶을 바꾸는 여정을 시작하게 합니다.": 3,
    "这是一个很好的问题！首先，值得注意的是，睡眠扮演着至关重要的角色。综上所述，请保持规律作息。": 4,
    "當然可以！以下是一些建議。這不僅僅是一次旅行，更是一段難忘的旅程。希望這些建議能幫到您。": 5,
    "随着科技的不断发展，手机已经成为生活中不可或缺的一部分。": 2,
}


@pytest.mark.parametrize("text", ASSISTANTS)
def test_what_assistants_say_is_found_in_its_place(text: str) -> None:
    found = make_check("ai_tone", {}).decide(answer(text))
    places = [item for item in found.evidence if item.start is not None]
    assert len(places) == ASSISTANTS[text], [text[item.start : item.end] for item in places]


def test_a_text_in_two_languages_is_searched_in_both() -> None:
    text = "I hope this helps! 도움이 되셨기를 바랍니다. 希望对您有所帮助。"
    found = make_check("ai_tone", {}).decide(answer(text))
    assert [text[item.start : item.end] for item in found.evidence if item.start is not None] == [
        "I hope this helps",
        "도움이 되셨기를 바랍니다",
        "希望对您有所帮助",
    ]


def test_a_wording_counts_by_how_much_more_machines_use_it() -> None:
    table = json.loads((files("rubric_anchors.critic") / "tone_weights.json").read_text(encoding="utf-8"))

    def lost(text: str) -> float:
        return 2.0 * (1.0 - make_check("ai_tone", {"per": 2}).decide(answer(text)).value)

    assert lost("It is a testament to hope.") == pytest.approx(table["entries"]["testament to"])
    assert lost("In conclusion, it rained.") == pytest.approx(table["entries"]["in conclusion"])
    assert table["entries"]["testament to"] > 1.0 > table["entries"]["in conclusion"] > 0.0
    # Never seen in the data, in a list that was: the list's weight. In a list of which the data say nothing: 1.
    assert "to summarise" not in table["entries"]
    assert lost("To summarise, it rained.") == pytest.approx(table["lists"]["summing_up"])
    assert lost("I hope this helps.") == lost("Nice 🙂") == lost("综上所述，下雨了。") == pytest.approx(1.0)


def test_weights_are_of_wordings_that_there_are() -> None:
    table = json.loads((files("rubric_anchors.critic") / "tone_weights.json").read_text(encoding="utf-8"))
    known = {entry for name in TONE_LISTS for entry in word_list(name)} | {"not this but that"}
    assert set(table["entries"]) <= known
    assert set(table["lists"]) <= {*TONE_LISTS, "marks"}
    assert all(0.0 <= weight < 3.0 for kind in ("entries", "lists") for weight in table[kind].values())


@pytest.mark.skipif(not DATA.is_dir(), reason="the third-party texts that the weights come of are not here")
def test_the_weights_are_those_that_the_texts_give() -> None:
    from benchmarks.weigh_tone import corpus, weights

    table = json.loads((files("rubric_anchors.critic") / "tone_weights.json").read_text(encoding="utf-8"))
    assert weights(corpus(DATA)) == {"entries": table["entries"], "lists": table["lists"]}
