"""Cases of the checks on order, position and patterns: (options, answer, value)."""

from tests.critic.checks.table import Table

PLACING: Table = {
    "at_position": [
        ({"phrases": ["river"], "nth": 2}, "We left. The river was high. We waited.", 1.0),
        ({"phrases": ["river"], "nth": 1}, "We left. The river was high.", 0.0),
        ({"phrases": ["home"], "nth": -1}, "We left. We came home.", 1.0),
        ({"phrases": ["three"], "nth": 3, "piece": "word"}, "One two three.", 1.0),
        ({"phrases": ["then"], "nth": 2, "piece": "paragraph", "where": "starts"}, "First.\n\nThen this.", 1.0),
        ({"phrases": ["this"], "nth": 2, "piece": "paragraph", "where": "starts"}, "First.\n\nThen this.", 0.0),
        ({"phrases": ["low", "high"], "piece": "line", "where": "ends"}, "It was high.\nNo.", 1.0),
        ({"phrases": ["river"], "nth": 4}, "One. Two.", 0.0),
        ({"phrases": ["river"]}, "", 0.0),
    ],
    "every": [
        ({"phrases": ["I"], "where": "starts"}, "I went. I came. We left.", 2 / 3),
        ({"phrases": ["and"]}, "One and two. Three and four.", 1.0),
        ({"phrases": ["*"], "piece": "line", "where": "starts"}, "* a\n* b", 1.0),
        ({"phrases": ["so", "then"], "piece": "paragraph", "where": "starts"}, "So it was.\n\nThen no.", 1.0),
        ({"phrases": ["day"], "piece": "line", "where": "ends"}, "a day\n\na night", 0.5),
        ({"phrases": ["x"]}, "", 0.0),
    ],
    "in_order": [
        ({"phrases": ["first", "second", "third"]}, "First this, second that, third more.", 1.0),
        ({"phrases": ["first", "second", "third"]}, "Third, second, first.", 1 / 3),
        ({"phrases": ["first", "second", "third"]}, "Second, first, second, third.", 1.0),
        ({"phrases": ["first", "second", "third"]}, "First and third.", 2 / 3),
        ({"phrases": ["first", "second"]}, "Second, then first, then second.", 1.0),
        ({"phrases": ["a b", "b c"]}, "a b c", 0.5),
        ({"phrases": ["first", "second"]}, "", 0.0),
    ],
    "only_words": [
        ({"words": ["yes", "no"]}, "Yes. No, no!", 1.0),
        ({"words": ["yes", "no"], "soft": 0.5}, "Yes, no, yes, perhaps.", 0.5),
        ({"words": ["yes", "no"]}, "Maybe.", 0.0),
        ({"phrases": ["good day", "sir"]}, "Good day, sir.", 1.0),
        ({"phrases": ["good day"], "soft": 1.0}, "Good night.", 0.0),
        ({"words": ["yes"]}, "", 0.0),
    ],
    "pattern": [
        ({"pattern": r"\d{4}-\d{2}-\d{2}"}, "On 2024-05-01.", 1.0),
        ({"pattern": "^note:", "min": 2, "max": 2}, "Note: a\nnote: b", 1.0),
        ({"pattern": "^note:", "ignore_case": False}, "Note: a", 0.0),
        ({"pattern": "cat", "min": 0, "max": 0}, "The cat.", 0.0),
        ({"pattern": "cat", "min": 3, "soft": 2}, "cat cat", 0.5),
        ({"pattern": "(a|a)*b"}, "aaab", 1.0),
        ({"pattern": "x"}, "", 0.0),
    ],
}
