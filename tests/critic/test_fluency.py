from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fakes import FakeLikelihood, answer, fake_tools

from rubric_anchors.core.errors import RubricError
from rubric_anchors.critic.base import Tools
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.fluency import Fluency, window_means

SENSE = "I took the train to the coast and walked along the wall until it rained, then ate chips in a shelter. "
SALAD = "zxq brt kkl mnp qrs tvw xzc bnm lkj hgf dsp qwr tpl mnb vcx zlk jhg fds pqw rtp lmn bvc xzz kjh gfd "


def values(*texts: str, check: Fluency | None = None) -> list[float]:
    found = (check or Fluency()).decide_all([answer(text) for text in texts], fake_tools())
    return [finding.value for finding in found]


def test_language_scores_and_broken_language_does_not() -> None:
    assert values(SENSE, SALAD, "") == [1.0, 0.0, 0.0]


def test_good_stretches_cannot_pay_for_a_broken_one() -> None:
    assert values(SENSE * 5 + SALAD) == [0.0]
    assert values(SENSE * 5 + SALAD, check=Fluency(window=0, too_likely=None)) == [1.0]


def test_saying_one_thing_again_and_again_is_too_likely() -> None:
    loop = "I love the sea. " * 20
    assert values(loop) == [0.0]
    [finding] = Fluency().decide_all([answer(loop)], fake_tools())
    assert "says itself over again" in finding.evidence[0].note
    assert values(loop, check=Fluency(too_likely=None)) == [1.0]


def test_the_prompt_is_given_unless_told_otherwise() -> None:
    likelihood = FakeLikelihood()
    tools = Tools(encoder=fake_tools().encoder, likelihood=lambda: likelihood)
    Fluency().decide_all([answer(SENSE)], tools)
    Fluency(given="nothing").decide_all([answer(SENSE)], tools)
    assert [len(prompt) for prompt in likelihood.prompts] == [1, 0]


def test_the_evidence_says_what_was_seen_and_wanted() -> None:
    [finding] = Fluency().decide_all([answer(SENSE)], fake_tools())
    assert finding.evidence[0].note == "-2.00 nats a token in the worst stretch, wanted -5.4"


@given(st.lists(st.floats(-20, 0), min_size=1, max_size=60), st.integers(0, 30))
def test_window_means_are_the_means_of_all_windows(logps: list[float], window: int) -> None:
    array = np.array(logps, dtype=np.float32)
    size = len(array) if window == 0 else min(window, len(array))
    expected = [array[at : at + size].mean(dtype=np.float64) for at in range(len(array) - size + 1)]
    np.testing.assert_allclose(window_means(array, window), expected, atol=1e-6)


@pytest.mark.parametrize("options", [{"low": -1, "high": -2}, {"too_likely": -6}, {"low": 1}, {"given": "all"}])
def test_edges_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(RubricError, match="fluency"):
        make_check("fluency", options)  # type: ignore[arg-type]


def test_the_default_edges_fit_the_embedded_policy(real_policy: Path) -> None:
    from rubric_anchors.models.likelihood import CausalLikelihood

    model = CausalLikelihood.load(real_policy)
    tools = Tools(encoder=fake_tools().encoder, likelihood=lambda: model)
    plain = (
        "I make soup. I get the big pot down, cut up whatever is left in the drawer, and let it go for two hours while "
        "I sit by the window with the crossword. Around four my sister usually calls."
    )
    shuffled = " ".join(sorted(plain.split(), key=lambda word: word[::-1]))
    own = "On Sunday, I went for a long walk in the park with my dog. We saw a lot of people enjoying the weather."
    loop = "I love the kitchen. " * 15
    texts = [plain, own, shuffled, loop]
    by_plain, by_own, by_shuffled, by_loop = Fluency().decide_all([answer(text) for text in texts], tools)
    assert by_plain.value > 0.6
    assert by_own.value == 1.0
    assert by_shuffled.value < 0.2
    assert by_loop.value < 0.3
