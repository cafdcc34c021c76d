"""Documentation runs as it stands, and its links lead somewhere.

Blocks fenced as ```python run in order, in one namespace a page, in an empty folder that has the repository's `recipes`
beside it. An ```output block right after one must be what it prints. A block that cannot run in a test (it needs an
endpoint, or hours) is fenced as ```python no-run; it must still be valid Python.
"""

import ast
import contextlib
import io
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = sorted(page for page in (ROOT / "docs").rglob("*.md")) + [
    page for page in (ROOT / "README.md",) if page.exists()
]
FENCE: Final = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE: Final = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
LINK: Final = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s#]+)(?:#[^)\s]*)?\)|<img[^>]* src=\"(?P<image>[^\"#]+)\"")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, kind: str) -> list[tuple[int, str, str | None]]:
    """(line, code, output that must follow or None) of each block fenced as `kind`."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    result = []
    for at, block in enumerate(found):
        if block["info"].strip() == kind:
            after = found[at + 1] if at + 1 < len(found) else None
            joined = after is not None and not text[block.end() : after.start()].strip()
            output = after["text"] if after and joined and after["info"].strip() == "output" else None
            result.append((text.count("\n", 0, block.start("text")), block["text"], output))
    return result


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_the_python_of_a_page_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code, output in blocks(page, "python"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Blank lines before the code make a traceback name the page's own line.
            exec(compile("\n" * line + code, str(page), "exec"), namespace)  # noqa: S102
        if output is not None:
            assert printed.getvalue().strip() == output.strip(), f"{name(page)}, the block at line {line}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_that_is_not_run_is_valid_all_the_same(page: Path) -> None:
    for _, code, _ in blocks(page, "python no-run"):
        ast.parse(code)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_figures_within_the_repository_exist(page: Path) -> None:
    prose = CODE.sub("`", FENCE.sub("", page.read_text(encoding="utf-8")))
    targets = {str(link["target"] or link["image"]) for link in LINK.finditer(prose)}
    missing = [
        target
        for target in sorted(targets)
        if not target.startswith(("http://", "https://", "mailto:")) and not (page.parent / target).exists()
    ]
    assert not missing, f"{name(page)} links to what is not there: {', '.join(missing)}"
