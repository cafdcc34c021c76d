"""Right and wrong answers on public sets: shares with full marks and with none; writes benchmarks/results/verify.json.

    python benchmarks/verify.py DATA

DATA is a folder with gsm8k/gsm8k_test.jsonl, math_sets/math500.jsonl and code_sets/mbpp_sanitized.jsonl. Each reference
answer is judged as it stands in its worked solution; wrong ones are made from it: another number or another problem's
answer (mathematics), another problem's program and the program with one operator or constant changed (code; a change
that the tests do not notice is no error of the check and is counted apart).
"""

import ast
import builtins
import json
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.checks.programs import CodeTests
from rubric_anchors.critic.checks.verified import MathAnswer
from rubric_anchors.critic.finals import final_answer
from rubric_anchors.critic.mathematics import compare
from rubric_anchors.critic.sandbox import strongest

RESULT = Path(__file__).parent / "results" / "verify.json"
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.Eq: ast.NotEq,
    ast.LtE: ast.Gt, ast.GtE: ast.Lt,
}  # fmt: skip


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def marks(texts: Sequence[str], references: Sequence[str], check: MathAnswer | CodeTests) -> list[float]:
    """The value of each text against its reference."""
    return [check.decide(Answer((), text, ref)).value for text, ref in zip(texts, references, strict=True)]


def shares(values: Sequence[float], seconds: float) -> dict[str, float | int]:
    return {
        "answers": len(values),
        "full_marks": sum(value == 1.0 for value in values),
        "none": sum(value == 0.0 for value in values),
        "seconds": round(seconds, 2),
    }


def timed(texts: Sequence[str], references: Sequence[str], check: MathAnswer | CodeTests) -> dict[str, Any]:
    compare.cache_clear()
    start = time.perf_counter()
    values = marks(texts, references, check)
    return shares(values, time.perf_counter() - start)


def mathematics(solutions: list[str], answers: list[str], suffix: str) -> dict[str, Any]:
    check = MathAnswer()
    others = answers[1:] + answers[:1]
    # Two problems may have one answer: those pairs are no wrong answers.
    wrong = [
        (mine, other)
        for mine, other in zip(answers, others, strict=True)
        if compare(mine, other, 2.0, 6).result == "other"
    ]
    return {
        "worked solutions": timed(solutions, answers, check),
        "the solution as reference": timed([suffix % answer for answer in answers], solutions, check),
        "another problem's answer": timed([suffix % other for _, other in wrong], [mine for mine, _ in wrong], check),
        "the answer plus one": timed([suffix % f"({answer}) + 1" for answer in answers if _one(answer)],
                                     [answer for answer in answers if _one(answer)], check),
    }  # fmt: skip


def _one(answer: str) -> bool:
    """Whether adding one to it makes a wrong answer: a number."""
    found = final_answer(answer, "last")
    return found is not None and found.text == answer


def mutated(code: str) -> str | None:
    """The program with its last operator or comparison turned into another."""
    tree = ast.parse(code)
    spots = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and type(node.op) in SWAPS]
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS]
    if spots:
        spots[-1].op = SWAPS[type(spots[-1].op)]()  # type: ignore[assignment]
    elif tests:
        tests[-1].ops[0] = SWAPS[type(tests[-1].ops[0])]()  # type: ignore[call-overload]
    else:
        return None
    return ast.unparse(tree)


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def own_names(code: str) -> set[str]:
    return {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}


def reference_of(row: dict[str, Any]) -> str:
    """The row's tests, with the entry point where the tests call a function that is called as one of Python's own."""
    entry = next((name for name in sorted(own_names(row["code"])) if hasattr(builtins, name)), None)
    return json.dumps({"test_imports": row["test_imports"], "test_list": row["test_list"], "entry_point": entry})


def programs(problems: list[dict[str, Any]]) -> dict[str, Any]:
    check = CodeTests()
    tests = [reference_of(row) for row in problems]
    others = [row["code"] for row in problems[1:] + problems[:1]]
    mutants = [(mutated(row["code"]), test) for row, test in zip(problems, tests, strict=True)]
    return {
        "reference programs": timed([fenced(row["code"]) for row in problems], tests, check),
        "another problem's program": timed([fenced(code) for code in others], tests, check),
        "an operator changed": timed(
            [fenced(code) for code, _ in mutants if code],
            [test for code, test in mutants if code],
            CodeTests(partial=False),
        ),
    }


def main(data: Path) -> None:
    gsm = rows(data / "gsm8k" / "gsm8k_test.jsonl")
    competition = rows(data / "math_sets" / "math500.jsonl")
    mbpp = rows(data / "code_sets" / "mbpp_sanitized.jsonl")
    results = {
        "note": "times on 2 busy cores; an operator changed: full marks where the tests do not see the change",
        "python": platform.python_version(),
        "isolation": strongest()[0],
        "gsm8k": mathematics(
            [row["answer"] for row in gsm], [row["answer"].rsplit("####")[-1].strip() for row in gsm], "#### %s"
        ),
        "math500": mathematics(
            [row["solution"] for row in competition], [row["answer"] for row in competition], "\\boxed{%s}"
        ),
        "mbpp": programs(mbpp),
    }
    RESULT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
