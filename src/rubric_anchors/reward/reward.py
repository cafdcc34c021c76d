"""The public face of scoring: a rubric as a reward function that TRL can call, and a scorer for notebooks."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rubric_anchors.core.errors import DataError, InputError
from rubric_anchors.core.ids import content_id
from rubric_anchors.core.jsonl import read_value
from rubric_anchors.core.words import near
from rubric_anchors.critic.answer import THINK_OPEN, Answer, Message, read_prompt, without_reasoning
from rubric_anchors.critic.base import Tools
from rubric_anchors.data.cells import plain_json, without_nulls
from rubric_anchors.reward.failure import FailurePolicy, LeaveOut, number
from rubric_anchors.reward.marks import Marks
from rubric_anchors.reward.scorer import Scorer
from rubric_anchors.reward.tools import default_tools
from rubric_anchors.rubric.load import parse_carried
from rubric_anchors.rubric.model import Rubric
from rubric_anchors.rubric.outcome import Judged, Unscored

Given = Rubric | str | Path
INLINE_LIMIT: Final = 4096


class Reward:
    """A rubric, or several, as a reward function: hand it to `trl.GRPOTrainer(reward_funcs=...)`, or call `score`.

    - Prompts and completions may be strings or message lists. What stands in `<think>` is not judged unless
      `judge_reasoning` is set.
    - A column `rubric` or `rubrics` of the data names rubrics that judge the answers to that prompt beside the ones
      given here: ids (with commas between), a rubric inline (an object or its JSON), or a list of these. Where several
      apply, their rewards are a weighted mean and any veto holds for all. A column `reference` is passed to the checks
      that compare with it.
    - An answer that could not be judged gives None, which TRL leaves out of its group; `failure` chooses otherwise.
    - Each criterion's mean is logged as `criteria/KEY`, the share of answers unscored as `unscored`, and a column
      `NAME_verdicts` goes to TRL's table of completions.

    It can be pickled; models are loaded anew, and lazily, in the process that unpickles it.
    """

    def __init__(
        self,
        rubric: Given | Sequence[Given],
        *,
        failure: FailurePolicy | None = None,
        tools: Tools | None = None,
        judge_reasoning: bool = False,
        allow_code: bool = False,
        weights: Mapping[str, float] | None = None,
        name: str = "rubric",
    ) -> None:
        """`rubric`: one or several, each a Rubric, a file or a YAML text. `tools`: the models that critics use; None:
        the embedded ones. `allow_code`: whether the rubrics given here may name functions to be run (the check
        `python`). `weights`: rubric id to its share where several judge one answer; 1 where not named, and
        for rubrics that rows carry. `name`: what TRL logs it under.

        Raises RubricError for a rubric that cannot be read, InputError for a weight of no rubric, SetupError for a
        critic that cannot be had.
        """
        given = [rubric] if isinstance(rubric, Rubric | str | Path) else list(rubric)
        loaded = [one if isinstance(one, Rubric) else Rubric.load(one) for one in given]
        self.rubrics = {one.id: one for one in loaded}
        if len(self.rubrics) < len(loaded):
            raise DataError(
                f"two rubrics have the same id: {', '.join(one.id for one in loaded)}; give them different ids"
            )
        unknown = next((one for one in weights or {} if one not in self.rubrics), None)
        if unknown is not None:
            there = ", ".join(self.rubrics)
            raise InputError(
                f"a weight is given for {unknown!r}; the rubrics are: {there}{near(unknown, self.rubrics)}"
            )
        self.failure = failure if failure is not None else LeaveOut()
        self.judge_reasoning = judge_reasoning
        self.__name__ = name
        self._tools = tools
        self._allow_code = allow_code
        self._weights = dict(weights or {})
        self._inline: dict[str, str] = {}
        self._scorer = self._new_scorer()

    def _new_scorer(self) -> Scorer:
        tools = replace(self._tools or default_tools(), allow_code=self._allow_code)
        return Scorer(self.rubrics, tools, self._weights)

    def score(self, prompt: str | Sequence[Mapping[str, Any]], response: str, *, reference: str | None = None) -> Marks:
        """The marks of one answer by the rubrics given; `prompt` is a string or a list of {role, content}."""
        answer = Answer(_messages(prompt), self._judged_text(prompt, response), reference)
        return self._scorer.score([answer], [tuple(self.rubrics)])[0]

    def marks(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[Marks]:
        """The marks of each completion; arguments as TRL passes them to `__call__`."""
        if len(prompts) != len(completions):
            raise DataError(f"{len(prompts)} prompts and {len(completions)} completions; one each is needed")
        references = columns.get("reference") or [None] * len(prompts)
        answers = [
            Answer(_messages(prompt), self._judged_text(prompt, _text(completion)), reference)
            for prompt, completion, reference in zip(prompts, completions, references, strict=True)
        ]
        return self._scorer.score(answers, self._applied(len(prompts), columns))

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        *,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[str]], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """TRL's contract for reward functions: a float in 0..1 or None for each completion."""
        marks = self.marks(prompts, completions, **columns)
        if log_metric:
            for key, value in means(marks).items():
                log_metric(key, value)
        if log_extra:
            log_extra(f"{self.__name__}_verdicts", [_verdicts_json(mark) for mark in marks])
        return [number(mark.outcome, self.failure) for mark in marks]

    def _judged_text(self, prompt: Any, response: str) -> str:
        if self.judge_reasoning:
            return response
        # Some chat templates open the reasoning in the prompt itself: an answer that never closes it is all reasoning.
        if isinstance(prompt, str) and prompt.rstrip().endswith(THINK_OPEN):
            response = THINK_OPEN + response
        return without_reasoning(response)

    def _applied(self, count: int, columns: Mapping[str, Any]) -> list[tuple[str, ...]]:
        """The names of the rubrics that judge each answer."""
        if len(self._inline) > INLINE_LIMIT:
            for name in self._inline.values():
                self._scorer.forget(name)
            self._inline.clear()
        cells = [columns[name] for name in ("rubric", "rubrics") if columns.get(name) is not None]
        applied = []
        for at in range(count):
            names = [name for column in cells for name in self._names(column[at])]
            applied.append(tuple(dict.fromkeys((*self.rubrics, *names))))
        return applied

    def _names(self, cell: Any) -> list[str]:
        """What one cell of a rubric column names; inline rubrics are made ready on the way."""
        if cell is None:
            return []
        if isinstance(cell, str):
            if not cell.lstrip().startswith(("{", "[", '"')):
                return [name.strip() for name in cell.split(",") if name.strip()]
            try:
                return self._names(read_value(cell))
            except ValueError as error:
                raise DataError(f"a rubric cell holds broken JSON ({error}); seen: {cell[:60]!r}") from error
        if isinstance(cell, Mapping):
            return [self._inline_name(cell)]
        if isinstance(cell, Sequence):
            return [name for part in cell for name in self._names(part)]
        raise DataError(f"a rubric cell holds an id, a rubric, JSON or a list of these; seen {type(cell).__name__}")

    def _inline_name(self, cell: Mapping[str, Any]) -> str:
        fields = without_nulls(cell)
        key = content_id(plain_json(fields))
        if key not in self._inline:
            rubric = parse_carried({"id": f"inline-{key}", **fields}, source=f"inline rubric {fields.get('id', key)!r}")
            if self.rubrics.get(rubric.id) == rubric:
                return rubric.id
            name = f"{rubric.id}@{key}"
            self._scorer.add(name, rubric)
            self._inline[key] = name
        return self._inline[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scorer": None, "_inline": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._scorer = self._new_scorer()

    def __repr__(self) -> str:
        return f"Reward({', '.join(self.rubrics)})"


def means(marks: Sequence[Marks]) -> dict[str, float]:
    """`criteria/KEY` to the mean value over the answers that KEY was judged on, and the share `unscored`."""
    values: dict[str, list[float]] = {}
    for mark in marks:
        for key, verdict in mark.verdicts.items():
            if isinstance(verdict, Judged):
                values.setdefault(key, []).append(verdict.value)
    unscored = sum(isinstance(mark.outcome, Unscored) for mark in marks) / max(len(marks), 1)
    return {**{f"criteria/{key}": sum(seen) / len(seen) for key, seen in sorted(values.items())}, "unscored": unscored}


def _verdicts_json(mark: Marks) -> str:
    return json.dumps({key: verdict.to_json() for key, verdict in mark.verdicts.items()}, ensure_ascii=False)


def _messages(prompt: Any) -> tuple[Message, ...]:
    """A prompt as TRL passes it: text, or messages whose content is text or a list of parts."""
    if isinstance(prompt, str):
        return read_prompt(prompt)
    if isinstance(prompt, Sequence):
        return read_prompt([{**turn, "content": _content(turn.get("content"))} for turn in prompt])
    return read_prompt(prompt)


def _text(completion: Any) -> str:
    """A completion as TRL passes it: text, or the messages that answer; the last of the assistant's is the answer."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and all(isinstance(turn, Mapping) for turn in completion):
        said = [_content(turn.get("content")) for turn in completion if turn.get("role", "assistant") == "assistant"]
        return said[-1] if said else ""
    raise DataError(
        f"a completion is a string or a list of {{role, content}} messages; seen {type(completion).__name__}"
    )


def _content(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Sequence):
        return "".join(str(part["text"]) for part in content if isinstance(part, Mapping) and part.get("text"))
    raise DataError(f"a message's content is text or a list of parts; seen {type(content).__name__}")
