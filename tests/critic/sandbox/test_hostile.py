"""Hostile programs get nothing and harm nothing: each runs as a real process, with short limits."""

import os
import time
from pathlib import Path
from typing import Any, Final

import pytest

from rubric_anchors.core.errors import DataError
from rubric_anchors.critic.sandbox import Isolation, Limits, Trial, run_script, run_tests, strongest
from rubric_anchors.critic.sandbox.isolation import works

LIMITS: Final = Limits(seconds=1.0, memory_mb=256, processes=4, scratch_mb=4, output_mb=1)
TESTS: Final = ("assert secret(3) == 7919", "assert secret(4) == 104729")
STRICT: Final[list[Isolation]] = [kind for kind in ("namespaces", "bubblewrap") if not works(kind)]
WHY: Final = f"no strict isolation on this machine: {strongest()[1]}"

# Each defines what the tests call, so that only the deed keeps it from passing.
HOSTILE: Final = {
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "endless output": "import sys\ndef secret(n):\n    while True: sys.stdout.write('x' * 65536)",
    "exit at once": "import sys\ndef secret(n): return 0\nsys.exit(0)",
    "exit when asked": "import os\ndef secret(n): os._exit(0)",
    "patched asserts": (
        "import builtins, sys\nclass AssertionError(Exception): pass\nbuiltins.AssertionError = AssertionError\n"
        "def secret(n): raise builtins.AssertionError"
    ),
    "equal to everything": "class Yes:\n    def __eq__(self, other): return True\n    def __hash__(self): return 1\n"
    "def secret(n): return Yes()",
    "an integer that is equal to everything": "class Yes(int):\n    def __eq__(self, other): return True\n"
    "    __hash__ = int.__hash__\ndef secret(n): return Yes(1)",
    "reading the tests": (
        "import gc, glob, os, re\ndef secret(n):\n    seen = ''\n"
        "    for path in ['/proc/self/cmdline', *glob.glob('/proc/*/cmdline'), *glob.glob('/proc/*/environ'),"
        " *glob.glob('/tmp/**', recursive=True), *glob.glob('/proc/*/fd/*')]:\n"
        "        try: seen += open(path, errors='replace').read(100000)\n        except OSError: pass\n"
        "    found = re.search('791' + '9', seen) or re.search('1047' + '29', seen)\n"
        "    return int(found[0]) if found else None"
    ),
    "reading the frames above": (
        "import sys\ndef secret(n):\n    frame = sys._getframe()\n    while frame:\n"
        "        for thing in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n"
        "            if thing in (int('791' + '9'), int('1047' + '29')): return thing\n        frame = frame.f_back"
    ),
    "killing the parent": "import os, signal\ndef secret(n):\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 0",
    "killing all": "import os, signal\ndef secret(n):\n    os.kill(-1, signal.SIGKILL)\n    return 0",
    "killing its group": "import os, signal\ndef secret(n):\n    os.killpg(0, signal.SIGKILL)\n    return 0",
    "memory bomb": "def secret(n):\n    kept = []\n    while True: kept.append(bytearray(1 << 24))",
    "sleeping for ever": "import time\ndef secret(n):\n    while True: time.sleep(1000)",
    "ignoring the request to end": (
        "import signal\nfor kind in range(1, 65):\n    try: signal.signal(kind, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\ndef secret(n):\n    while True: pass"
    ),
    "deep recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef secret(n): return secret(n)",
    "nested result": "def secret(n):\n    value = []\n    for _ in range(100000): value = [value]\n    return value",
    "giant result": "def secret(n): return 'x' * (1 << 26)",
    "giant integer": "def secret(n): return 1 << (1 << 26)",
    "endless iterator": "import itertools\ndef secret(n): return (0 for _ in itertools.count())",
    "no plain data": "def secret(n): return lambda: n",
    "raises on being shown": "class Odd(Exception):\n    def __str__(self): raise Odd\ndef secret(n): raise Odd",
    "tracing": "import sys\ndef secret(n): return 0\nsys.settrace(lambda *a: sys.exit(0))\nsys.setprofile(lambda *a: 1 / 0)",  # noqa: E501
    "replaced builtins": (
        "import builtins, json, sys\njson.dumps = lambda *a, **k: 'true'\nbuiltins.all = lambda x: True\n"
        "builtins.isinstance = lambda *a: True\nsys.modules.clear()\ndef secret(n): return 0"
    ),
    "an own judge": (
        "import sys\nmain = sys.modules['__main__']\nfor name in list(vars(main)):\n"
        "    if name[:2] != '__': setattr(main, name, lambda *a, **k: {'passed': [True, True], 'count': 2})\n"
        "def secret(n): return 0"
    ),
    "writing to the channel": (
        "import os\ndef secret(n):\n    for handle in range(3, 64):\n        for line in"
        ' (b\'00000013{"passed":[true]}\', b\'{"count": 2}\\n{"passed": [true, true], "notes": {}}\\n\'):\n'
        "            try: os.write(handle, line)\n            except OSError: pass\n    os._exit(0)"
    ),
    "verdict at exit": (
        "import atexit, os\n@atexit.register\ndef _():\n"
        '    os.write(1, b\'{"count": 2}\\n{"passed": [true, true], "notes": {}}\\n\')\nraise SystemExit(0)'
    ),
    "shadowed names": "def set(x): return 0\ndef __judge__(at): return secret\ndef secret(n): return 0",
}


