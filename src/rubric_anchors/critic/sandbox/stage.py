"""Shuts itself into new Linux namespaces and runs a command there. A script of its own, standard library only.

    python -I -S stage.py '{"kind": "namespaces", "limits": {...}, "binds": [...], "command": [...]}'

Outer process (A) makes the namespaces and waits; its child (B) is process 1 of the new process namespace, builds the
file system, gives up every right and waits for the program (C). When A is killed the kernel kills B, and with B
everything in the namespace, daemons too. With kind `limits` only the limits are set, and the command takes this
process's place.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, BIND, REC, PRIVATE, DETACH = 1, 2, 4, 4096, 16384, 1 << 18, 2
PDEATHSIG, DUMPABLE, CAPBSET_DROP, SECUREBITS, NO_NEW_PRIVS, AMBIENT = 1, 4, 24, 28, 38, 47
MOUNT_SETATTR = 442
STRANGER = 65534
FAILED = 125
DEVICES = ("null", "zero", "full", "random", "urandom")

libc = ctypes.CDLL(None, use_errno=True)


def call(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    given = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    call(libc.mount(*given), f"mount {target}")


def read_only(target: str) -> None:
    """Everything below `target` read only, without set-user-id programs and devices."""
    # struct mount_attr: attributes to set (read only, nosuid, nodev), to clear, propagation, user namespace.
    attributes = (ctypes.c_uint64 * 4)(RDONLY | NOSUID | NODEV, 0, 0, 0)
    done = libc.syscall(MOUNT_SETATTR, -100, target.encode(), 0x8000, ctypes.byref(attributes), ctypes.c_size_t(32))
    call(done, f"mount_setattr {target}")


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def new_user(uid: int, gid: int) -> None:
    """A user namespace in which this process is user 1000 and holds no right outside."""
    call(libc.unshare(NEWUSER), "unshare user")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"1000 {uid} 1")
    write("/proc/self/gid_map", f"1000 {gid} 1")


def build_root(binds: list[str], scratch_bytes: int) -> None:
    """A file system of the interpreter and the system's libraries, read only, with an empty scratch at /tmp."""
    # Any folder that is everywhere: only this mount namespace sees what is put on it.
    root = "/tmp"  # noqa: S108
    mount("none", "/", flags=REC | PRIVATE)
    # The sources are opened first: what is mounted over `root` may hide them.
    links = {path: os.readlink(path) for path in binds if os.path.islink(path)}
    opened = {path: os.open(path, os.O_PATH) for path in binds if path not in links and os.path.exists(path)}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    mount("tmpfs", root, "tmpfs", NOSUID | NODEV, "size=1m,mode=755")
    for path, target in links.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        os.symlink(target, root + path)
    for path, handle in opened.items():
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            os.makedirs(root + path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            write(root + path, "")
        mount(f"/proc/self/fd/{handle}", root + path, flags=BIND | REC)
        read_only(root + path)
    os.mkdir(f"{root}/dev")
    for name, handle in devices.items():
        write(f"{root}/dev/{name}", "")
        mount(f"/proc/self/fd/{handle}", f"{root}/dev/{name}", flags=BIND)
    for name in ("proc", "tmp", "old"):
        os.mkdir(f"{root}/{name}")
    scratch = f"size={scratch_bytes},nr_inodes=4096,mode=1777"
    mount("tmpfs", f"{root}/tmp", "tmpfs", NOSUID | NODEV, scratch)  # noqa: S108
    mount("proc", f"{root}/proc", "proc", NOSUID | NODEV)
    for handle in (*opened.values(), *devices.values()):
        os.close(handle)
    os.chdir(root)
    pivot = {"x86_64": 155}.get(os.uname().machine, 41)
    call(libc.syscall(pivot, b".", b"old"), "pivot_root")
    os.chdir("/")
    call(libc.umount2(b"/old", DETACH), "umount the old root")
    os.rmdir("/old")
    mount("none", "/", flags=32 | BIND | RDONLY | NOSUID | NODEV)


def drop_rights() -> None:
    """No capability is left and none can be had again."""
    for capability in range(64):
        libc.prctl(CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(AMBIENT, 4, 0, 0, 0)
    call(libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call(libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "capset")


def set_limits(limits: dict[str, Any], processes: bool = True) -> None:
    wanted = {
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["scratch_bytes"],
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
    }
    # Without namespaces of its own the count is of all the user's processes, and a limit would hit the wrong ones.
    if processes:
        wanted[resource.RLIMIT_NPROC] = limits["processes"] + 1
    for kind, amount in wanted.items():
        hard = resource.getrlimit(kind)[1]
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        try:
            resource.setrlimit(kind, (amount, amount))
        except (OSError, ValueError):
            if kind != resource.RLIMIT_AS:  # macOS knows the limit and takes no value for it
                raise


def inside(setup: dict[str, Any], root: bool, go: int) -> int:
    """Process 1 of the namespace: builds, gives up its rights, runs the program, and says how it ended."""
    limits = setup["limits"]
    build_root(setup["binds"], limits["scratch_bytes"])
    if root:
        os.setgroups([])
        # A user of its own, so that its processes are counted apart from those of others.
        user = 100_000 + setup["number"] % 400_000
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError:
            user = STRANGER
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        libc.prctl(DUMPABLE, 1, 0, 0, 0)
        new_user(user, user)
    write("/proc/sys/user/max_user_namespaces", "0")
    drop_rights()
    libc.prctl(DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # Had A died before the line above, nobody would tell: the pipe does.
    if os.read(go, 1) != b"g":
        return FAILED
    os.close(go)
    os.chdir("/tmp")  # noqa: S108  # the scratch
    program = os.fork()
    if program == 0:
        set_limits(limits)
        os.setsid()
        os.execve(setup["command"][0], setup["command"], setup["environment"])  # noqa: S606
    while True:
        ended, status = os.wait()
        if ended == program:
            return os.waitstatus_to_exitcode(status) & 0xFF


def main() -> int:
    setup = json.loads(sys.argv[1])
    if setup["kind"] == "limits":
        set_limits(setup["limits"], processes=setup.get("count_processes", False))
        if sys.platform == "linux":
            libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        os.execve(setup["command"][0], setup["command"], setup["environment"])  # noqa: S606
    setup["number"] = os.getpid()
    root = os.geteuid() == 0
    uid, gid = os.geteuid(), os.getegid()
    if not root:
        new_user(uid, gid)
    call(libc.unshare(NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS), "unshare")
    listen, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        code = FAILED
        try:
            code = inside(setup, root, listen)
        except OSError as error:
            print(f"sandbox: {error}", file=sys.stderr)  # noqa: T201
        finally:
            os._exit(code)
    os.close(listen)
    # B alone may hold the channels: the other end must see them close when the program is gone.
    os.write(go, b"g")
    for handle in setup["channels"]:
        os.close(handle)
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as problem:
        print(f"sandbox: {problem}", file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
