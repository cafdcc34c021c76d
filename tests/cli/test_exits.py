"""What a command ends with when the machine, the user or another process says no: one line and an exit code."""

import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import PROGRAM, Ran, anchors, anchors_dying, anchors_process
from tests.support.recipes import RUBRIC, tiny_recipe, write_recipe, write_rows, write_yaml

from rubric_anchors.cli.failures import explain
from rubric_anchors.core.errors import CriticError, DataError, Refused, SetupError
from rubric_anchors.runs.folder import RunFolder

ROWS = [{"id": str(number), "prompt": "Say river.", "response": f"river {number}"} for number in range(600)]


@pytest.fixture
def asked(tmp_path: Path) -> tuple[object, ...]:
    """`anchors score` on 600 answers."""
    rubric, data = write_yaml(tmp_path / "short.yaml", RUBRIC), write_rows(tmp_path / "data.jsonl", ROWS)
    return ("score", data, "--rubric", rubric, "--out", tmp_path / "out.jsonl")


@pytest.fixture
def recipe(tmp_path: Path, tiny_policy: Path) -> Path:
    return write_recipe(tmp_path / "recipe", tiny_policy)


@pytest.fixture
def begun(tmp_path: Path, recipe: Path) -> Path:
    """A run of `recipe` with its first selection."""
    assert anchors("select", recipe, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"


def one_line(ran: Ran, code: int, *words: str) -> None:
    assert ran.code == code, ran
    assert ran.err.startswith("anchors: "), ran
    assert ran.err.count("\n") == 1, ran
    for word in words:
        assert word in ran.err


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edit(path: Path, **changes: object) -> None:
    """Changes fields of a JSON or YAML file."""
    import yaml

    write_yaml(path, {**yaml.safe_load(path.read_text("utf-8")), **changes})


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (DataError("row 3: odd"), 2, "row 3: odd"),
        (SetupError("no model"), 2, "no model"),
        (Refused("a gate said no"), 1, "a gate said no"),
        (CriticError("a critic fell over"), 1, "a critic"),
        (KeyboardInterrupt(), 130, "--resume goes on"),
        (MemoryError(), 2, "out of memory; lower micro_batch"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), 2, "out of memory"),
        (OSError(errno.ENOSPC, "No space left on device", "/a/b"), 2, "cannot use '/a/b': the disk is full"),
        (OSError(errno.EACCES, "Permission denied", "/a/b"), 2, "permission denied"),
        (OSError(errno.EIO, "Input/output error", "/a/b"), 2, "Input/output error"),
        (
            RuntimeError("[enforce fail] PytorchStreamWriter failed writing file data/3: file write failed"),
            2,
            "is full",
        ),
        (Exception("Error while serializing: I/O error: No space left on device (os error 28)"), 2, "is full"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), 2, "no connection"),
        (ModuleNotFoundError("No module named 'trl'", name="trl"), 2, "pip install 'rubric-anchors[local]'"),
        (ModuleNotFoundError("No module named 'scipy'", name="scipy.stats"), 2, "pip install 'rubric-anchors[eval]'"),
        (ValueError("odd"), 70, "this is a bug in rubric-anchors: ValueError: odd; run again with ANCHORS_DEBUG=1"),
    ],
)
def test_every_failure_has_its_line_and_its_code(error: BaseException, code: int, words: str) -> None:
    line, exit_code = explain(error)
    assert exit_code == code
    assert words in line


