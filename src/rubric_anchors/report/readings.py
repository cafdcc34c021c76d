"""What a measured change may be called. One place, so that the page, the terminal and the README say the same."""

from collections import Counter
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
    """A measure outside the reward against its margin, as a test of non-inferiority: it is within only where the whole
    interval is above -margin, beyond where the whole interval is below, and not shown between. A measure without a
    margin passes and fails nothing: see `movement`; one of the reward itself has a `direction`."""
    if measured.margin is None:
        return direction(measured) if measured.in_reward else movement(measured)
    low, high = oriented(measured)
    if low > 0:
        return Reading("better", "good")
    if low > -measured.margin:
        return Reading("within margin", "good")
    if high < -measured.margin:
        return Reading("beyond margin", "bad")
    return Reading("not shown", "open")


def movement(measured: Measured) -> Reading:
    """Which way a measure that has no bar went: for information, so it is neither praised nor blamed."""
    if measured.low > 0:
        return Reading("rose", "plain")
    if measured.high < 0:
        return Reading("fell", "plain")
    return Reading("no clear change", "plain")


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


def tally(readings: Sequence[Reading]) -> tuple[tuple[int, Reading], ...]:
    """How often each reading was given: what holds first, then what was not shown, then what does not hold."""
    order = ("good", "open", "bad", "plain")
    counts = Counter(readings)
    return tuple((counts[reading], reading) for reading in sorted(counts, key=lambda each: order.index(each.tone)))


def caveats(evaluation: Evaluation | None) -> tuple[Reading, ...]:
    """What speaks against the result, in sentences to stand right under it: measures beyond their margin, those where
    holding was not shown, and abilities not shown to be kept."""
    if evaluation is None:
        return ()
    barred = [each for each in evaluation.measures if not each.in_reward and each.margin is not None]
    said = [(_plain(each.name), against_margin(each).word, each.delta) for each in barred]
    lost = [(_plain(each.name), kept(each).word) for each in evaluation.preservation]
    beyond = [f"{name} ({signed(change)})" for name, word, change in said if word == "beyond margin"]
    unsure = [name for name, word, _ in said if word == "not shown"]
    found: tuple[tuple[str, Tone, list[str]], ...] = (
        ("Outside the reward, worse beyond its margin", "bad", beyond),
        ("Not kept of what it could do before", "bad", [name for name, word in lost if word == "not kept"]),
        ("Outside the reward, not shown to stay within its margin", "open", unsure),
        ("Not shown to be kept", "open", [name for name, word in lost if word == "not shown"]),
    )
    return tuple(Reading(f"{what}: {', '.join(names)}.", tone) for what, tone, names in found if names)


def _plain(name: str) -> str:
    return name.replace("_", " ")
