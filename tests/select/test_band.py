import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rubric_anchors.runs.records import PromptRow, Selection
from rubric_anchors.select.band import prefilter, select_band
from rubric_anchors.select.config import SelectConfig
from rubric_anchors.select.scripts import script_share

WORDS = "sea boat stone wind home road bread night letter door".split()


def row(name: str, text: str, *before: tuple[str, str]) -> PromptRow:
    return PromptRow(id=name, messages=(*before, ("user", text)))


def tokens(one: PromptRow) -> int:
    return len(one.text.split())


def config(**fields: object) -> SelectConfig:
    return SelectConfig.model_validate({"least_spread": 0.0, **fields})


def chosen(means: dict[str, float], spread: float = 0.1, **fields: object) -> Selection:
    rows = [row(name, name) for name in means]
    rewards = {name: [mean - spread, mean + spread] for name, mean in means.items()}
    return select_band("style", rows, rewards, config(**fields))


def reasons(selection: Selection) -> dict[str, str]:
    return {one.prompt_id: one.reason for one in selection.dropped}


def test_both_ends_of_the_band_belong_to_it() -> None:
    means = {f"p{number}": number / 10 for number in range(11)}
    selection = chosen(means, band=(0.1, 0.9))
    assert selection.cuts == pytest.approx((0.1, 0.9))
    assert selection.kept == tuple(f"p{number}" for number in range(1, 10))
    assert reasons(selection) == {"p0": "below_band", "p10": "above_band"}


@pytest.mark.parametrize("count", [2, 3, 7, 30, 101])
def test_a_mean_on_a_quantile_is_kept_however_the_quantile_is_rounded(count: int) -> None:
    means = {f"p{number}": 0.1 + 0.7 * number / count for number in range(count)}
    for at in range(count - 1):
        band = (at / (count - 1), 1.0)
        assert chosen(means, band=band).kept[0] == f"p{at}"
        if at:
            assert chosen(means, band=(0.0, at / (count - 1))).kept[-1] == f"p{at}"


def test_the_whole_band_keeps_all_and_equal_means_are_all_in_any_band() -> None:
    assert len(chosen({f"p{n}": n / 7 for n in range(8)}, band=(0.0, 1.0)).kept) == 8
    assert len(chosen({f"p{n}": 0.3 for n in range(8)}, band=(0.4, 0.6)).kept) == 8


def test_prompts_whose_answers_get_like_rewards_are_dropped() -> None:
    rewards: dict[str, list[float | None]] = {"flat": [0.5, 0.5], "alive": [0.4, 0.6]}
    rows = [row(name, name) for name in rewards]
    selection = select_band("s", rows, rewards, config(least_spread=0.05, band=(0, 1)))
    assert (selection.kept, reasons(selection)) == (("alive",), {"flat": "no_spread"})
    assert selection.spreads == {"flat": 0.0, "alive": pytest.approx(0.1)}
    assert selection.means == {"flat": 0.5, "alive": 0.5}


def test_one_answer_a_prompt_has_no_spread_to_ask_for() -> None:
    selection = select_band("s", [row("a", "a")], {"a": [0.5]}, config(answers=1, least_spread=0.5, band=(0, 1)))
    assert selection.kept == ("a",)


def test_prompts_with_too_few_scored_answers_are_dropped_as_unscored_and_move_no_quantile() -> None:
    rows = [row(name, name) for name in ("none", "one", "missing", "a", "b")]
    rewards: dict[str, list[float | None]] = {
        "none": [None, None],
        "one": [0.9, None],
        "a": [0.1, 0.2, None],
        "b": [0.3, 0.4],
    }
    selection = select_band("s", rows, rewards, config(band=(0, 1)))
    assert selection.kept == ("a", "b")
    assert reasons(selection) == {"none": "unscored", "one": "unscored", "missing": "unscored"}
    assert selection.cuts == pytest.approx((0.15, 0.35))


def test_nothing_scored_keeps_nothing() -> None:
    selection = select_band("s", [row("a", "a")], {}, config())
    assert (selection.kept, selection.means) == ((), {})


@given(
    st.dictionaries(
        st.text("abcdef", min_size=1, max_size=4),
        st.lists(st.none() | st.floats(0, 1), max_size=5),
        max_size=12,
    ),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda band: band[0] != band[1]),
    st.integers(1, 4),
    st.floats(0, 0.3),
)
def test_every_prompt_is_kept_or_dropped_once_with_its_reason(
    rewards: dict[str, list[float | None]], band: tuple[float, float], answers: int, spread: float
) -> None:
    rows = [row(name, name) for name in rewards]
    settings = config(band=tuple(sorted(band)), answers=answers, least_spread=spread)
    selection = select_band("s", rows, rewards, settings)
    dropped = [one.prompt_id for one in selection.dropped]
    assert sorted([*selection.kept, *dropped]) == sorted(rewards)
    assert [name for name in rewards if name in selection.kept] == list(selection.kept)
    for name in selection.kept:
        assert selection.cuts[0] - 1e-9 <= selection.means[name] <= selection.cuts[1] + 1e-9
        assert answers == 1 or selection.spreads[name] >= spread


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=15),
    st.none() | st.integers(1, 6),
    st.integers(0, 5),
)
def test_prefiltering_keeps_or_drops_every_row_once(texts: list[list[str]], limit: int | None, seed: int) -> None:
    rows = [row(str(number), " ".join(words)) for number, words in enumerate(texts)]
    kept, dropped = prefilter(rows, config(limit=limit, max_prompt_tokens=6), tokens, seed)
    assert sorted([*(one.id for one in kept), *(one.prompt_id for one in dropped)]) == sorted(one.id for one in rows)
    assert [one for one in rows if one in kept] == kept
    assert limit is None or len(kept) <= limit


