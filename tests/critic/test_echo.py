import pytest

from rubric_anchors.critic.echo import shared_share, shared_words
from rubric_anchors.critic.edges import rise


def test_only_runs_that_both_hold_are_shared() -> None:
    words, source = "we saw the red boat go out".split(), "the red boat is here".split()
    assert shared_words(words, source, 3) == [False, False, True, True, True, False, False]
    assert not any(shared_words(words, source, 4))


def test_a_copy_stays_a_copy_when_text_is_put_around_it() -> None:
    anchor = "one two three four five six".split()
    assert shared_share([*"a b c d e f g h i j".split(), *anchor], anchor, 5) == 1.0
    assert shared_share(anchor[:5], anchor, 5) == 1.0
    assert shared_share([], anchor, 5) == 0.0


def test_an_edge_rises_or_falls_in_a_straight_line() -> None:
    assert [rise(x, 0.2, 0.6) for x in (0.0, 0.2, 0.4, 0.6, 1.0)] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    assert [rise(x, 0.6, 0.2) for x in (0.0, 0.2, 0.4, 0.6, 1.0)] == pytest.approx([1.0, 1.0, 0.5, 0.0, 0.0])
