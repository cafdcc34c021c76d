"""What a text has word for word from another: runs of words that both hold."""

from collections.abc import Sequence


def shared_words(words: Sequence[str], source: Sequence[str], run: int) -> list[bool]:
    """For each of `words`, whether it stands in a run of at least `run` words that `source` holds too; linear time."""
    runs = _runs(source, run)
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
    if _runs(words, run).isdisjoint(_runs(source, run)):
        return 0.0
    here = sum(shared_words(words, source, run)) / len(words)
    there = sum(shared_words(source, words, run)) / len(source)
    return max(here, there)


def _runs(words: Sequence[str], run: int) -> set[tuple[str, ...]]:
    return set(zip(*(words[at:] for at in range(run)), strict=False))
