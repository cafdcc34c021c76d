"""What tests of several rooms share: no network, quiet libraries, and tiny models made on the spot."""

import os
import socket
from pathlib import Path
from typing import Any, Final

import pytest

# Before any test module imports torch or a Hugging Face library: they read these once.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

WITHOUT_TORCH: Final = "needs the models of `pip install 'rubric-anchors[local]'`"
CHAT_TEMPLATE: Final = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TINY: Final = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for another machine fails; loopback and sockets in files are fine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in {"127.0.0.1", "::1", "localhost"}:
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def byte_tokenizer() -> Any:
    """A chat tokenizer with a token for each byte: any text in any script goes there and back, untrained."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    words = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={word: index for index, word in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    make: Any = PreTrainedTokenizerFast
    return make(
        tokenizer_object=tokenizer,
        bos_token=special[0],
        eos_token=special[1],
        pad_token=special[1],
        unk_token=special[2],
        additional_special_tokens=special,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def save_tiny(kind: str, target: Path) -> Path:
    """Write a random model of 2 layers, 64 wide, into `target` (`llama` or `qwen3_moe`: 4 experts, 2 at a time)."""
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    transformers = pytest.importorskip("transformers", reason=WITHOUT_TORCH)
    tokenizer = byte_tokenizer()
    sizes: dict[str, Any] = {**TINY, "vocab_size": len(tokenizer)}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if kind == "llama":
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, tie_word_embeddings=True))
        else:
            experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "head_dim": 16}
            model = transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(**sizes, **experts))
        model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random Llama and a chat tokenizer; read only, since all tests share it."""
    return save_tiny("llama", tmp_path_factory.mktemp("tiny-llama"))


@pytest.fixture(scope="session")
def tiny_moe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random Qwen3 mixture of experts and a chat tokenizer; read only."""
    return save_tiny("qwen3_moe", tmp_path_factory.mktemp("tiny-moe"))


@pytest.fixture(scope="session")
def real_policy() -> Path:
    """The folder of the embedded policy, converted unless the cache has it."""
    pytest.importorskip("torch", reason=WITHOUT_TORCH)
    from rubric_anchors.models.embedded import embedded_policy

    return embedded_policy()


@pytest.fixture(scope="session")
def real_encoder() -> Path:
    """The folder of the embedded encoder."""
    pytest.importorskip("sentence_transformers", reason=WITHOUT_TORCH)
    from rubric_anchors.models.embedded import embedded_encoder

    return embedded_encoder()
