import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from rubric_anchors.core.errors import SetupError  # noqa: E402
from rubric_anchors.models.policy import PLAIN_TEMPLATE, LocalPolicy  # noqa: E402

WEIGHTS = "model.safetensors"


@pytest.fixture
def copy(tiny_policy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_policy, tmp_path / "policy"))


def only_a_pickle(folder: Path) -> None:
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def no_weights(folder: Path) -> None:
    (folder / WEIGHTS).unlink()


def half_a_file(folder: Path) -> None:
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: len(data) // 2])


def a_layer_short(folder: Path) -> None:
    weights = {name: weight for name, weight in load_file(folder / WEIGHTS).items() if "layers.1." not in name}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def other_shapes(folder: Path) -> None:
    change_config(folder, intermediate_size=256)


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": ', encoding="utf-8")


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def unknown_architecture(folder: Path) -> None:
    change_config(folder, model_type="no_such_model")


def no_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"version": "1.0"}', encoding="utf-8")


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")


@pytest.mark.parametrize(
    "breaks",
    [
        only_a_pickle,
        no_weights,
        half_a_file,
        a_layer_short,
        other_shapes,
        broken_config,
        no_config,
        unknown_architecture,
        no_tokenizer,
        broken_tokenizer,
    ],
)
def test_a_folder_that_is_no_whole_model_is_one_line(copy: Path, breaks: Callable[[Path], None]) -> None:
    breaks(copy)
    with pytest.raises(SetupError) as caught:
        LocalPolicy.load(copy)
    line = str(caught.value)
    assert "\n" not in line
    assert str(copy) in line
    assert "safetensors" in line
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("where", ["/no/such/folder", "nowhere", "no/such/thing/at/all"])
def test_a_missing_folder_is_one_line(where: str) -> None:
    with pytest.raises(SetupError, match="no model folder") as caught:
        LocalPolicy.load(where)
    assert "\n" not in str(caught.value)


def test_remote_code_and_pickles_are_off_in_every_call(tiny_policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def spy(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            asked.append(options)
            return real(*args, **options)

        return called

    for auto in (transformers.AutoModelForCausalLM, transformers.AutoTokenizer):
        monkeypatch.setattr(auto, "from_pretrained", spy(auto.from_pretrained))
    LocalPolicy.load(tiny_policy)
    assert [options["trust_remote_code"] for options in asked] == [False, False]
    assert asked[0]["use_safetensors"] is True


def test_code_in_a_folder_is_not_run(copy: Path) -> None:
    change_config(copy, model_type="own", auto_map={"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"})
    (copy / "own.py").write_text("raise SystemExit('own code was run')", encoding="utf-8")
    with pytest.raises(SetupError):
        LocalPolicy.load(copy)


def test_a_base_model_without_a_chat_template_gets_a_plain_one(copy: Path) -> None:
    (copy / "chat_template.jinja").unlink()
    policy = LocalPolicy.load(copy)
    assert policy.tokenizer.chat_template == PLAIN_TEMPLATE
    ids = policy.encode([("system", "Be kind."), ("user", "Why?")])
    assert policy.tokenizer.decode(ids) == "system: Be kind.\nuser: Why?\nassistant: "


def test_a_conversation_goes_through_the_model_s_own_template(tiny_policy: Path) -> None:
    policy = LocalPolicy.load(tiny_policy)
    text = policy.tokenizer.decode(policy.encode([("system", "Be kind."), ("user", "Why?")]))
    assert text == ("<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n")


def test_text_comes_back_without_special_tokens(tiny_policy: Path) -> None:
    policy = LocalPolicy.load(tiny_policy)
    ids = policy.tokenizer("Grüße, 안녕 👋", add_special_tokens=False)["input_ids"]
    assert policy.decode([*ids, policy.tokenizer.eos_token_id]) == "Grüße, 안녕 👋"


@pytest.mark.parametrize(("configured", "ends"), [(None, (1,)), (1, (1,)), ([2, 1], (1, 2)), ([7], (1, 7))])
def test_end_tokens_are_the_tokenizer_s_and_the_generation_config_s(
    tiny_policy: Path, configured: Any, ends: tuple[int, ...]
) -> None:
    policy = LocalPolicy.load(tiny_policy)
    policy.model.generation_config.eos_token_id = configured
    assert policy.end_ids == ends


def test_a_tokenizer_without_padding_pads_with_its_end(copy: Path) -> None:
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(copy)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(copy)
    assert LocalPolicy.load(copy).tokenizer.pad_token_id == 1


def test_weights_come_in_the_dtype_asked_for_and_ready_to_answer(tiny_policy: Path) -> None:
    policy = LocalPolicy.load(tiny_policy, torch.bfloat16)
    assert {weight.dtype for weight in policy.model.parameters()} == {torch.bfloat16}
    assert not policy.model.training
