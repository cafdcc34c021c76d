"""From whatever a command raised to one line and an exit code.

0    done
1    it ran, and a gate, threshold or budget said no, or nothing at all could be scored
2    bad input or usage, or a machine that says no: a disk that is full, a package that is missing
70   a bug of ours; ANCHORS_DEBUG=1 shows where
130  interrupted (Ctrl-C, or SIGTERM and SIGHUP, which are taken as the same); resumable
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from rubric_anchors.core.disk import os_error_line
from rubric_anchors.core.errors import AnchorsError

BAD_INPUT: Final = 2
BUG: Final = 70
"""As EX_SOFTWARE of sysexits.h."""
INTERRUPTED: Final = 130
INTERRUPTED_LINE: Final = "interrupted; nothing finished is lost, --resume goes on from here"

_DISK_SAYS_NO: Final = (
    "no space left on device",
    "(os error 28)",
    "disk quota exceeded",
    "(os error 122)",
    "file too large",
    "(os error 27)",
    "pytorchstreamwriter failed",
    "file write failed",
    "database or disk is full",
)
"""How torch, safetensors and SQLite say that a file could not be written, in errors that are no OSError."""
_NO_MEMORY: Final = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
_EXTRAS: Final = {
    **dict.fromkeys(
        (
            "accelerate",
            "datasets",
            "gguf",
            "huggingface_hub",
            "peft",
            "safetensors",
            "sentence_transformers",
            "torch",
            "transformers",
            "trl",
        ),
        "local",
    ),
    **dict.fromkeys(("jinja2", "markupsafe"), "report"),
    **dict.fromkeys(("lm_eval", "scipy", "spellchecker"), "eval"),
}


def explain(error: BaseException) -> tuple[str, int]:
    """One line for `error`, and the exit code. What nobody foresaw is a bug of ours, and is said to be one."""
    if isinstance(error, AnchorsError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return INTERRUPTED_LINE, INTERRUPTED
    usage = getattr(error, "format_message", None)
    if usage is not None:
        return f"{usage().rstrip('.')}; `anchors --help` shows the usage", BAD_INPUT
    text = str(error).lower()
    if isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY):
        return "out of memory; lower micro_batch, group or prompts in the recipe, then --resume", BAD_INPUT
    if isinstance(error, ConnectionError | TimeoutError):
        return f"no connection: {error}; check the network and the address", BAD_INPUT
    if isinstance(error, OSError) and error.errno is not None:
        return os_error_line(error, "use", error.filename or "the output"), BAD_INPUT
    if any(words in text for words in _DISK_SAYS_NO):
        return "a file could not be written: the disk or its quota is full; free some space, then --resume", BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and (extra := _EXTRAS.get((error.name or "").split(".")[0])):
        return f"this needs {error.name}, which is not installed; pip install 'rubric-anchors[{extra}]'", BAD_INPUT
    what = f"this is a bug in rubric-anchors: {type(error).__name__}: {error}"
    return f"{what}; run again with ANCHORS_DEBUG=1 for the traceback", BUG


def debugging() -> bool:
    """Whether tracebacks are wanted."""
    return os.environ.get("ANCHORS_DEBUG", "") not in ("", "0")


@contextmanager
def stop_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as Ctrl-C does; a SIGHUP that is ignored (`nohup`) stays so."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    old = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    taken = {number: before for number, before in old.items() if before is signal.SIG_DFL}
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, before in taken.items():
            signal.signal(number, before)