def tried(program: str, tests: tuple[str, ...] = TESTS, kind: Isolation = "namespaces") -> Trial:
    return run_tests(program, tests, entry=None, limits=LIMITS, isolation=kind)


KINDS: Final[list[Any]] = list(STRICT) or [pytest.param(None, marks=pytest.mark.skip(reason=WHY))]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Isolation:
    strict: Isolation = request.param
    return strict


def processes_of(group: str) -> list[str]:
    """Command lines on this machine that hold `group`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if group in line:
            found.append(line)
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_passes_nothing(name: str, kind: Isolation) -> None:
    assert tried(HOSTILE[name], kind=kind).passed == (False, False)


def test_an_honest_program_passes(kind: Isolation) -> None:
    assert tried("def secret(n): return {3: 7919, 4: 104729}[n]", kind=kind).passed == (True, True)


def test_a_daemon_does_not_outlive_the_trial(kind: Isolation) -> None:
    mark = f"anchors-daemon-{os.getpid()}"
    program = (
        "import os, subprocess, sys\ndef secret(n):\n    if os.fork() == 0:\n        os.setsid()\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\n    return 0"  # noqa: E501
    )
    assert tried(program, kind=kind).passed == (False, False)
    # The kernel kills what is left; a busy machine takes a moment to bury it.
    deadline = time.monotonic() + 60
    while processes_of(f"time.sleep(600) {mark}") and time.monotonic() < deadline:
        os.sched_yield()
    assert processes_of(f"time.sleep(600) {mark}") == []


@pytest.mark.parametrize(
    "deed",
    [
        "import socket; socket.create_connection(('127.0.0.1', {port}), 1)",
        "import socket; socket.create_connection(('1.1.1.1', 53), 1)",
        "open({home!r} + '/anchors-probe', 'w').write('x')",
        "open({here!r}).read()",
        "import os; os.symlink({here!r}, '/tmp/link'); open('/tmp/link').read()",
        "open('/usr/anchors-probe', 'w')",
        "open('/etc/passwd').read()",
        "import os; os.environ['ANCHORS_SECRET']",
        "open('/tmp/big', 'wb').write(b'x' * (8 << 20))",
        "import os; [os.write(os.open(f'/tmp/{{n}}', 65), b'x' * (1 << 20)) for n in range(8)]",
        "import os; os.kill({pid}, 0)",
        "import os; os.setuid(0)",
        "import ctypes, os; c = ctypes.CDLL(None); assert c.unshare(0x10000000) == 0",
        "import ctypes, os; c = ctypes.CDLL(None); assert c.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
    ],
)
def test_what_a_program_may_not_do_fails(
    deed: str, kind: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setenv("ANCHORS_SECRET", "hunter2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = tmp_path / "here.txt"
        here.write_text("ours")
        done = deed.format(port=server.getsockname()[1], home=str(Path.home()), here=str(here), pid=os.getpid())
        program = f"def secret(n):\n    try:\n        {done}\n    except BaseException: return False\n    return True"
        allowed = tried(program, ("assert secret(1) == True", "assert secret(1) == False"), kind)
    assert allowed.passed == (False, True), allowed.notes
    assert not (Path.home() / "anchors-probe").exists()


def test_a_script_cannot_print_without_end_or_hang(kind: Isolation) -> None:
    short = LIMITS.with_changes(seconds=0.1)
    assert run_script("while True: print('x' * 1000)", "", limits=LIMITS, isolation=kind).reason == "output"
    assert run_script("import time; time.sleep(1000)", "", limits=short, isolation=kind).reason == "time"
    assert run_script("print(input())", "a\n", limits=LIMITS, isolation=kind).output == b"a\n"


def test_nothing_is_left_open_or_running(kind: Isolation) -> None:
    tried("def secret(n): return n", kind=kind)
    before = sorted(os.listdir("/proc/self/fd"))
    for program in ("def secret(n): return n", HOSTILE["exit when asked"], HOSTILE["fork bomb"]):
        tried(program, kind=kind)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_tests_that_cannot_be_run_say_nothing_of_the_answer(kind: Isolation) -> None:
    for tests in ("assert (", "x = 1", ""):
        with pytest.raises(DataError, match="cannot be run"):
            tried("def secret(n): return n", (tests,), kind)


def test_arguments_change_as_the_program_changed_them(kind: Isolation) -> None:
    tests = ("x = [3, 1, 2]\nput(x)\nassert x == [1, 2, 3]", "assert list(gen(3)) == [0, 1, 2]")
    program = "def put(x): x.sort()\ndef gen(n): yield from range(n)"
    assert tried(program, tests, kind).passed == (True, True)


def test_a_test_may_expect_an_error(kind: Isolation) -> None:
    tests = ("try:\n    f(-1)\n    ok = False\nexcept ValueError:\n    ok = True\nassert ok",)
    assert tried("def f(n): raise ValueError(n)", tests, kind).passed == (True,)
    assert tried("def f(n): return n", tests, kind).passed == (False,)


def test_limits_alone_still_run_and_end_a_program() -> None:
    assert tried("def secret(n): return {3: 7919, 4: 104729}[n]", kind="limits").passed == (True, True)
    assert tried(HOSTILE["exit when asked"], kind="limits").passed == (False, False)
    assert tried(HOSTILE["memory bomb"], kind="limits").passed == (False, False)
