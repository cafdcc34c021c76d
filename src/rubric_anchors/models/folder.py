"""Model folders: where one lies on this machine, and an id that changes whenever its weights do."""

import hashlib
import os
from pathlib import Path

from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.ids import ID_LENGTH

NEEDED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "*/*.json", "*/*.safetensors")
BLOCK = 1 << 22


def local_folder(model: str | Path) -> Path:
    """The folder of `model`, a path or a hub id; a hub id is downloaded to the hub's own cache unless it lies there.

    Only weights as safetensors, tokenizers and settings are fetched. Raises SetupError where there is no such model.
    """
    path = Path(os.path.expanduser(model))  # which leaves `~nobody` as it stands, where Path's own method raises
    if path.is_dir():
        return path
    advice = "give a folder with config.json and safetensors weights, or a hub id such as `owner/name`"
    if isinstance(model, Path) or model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise SetupError(f"no model folder at {str(model)!r}; {advice}")
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError as error:
        raise SetupError(
            f"{model!r} is no folder here, and huggingface_hub is not installed to fetch it; {advice}"
        ) from error
    try:
        return Path(snapshot_download(model, allow_patterns=list(NEEDED)))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SetupError(f"the model {model!r} could not be fetched: {reason}; {advice}") from error


def weights_fingerprint(folder: Path, *settings: str) -> str:
    """16 hexadecimal digits over the bytes of the folder's safetensors and tokenizer files, and over `settings`."""
    files = sorted(
        [*folder.rglob("*.safetensors"), *folder.rglob("tokenizer*.json"), *folder.rglob("chat_template.jinja")]
    )
    if not any(file.suffix == ".safetensors" for file in files):
        raise SetupError(f"no safetensors weights under {folder}; other formats can run code and are not read")
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"\0{file.relative_to(folder).as_posix()}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
    for setting in settings:
        digest.update(f"\0{setting}".encode())
    return digest.hexdigest()[:ID_LENGTH]
