"""The shape of the code: who may import whom, how long a file may be, what is public, what a light install loads."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import rubric_anchors

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src" / "rubric_anchors"
LONGEST: Final = 400
PUBLIC: Final = (
    "AnchorsError",
    "Answer",
    "Check",
    "Critic",
    "Finding",
    "Judged",
    "Reward",
    "Rubric",
    "Scored",
    "Unjudged",
    "Unscored",
)
CARRIED: Final = {"pydantic_core"}
"""Comes with a declared package, in the one version that fits it."""
LIGHT_ROOMS: Final = ("core", "rubric", "data", "runs", "aggregate", "critic", "reward")

PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def code_files() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "scripts")]
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    """The first word of every module that `file` imports, inside functions too."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def run(program: str) -> str:
    """What `program` prints in a fresh interpreter; what went wrong where it fails."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=SOURCE.parent)
    return done.stdout + done.stderr[-2000:]


def test_rooms_look_down_only() -> None:
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_no_room_imports_the_public_face() -> None:
    """But for the version, which is a constant there: anything else would look up the page."""
    looks_up = [
        f"{file.relative_to(SOURCE)}: {alias.name}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "rubric_anchors"
        for alias in node.names
        if alias.name != "__version__"
    ]
    assert looks_up == []


def test_no_file_passes_400_lines() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines()) for file in code_files()}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_the_public_names_are_these() -> None:
    assert tuple(rubric_anchors._HOMES) == PUBLIC
    assert set(PUBLIC) <= set(dir(rubric_anchors))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(rubric_anchors, name).__doc__


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Rubrik'; there are: .*Rubric"):
        rubric_anchors.Rubrik  # noqa: B018


def test_the_version_is_the_distribution_s() -> None:
    assert rubric_anchors.__version__ == PROJECT["version"]


def test_everything_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = {
        canonicalize_name(Requirement(line).name)
        for line in [*PROJECT["dependencies"], *(line for extra in extras.values() for line in extra)]
    }
    known = packages_distributions()
    strange = {
        f"{file.relative_to(ROOT)}: {module}"
        for file in SOURCE.rglob("*.py")
        for module in imported(file)
        if module not in sys.stdlib_module_names and module not in {"rubric_anchors", *CARRIED}
        if not declared & {canonicalize_name(name) for name in known.get(module, [module])}
    }
    assert strange == set()


def test_scoring_loads_only_the_base_dependencies() -> None:
    """As after a plain install: everything that the extras bring is made impossible to import."""
    known = packages_distributions()
    base = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    extras = [Requirement(line) for extra in PROJECT["optional-dependencies"].values() for line in extra]
    brought = {canonicalize_name(requirement.name) for requirement in extras} - base
    blocked = sorted(
        module for module, names in known.items() if {canonicalize_name(name) for name in names} <= brought
    )
    rooms = sorted(
        ".".join(("rubric_anchors", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for room in LIGHT_ROOMS
        for file in (SOURCE / room).rglob("*.py")
    )
    assert "torch" in blocked
    assert rooms
    program = (
        "import importlib, sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        f"for name in {rooms!r}: importlib.import_module(name)\n"
        "import rubric_anchors\n"
        f"for name in {PUBLIC!r}: getattr(rubric_anchors, name)\n"
    )
    assert run(program) == ""


def test_importing_the_package_loads_nothing_else() -> None:
    program = "import sys, rubric_anchors; print([m for m in ('numpy', 'pydantic', 'torch') if m in sys.modules])"
    assert run(program) == "[]\n"
