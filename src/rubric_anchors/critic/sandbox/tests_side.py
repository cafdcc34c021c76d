"""The process of the tests: runs them against stand-ins that call the program's process, and prints a verdict each.

Runs after the source of `wire.py`, in a sandbox of its own: neither the expected values nor what counts passes ever
share a process with the program.
"""

import ast
import builtins
import importlib
import json
import os
import socket
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubric_anchors.critic.sandbox.wire import CannotCross, Encoder, decode, receive, send


class Far:
    """A function of the program, called over the channel. Lists, sets and dicts given to it change as in its hands."""

    def __init__(self, name: str, channel: socket.socket, most: int) -> None:
        self._name, self._channel, self._most = name, channel, most

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        args = [Encoder().encode(item) for item in arguments]
        message = {"call": self._name, "args": args, "named": {k: Encoder().encode(v) for k, v in named.items()}}
        send(self._channel, message, self._most)
        reply = receive(self._channel, self._most)
        if "raised" in reply:
            kind = getattr(builtins, str(reply["raised"]), None)
            ordinary = isinstance(kind, type) and issubclass(kind, Exception)
            raised: Any = kind if ordinary else RuntimeError
            raise raised(f"{reply['raised']}: {reply.get('said', '')}")
        for mine, theirs, after in zip(arguments, args, reply["args"], strict=True):
            if theirs != after:
                changed(mine, decode(after))
        return decode(reply["value"])


def changed(mine: Any, after: Any) -> None:
    """`mine` made to hold what the program left in it, where it is of the same kind."""
    if isinstance(mine, list) and isinstance(after, list):
        mine[:] = after
    elif (isinstance(mine, set) and isinstance(after, set)) or (isinstance(mine, dict) and isinstance(after, dict)):
        mine.clear()
        mine.update(after)


class Judge:
    """`with Judge(at)`: test number `at` passes if what stands in it raises nothing."""

    passed: dict[int, bool]
    notes: dict[int, str]

    def __init__(self, at: int) -> None:
        self.at = at

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        del trace
        # Seen twice (a test function called again): one failure is a failure.
        self.passed[self.at] = kind is None and self.passed.get(self.at, True)
        if kind is not None:
            said = " ".join(str(error).split())[:120]
            self.notes.setdefault(self.at, kind.__name__ + (f": {said}" if said else ""))
        return kind is None or issubclass(kind, Exception)


class Numbering:
    """Puts each statement that asserts something under a Judge; those of test functions one by one."""

    def __init__(self) -> None:
        self.count = 0

    def body(self, statements: list[ast.stmt], entry: str | None) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in statements:
            if not any(isinstance(node, ast.Assert) for node in ast.walk(statement)):
                done.append(statement)
            elif isinstance(statement, ast.FunctionDef):
                done += self.function(statement, entry)
            elif isinstance(statement, ast.ClassDef):
                done.append(statement)
            else:
                done.append(self.judged(statement))
        return done

    def function(self, statement: ast.FunctionDef, entry: str | None) -> list[ast.stmt]:
        takes = len(statement.args.args)
        if takes == 0 and statement.name.startswith("test"):
            call = f"{statement.name}()"
        elif takes == 1 and statement.name == "check" and entry:
            call = f"{statement.name}({entry})"
        else:
            return [statement]
        statement.body = self.body(statement.body, None)
        return [statement, *ast.parse(call).body]

    def judged(self, statement: ast.stmt) -> ast.stmt:
        judge = ast.Call(ast.Name("__judge__", ast.Load()), [ast.Constant(self.count)], [])
        self.count += 1
        return ast.With([ast.withitem(judge)], [statement])


def prepared(tests: list[str], entry: str | None) -> tuple[list[Any], int, set[str]]:
    """The tests compiled, how many there are, and the names that they use and do not define."""
    numbering, trees = Numbering(), []
    for text in tests:
        tree = ast.parse(text)
        tree.body = numbering.body(tree.body, entry)
        trees.append(ast.fix_missing_locations(tree))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bound |= {(a.asname or a.name).partition(".")[0] for n in nodes if isinstance(n, ast.Import) for a in n.names}
    bound |= {alias.asname or alias.name for n in nodes if isinstance(n, ast.ImportFrom) for alias in n.names}
    return [compile(tree, "tests.py", "exec") for tree in trees], numbering.count, names - bound


def main() -> None:
    channel, most = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    job = json.loads(sys.stdin.buffer.read())
    say = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open("/dev/null", os.O_RDWR), 1)

    def tell(**what: Any) -> None:
        say.write(f"{json.dumps(what)}\n")
        say.flush()

    entry = job["entry"]
    try:
        codes, count, names = prepared(job["tests"], entry)
    except (SyntaxError, ValueError, RecursionError) as error:
        return tell(broken=f"{type(error).__name__}: {error}")
    if count == 0:
        return tell(broken="they assert nothing")
    tell(count=count)
    passed: dict[int, bool] = {}
    notes: dict[int, str] = {}
    Judge.passed, Judge.notes = passed, notes
    try:
        send(channel, {"source": job["source"]}, most)
        first = receive(channel, most)
    except (CannotCross, OSError, ValueError) as error:
        return tell(program=f"{type(error).__name__}: {error}")
    if "names" not in first:
        return tell(program=f"{first.get('raised')}: {first.get('said')}")
    # A program that calls something of its own `set` or `all` must not come between the tests and Python's.
    wanted = {name for name in names if not hasattr(builtins, name)} | ({entry} if entry else set())
    space: dict[str, Any] = {"__name__": "tests", "__judge__": Judge}
    space |= {name: Far(name, channel, most) for name in wanted & set(first["names"])}
    # Tests written to run in one module with the program lean on its imports.
    modules = (wanted - space.keys()) & sys.stdlib_module_names
    space |= {name: importlib.import_module(name) for name in sorted(modules)}
    trouble = ""
    for code in codes:
        try:
            exec(code, space)  # noqa: S102  # what this is for
        except Exception as error:  # noqa: BLE001  # outside any test: those that follow it there have not passed
            trouble = f"{type(error).__name__}: {error}"
    tell(passed=[passed.get(at, False) for at in range(count)], notes=notes, trouble=trouble[:200])
    return None


if __name__ == "__main__":
    main()
