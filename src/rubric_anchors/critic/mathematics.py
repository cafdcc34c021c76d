"""Whether two mathematical answers are the same, worked out in a process of its own that can be killed."""

import atexit
import contextlib
import json
import os
import re
import selectors
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from rubric_anchors.core.errors import CriticError, SetupError

WORKER: Final = Path(__file__).with_name("mathworker.py")
START_SECONDS: Final = 120.0
SLACK: Final = 10.0
LONGEST: Final = 2000
"""Characters of an answer that are looked at; a longer final answer is none."""
_NUMBER = re.compile(r"([-+]?)(?:\\\$|[$€£¥])?\s*(\d{1,3}(?:,\d{3})+|\d+)(\.\d*)?")

Result = Literal["equal", "other", "too long"]


@dataclass(frozen=True, slots=True)
class Compared:
    """`result` of a comparison; `read`: whether the reference was understood as mathematics."""

    result: Result
    read: bool


def plain_number(text: str) -> Fraction | None:
    """The value of `70,000`, `$12.50`, `-3.` (the minus in any of its signs); None for anything else."""
    found = _NUMBER.fullmatch(text.strip().replace("−", "-"))
    if found is None or len(text) > 60:
        return None
    sign, whole, decimals = found.groups()
    decimals = (decimals or "").rstrip(".") or ""
    return Fraction(f"{sign}{whole.replace(',', '')}{decimals}")


def plain_text(text: str) -> str:
    """`text` without LaTeX's wrapping of words, spaces, dollar signs and case."""
    bare = re.sub(r"\\(?:text|mathrm|mbox|textbf|mathbf|operatorname)\s*\{([^{}]*)\}", r"\1", text)
    bare = re.sub(r"\\left|\\right|\\[,!;: ]|\\dfrac|\\tfrac", lambda m: r"\frac" if "frac" in m[0] else "", bare)
    bare = re.sub(r"\s+", "", bare).strip("$").rstrip(".")
    # `X` and `x` are two variables; `East` and `east` are one word.
    return bare.casefold() if len(bare) > 1 and bare.isalpha() else bare


class _Worker:
    """One process, warm between questions."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", str(WORKER)]
        self._process = subprocess.Popen(  # noqa: S603  # our own script
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._rest = b""
        self.alive = bool(self._line(START_SECONDS).get("ready"))

    def ask(self, task: dict[str, object], seconds: float) -> Compared:
        said: dict[str, bool] = {}
        try:
            assert self._process.stdin is not None  # noqa: S101
            self._process.stdin.write(f"{json.dumps(task)}\n".encode("ascii"))
            self._process.stdin.flush()
            while "equal" not in said and (told := self._line(seconds)):
                said |= told
        except BrokenPipeError:
            pass
        if "equal" not in said:
            self.end()
            return Compared("too long", said.get("read", False))
        return Compared("equal" if said["equal"] else "other", said.get("read", False))

    def _line(self, seconds: float) -> dict[str, bool]:
        """The next line; empty where the process ended or the time is over."""
        assert self._process.stdout is not None  # noqa: S101
        deadline, handle = time.monotonic() + seconds, self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return {}
                part = os.read(handle, 65536)
                if not part:
                    return {}
                self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        told: dict[str, bool] = json.loads(line)
        return told

    def end(self) -> None:
        self.alive = False
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


_lock = threading.Lock()
_workers: dict[int, _Worker] = {}


def _close() -> None:
    worker = _workers.pop(os.getpid(), None)
    if worker is not None:
        worker.end()


def _after_fork() -> None:
    """A forked child must not speak into its parent's pipes."""
    global _lock
    _lock = threading.Lock()
    _workers.clear()


atexit.register(_close)
os.register_at_fork(after_in_child=_after_fork)


def require_math_verify() -> None:
    """Raises SetupError where math-verify is not installed."""
    if find_spec("math_verify") is None:
        raise SetupError("math_answer needs math-verify: pip install 'rubric-anchors[verify]'")


@lru_cache(maxsize=4096)
def compare(reference: str, answer: str, seconds: float, digits: int) -> Compared:
    """Whether `answer` says what `reference` says. Any text; at most `seconds` of CPU time, from any thread.

    Raises SetupError where math-verify is not installed, CriticError where its process cannot be started.
    """
    # Signs that begin and end formulas would let one answer hold several.
    reference, answer = (re.sub(r"(?<!\\)\$", " ", text).strip() for text in (reference, answer))
    if plain_text(reference) == plain_text(answer) != "":
        return Compared("equal", True)
    mine, theirs = plain_number(reference), plain_number(answer)
    if mine is not None and theirs is not None:
        return Compared("equal" if mine == theirs else "other", True)
    if len(answer) > LONGEST:
        return Compared("other", True)
    require_math_verify()
    with _lock:
        worker = _workers.get(os.getpid())
        if worker is None or not worker.alive:
            worker = _workers[os.getpid()] = _Worker()
        if not worker.alive:
            worker.end()
            raise CriticError("the process of math-verify does not start; try: python -c 'import math_verify'")
        task: dict[str, object] = {"reference": reference, "answer": answer, "seconds": seconds, "digits": digits}
        return worker.ask(task, seconds * SLACK + SLACK)