def test_a_bug_is_called_one_and_shows_its_traceback_on_request(
    asked: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nnought")

    monkeypatch.setattr("rubric_anchors.app.score.score_file", broken)
    one_line(anchors(*asked), 70, "this is a bug in rubric-anchors: ZeroDivisionError: by nought")
    monkeypatch.setenv("ANCHORS_DEBUG", "1")
    ran = anchors(*asked)
    assert ran.code == 70
    assert ran.err.startswith("Traceback")


def test_rows_left_out_are_listed_and_the_command_is_done_all_the_same(
    asked: tuple[object, ...], tmp_path: Path
) -> None:
    write_rows(tmp_path / "data.jsonl", [{"prompt": "Say."}, ROWS[0], {"prompt": 3, "response": ""}])
    ran = anchors(*asked)
    assert ran.code == 0
    lines = ran.err.splitlines()
    assert [line.startswith(f"anchors: left out: {tmp_path / 'data.jsonl'}:") for line in lines] == [True, True]
    assert "left out: no answer to score" in ran.out


def test_nothing_scored_at_all_exits_with_1(asked: tuple[object, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug in a check")

    monkeypatch.setattr("rubric_anchors.critic.checks.counts.WordCount.decide", broken)
    one_line(anchors(*asked), 1, "no answer could be scored")


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_with_130_and_the_finished_rows_are_kept(
    asked: tuple[object, ...], tmp_path: Path, signal: str
) -> None:
    ran = anchors_dying(f"rubric_anchors.app.unfinished:Unfinished:append:1:after:{signal}", *asked)
    one_line(ran, 130, "interrupted")
    assert len((tmp_path / "out.jsonl.partial").read_text().splitlines()) == 1 + 128
    assert anchors(*asked, "--resume").code == 0
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()] == [
        row["id"] for row in ROWS
    ]


def test_checks_score_where_torch_is_not_installed(asked: tuple[object, ...]) -> None:
    extras = ("torch", "transformers", "trl", "scipy", "jinja2", "markupsafe", "aiohttp", "simplemma")
    blocked = f"import sys\nfor name in {extras}: sys.modules[name] = None\n"
    ran = anchors_process(*asked, program=blocked + PROGRAM)
    assert (ran.code, ran.err) == (0, "")


def test_a_command_that_needs_torch_says_what_to_install(tmp_path: Path) -> None:
    ran = anchors_process(
        "run", "r.yaml", "--out", tmp_path / "run", program=f"import sys\nsys.modules['torch'] = None\n{PROGRAM}"
    )
    one_line(ran, 2, "this needs torch, which is not installed; pip install 'rubric-anchors[local]'")


def test_a_file_over_the_limit_leaves_nothing_behind(asked: tuple[object, ...], tmp_path: Path) -> None:
    """As on a disk that is full from the start: the first row already does not fit."""
    before = contents(tmp_path)
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))\n"
    one_line(anchors_process(*asked, program=limit + PROGRAM), 2, "the file would be larger")
    assert contents(tmp_path) == before


