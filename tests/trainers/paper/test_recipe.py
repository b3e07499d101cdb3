"""The paper's recipe, end to end with a model made on the spot: fine-tuning, GRPO, and the runs of a report."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ..conftest import required

required("trl")
required("peft")
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "training" / "paper"
sys.path.insert(0, str(FOLDER))
recipe, sft, grpo, evaluate = map(importlib.import_module, ("recipe", "sft", "grpo", "evaluate"))


def _rows(path: Path, **changed: object) -> Path:
    said = [{"role": role, "content": f"{role} says " * 20} for role in ("system", "user", "assistant")]
    row = {"id": "r", "task": "crypto-forecast-v2", "split": "train", "messages": said, **changed}
    path.write_text((json.dumps(row) + "\n") * 4, encoding="utf-8")
    return path


@pytest.mark.parametrize("changed", [{"task": "fx-forecast"}, {"task": "fx-forecast-v3"}, {"split": "test"}])
def test_held_out_rows_are_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    with pytest.raises(SystemExit, match=r"held out|split test"):
        sft.rows(_rows(tmp_path / "rows.jsonl", **changed))


def test_held_out_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="held out"):
        grpo.train(recipe.SIZES["scratch"], tmp_path, ["treasury-forecast"])


def test_weights_of_the_package_become_a_model_like_any(tmp_path: Path) -> None:
    """``--tiny`` begins with 4-bit weights in a file of llama.cpp's; the stages after it must not see that."""
    required("gguf")
    model, tokenizer = recipe.load(recipe.stage(tmp_path, "base", recipe.SIZES[recipe.TINY]))
    assert sum(weight.numel() for weight in model.parameters()) == 134_515_008
    assert not hasattr(model.config, "quantization_config")
    told = [{"role": "user", "content": "What is the capital of France? Answer with the name of the city."}]
    inputs = tokenizer.apply_chat_template(told, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    said = model.generate(**inputs, do_sample=False, max_new_tokens=12)[0, inputs["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(said)


def test_every_stage_runs(tmp_path: Path) -> None:
    """LoRA is merged into weights that GRPO begins with, and each stage leaves a run that is of the test."""
    small = {"sft_steps": 1, "grpo_steps": 1, "rollouts": 2, "answer": 8, "seeds": 1}
    size = replace(recipe.SIZES["scratch"], rank=4, alpha=8, **small)
    sft.train(size, _rows(tmp_path / "rows.jsonl"), tmp_path)
    assert not (tmp_path / "sft" / "adapter_config.json").exists()
    assert grpo.train(size, tmp_path, ["crypto-forecast-v2"]) == [-6.0]
    found = evaluate.evaluate("scratch", size, tmp_path, tmp_path / "runs", tasks=["treasury-forecast"])
    assert [one for one, _ in found] == ["base", "sft", "rl"]
    assert {result.state for (result,) in found.values()} == {"rejected"}
    assert evaluate.table(found).count("0% of 1") == 3
    with pytest.raises(SystemExit, match="holds runs already"):
        evaluate.evaluate("scratch", size, tmp_path, tmp_path / "runs", ["sft"], tasks=["treasury-forecast"])
