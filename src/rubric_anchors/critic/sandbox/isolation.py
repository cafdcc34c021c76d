"""How a stranger's program is kept in on this machine, found out once by trying it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from rubric_anchors.core.frozen import Frozen

Isolation = Literal["namespaces", "bubblewrap", "limits"]
"""`namespaces` and `bubblewrap` are strict: no network, a file system of its own, no sight of other processes.
`limits` is weak: limits on time, memory and files, and nothing else."""

STAGE: Final = Path(__file__).with_name("stage.py")
MEBI: Final = 1 << 20
PROBE: Final = """\
import os, socket
seen = [name for name in os.listdir("/proc") if name.isdigit()]
assert len(seen) <= 3, seen
assert [name for _, name in socket.if_nameindex()] in ([], ["lo"])
assert os.getuid() != 0
for place in ("/", "/usr", "/proc/sys/kernel", os.path.dirname(os.__file__)):
    try:
        open(os.path.join(place, "probe"), "w").close()
    except OSError:
        continue
    raise AssertionError(place)
open("/tmp/probe", "w").close()
print("kept in")
"""


class Limits(Frozen):
    """What a program may use."""

    seconds: Annotated[float, Field(gt=0.0, le=600.0)] = 5.0
    """CPU time of each of its processes, in seconds. Wall time has a bound of its own, so that a busy machine does not
    fail a program that would have been done."""
    memory_mb: Annotated[int, Field(ge=64, le=65536)] = 512
    """Address space of each of its processes, in MiB."""
    processes: Annotated[int, Field(ge=1, le=256)] = 4
    """Processes and threads at a time."""
    scratch_mb: Annotated[int, Field(ge=1, le=4096)] = 16
    """What it may write to its scratch folder, in MiB."""
    output_mb: Annotated[int, Field(ge=1, le=64)] = 1
    """What it may print or return, in MiB; more ends it."""

    @property
    def wall_seconds(self) -> float:
        """When a program is ended whatever it has computed."""
        return 2.0 * self.seconds + 2.0

    def to_stage(self) -> dict[str, int]:
        """As `stage.py` takes them: whole seconds and bytes."""
        return {
            "cpu_seconds": max(1, round(self.seconds + 0.5)),
            "memory_bytes": self.memory_mb * MEBI,
            "scratch_bytes": self.scratch_mb * MEBI,
            "processes": self.processes,
        }


def interpreter() -> str:
    """The interpreter without its virtual environment: programs have the standard library, not our packages."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def binds() -> list[str]:
    """The folders that the interpreter and the system's libraries need, as absolute paths."""
    places = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"]
    base = str(Path(sys.base_prefix).resolve())
    if not base.startswith("/usr"):
        places.append(base)
    return [place for place in places if os.path.lexists(place)]


def environment(scratch: str = "/tmp") -> dict[str, str]:  # noqa: S108  # inside its own file system
    """All variables that a program sees: none of ours, so no secret of ours."""
    return {"PATH": "/usr/bin:/bin", "HOME": scratch, "TMPDIR": scratch, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}


def command(
    kind: Isolation, program: Sequence[str], limits: Limits, scratch: str, channels: Sequence[int]
) -> list[str]:
    """The command that runs `program` (its words) kept in by `kind`."""
    stage = [interpreter(), "-I", "-S", str(STAGE)]
    setup = {
        "kind": kind,
        "limits": limits.to_stage(),
        "binds": binds(),
        "command": list(program),
        "environment": environment(scratch if kind == "limits" else "/tmp"),  # noqa: S108
        "channels": list(channels),
    }
    if kind != "bubblewrap":
        return [*stage, json.dumps(setup)]
    # Inside, the limits are set by the same script, which has to be seen there.
    words = [_bubblewrap() or "bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    words += ["--new-session", "--clearenv", "--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"]
    for place in binds():
        words += ["--symlink", os.readlink(place), place] if os.path.islink(place) else ["--ro-bind", place, place]
    words += ["--ro-bind", str(STAGE), "/stage.py", "--proc", "/proc", "--dev", "/dev"]
    words += ["--size", str(limits.scratch_mb * MEBI), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108
    inner = {**setup, "kind": "limits", "count_processes": True}
    return [*words, "--", interpreter(), "-I", "-S", "/stage.py", json.dumps(inner)]


@lru_cache(maxsize=1)
def _bubblewrap() -> str | None:
    return shutil.which("bwrap")


@lru_cache(maxsize=4)
def works(kind: Isolation) -> str:
    """Empty where a program is really kept in by `kind` on this machine; else why not. Tried once."""
    if kind == "limits":
        return "" if os.name == "posix" else "needs a POSIX system"
    if sys.platform != "linux":
        return f"{kind} needs Linux; this is {sys.platform}"
    if kind == "bubblewrap" and _bubblewrap() is None:
        return "the program bwrap is not installed"
    words = command(kind, [interpreter(), "-I", "-c", PROBE], Limits(), "/tmp", [])  # noqa: S108
    try:
        done = subprocess.run(  # noqa: S603  # our own words and probe
            words, capture_output=True, timeout=60, check=False, env={}, cwd=tempfile.gettempdir()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.stdout.strip() == b"kept in":
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1][:200] if said else f"the probe ended with {done.returncode}"


@lru_cache(maxsize=1)
def strongest() -> tuple[Isolation | None, str]:
    """The strict isolation that works here, or None; and why the others do not."""
    reasons = []
    kinds: tuple[Isolation, ...] = ("namespaces", "bubblewrap")
    for kind in kinds:
        reason = works(kind)
        if not reason:
            return kind, ""
        reasons.append(f"{kind}: {reason}")
    return None, "; ".join(reasons)
