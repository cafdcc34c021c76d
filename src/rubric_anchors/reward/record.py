"""From a prompt's row and a model's text to an answer that critics see, and from their marks to a record of the run."""

from rubric_anchors.critic.answer import Answer, Message, without_reasoning
from rubric_anchors.reward.scorer import Marks
from rubric_anchors.runs.records import PromptRow, Rollout


def answer_to(row: PromptRow, text: str, *, judge_reasoning: bool) -> Answer:
    """What is judged: the text without what stands in `<think>`, unless reasoning is to be judged too."""
    prompt = tuple(Message(role, content) for role, content in row.messages)
    return Answer(prompt, text if judge_reasoning else without_reasoning(text), row.reference)


def rollout(
    name: str,
    stage: str,
    step: int,
    policy: str,
    row: PromptRow,
    text: str,
    tokens: int,
    logp: float | None,
    rubrics: tuple[str, ...],
    marks: Marks,
) -> Rollout:
    """One judged answer as a record."""
    outcome = marks.outcome.to_json()
    return Rollout.model_validate(
        {
            "id": name,
            "stage": stage,
            "step": step,
            "policy": policy,
            "prompt_id": row.id,
            "prompt": row.messages,
            "response": text,
            "tokens": tokens,
            "logp": logp,
            "rubric": rubrics,
            "verdicts": {key: verdict.to_json() for key, verdict in marks.verdicts.items()},
            "contributions": outcome["contributions"],
            "reward": outcome["reward"],
            "status": outcome["status"],
            "cause": outcome["cause"],
        }
    )
