"""Cases of the checks that hold an answer against other texts: (options, answer, value)."""

from tests.critic.checks.table import Table

LIKENESS: Table = {
    "covers_points": [
        ({"points": ["The river floods in spring", "Boats are tied up"]}, "In spring the river flooded. We ate.", 0.5),
        ({"points": ["Boats are painted"]}, "They were painting the boat.", 1.0),
        ({"points": ["Boats are tied up"], "share": 1.0}, "A boat lay there. It was tied.", 1.0),
        ({"points": ["cold water", "warm coat"]}, "The water was cold and the coat was warm.", 1.0),
        # Denied, and it cannot see it: the docstring says so.
        ({"points": ["The water was cold"]}, "The water was not cold.", 1.0),
        ({"points": ["The water was cold"]}, "Nothing of the kind.", 0.0),
        ({"points": ["The water was cold"]}, "", 0.0),
    ],
    "novelty": [
        ({"texts": ["it was a cold and windy day"]}, "We took the train to the coast in May.", 1.0),
        ({"texts": ["it was a cold and windy day"]}, "It was a cold and windy day", 0.0),
        # 2 of 5 runs of four are known: (0.4 - 0.1) / 0.5
        ({"texts": ["it was a cold day"]}, "It was a cold day so we left", 1 - (2 / 5 - 0.1) / 0.5),
        ({"texts": ["ha ha"], "n": 2, "free": 0.0, "soft": 1.0}, "Ha ha yes", 0.5),
        ({"texts": ["one two three four"]}, "one two three", 1.0),
        ({"texts": ["one two three four"]}, "", 1.0),
    ],
    "compression": [
        # The prompt of these cases has nine words.
        ({"max": 1.0}, "Five words are just enough.", 1.0),
        ({"min": 1.0, "max": 1.0}, "one two three four five six seven eight nine", 1.0),
        ({"max": 0.5, "soft": 1.0}, "one two three four five six seven eight nine", 0.5),
        ({"min": 0.5}, "One.", 0.0),
        ({"max": 1.0}, "", 1.0),
        ({"min": 2.0, "soft": 2.0}, "one two three four five six seven eight nine", 0.5),
    ],
    "opening_variety": [
        ({}, "I went out. It rained. We ran.", 1.0),
        ({}, "I was cold. I was wet. I was tired. I was ill.", 1 - (3 / 4 - 0.15) / 0.6),
        ({"words": 1, "free": 0.0, "soft": 1.0}, "I ran. I fell. We left.", 2 / 3),
        ({"free": 0.0, "soft": 1.0}, "The dog ran. The dog fell.", 0.5),
        ({}, "One.", 1.0),
        ({}, "", 1.0),
    ],
}
