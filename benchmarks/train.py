"""A training step against stock TRL's: same policy, same prompts, same number of tokens, in the same run.

    python benchmarks/train.py [--steps 5] [--settings 4x8x80 8x8x160]        (or: make bench-train)

Each side is a process of its own with its own trainer; the two take turns, a step at a time, and while one works the
other sleeps. A setting is prompts x answers x new tokens, the length forced. Stock is as fast as its own options make
it on this machine: bfloat16 weights, no KL term, no evaluation, and the quickest of its micro-batches and attentions,
which a first round finds (`--micro`, `--attention`). Medians of the steps after the first. Peak memory is the
process's (VmHWM). The floor is the arithmetic alone: 2 x parameters a token read or written, 4 more where it is learnt
from, at the rate of this machine's own matrix products in bfloat16. Writes benchmarks/results/train.json.
"""

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULT: Final = ROOT / "benchmarks" / "results" / "train.json"
SETTINGS: Final = ("4x8x80", "8x8x160")
Setting = tuple[int, int, int]
"""Prompts, answers to each, new tokens."""


def prompts(count: int) -> list[list[dict[str, str]]]:
    """The first of the demo's open prompts."""
    lines = (ROOT / "recipes" / "data" / "open_train.jsonl").read_text("utf-8").splitlines()[:count]
    return [[{"role": "user", "content": json.loads(line)["prompt"]}] for line in lines]


def reward(completions: Sequence[Any], **_: object) -> list[float]:
    """Something that differs from answer to answer and costs nothing."""
    return [len(set(turns[-1]["content"])) / 100.0 for turns in completions]


class Turns:
    """What makes a trainer wait for its turn before each step, and say how long the step took after it."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        from transformers import TrainerCallback

        outer = self

        class Callback(TrainerCallback):
            def on_step_begin(self, *_: Any, **__: Any) -> None:
                pipe.recv()
                outer.started = time.perf_counter()

            def on_step_end(self, *_: Any, **__: Any) -> None:
                pipe.send(time.perf_counter() - outer.started)

        self.started = 0.0
        self.callback = Callback()


def side(pipe: "Connection[Any, Any]", ours: bool, setting: Setting, steps: int, micro: int, attention: str) -> None:
    """One trainer, a step whenever it is told; at the end its process's peak memory in MB."""
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer

    from rubric_anchors.models.embedded import embedded_policy
    from rubric_anchors.models.policy import LocalPolicy

    asked, answers, tokens = setting
    policy = LocalPolicy.load(embedded_policy(), torch.bfloat16)
    policy.model.set_attn_implementation(attention)
    data = Dataset.from_list([{"prompt": turns} for turns in prompts(asked) * steps])
    arguments = GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        max_steps=steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=asked * answers // micro,
        num_generations=answers,
        max_completion_length=tokens,
        generation_kwargs={"min_new_tokens": tokens},
        temperature=0.7,
        learning_rate=3e-5,
        weight_decay=0.0,
        beta=0.0,
        shuffle_dataset=False,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    common = {
        "model": policy.model.train(),
        "reward_funcs": reward,
        "args": arguments,
        "train_dataset": data,
        "processing_class": policy.tokenizer,
        "callbacks": [Turns(pipe).callback],
    }
    if ours:
        from rubric_anchors.train.optim import optimizer_for
        from rubric_anchors.train.trainer import Trainer

        optimizer = optimizer_for(policy.model, 3e-5)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        trainer: GRPOTrainer = Trainer(
            **common, optimizers=(optimizer, schedule), rollout_func=Forced(policy, answers, tokens)
        )
    else:
        trainer = GRPOTrainer(**common)
    trainer.remove_callback(PrinterCallback)
    pipe.send("ready")
    trainer.train()
    pipe.send(peak_megabytes())


class Forced:
    """Our sampler at a forced length: nothing ends an answer but its length."""

    def __init__(self, policy: Any, answers: int, tokens: int) -> None:
        self.policy, self.answers, self.tokens = policy, answers, tokens

    def __call__(self, asked: Sequence[Any], trainer: Any) -> dict[str, Any]:
        from rubric_anchors.models.sampler import Decoding, sample

        encoded = [
            self.policy.encode([(turn["role"], turn["content"]) for turn in turns]) for turns in asked[:: self.answers]
        ]
        how = Decoding(self.tokens, 0.7, (), int(self.policy.tokenizer.pad_token_id))
        seeds = range(len(encoded))
        model = trainer.accelerator.unwrap_model(trainer.model)
        tokens, _ = sample(model, encoded, seeds, self.answers, how)
        return {
            "prompt_ids": [ids for ids in encoded for _ in range(self.answers)],
            "completion_ids": tokens,
            "logprobs": None,
        }


