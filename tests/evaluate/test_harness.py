"""The standard harness on a local task: no hub, no network."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from rubric_anchors.core.errors import InputError

torch = pytest.importorskip("torch", reason="needs the models of `pip install 'rubric-anchors[local]'`")
pytest.importorskip("lm_eval", reason="needs `pip install 'rubric-anchors[eval]'`")

from rubric_anchors.evaluate.preservation.harness import TaskRun, compare_tasks, run_tasks  # noqa: E402
from rubric_anchors.evaluate.preservation.keep import answered_rightly  # noqa: E402
from rubric_anchors.evaluate.preservation.loglik import Item, choice_logps  # noqa: E402

TASK = """
task: local_cold
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{context}}}}"
doc_to_choice: choices
doc_to_target: answer
metric_list:
  - {{metric: acc_norm, aggregation: mean, higher_is_better: true}}
"""
ITEMS = tuple(Item(str(at), f"Thing {at} is", ("cold", "warmer", "quite hot"), at % 3) for at in range(6))


def test_runs_are_compared_document_by_document() -> None:
    before = TaskRun("t", "acc", (True,) * 200 + (False,) * 100)
    after = TaskRun("t", "acc", (True,) * 150 + (False,) * 150)
    (row,) = compare_tasks([before], [after])
    assert (row.name, row.n, row.kept) == ("t", 300, False)
    with pytest.raises(InputError, match="different tasks"):
        compare_tasks([before], [])


@pytest.mark.slow
def test_the_harness_agrees_with_our_own_scores_on_a_local_task(
    tmp_path: Path, tiny_policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers: Any = pytest.importorskip("transformers")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "rows.jsonl"
    rows = [{"context": item.context, "choices": item.choices, "answer": item.answer} for item in ITEMS]
    data.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "local_cold.yaml").write_text(TASK.format(data=data), "utf-8")
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_policy, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_policy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the harness's own
        (found,) = run_tasks(model, tokenizer, folder, ["local_cold"])
        with pytest.raises(InputError, match=r"'local_hot'.*local_cold"):
            run_tasks(model, tokenizer, folder, ["local_hot"])
    assert (found.task, found.metric) == ("local_cold", "acc_norm")
    ours = answered_rightly(choice_logps(model, tokenizer, ITEMS), ITEMS)
    assert found.right == tuple(ours.tolist())
