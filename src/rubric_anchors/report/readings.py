"""What a measured change may be called. One place, so that the page, the terminal and the README say the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rubric_anchors.report.text import number, plural, signed
from rubric_anchors.runs.records import Evaluation, Measured, Preserved

Tone = Literal["good", "bad", "open", "plain"]
"""good: shown to hold; bad: shown not to; open: the interval is too wide to say; plain: nothing to say."""


@dataclass(frozen=True, slots=True)
class Reading:
    word: str
    tone: Tone


def direction(measured: Measured) -> Reading:
    """Whether a measure got better or worse: only where the 95% interval is clear of 0."""
    low, high = oriented(measured)
    if low > 0:
        return Reading("better", "good")
    if high < 0:
        return Reading("worse", "bad")
    return Reading("no clear change", "open")


def against_margin(measured: Measured) -> Reading:
    """A measure outside the reward against its margin, as a test of non-inferiority: it holds only where the whole
    interval is above -margin, fails where the whole interval is below, and is not shown between."""
    if measured.margin is None:
        return direction(measured)
    low, high = oriented(measured)
    if low > 0:
        return Reading("better", "good")
    if low > -measured.margin:
        return Reading("not worse" if high >= 0 else "within its margin", "good")
    if high < -measured.margin:
        return Reading("worse than its margin", "bad")
    return Reading("not shown", "open")


def kept(preserved: Preserved) -> Reading:
    if preserved.kept is None:
        return Reading("not shown", "open")
    return Reading("kept", "good") if preserved.kept else Reading("not kept", "bad")


def oriented(measured: Measured) -> tuple[float, float]:
    """The interval of the change with better to the right."""
    return (measured.low, measured.high) if measured.higher_is_better else (-measured.high, -measured.low)


def is_ratio(preserved: Preserved) -> bool:
    """Whether its `delta` is after / before (perplexities), not after - before."""
    return "perplexity" in preserved.name.lower()


def margin_units(preserved: Preserved) -> tuple[float, float, float]:
    """Its change and interval (at, low, high) in units of its margin, better to the right; -1 is the margin itself."""
    if is_ratio(preserved):
        limit = ratio_limit(preserved) - 1
        return (1 - preserved.delta) / limit, (1 - preserved.high) / limit, (1 - preserved.low) / limit
    return preserved.delta / preserved.margin, preserved.low / preserved.margin, preserved.high / preserved.margin


def ratio_limit(preserved: Preserved) -> float:
    """The greatest ratio that still counts as kept; a margin of 0.05 and one of 1.05 both mean 1.05."""
    return preserved.margin if preserved.margin > 1 else 1 + preserved.margin


def reward_measure(evaluation: Evaluation) -> Measured | None:
    """The held-out rubric reward."""
    return next((measured for measured in evaluation.measures if measured.name == "reward"), None)


def headline(evaluation: Evaluation | None) -> str:
    """The run's result in one sentence, with its interval."""
    measured = reward_measure(evaluation) if evaluation else None
    if evaluation is None or measured is None:
        return "Not measured yet: this run holds no before-and-after figure for its reward."
    sides = f"from {number(measured.before)} to {number(measured.after)}"
    change = f"{signed(measured.delta)} (95% interval {signed(measured.low)} to {signed(measured.high)})"
    prompts = plural(measured.n, "held-out prompt")
    word = {"better": "rose", "worse": "fell"}.get(direction(measured).word)
    if word is None:
        return f"No change in the reward could be shown on {prompts}: {sides}, {change}."
    return f"On {prompts} the reward {word} {sides}: {change}."


def tally(readings: Sequence[Reading]) -> str:
    """`5 held, 1 not shown, 1 failed`."""
    counts = [
        (sum(reading.tone == tone for reading in readings), word)
        for tone, word in (("good", "held"), ("open", "not shown"), ("bad", "failed"))
    ]
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "none"
