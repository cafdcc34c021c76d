"""The command line in this process, and the program that runs it in another one and dies where it is told to."""

import io
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rubric_anchors.cli.main import main

STUCK: Final = 300.0
"""Seconds after which a command is not waited for any longer."""
SOURCE: Final = Path(__file__).resolve().parents[2] / "src"

PROGRAM: Final = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
from rubric_anchors.cli.main import main
main()
"""

DYING: Final = f"""
import importlib, os, signal, sys
sys.path.insert(0, {str(SOURCE)!r})
module, owner, name, nth, when, number = sys.argv.pop(1).split(":")
target = importlib.import_module(module)
for part in owner.split(".") if owner else ():
    target = getattr(target, part)
original, calls = getattr(target, name), 0
def dying(*args, **options):
    global calls
    calls += 1
    if calls == int(nth) and when == "before":
        os.kill(os.getpid(), getattr(signal, number))
    result = original(*args, **options)
    if calls == int(nth) and when == "after":
        os.kill(os.getpid(), getattr(signal, number))
    return result
setattr(target, name, dying)
from rubric_anchors.cli.main import main
main()
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def anchors(*arguments: object) -> Ran:
    """`anchors ARGUMENTS` in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return Ran(code if isinstance(code, int) else -1, out.getvalue(), err.getvalue())


def anchors_process(*arguments: object, program: str = PROGRAM, before: Sequence[str] = ()) -> Ran:
    """`anchors ARGUMENTS` in a process of its own; `program` takes the arguments `before` first."""
    command = [sys.executable, "-X", "faulthandler", "-c", program, *before, *(str(argument) for argument in arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            out, err = process.communicate(timeout=STUCK)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # says where its threads stand
            out, err = process.communicate()
            raise AssertionError(f"{arguments} is stuck:\n{err}") from None
    return Ran(process.returncode, out, err)


def anchors_dying(point: str, *arguments: object) -> Ran:
    """The same, and a signal to itself at `point`: `module:Class:function:nth call:before|after:SIGNAL`."""
    return anchors_process(*arguments, program=DYING, before=[point])