def test_a_disk_that_fills_up_keeps_whole_rows_and_the_run_goes_on(
    asked: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        one_line(anchors(*asked), 2, "the disk is full; free some space and run again")
    assert not (tmp_path / "out.jsonl").exists()
    for line in (tmp_path / "out.jsonl.partial").read_text("utf-8").splitlines():
        json.loads(line)
    assert anchors(*asked, "--resume").code == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_standard_output_is_said_once() -> None:
    command = [sys.executable, "-c", PROGRAM, "schema"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "anchors: cannot use 'the output': the disk is full; free some space and run again\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_leads_nowhere(asked: tuple[object, ...], tmp_path: Path, closed: str) -> None:
    def code(*arguments: object) -> int:
        line = shlex.join([sys.executable, "-c", PROGRAM, *map(str, arguments)])
        done = subprocess.run(["sh", "-c", f"{line} {closed}"], capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode

    assert code(*asked) == 0
    assert [json.loads(row)["id"] for row in Path(str(asked[-1])).read_text("utf-8").splitlines()]
    assert code(*asked) == 2
    assert code("checks", "try", "word_count", "-", "--with", "min=1") == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_where_nobody_can_be_told_the_exit_code_still_tells(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "score", "none.jsonl", "--out", str(tmp_path / "out")]
    with open("/dev/full", "wb") as full:
        assert subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False).returncode == 2


def test_a_line_is_as_long_as_a_person_reads(asked: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps({"k" * 200_000: 1}))
    said = anchors(*asked)
    assert said.code == 2
    assert said.err.startswith(f"anchors: {tmp_path / 'data.jsonl'}:1: the column 'prompt' is missing; there are: kkk")
    assert len(said.err) < 1300


def test_a_reader_who_leaves_early_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as nobody:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "schema"], stdout=nobody, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_folder_that_is_not_there_or_no_folder(asked: tuple[object, ...], tmp_path: Path) -> None:
    one_line(anchors(*asked[:-1], tmp_path / "nowhere" / "out.jsonl"), 2, "there is no such file or folder")
    one_line(anchors(*asked[:-1], tmp_path / "data.jsonl" / "out.jsonl"), 2, "is a file, not a folder")
    one_line(anchors(*asked[:-1], tmp_path), 2, "is no plain file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(asked: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    one_line(anchors(*asked[:-1], tmp_path / "closed" / "out.jsonl"), 2, "permission denied")


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_run_s_folder_that_may_not_be_made(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def closed(path: Path, *_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), str(path))

    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", closed)
        one_line(anchors("run", recipe, "--out", tmp_path / "run"), 2, "cannot make the folder")
    assert contents(tmp_path) == before


def test_a_run_wants_a_folder_of_its_own(recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    before = contents(tmp_path)
    for command in ("run", "train", "select"):
        one_line(anchors(command, recipe, "--out", tmp_path / "file"), 2, "is a file; a run needs a folder")
        one_line(
            anchors(command, recipe, "--out", tmp_path / "folder", *(["--resume"] * (command == "run"))), 2, "mine.txt"
        )
    one_line(anchors("report", tmp_path / "folder"), 2, "holds no run")
    one_line(anchors("report", tmp_path / "nowhere"), 2, "no such folder")
    assert contents(tmp_path) == before


def test_a_run_that_is_there_is_not_started_over(recipe: Path, begun: Path) -> None:
    before = contents(begun)
    one_line(anchors("run", recipe, "--out", begun), 2, "holds a run; add --resume")
    assert contents(begun) == before


def test_a_run_that_another_process_writes(recipe: Path, begun: Path, tmp_path: Path) -> None:
    hold = f"import sys\nsys.path.insert(0, {str(Path('src').resolve())!r})\n" + (
        "from rubric_anchors.runs.folder import RunFolder\n"
        "with RunFolder(sys.argv[1]).write(resume=True):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(begun)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        one_line(anchors("run", recipe, "--out", begun, "--resume"), 2, f"process {holder.pid}", "is writing this run")


@pytest.mark.parametrize("what", ["recipe", "rubric", "data", "model"])
def test_a_run_is_resumed_only_as_it_was_begun(recipe: Path, begun: Path, tmp_path: Path, what: str) -> None:
    import shutil

    content = tiny_recipe()
    if what == "model":
        moved = shutil.copytree(recipe.parent, tmp_path / "moved")
        policy = shutil.copytree(
            json.loads((begun / "manifest.json").read_text())["recipe"]["policy"]["model"], moved / "m"
        )
        other = write_recipe(moved, "m", content)
        assert anchors("select", other, "--out", tmp_path / "second").code == 0
        weights = policy / "tokenizer_config.json"
        weights.write_text(weights.read_text() + " ")
        one_line(anchors("run", other, "--out", tmp_path / "second", "--resume"), 2, "weights in", "changed")
        return
    if what == "recipe":
        edit(recipe, seed=4)
    elif what == "rubric":
        edit(recipe.parent / "short.yaml", title="Changed")
    else:
        with (recipe.parent / "train.jsonl").open("a") as file:
            file.write('{"prompt": "Say nothing."}\n')
    before = contents(begun)
    one_line(anchors("run", recipe, "--out", begun, "--resume"), 2, "changed since this run was started")
    assert contents(begun) == before


def test_a_broken_record_of_a_run_is_named(recipe: Path, begun: Path) -> None:
    (begun / "selection.json").write_text("[{")
    one_line(anchors("run", recipe, "--out", begun, "--resume"), 2, "selection.json")


def test_weights_that_do_not_fit_on_the_disk_end_the_run_which_goes_on_later(
    recipe: Path, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    def full(*_: object, **__: object) -> None:
        raise RuntimeError(
            "[enforce fail at inline_container.cc] . PytorchStreamWriter failed writing file data/3: file write failed"
        )

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        one_line(anchors("train", recipe, "--out", begun, "--resume"), 2, "the disk or its quota is full")
    assert anchors("train", recipe, "--out", begun, "--resume").code == 0


def test_a_model_that_cannot_be_saved_is_one_line(recipe: Path, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rubric_anchors.train.stage as stage

    def full(*_: object, **__: object) -> None:
        from safetensors import SafetensorError

        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(stage, "save_policy", full)
    one_line(anchors("train", recipe, "--out", begun, "--resume"), 2, "the disk or its quota is full")
    assert RunFolder(begun).stage("first") is None


def test_a_terminal_that_knows_only_ascii_is_no_reason_to_fail(asked: tuple[object, ...], tmp_path: Path) -> None:
    write_yaml(tmp_path / "short.yaml", {**RUBRIC, "criteria": [{**RUBRIC["criteria"][0], "key": "length"}]})
    environment: dict[str, Any] = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", PROGRAM, *map(str, asked)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
