"""Answers of a policy to prompts, judged and journalled: what selection and evaluation have in common.

They stand in the run's rollouts under a stage name of their own (`select-NAME`, `held-out-before`), at step 0. A
batch is on disk before the next is written, so an interrupted part goes on where it was.
"""

from collections.abc import Callable, Sequence
from typing import Final

from rubric_anchors.app.progress import Progress
from rubric_anchors.core.ids import derive_seed
from rubric_anchors.models.policy import LocalPolicy
from rubric_anchors.reward.record import answer_to, rollout
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.runs.folder import RunWriter
from rubric_anchors.runs.records import PromptRow, Rollout

BATCH: Final = 64
"""Answers written together: where a CPU's rate flattens out."""


def judged_answers(
    run: RunWriter,
    label: str,
    title: str,
    load: Callable[[], LocalPolicy],
    policy_id: str,
    rows: Sequence[PromptRow],
    rubrics: Sequence[tuple[str, ...]],
    scorer: Scorer,
    *,
    answers: int,
    max_tokens: int,
    temperature: float,
    seed: int,
    judge_reasoning: bool,
    progress: Progress,
) -> list[Rollout]:
    """`answers` judged answers to each row, in the rows' order; what the journal already holds is not asked again.

    `rubrics` has, for each row, the ids that judge it. The seed of a prompt's answers depends on `seed` and the
    row's id only: before and after training draw the same random numbers, which makes their difference less noisy.
    """
    found = {old.id: old for old in run.rollouts(label)}
    policy: LocalPolicy | None = None
    size = max(1, BATCH // answers)
    with progress.task(title, len(rows) * answers, "answers") as task:
        for start in range(0, len(rows), size):
            part = range(start, min(start + size, len(rows)))
            # A batch is written again whole where any of it is missing: what stands beside an answer in its batch moves
            # its last bits, and a resumed run is to end with the same numbers.
            if all(_name(label, rows[at], nth) in found for at in part for nth in range(answers)):
                task.advance(len(part) * answers)
                continue
            policy = policy or load()
            written = policy.generate(
                [rows[at].messages for at in part],
                answers=answers,
                max_tokens=max_tokens,
                temperature=temperature,
                seeds=[derive_seed(seed, "answers", rows[at].id) for at in part],
            )
            asked = [
                (rows[at], rubrics[at], generation)
                for at, several in zip(part, written, strict=True)
                for generation in several
            ]
            judged = [answer_to(row, item.text, judge_reasoning=judge_reasoning) for row, _, item in asked]
            marks = scorer.score(judged, [applied for _, applied, _ in asked])
            records = [
                rollout(
                    _name(label, row, index % answers),
                    label,
                    0,
                    policy_id,
                    row,
                    item.text,
                    len(item.token_ids),
                    item.logp,
                    applied,
                    mark,
                )
                for index, ((row, applied, item), mark) in enumerate(zip(asked, marks, strict=True))
            ]
            run.append_rollouts([record for record in records if record.id not in found])
            found.update((record.id, record) for record in records if record.id not in found)
            task.advance(len(records))
    return [found[_name(label, row, nth)] for row in rows for nth in range(answers)]


def _name(label: str, row: PromptRow, nth: int) -> str:
    return f"{label}-{row.id}-{nth}"