def peak_megabytes() -> int:
    """The most memory that this process has held."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def take_turns(sides: dict[str, dict[str, Any]], setting: Setting, steps: int) -> dict[str, tuple[list[float], int]]:
    """For each side its seconds a step and its peak memory; one of them works at any time."""
    context = multiprocessing.get_context("spawn")
    pipes = {}
    processes = []
    for name, options in sides.items():
        mine, theirs = context.Pipe()
        process = context.Process(target=side, args=(theirs,), kwargs={**options, "setting": setting, "steps": steps})
        process.start()
        theirs.close()
        mine.recv()  # ready, before the next one loads
        pipes[name], seconds = mine, None
        processes.append(process)
    found: dict[str, list[float]] = {name: [] for name in sides}
    for step in range(steps):
        for name in list(sides) if step % 2 else list(sides)[::-1]:
            pipes[name].send("go")
            seconds = pipes[name].recv()
            found[name].append(seconds)
            print(f"  step {step + 1}, {name}: {seconds:.1f} s", flush=True)
    peaks = {name: int(pipe.recv()) for name, pipe in pipes.items()}
    for process in processes:
        process.join()
    return {name: (found[name], peaks[name]) for name in sides}


def best_of_stock(setting: Setting, micros: Sequence[int], attentions: Sequence[str]) -> tuple[int, str]:
    """The micro-batch and attention with which stock takes least, by two steps of each, the second counted."""
    asked, answers, _ = setting
    tried = {}
    for attention in attentions:
        for micro in micros:
            if asked * answers % micro == 0:
                options = {"ours": False, "micro": micro, "attention": attention}
                [(seconds, _)] = take_turns({f"stock {micro} {attention}": options}, setting, 2).values()
                tried[micro, attention] = seconds[1]
    return min(tried, key=lambda one: tried[one])


def floor_seconds(setting: Setting) -> float:
    """The arithmetic of one step at this machine's rate of bfloat16 matrix products."""
    import torch

    from rubric_anchors.models.embedded import embedded_policy
    from rubric_anchors.models.policy import LocalPolicy

    policy = LocalPolicy.load(embedded_policy(), torch.bfloat16)
    parameters = sum(weight.numel() for weight in policy.model.parameters())
    size = 2048
    left, right = torch.ones(size, size, dtype=torch.bfloat16), torch.ones(size, size, dtype=torch.bfloat16)
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        torch.mm(left, right)
        best = min(best, time.perf_counter() - started)
    rate = 2 * size**3 / best
    asked, answers, tokens = setting
    read = sum(len(policy.encode([(turn["role"], turn["content"]) for turn in one])) for one in prompts(asked))
    written = asked * answers * tokens
    learnt = written + read * answers
    return float(parameters * (2 * (read + written) + 6 * learnt) / rate)


def measured(setting: Setting, steps: int, micros: Sequence[int], attentions: Sequence[str]) -> dict[str, Any]:
    """One row of the result."""
    micro, attention = best_of_stock(setting, micros, attentions)
    found = take_turns(
        {
            "stock": {"ours": False, "micro": micro, "attention": attention},
            "ours": {"ours": True, "micro": 8, "attention": "sdpa"},
        },
        setting,
        steps + 1,
    )
    seconds = {name: statistics.median(steps[1:]) for name, (steps, _) in found.items()}
    floor = floor_seconds(setting)
    return {
        "name": "x".join(map(str, setting)),
        "ours_s": round(seconds["ours"], 2),
        "stock_s": round(seconds["stock"], 2),
        "ratio": round(seconds["ours"] / seconds["stock"], 3),
        "steps": steps,
        "stock_micro_batch": micro,
        "stock_attention": attention,
        "ours_peak_mb": found["ours"][1],
        "stock_peak_mb": found["stock"][1],
        "floor_s": round(floor, 2),
        "share_of_floor": round(floor / seconds["ours"], 3),
        "each": {name: [round(one, 2) for one in all_steps] for name, (all_steps, _) in found.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5, help="steps that count, after a first that does not")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), help="prompts x answers x new tokens")
    parser.add_argument("--micro", nargs="+", type=int, default=[8, 32], help="micro-batches of stock to choose from")
    parser.add_argument("--attention", nargs="+", default=["sdpa", "eager"], help="attentions of stock to choose from")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.settings:
        asked, answers, tokens = map(int, name.split("x"))
        print(name, flush=True)
        rows.append(measured((asked, answers, tokens), arguments.steps, arguments.micro, arguments.attention))
    result = {"settings": rows, "cores": os.cpu_count(), "machine": platform.processor() or platform.machine()}
    print(json.dumps(result, indent=2))
    if arguments.steps >= 5:
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    main()
