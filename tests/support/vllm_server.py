"""`python -m tests.support.vllm_server PYTHON COMMAND...`: COMMAND with ANCHORS_TEST_SERVER set to a vLLM server on
loopback that has the embedded model; PYTHON is of the environment that holds vLLM. Ends with COMMAND's exit status."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

from rubric_anchors.models.embedded import embedded_policy

MODEL: Final = "embedded"
STARTS_WITHIN: Final = 900.0
LOOKS: Final = 2.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def serves(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LOOKS)
    try:
        connection.request("GET", "/v1/models")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def main(python: str, command: list[str]) -> int:
    url = f"http://127.0.0.1:{(port := free_port())}/v1"
    serve = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(embedded_policy())]
    serve += ["--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port), "--enforce-eager"]
    serve += ["--max-model-len", "2048", "--max-num-seqs", "8"]
    settings = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+b") as log:
        server = subprocess.Popen(serve, stdout=log, stderr=subprocess.STDOUT, env=settings, start_new_session=True)
        try:
            waited, pause = 0.0, threading.Event()
            while not serves(port):
                if server.poll() is not None or waited >= STARTS_WITHIN:
                    log.seek(0)
                    sys.stderr.write(log.read().decode("utf-8", "replace")[-4000:])
                    sys.stderr.write("\nthe vLLM server did not start\n")
                    return 1
                pause.wait(LOOKS)
                waited += LOOKS
            return subprocess.run(command, env={**os.environ, "ANCHORS_TEST_SERVER": f"{url}#{MODEL}"}).returncode
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