def test_long_prompts_other_scripts_and_duplicates_are_dropped_each_with_its_reason() -> None:
    rows = [
        row("first", "tell me about the sea in winter please"),
        row("long", "one two three four five six seven eight nine ten eleven"),
        row("korean", "겨울 바다에 대해 말해 줘"),
        row("twin", "Tell me about the sea  in winter, please"),
        row("near", "tell me about the sea in winter please now"),
        row("other", "tell me about the boat in summer please"),
    ]
    settings = config(max_prompt_tokens=10, script="Latin", duplicate_overlap=0.8)
    kept, dropped = prefilter(rows, settings, tokens, 0)
    assert [one.id for one in kept] == ["first", "twin", "other"]
    assert [(one.prompt_id, one.reason, one.detail) for one in dropped] == [
        ("long", "length", "11 tokens"),
        ("korean", "language", "0% Latin"),
        ("near", "duplicate", "of first"),
    ]


@given(st.lists(st.lists(st.sampled_from(WORDS[:4]), min_size=1, max_size=6), max_size=12), st.floats(0.05, 1.0))
def test_duplicates_are_those_of_comparing_every_pair(texts: list[list[str]], overlap: float) -> None:
    def grams(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, 1))}

    kept: list[list[str]] = []
    for words in texts:
        mine = grams(words)
        if all(len(mine & grams(o)) / len(mine | grams(o)) < overlap - 1e-9 for o in kept):
            kept.append(words)
    rows = [row(str(number), " ".join(words)) for number, words in enumerate(texts)]
    found, _ = prefilter(rows, config(duplicate_overlap=overlap), tokens, 0)
    assert [one.text.split() for one in found] == kept


def test_conversations_that_end_alike_are_no_duplicates_and_a_shared_system_message_makes_none() -> None:
    system = ("system", "You are a helpful and honest friend who answers in few words and never lies to anybody.")
    rows = [
        row("a", "Why?", ("user", "The sea is salty."), ("assistant", "Yes.")),
        row("b", "Why?", ("user", "Bread goes stale."), ("assistant", "It does.")),
        row("c", "Tell me of home.", system),
        row("d", "Who built this road?", system),
    ]
    kept, dropped = prefilter(rows, config(), tokens, 0)
    assert (len(kept), dropped) == (4, [])


def test_the_limit_draws_by_seed_and_ids_and_not_by_order() -> None:
    rows = [row(f"p{number}", f"{number} and some words of its own") for number in range(40)]
    settings = config(limit=10)
    kept, dropped = prefilter(rows, settings, tokens, 3)
    assert len(kept) == 10
    assert {(one.reason, one.detail) for one in dropped} == {("limit", "10 drawn of 40")}
    mixed = random.Random(1).sample(rows, 40)
    assert {one.id for one in prefilter(mixed, settings, tokens, 3)[0]} == {one.id for one in kept}
    assert {one.id for one in prefilter(rows, settings, tokens, 4)[0]} != {one.id for one in kept}


@pytest.mark.parametrize(
    ("text", "script", "share"),
    [
        ("hello", "Latin", 1.0),
        ("hello", "latin", 1.0),
        ("안녕 hi", "Hangul", 0.5),
        ("漢字", "Han", 1.0),
        ("Привет", "Cyrillic", 1.0),
        ("Привет", "Latin", 0.0),
        ("123 ?!", "Hangul", 1.0),
    ],
)
def test_the_share_of_a_script_is_of_letters_alone(text: str, script: str, share: float) -> None:
    assert script_share(text, script) == share


@pytest.mark.parametrize("script", ["Klingon", "", "Latin script", "en"])
def test_a_script_that_no_letter_is_of_is_refused(script: str) -> None:
    with pytest.raises(ValidationError, match="script is a writing system"):
        config(script=script)


@pytest.mark.parametrize("script", ["latin", "Han", "Hangul", "Cherokee", "Devanagari"])
def test_a_script_is_known_by_its_letters(script: str) -> None:
    assert config(script=script).script == script


def test_a_band_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ValidationError, match="lower to a higher"):
        config(band=(0.9, 0.1))


def test_spread_is_the_population_s_standard_deviation() -> None:
    rewards = {"a": [0.1, 0.5, 0.9]}
    assert select_band("s", [row("a", "a")], rewards, config()).spreads["a"] == pytest.approx(np.std([0.1, 0.5, 0.9]))
