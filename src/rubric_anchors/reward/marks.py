"""What scoring gives for one answer: its verdicts and its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from rubric_anchors.rubric.outcome import Judged, Outcome, Scored, Verdict

BAR = 20
NOTE = 90


@dataclass(frozen=True, slots=True, repr=False)
class Marks:
    """One answer judged by one or several rubrics. `print(marks)` shows every verdict and every step to the reward."""

    verdicts: Mapping[str, Verdict]
    """Criterion key to verdict; keys are `rubric/criterion` where several rubrics apply. Not to be changed."""
    outcome: Outcome
    rubrics: tuple[str, ...] = ()
    """Ids of the rubrics applied."""

    @property
    def reward(self) -> float | None:
        """The reward in 0..1; None where the answer is unscored."""
        return self.outcome.reward if isinstance(self.outcome, Scored) else None

    def __repr__(self) -> str:
        if isinstance(self.outcome, Scored):
            lines = [f"reward {self.outcome.reward:.3f}   {', '.join(self.rubrics)}".rstrip()]
        else:
            cause = self.outcome.cause
            lines = [f"unscored: {cause.code} ({cause.kind}) {cause.detail}".rstrip()]
        width = max((len(key) for key in self.verdicts), default=0)
        lines += [_verdict_line(key, verdict, width) for key, verdict in self.verdicts.items()]
        if isinstance(self.outcome, Scored):
            lines += [f"  {item.delta:+.3f}  {item.step}: {_plain(item.note)}" for item in self.outcome.contributions]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """For notebooks: the same lines, as text."""
        del cycle
        printer.text(repr(self))  # type: ignore[attr-defined]


def row_json(name: str, rubric: str, marks: Marks) -> dict[str, JsonValue]:
    """The row that `anchors score` writes for one answer; `name` is the data row's id, `rubric` the rubric's."""
    outcome = marks.outcome.to_json()
    return {
        "id": name,
        "rubric": rubric,
        "status": outcome["status"],
        "reward": outcome["reward"],
        "cause": outcome["cause"],
        "criteria": {key: verdict.to_json() for key, verdict in marks.verdicts.items()},
        "contributions": outcome["contributions"],
    }


def _verdict_line(key: str, verdict: Verdict, width: int) -> str:
    if not isinstance(verdict, Judged):
        return f"  {key:<{width}}  unjudged: {verdict.cause.code} ({verdict.cause.kind})"
    filled = round(verdict.value * BAR)
    note = _plain(verdict.evidence[0].note) if verdict.evidence else ""
    bar = f"{'#' * filled}{'.' * (BAR - filled)}"
    return f"  {key:<{width}}  {bar} {verdict.value:.2f}  tier {verdict.tier}  {note}".rstrip()


def _plain(note: str) -> str:
    """One printable line: a note may hold words of the answer, and an answer may hold a terminal's control codes."""
    line = "".join(character if character.isprintable() else " " for character in note)
    return line if len(line) <= NOTE else f"{line[: NOTE - 1]}…"
