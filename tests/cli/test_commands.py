"""The command line, pinned: whoever changes this breaks somebody's script."""

import re
from typing import Final

import pytest
from tests.support.command import anchors, anchors_process

import rubric_anchors

COMMANDS: Final = {
    "run": "RECIPE --out --resume",
    "score": "DATA --out --rubric --judge-reasoning --allow-code --judge --judge-with --max-cost --dry-run --workers "
    "--resume --force",
    "select": "RECIPE --out --stage --resume",
    "train": "RECIPE --out --resume",
    "evaluate": "RECIPE --out --model --resume",
    "report": "RUN",
    "schema": "--out",
    "calibrate": "DATA --rubric --labels --scale --pairs --preference --group --again --json --figure --shrunk "
    "--judge-reasoning --allow-code --judge --judge-with --max-cost --dry-run --seed --force",
    "checks": "COMMAND ARGS",
    "critic": "COMMAND ARGS",
}
CRITIC: Final = {
    "fit": "LIKED DISLIKED --out --group --style-only --seed --force",
    "explain": "TEXT --critic",
    "loo": "RUBRIC --json",
}
CHECKS: Final = {"list": "--json", "try": "NAME TEXT --with --prompt --reference --allow-code"}


def test_the_commands_are_these() -> None:
    shown = anchors("--help").out.split("Commands:")[1].split("Exit codes")[0]
    assert re.findall(r"^  (\w+)", shown, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_s_arguments_and_options_are_these(command: str) -> None:
    ran = anchors(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    usage = ran.out.splitlines()[0].removeprefix(f"Usage: anchors {command} [OPTIONS]")
    arguments = re.findall(r"[A-Z]+", usage)  # newer releases of Typer put them in braces
    options = [name for name in re.findall(r"^  (?:-h, )?(--[a-z-]+)", ran.out, re.MULTILINE) if name != "--help"]
    assert " ".join([*arguments, *options]) == COMMANDS[command]


@pytest.mark.parametrize(
    ("group", "command", "takes"),
    [
        (group, command, takes)
        for group, of in (("checks", CHECKS), ("critic", CRITIC))
        for command, takes in of.items()
    ],
)
def test_what_a_group_s_commands_take_is_this(group: str, command: str, takes: str) -> None:
    ran = anchors(group, command, "--help")
    assert (ran.code, ran.err) == (0, "")
    usage = ran.out.splitlines()[0].removeprefix(f"Usage: anchors {group} {command} [OPTIONS]")
    options = [name for name in re.findall(r"^  (--[a-z-]+)", ran.out, re.MULTILINE) if name != "--help"]
    assert " ".join([*re.findall(r"[A-Z]+", usage), *options]) == takes


def test_the_version_and_the_short_help() -> None:
    assert anchors("--version").out == f"{rubric_anchors.__version__}\n"
    assert anchors("-h").out == anchors("--help").out
    assert anchors("score", "-h").out == anchors("score", "--help").out


def test_without_a_command_the_help_is_shown_and_the_usage_was_wrong() -> None:
    ran = anchors()
    assert (ran.code, ran.err) == (2, "")
    assert "Commands:" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scroe"], "scroe"),
        (["run"], "RECIPE"),
        (["run", "recipe.yaml"], "--out"),
        (["score", "data.jsonl", "--out", "o", "--rubrik", "r"], "--rubrik"),
        (["report", "a", "b"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], words: str) -> None:
    ran = anchors(*arguments)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert ran.err.endswith("`anchors --help` shows the usage\n")


def test_help_loads_none_of_the_heavy_packages() -> None:
    program = (
        "import atexit, sys\natexit.register(lambda: print([m for m in ('numpy', 'torch') if m in sys.modules]))\n"
    )
    from tests.support.command import PROGRAM

    ran = anchors_process("--help", program=program + PROGRAM)
    assert ran.out.endswith("[]\n")
