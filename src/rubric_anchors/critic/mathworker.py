"""A process that compares mathematical answers: a line of JSON in, a line of JSON out. Started by `mathematics.py`.

In:  {"reference": text, "answer": text, "seconds": CPU seconds, "digits": decimal places}
Out: {"ready": true} once; then for each line {"read": whether the reference was understood}, {"equal": true or false}

The limit is a timer of CPU time whose signal nobody handles: it ends the process even in the middle of a power of big
integers, which no exception can interrupt, and a busy machine does not make it strike earlier.
"""

import json
import logging
import re
import resource
import signal
import sys
from functools import lru_cache
from typing import Any, Final

MEMORY: Final = 4 << 30
PLAIN: Final = re.compile(r"[\d\s+*/^().,%$€£¥<>=eE-]+")


def main() -> None:
    logging.disable(logging.CRITICAL)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # No one may leave a core file of what a policy made it compute.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    kinds: dict[str, Any] = {"latex": LatexExtractionConfig(), "plain": ExprExtractionConfig()}

    def read(text: str) -> list[Any]:
        found = parse(f"${text}$", [kinds["latex"]], fallback_mode="no_fallback", parsing_timeout=None)
        if not found and PLAIN.fullmatch(text):
            found = parse(text, [kinds["plain"]], fallback_mode="no_fallback", parsing_timeout=None)
        return list(found)

    # The references of a run come again and again, with each answer of a group.
    reference_of = lru_cache(maxsize=512)(read)

    def say(**what: bool) -> None:
        sys.stdout.write(f"{json.dumps(what)}\n")
        sys.stdout.flush()

    parse("$1$", parsing_timeout=None)
    say(ready=True)
    for line in sys.stdin:
        task = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, task["seconds"])
        try:
            wanted = reference_of(task["reference"])
            say(read=bool(wanted))
            given = read(task["answer"])
            equal = verify(wanted, given, float_rounding=task["digits"], timeout_seconds=None)
        except Exception:  # noqa: BLE001  # what cannot be worked out is not equal, whatever the library raises
            equal = False
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        say(equal=bool(equal))


if __name__ == "__main__":
    main()
