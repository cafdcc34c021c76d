"""Mathematical answers that are made to hang, and sets of real ones."""

import json
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from rubric_anchors.core.errors import DataError
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.checks.programs import CodeTests
from rubric_anchors.critic.checks.verified import MathAnswer
from rubric_anchors.critic.mathematics import compare

pytest.importorskip("math_verify", reason="needs math-verify: pip install 'rubric-anchors[verify]'")

DATA: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
HOSTILE: Final = (
    "9**9**9**9", "9^{9^{9^{9}}}", "(10^{9})!", "{" * 900, r"\frac{" * 300, "(" * 900, r"\sqrt{" * 300 + "2",
    r"\sum_{k=1}^{10^{12}} \frac{1}{k^k}", r"\int_0^1 x^{x^{x^x}} dx", "\x00", "\ud800", "$" * 900,
)  # fmt: skip


def rows(name: str) -> list[dict[str, Any]]:
    if not (DATA / name).exists():
        pytest.skip(f"needs {name}, which is not part of the project")
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("text", HOSTILE)
def test_an_answer_that_is_hard_to_check_is_not_right(text: str) -> None:
    assert compare("1", text, 0.3, 6).result != "equal"
    assert compare("x + 1", "1 + x", 5.0, 6).result == "equal", "the next answer is checked as before"


def test_a_reference_that_is_missing_or_hangs_says_nothing_of_the_answer() -> None:
    with pytest.raises(DataError, match="nothing to compare"):
        MathAnswer().decide(Answer((), "#### 3"))
    with pytest.raises(DataError, match="was not understood"):
        MathAnswer(answer="{" * 900, seconds=0.3).decide(Answer((), r"\boxed{x + 1}"))


def test_answers_are_compared_off_the_main_thread() -> None:
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(compare(f"{n} + x", f"x + {n}", 5.0, 6).result))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["equal"] * 4


def test_worked_solutions_are_right_and_another_problem_s_is_not() -> None:
    solutions = [row["answer"] for row in rows("gsm8k/gsm8k_test.jsonl")]
    solutions += [row["solution"] for row in rows("math_sets/math500.jsonl")]
    check = MathAnswer()
    assert {check.decide(Answer((), text, text)).value for text in solutions} == {1.0}
    answers = [row["answer"] for row in rows("math_sets/math500.jsonl")]
    pairs = list(pairwise(answers))
    right = [pair for pair in pairs if check.decide(Answer((), f"\\boxed{{{pair[0]}}}", pair[1])).value == 1.0]
    # 5 and x = 5; 7 and 7.
    assert len(right) == 2


@pytest.mark.slow
def test_reference_programs_pass_their_tests_and_no_other_s() -> None:
    problems = rows("code_sets/mbpp_sanitized.jsonl")
    check = CodeTests()
    tests = [json.dumps({"test_imports": row["test_imports"], "test_list": row["test_list"]}) for row in problems]
    programs = [f"```python\n{row['code']}\n```" for row in problems]
    for shift, wanted in ((0, 1.0), (1, 0.0)):
        given = programs[shift:] + programs[:shift]
        values = [check.decide(Answer((), text, test)).value for text, test in zip(given, tests, strict=True)]
        odd = [row["task_id"] for row, value in zip(problems, values, strict=True) if value != wanted]
        # 126 calls its function `sum`, which has to be said (entry_point).
        assert odd in ([], [126]) if shift == 0 else odd == []
