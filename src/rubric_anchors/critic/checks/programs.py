"""The check `code_tests`: the program in an answer does what unit tests ask of it."""

import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, field_validator

from rubric_anchors.core.errors import DataError, SetupError
from rubric_anchors.core.frozen import Frozen
from rubric_anchors.critic.answer import Answer
from rubric_anchors.critic.base import Check, Finding, Tools
from rubric_anchors.critic.checks.options import finding
from rubric_anchors.critic.checks.registry import check
from rubric_anchors.critic.sandbox import Isolation, Limits, run_script, run_tests, strongest

PYTHON: Final = frozenset(("python", "py", "python3", ""))
_FENCE = re.compile(r"(?m)^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([^\s`{]*+)[^\n`]*+$")


class Pair(Frozen):
    """A test of a script: what it reads and what it has to print."""

    input: str
    """What stands on its standard input."""
    output: str
    """What it has to print; spaces at line ends and blank lines at the end make no difference."""


class Tests(Frozen):
    """The tests of one problem."""

    asserts: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    entry: str | None = None


def program_of(text: str, take: Literal["first", "last", "all"], bare: bool) -> str | None:
    """The Python in the fences of `text` (an unclosed one runs to the end); None where there is none."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found: list[str] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]) and not fence[2]:
            if opened[2].lower() in PYTHON:
                found.append(text[opened.end() + 1 : fence.start()])
            opened = None
    if opened is not None and opened[2].lower() in PYTHON:
        found.append(text[opened.end() + 1 :])
    found = [program for program in found if program.strip()]
    if not found:
        return text if bare and text.strip() else None
    return "\n".join(found) if take == "all" else found[0 if take == "first" else -1]


def read_tests(reference: str) -> Tests:
    """The tests that a row's reference holds: Python with assertions, or JSON in one of the shapes that data sets have.

    JSON: a list of assertions; a list of {input, output}; {test_list, test_imports}; {test, entry_point};
    {inputs, outputs} with `fn_name` for a function's arguments and results. Raises DataError on anything else.
    """
    try:
        content: JsonValue = json.loads(reference)
    except (ValueError, RecursionError):
        return Tests(asserts=(reference,))
    try:
        return _from_json(content)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            "the tests are none of: assertions, a list of them, a list of {input, output}, {test_list}, "
            f"{{test, entry_point}}, {{inputs, outputs}}; seen {reference[:60]!r}"
        ) from error


def _from_json(content: JsonValue) -> Tests:
    if isinstance(content, list) and content and all(isinstance(item, str) for item in content):
        return Tests(asserts=tuple(str(item) for item in content))
    if isinstance(content, list) and content:
        return Tests(pairs=tuple(Pair.model_validate(item) for item in content))
    if not isinstance(content, dict):
        raise ValueError("no tests")
    if "test_list" in content:
        imports = "\n".join(str(line) for line in _list(content.get("test_imports", [])))
        entry = content.get("entry_point")
        lines = (str(line) for line in _list(content["test_list"]))
        return Tests(asserts=(imports, *lines), entry=str(entry) if entry else None)
    if "test" in content:
        return Tests(asserts=(str(content["test"]),), entry=str(content["entry_point"]))
    inputs, outputs = _list(content["inputs"]), _list(content["outputs"])
    if len(inputs) != len(outputs) or not inputs:
        raise ValueError("as many outputs as inputs")
    if "fn_name" in content:
        name = str(content["fn_name"])
        if not name.isidentifier():
            raise ValueError("a function's name")
        both = zip(inputs, outputs, strict=True)
        return Tests(asserts=tuple(f"assert {name}(*{given!r}) == {wanted!r}" for given, wanted in both), entry=name)
    both = zip(inputs, outputs, strict=True)
    return Tests(pairs=tuple(Pair(input=str(given), output=str(wanted)) for given, wanted in both))


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError("a list")
    return value


def _printed(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@check("code_tests")
class CodeTests(Check):
    """The Python program in the answer passes unit tests; the value is the share of tests that it passes.

    The program runs in a process of its own, with no network, no sight of other processes or of this machine's files
    but Python's own, and limits on time, memory, processes, output and what it may write. The tests run in another
    process: they call the program's functions over a channel and get plain data back, so that neither expected values
    nor verdicts are ever where the program could reach them. Objects that are no plain data (functions, instances of
    the program's classes) do not cross: a test that needs one is not passed.

    A program that hangs, dies or is killed passes no test from there on. The program has the standard library only.
    """

    tests: tuple[str | Pair, ...] | str | None = None
    """Assertions as Python text, or `{input, output}` pairs for a script. Left out: the row's `reference`, as Python
    text or JSON (a list of either, `{test_list, test_imports}`, `{test, entry_point}`, `{inputs, outputs,
    fn_name}`)."""
    entry_point: str | None = None
    """The function that the tests call, where they call it `candidate` or its name is one of Python's own."""
    take: Literal["first", "last", "all"] = "last"
    """Which of the answer's code blocks is the program; `all`: joined in their order."""
    bare: bool = False
    """Whether an answer without a code block is taken as a program."""
    partial: bool = True
    """`false`: 1 for a program that passes all tests, 0 for any other."""
    isolation: Literal["strict", "accept_weaker"] = "strict"
    """`strict`: where the machine cannot keep a program in, work stops and says so. `accept_weaker`: it then runs with
    limits on time, memory and files only, and can read, write and connect as this process can. Only for programs that
    you would run yourself."""
    seconds: Annotated[float, Field(gt=0.0, le=600.0)] = 5.0
    """CPU seconds for all assertions together, or for each input; it is ended after twice as long and two seconds more
    by the clock."""
    memory_mb: Annotated[int, Field(ge=64, le=65536)] = 512
    """Memory of each of its processes, in MiB."""
    processes: Annotated[int, Field(ge=1, le=256)] = 4
    """Processes and threads at a time."""
    scratch_mb: Annotated[int, Field(ge=1, le=4096)] = 16
    """What it may write, in MiB."""
    output_mb: Annotated[int, Field(ge=1, le=64)] = 1
    """What it may print or return, in MiB."""

    @field_validator("tests")
    @classmethod
    def _something(cls, given: tuple[str | Pair, ...] | str | None) -> tuple[str | Pair, ...] | str | None:
        if given == ():
            raise ValueError("the list is empty; leave the option out to take the row's reference")
        if isinstance(given, tuple) and len({isinstance(test, str) for test in given}) > 1:
            raise ValueError("give either assertions or {input, output} pairs")
        return given

    @field_validator("entry_point")
    @classmethod
    def _a_name(cls, given: str | None) -> str | None:
        if given is not None and not given.isidentifier():
            raise ValueError(f"a function's name was expected; seen {given!r}")
        return given

    def decide_all(self, answers: Sequence[Answer], tools: Tools) -> list[Finding]:
        """The findings in the answers' order; programs run beside each other, one a core."""
        del tools
        workers = min(len(answers), os.cpu_count() or 1)
        if workers < 2:
            return [self.decide(answer) for answer in answers]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(self.decide, answers))

    def decide(self, answer: Answer) -> Finding:
        tests = self._tests(answer)
        program = program_of(answer.text, self.take, self.bare)
        if program is None:
            return finding(0.0, "no Python code block was found")
        limits = Limits(
            seconds=self.seconds,
            memory_mb=self.memory_mb,
            processes=self.processes,
            scratch_mb=self.scratch_mb,
            output_mb=self.output_mb,
        )
        isolation = self._isolation()
        if tests.pairs:
            notes = [_script(program, pair, limits, isolation) for pair in tests.pairs]
        else:
            trial = run_tests(program, tests.asserts, entry=tests.entry, limits=limits, isolation=isolation)
            notes = [note or ("" if good else "failed") for good, note in zip(trial.passed, trial.notes, strict=True)]
        good = sum(not note for note in notes)
        value = good / len(notes) if self.partial else float(good == len(notes))
        failed = "; ".join(f"test {at + 1}: {note}" for at, note in enumerate(notes) if note)
        return finding(value, f"{good} of {len(notes)} tests passed" + (f" ({failed[:300]})" if failed else ""))

    def _tests(self, answer: Answer) -> Tests:
        if isinstance(self.tests, tuple):
            pairs = tuple(test for test in self.tests if isinstance(test, Pair))
            tests = Tests(asserts=tuple(test for test in self.tests if isinstance(test, str)), pairs=pairs)
        elif self.tests is None and not (answer.reference or "").strip():
            raise DataError("code_tests has no tests: give the row a reference that holds them, or the option tests")
        else:
            tests = read_tests(self.tests if self.tests is not None else answer.reference or "")
        return tests.with_changes(entry=self.entry_point) if self.entry_point else tests

    def ready(self) -> None:
        """Raises SetupError where the machine cannot keep a program in."""
        self._isolation()

    def _isolation(self) -> Isolation:
        kind, why = strongest()
        if kind is not None:
            return kind
        if self.isolation == "accept_weaker" and os.name == "posix":
            return "limits"
        raise SetupError(
            f"code_tests cannot keep programs in on this machine ({why}): install bubblewrap or allow user namespaces, "
            "or set isolation: accept_weaker to run them with limits only"
        )


def _script(program: str, pair: Pair, limits: Limits, isolation: Isolation) -> str:
    """Why the program does not print what it has to; empty where it does."""
    ended = run_script(program, pair.input, limits=limits, isolation=isolation)
    if ended.reason != "ended":
        return {"time": f"not done within {limits.wall_seconds:g} s"}.get(ended.reason, "it printed too much")
    if _printed(ended.output.decode("utf-8", "replace")) == _printed(pair.output):
        return ""
    said = ended.errors.decode("utf-8", "replace").strip().splitlines()
    return said[-1][:120] if said else "it printed something else"
