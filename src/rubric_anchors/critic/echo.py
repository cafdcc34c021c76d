"""What a text has word for word from another: runs of words that both hold."""

from collections.abc import Sequence


def shared_words(words: Sequence[str], source: Sequence[str], run: int) -> list[bool]:
    """For each of `words`, whether it stands in a run of at least `run` words that `source` holds too; linear time."""
    runs = {tuple(source[at : at + run]) for at in range(len(source) - run + 1)}
    shared = [False] * len(words)
    for at in range(len(words) - run + 1):
        if tuple(words[at : at + run]) in runs:
            shared[at : at + run] = [True] * run
    return shared


def shared_share(words: Sequence[str], source: Sequence[str], run: int) -> float:
    """The share of the shorter of both that stands in the other, 0..1: a copy stays one when text is put around it."""
    if not words or not source:
        return 0.0
    run = min(run, len(words), len(source))
    here = sum(shared_words(words, source, run)) / len(words)
    there = sum(shared_words(source, words, run)) / len(source)
    return max(here, there)
