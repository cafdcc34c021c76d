"""The instruments: right values by hand, what each must see, and that no text breaks one."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubric_anchors.core.errors import InputError
from rubric_anchors.evaluate.measures import MEASURES, Sample, all_measures, measures_named
from rubric_anchors.evaluate.measures.diversity import Distinctness, OpeningVariety, WordVariety
from rubric_anchors.evaluate.measures.language import Language
from rubric_anchors.evaluate.measures.relevance import VectorRelevance, WordOverlap
from rubric_anchors.evaluate.measures.style import Length, Particulars, SentenceLength
from rubric_anchors.evaluate.measures.text import sentences, stem, words
from rubric_anchors.evaluate.measures.tone import AiTone, runs, shapes
from rubric_anchors.evaluate.measures.vectors import WordVectors

TOLD = (
    "I burnt the rice three nights running. My wife laughed, then showed me: rinse it till the water ran clear, lid "
    "on, leave it. Twelve minutes later it was done, each grain apart, and I ate two bowls standing at the stove."
)
MACHINE = (
    "Cooking rice is an essential skill that can be mastered with patience and determination. It provides individuals "
    "with the opportunity to experience a sense of growth, ensuring consistency, enhancing their personal ability and "
    "highlighting the significant role of balance within the community."
)


def sample(response: str, prompt: str = "How do I cook rice?", prompt_id: str = "rice") -> Sample:
    return Sample(prompt_id, "advice", prompt, response)


def test_machine_register_scores_above_plain_telling() -> None:
    told, machine = AiTone()([sample(TOLD), sample(MACHINE)])
    assert told < 0.4 < 0.8 < machine


def test_a_list_sounds_more_like_a_machine_than_the_same_words_in_a_row() -> None:
    steps = ["Rinse the rice.", "Boil the water.", "Leave the lid on."]
    listed = "\n".join(f"{number}. **{step}**" for number, step in enumerate(steps, 1))
    tone = AiTone()
    assert tone.score(listed) > tone.score(" ".join(steps))


def test_long_texts_are_judged_in_runs_so_that_length_alone_changes_little() -> None:
    tone = AiTone()
    assert len(runs(" ".join([TOLD] * 4))) > 1
    assert tone.score(" ".join([TOLD] * 4)) == pytest.approx(tone.score(TOLD), abs=0.2)


def test_nothing_is_won_by_silence() -> None:
    assert AiTone().score(" \n") == 1.0
    assert Language().score("") == 0.0
    silent = [sample(""), sample("", "What is a boat?", "boat")]
    assert Distinctness()(silent).tolist() == [0.0, 0.0]
    assert WordOverlap()(silent).tolist() == [0.0, 0.0]


def test_shapes_are_rates() -> None:
    found = shapes("The education of a nation is not only a statement.")
    assert found["abstract_nouns"] == pytest.approx(2 / 10)  # education, statement; nation is too short
    assert found["contrasts"] == 1.0
    assert found["list_lines"] == 0.0


def test_overlap_counts_rare_words_more_and_half_the_weight_is_full_marks() -> None:
    prompts = {"a": "How do I mend a fence?", "b": "How do I mend a boat?"}
    # mend is in 2 of 2 prompts: log 2; fence in 1 of 2: log 3
    answers = [sample("Mending takes time.", prompts["a"], "a"), sample("The boat sank.", prompts["b"], "b")]
    common, rare = np.log(2), np.log(3)
    assert WordOverlap()(answers).tolist() == pytest.approx([2 * common / (common + rare), 1.0])


def test_a_question_of_small_words_asks_nothing_of_the_overlap() -> None:
    assert WordOverlap()([sample("Anything.", "What should I do?")]).tolist() == [1.0]


def vectors() -> WordVectors:
    source = np.random.default_rng(0)
    matrix = source.normal(0, 1, (40, 6)).astype(np.float32)
    names = ["rice", "pot", "stove", "boat", "sail", "sea"]
    matrix[:, 5] *= 20  # the direction that all words share most, and that is taken out
    matrix[:3] += np.array([6, 0, 0, 0, 0, 0], dtype=np.float32)
    matrix[3:6] += np.array([0, 6, 0, 0, 0, 0], dtype=np.float32)
    return WordVectors({name: row for row, name in enumerate(names)}, matrix)


def test_vectors_tell_another_subject_from_the_same_in_other_words() -> None:
    measure = VectorRelevance(vectors())
    same, other = measure([sample("A pot, a stove.", "Rice?"), sample("A boat at sea.", "Rice?")])
    assert same > other + 0.3
    assert measure([sample("Zzz.", "Rice?")]).tolist() == [0.0]


def test_distinctness_is_the_share_of_triples_that_no_other_question_gets() -> None:
    answers = [
        sample("one two three four", prompt_id="a"),  # one two three is shared, two three four is not
        sample("one two three five", prompt_id="b"),
        sample("one two three four", prompt_id="a"),  # the same question does not count
    ]
    assert Distinctness()(answers).tolist() == [0.5, 0.5, 0.5]


def test_collapse_onto_one_answer_is_seen() -> None:
    same = [sample(TOLD, prompt_id=str(number)) for number in range(5)]
    assert Distinctness()(same).max() == 0.0
    assert OpeningVariety()(same).max() == 0.0


def test_word_variety_sees_loops() -> None:
    loop, plain = WordVariety()([sample("the end " * 40), sample(TOLD)])
    assert loop == pytest.approx(2 / 40)
    assert plain > 0.7


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("She are here.", "agreement"),
        ("They was late.", "agreement"),
        ("I is late.", "agreement"),
        ("We saw this people.", "agreement"),
        ("He could went home.", "modal"),
        ("He did not went home.", "modal"),
        ("I was am there.", "two verbs"),
        ("He sat on the a chair.", "determiner"),
        ("I ate a apple.", "article"),
        ("I saw an dog.", "article"),
        ("I went,, and left.", "punctuation"),
        ("Then i was home.", "lone i"),
        ("I went to to the shop.", "doubled word"),
        ("We ate florbish soup.", "unknown word"),
        ("she left early.", "small letter"),
        ("It rained. It rained.", "said before"),
        ('He said "go.\nI went.', "left open"),
        ("It ended here\nI went.", "unended"),
        ("Rice stove kettle boats sailing ocean bread table plate spoons forks knives.", "word salad"),
        ("I was so " + "very tired and " * 25 + "ill.", "run-on"),
        ("I like it a lot now. I like it a lot then. I like it a lot still.", "loop"),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    assert fault in {name for _, names in Language().faults(text) for name in names}


@pytest.mark.parametrize(
    "text",
    [
        TOLD,
        "If I were you, I'd wait. What it is, nobody knows. He had had enough.",
        "He was a European, an honest one; a user of an old hourglass. It took an hour.",
        "My mother, who is Polish, taught Mr. Nowak's son Staś. We have been to the US.",
        "I know that people change. The will is signed. The favourite colour of the neighbours was grey.",
        "Dear Anna,\nThank you for the soup.\n\n- salt\n- two eggs\n\nI finished it in the gard",
        "“We could be there,” she said. It went on and on... and then it stopped!",
    ],
)
def test_good_english_passes(text: str) -> None:
    assert [pair for pair in Language().faults(text) if pair[1]] == []


def test_shuffled_words_lose_nearly_all_of_language() -> None:
    mixed = TOLD.split()
    random.Random(0).shuffle(mixed)
    language = Language()
    assert language.score(TOLD) == 1.0
    assert language.score(" ".join(mixed)) < 0.4


def test_particulars_are_signs_for_every_hundred_words() -> None:
    # Anna, 12, "Come in", and two past tenses, walked and said, in ten words
    assert Particulars()([sample('Then Anna walked 12 miles and said "Come in" to me.')]).tolist() == [50.0]


def test_lengths_are_counts() -> None:
    text = "I came home. Nobody was there."
    assert Length()([sample(text)]).tolist() == [6.0]
    assert SentenceLength()([sample(text)]).tolist() == [3.0]


def test_words_and_sentences_are_cut_where_a_reader_would() -> None:
    assert words("Don’t stop, it's 12 o'clock!") == ["don't", "stop", "it's", "o'clock"]
    assert sentences('Mr. Brown left. "Why?" she asked.\nNobody knew') == [
        "Mr. Brown left.",
        '"Why?" she asked.',
        "Nobody knew",
    ]
    assert len({stem(word) for word in ("garden", "gardens", "gardening", "gardener")}) == 1
    assert stem("stories") == stem("story")


@given(st.lists(st.text(max_size=80), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_a_measure(texts: list[str]) -> None:
    answers = [sample(text, prompt=texts[0], prompt_id=str(number)) for number, text in enumerate(texts)]
    measures, _ = all_measures()
    for measure in measures:
        scores = measure(answers)
        assert scores.shape == (len(texts),), measure.name
        assert np.all(np.isfinite(scores)), measure.name


def test_every_measure_says_what_it_sees_and_what_it_misses_and_its_margin() -> None:
    for name, make in MEASURES.items():
        note = getattr(make, "__doc__", None) or ""
        assert "Misses" in note, name
        assert "Sees" in note, name
        assert "Margin 0." in note or "No bar" in note, name


def test_at_least_five_measures_carry_a_bar() -> None:
    measures, notes = all_measures()
    assert len(measures) + len(notes) == len(MEASURES)
    barred = {measure.name: measure.margin for measure in measures if measure.margin is not None}
    assert {"ai_tone", "word_overlap", "distinctness", "language"} <= barred.keys()
    assert all(margin > 0 for margin in barred.values())


def test_an_unknown_measure_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'ai_tune'.*ai_tone"):
        measures_named(["ai_tune"])
    assert [measure.name for measure in measures_named(["language", "length"])] == ["language", "length"]
