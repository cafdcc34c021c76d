"""A program put on trial: against unit tests, or with an input; kept in, within limits, ended in every case."""

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from rubric_anchors.core.errors import CriticError, DataError
from rubric_anchors.critic.sandbox.isolation import MEBI, Isolation, Limits, command, interpreter
from rubric_anchors.critic.sandbox.stage import FAILED

HERE: Final = Path(__file__).parent
TROUBLE: Final = b"sandbox: "
SCRIPT: Final = """\
import sys
with open(int(sys.argv.pop()), "rb") as file:
    text = file.read()
exec(compile(text, "answer.py", "exec"), {"__name__": "__main__"})
"""
Side = Literal["program", "tests"]


@dataclass(frozen=True, slots=True)
class Trial:
    """How a program did: a verdict a test, and what stood in its way."""

    passed: tuple[bool, ...]
    notes: tuple[str, ...]
    """For each test why it failed; empty where it passed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    output: bytes
    reason: str
    """`ended`, `time` or `output`: by itself, or because it took too much."""
    errors: bytes


@lru_cache(maxsize=2)
def _source(side: Side) -> str:
    return "\n".join((HERE / f"{name}.py").read_text("utf-8") for name in ("wire", f"{side}_side"))


def run_tests(source: str, tests: Sequence[str], *, entry: str | None, limits: Limits, isolation: Isolation) -> Trial:
    """`source` against `tests`, each the text of a module with assertions (or with `check(candidate)`).

    Raises DataError where the tests themselves cannot be read, CriticError where the machine could not run them.
    """
    most = limits.output_mb * MEBI
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as stack:
        stack.enter_context(ours)
        stack.enter_context(theirs)
        program = stack.enter_context(_started("program", theirs.fileno(), limits, isolation, most))
        theirs.close()
        judge = stack.enter_context(_started("tests", ours.fileno(), limits, isolation, most))
        ours.close()
        # The tests' side hands the program on: it is text to it, and nobody here waits for a reader.
        job = json.dumps({"tests": list(tests), "entry": entry, "source": source}).encode("ascii")
        ended = _collect(judge, job, limits.wall_seconds, most)
        ended_program = _errors(program) if not ended.output else b""
    lines = [json.loads(line) for line in ended.output.splitlines()] if ended.output else []
    told: dict[str, object] = {key: value for line in lines for key, value in line.items()}
    if "broken" in told:
        raise DataError(f"the tests cannot be run: {told['broken']}; give assertions, or check(candidate)")
    count = told.get("count")
    if not isinstance(count, int):
        detail = (ended.errors or ended_program).decode("utf-8", "replace").strip().splitlines()
        raise CriticError(f"the sandbox gave no verdict ({ended.reason}): {detail[-1][:160] if detail else 'no word'}")
    passed, notes = told.get("passed"), told.get("notes")
    if isinstance(passed, list) and isinstance(notes, dict):
        trouble = str(told.get("trouble") or "not reached")
        said = tuple("" if good else str(notes.get(str(at), trouble)) for at, good in enumerate(passed))
        return Trial(tuple(bool(good) for good in passed), said)
    if "program" in told:
        return _failed(count, f"the program did not start: {told['program']}")
    over = f"not done within {limits.wall_seconds:g} s" if ended.reason == "time" else "the program ended itself"
    return _failed(count, over)


def run_script(source: str, given: str, *, limits: Limits, isolation: Isolation) -> Ended:
    """`source` run as a script with `given` as its input; what it printed. Raises CriticError of the machine's."""
    with _scratch(isolation) as folder, tempfile.TemporaryFile() as file:
        file.write(source.encode("utf-8", "surrogatepass"))
        file.seek(0)
        words = [interpreter(), "-I", "-c", SCRIPT, str(file.fileno())]
        channels = (file.fileno(),)
        process = _spawn(command(isolation, words, limits, folder, channels), folder, channels)
        try:
            ended = _collect(process, given.encode("utf-8", "replace"), limits.wall_seconds, limits.output_mb * MEBI)
        finally:
            _end(process)
    if process.returncode == FAILED and not ended.output and ended.errors.startswith(TROUBLE):
        raise CriticError(f"the sandbox failed: {ended.errors.decode('utf-8', 'replace').strip()[:160]}")
    return ended


def _failed(count: int, why: str) -> Trial:
    return Trial((False,) * count, (why,) * count)


@contextlib.contextmanager
def _scratch(isolation: Isolation) -> Iterator[str]:
    """The folder that the process starts in: a real one only where it has no file system of its own."""
    if isolation != "limits":
        yield "/"
        return
    folder = tempfile.mkdtemp(prefix="anchors-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _started(
    side: Side, channel: int, limits: Limits, isolation: Isolation, most: int
) -> Iterator[subprocess.Popen[bytes]]:
    with _scratch(isolation) as folder:
        words = [interpreter(), "-I", "-c", _source(side), str(channel), str(most)]
        process = _spawn(command(isolation, words, limits, folder, (channel,)), folder, (channel,))
        try:
            yield process
        finally:
            _end(process)


def _spawn(words: list[str], folder: str, channels: Sequence[int]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(  # noqa: S603  # the words are ours; the stranger's program is data in them
            words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env={}, start_new_session=True, pass_fds=channels
        )
    except (OSError, ValueError) as error:
        raise CriticError(f"the sandbox cannot be started: {error}") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills the process with its group; with namespaces of its own everything in them dies too."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _errors(process: subprocess.Popen[bytes]) -> bytes:
    """What a process that is over, or soon will be, said on its error stream."""
    if process.stderr is None:
        return b""
    os.set_blocking(process.stderr.fileno(), False)
    return process.stderr.read(4096) or b""


def _collect(process: subprocess.Popen[bytes], given: bytes, seconds: float, most: int) -> Ended:
    """What the process prints until it ends, has printed `most` bytes, or `seconds` are over."""
    deadline = time.monotonic() + seconds
    streams = (process.stdin, process.stdout, process.stderr)
    output, errors, sent, reason = bytearray(), bytearray(), 0, "ended"
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_WRITE if stream is process.stdin else selectors.EVENT_READ)
        while process.stdout in {key.fileobj for key in selector.get_map().values()}:
            left = deadline - time.monotonic()
            if left <= 0 or len(output) > most:
                reason = "time" if left <= 0 else "output"
                break
            for key, _ in selector.select(min(left, 0.5)):
                if key.fileobj is process.stdin:
                    try:
                        sent += os.write(key.fd, given[sent : sent + 65536])
                        over = sent >= len(given)
                    except BrokenPipeError:
                        over = True
                else:
                    part = os.read(key.fd, 65536)
                    over = not part
                    if key.fileobj is process.stdout:
                        output += part
                    elif len(errors) < 4096:
                        errors += part
                if over:
                    selector.unregister(key.fileobj)
                    if key.fileobj is process.stdin and process.stdin is not None:
                        with contextlib.suppress(OSError):
                            process.stdin.close()
    return Ended(bytes(output), reason, bytes(errors))
