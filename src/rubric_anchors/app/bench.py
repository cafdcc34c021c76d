"""Answers judged by one rubric, and some of them once more, to see whether the verdicts stay the same."""

from collections.abc import Sequence
from dataclasses import replace

from rubric_anchors.app.batches import batches
from rubric_anchors.app.progress import Progress
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Tools
from rubric_anchors.reward.judging import Judge, JudgeConfig, account_line, batch_size
from rubric_anchors.reward.marks import Marks
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.rubric.model import Rubric


class Bench:
    """Judges answers. `judge`: who is asked through `tools`, for what progress says; None: nobody."""

    def __init__(self, rubric: Rubric, tools: Tools, judge: Judge | None, progress: Progress) -> None:
        """Raises RubricError or SetupError for what the rubric asks for and cannot have."""
        self._rubric, self._tools, self._judge, self._progress = rubric, tools, judge, progress
        self._scorer = self._new(tools)

    def judge(self, answers: Sequence[Answer]) -> list[Marks]:
        """The marks of each answer."""
        return self._judged(self._scorer, answers, "judging")

    def again(self, answers: Sequence[Answer], rows: int, each: int = 1) -> tuple[list[int], list[Marks]]:
        """The first `rows` rows of `each` answers, judged once more: their numbers, and the marks of their answers.

        By critics made anew, from the last answer to the first; a judge is asked anew (`Tools.again`). More rows where
        a critic judges the answers to a prompt together: none of them is left out.
        """
        prompts = [answer.prompt for answer in answers[::each]]
        parts = batches(prompts, rows, whole=self._scorer.relative) if rows else []
        if not parts:
            return [], []
        part = [answers[row * each + at] for row in parts[0] for at in range(each)]
        scorer = self._new(replace(self._tools, again=self._tools.again + 1))
        return parts[0], self._judged(scorer, part[::-1], "judging again")[::-1]

    def _new(self, tools: Tools) -> Scorer:
        return Scorer({self._rubric.id: self._rubric}, tools)

    def _judged(self, scorer: Scorer, answers: Sequence[Answer], title: str) -> list[Marks]:
        config: JudgeConfig | None = self._judge.config if self._judge else None
        made: dict[int, Marks] = {}
        with self._progress.task(title, len(answers), "answers") as task:
            for part in batches([answer.prompt for answer in answers], batch_size(config), whole=scorer.relative):
                marks = scorer.score([answers[at] for at in part], [(self._rubric.id,)] * len(part))
                made.update(zip(part, marks, strict=True))
                task.advance(len(part), account_line(self._judge.ledger.account()) if self._judge else "")
        return [made[at] for at in range(len(answers))]
