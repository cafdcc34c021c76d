"""`anchors checks`: the checks by themselves, listed and tried."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rubric_anchors.cli.show import console, errors, printable
from rubric_anchors.core.disk import read_bytes
from rubric_anchors.core.errors import InputError
from rubric_anchors.core.words import human_size
from rubric_anchors.core.yamlfile import decode
from rubric_anchors.rubric.outcome import Evidence

TEXT_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of a text that is read from a file or from standard input."""

checks: Final = typer.Typer(
    help="The checks by themselves: list them, try one on a text.",
    rich_markup_mode=None,
    no_args_is_help=False,
)


@checks.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """All checks with what they decide, those of installed packages too."""
    from rubric_anchors.app.checks import list_checks

    found, broken = list_checks()
    if as_json:
        sys.stdout.write(json.dumps([asdict(info) for info in found], indent=2, ensure_ascii=False) + "\n")
    else:
        table = Table(box=SIMPLE_HEAD)
        for column in ("check", "decides", "options"):
            table.add_column(column, overflow="fold")
        for info in found:
            options = ", ".join(option.name + ("" if option.default is not None else "!") for option in info.options)
            table.add_row(info.name, escape(info.meaning.partition("\n\n")[0]), options)
        console.print(table)
        console.print(f"{len(found)} checks; ! marks options that have to be given. What each option takes: --json")
    for line in broken:
        errors.print(f"anchors: {line}", markup=False, highlight=False, soft_wrap=True)


@checks.command("try")
def try_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The check.", show_default=False)],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The answer; @FILE reads one, - standard input.", show_default=False)
    ],
    options: Annotated[
        list[str] | None, typer.Option("--with", metavar="KEY=VALUE", help="An option of the check; may be repeated.")
    ] = None,
    prompt: Annotated[str, typer.Option(help="What was asked, for checks that look at it.")] = "",
    reference: Annotated[str | None, typer.Option(help="The right answer, for checks that compare with one.")] = None,
    allow_code: Annotated[bool, typer.Option("--allow-code", help="Let the check `python` run your function.")] = False,
) -> None:
    """What one check says of one text: the value, and what was found where."""
    from rubric_anchors.app.checks import try_check

    answer = read_text(text)
    finding = try_check(name, answer, options or (), prompt=prompt, reference=reference, allow_code=allow_code)
    console.print(f"{name}: {finding.value:.4g}", markup=False)
    for item in finding.evidence:
        place = "" if item.start is None or item.end is None else f"  [{item.start}:{item.end}]"
        console.print(f"  {printable(item.note)}{place}", markup=False)
    if any(item.start is not None for item in finding.evidence):
        console.print(marked(answer, finding.evidence))


def marked(text: str, evidence: tuple[Evidence, ...]) -> Text:
    """`text` with the places of the evidence reversed."""
    shown = Text("".join(character if character.isprintable() or character == "\n" else "?" for character in text))
    for item in evidence:
        if item.start is not None and item.end is not None:
            shown.stylize("reverse", item.start, item.end)
    return shown


def read_text(text: str) -> str:
    """A text given on the command line: itself, `@FILE`, or `-` for standard input. Raises InputError for one that
    cannot be read, is longer than TEXT_LIMIT or is not UTF-8."""
    if text == "-":
        name, data = "standard input", sys.stdin.buffer.read(TEXT_LIMIT + 1)
        if len(data) > TEXT_LIMIT:
            raise InputError(f"{name}: there is more than {human_size(TEXT_LIMIT)}, the most that is read; shorten it")
    elif text.startswith("@"):
        name, data = text[1:], read_bytes(Path(text[1:]), limit=TEXT_LIMIT)
    else:
        # Python reads an argument by the locale, which need not know the text's letters; its bytes are all there.
        name, data = "the text", os.fsencode(text)
    return decode(data, name, InputError)
