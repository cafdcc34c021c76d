"""A real llama.cpp server on this machine: `python llama_server.py GGUF` prints its address and ends when its standard
input does; `serving(GGUF)` is that process for the length of a `with`."""

import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

CONTEXT: Final = 2048
"""Tokens a conversation may have."""
AT_ONCE: Final = 4
STARTS_WITHIN: Final = 120.0


@contextmanager
def serving(weights: Path) -> Iterator[str]:
    """The base URL of a server with `weights`; it ends with the `with`, and with this process."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            assert selector.select(STARTS_WITHIN), f"no llama.cpp server within {STARTS_WITHIN:g} s"
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http://127.0.0.1:"), f"the server ended with {process.wait()} before it listened"
        yield f"{address}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def serve(weights: str) -> None:
    import xllamacpp

    how = xllamacpp.CommonParams()
    how.model.path = weights
    how.hostnames = ["127.0.0.1"]
    how.port = 0
    how.n_ctx = CONTEXT * AT_ONCE
    how.n_parallel = AT_ONCE
    how.cpuparams.n_threads = 2
    how.warmup = False
    server = xllamacpp.Server(how)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(sys.argv[1])
