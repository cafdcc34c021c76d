"""Patterns from strangers: what would end the process or never end is refused or cut off."""

import pytest

from rubric_anchors.core.errors import CriticError, RubricError
from rubric_anchors.critic.checks.registry import make_check
from rubric_anchors.critic.patterns import compiled, matches, written_out


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("abc", 3),
        (r"\d{4}-\d{2}", 7),
        ("(ab){10}", 30),
        ("((a|b){20}){30}", 2430),
        ("a{2,}b{,3}c{,}", 6),
        ("[(]a{9}[)]{2}", 12),
        ("a{x}{}", 4),
        (r"\(a{3}\)", 5),
        ("(?:b{100}(?#()){100}", 10_400),
    ],
)
def test_counted_repeats_are_written_out(pattern: str, parts: int) -> None:
    assert written_out(pattern) == parts


def test_brackets_that_another_syntax_reads_otherwise_hide_no_repeat() -> None:
    assert written_out("(?V1)(?:b{1000}[[a](]){1000}") > 1_000_000
    assert written_out("(?x)(?:b{1000}  # (\n){1000}") > 1_000_000


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(?:(a)|b){1000000}c", "its counted repeats come to more than 50000 parts"),
        ("(?:(?:a|b){2000}){2000}", "its counted repeats come to more than 50000 parts"),
        ("a" * 2001, "at most 2000 characters; seen 2001"),
        ("(?:" * 600 + "a", "no regular expression|nested too deep"),
        ("(" * 900 + "a" + ")" * 900, "nested too deep"),
        ("(", "no regular expression"),
        ("(?R)", "a pattern that calls itself or a group is not taken"),
        ("a(?P<n>b(?&n)?)", "a pattern that calls itself or a group is not taken"),
        ("a*", "it matches an empty text"),
    ],
)
def test_a_pattern_beyond_the_limits_is_refused_in_words(pattern: str, says: str) -> None:
    with pytest.raises(RubricError, match=says):
        make_check("pattern", {"pattern": pattern})


def test_a_search_that_does_not_end_is_cut_off() -> None:
    with pytest.raises(CriticError, match="the pattern took more than 1 s on this answer"):
        list(matches(compiled("(?:(?:(?:(?:a*)*)*)*)*$"), "a" * 3000 + "!"))
