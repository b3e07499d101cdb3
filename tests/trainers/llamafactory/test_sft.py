"""What LLaMA-Factory trains on of exported conversations."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

llamafactory = required("llamafactory")


# It imports torchaudio, which has no build for PyTorch without CUDA, and which text does not need.
sys.modules["torchaudio"] = types.ModuleType("torchaudio")
sys.modules["torchaudio"].__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_what_is_trained(name: str, exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_llamafactory").masks(exported(name, form="sharegpt"), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}


def test_its_openai_format_adds_nulls_and_drops_conversations(exported: Callable[..., Path], tiny: Path) -> None:
    """Why there is a format of its own."""
    from transformers import AutoTokenizer

    tags = {"user": "user", "assistant": "assistant", "observation": "tool", "function": "function", "system": "system"}
    dataset = {
        "formatting": "openai",
        "columns": {"messages": "messages", "tools": "tools"},
        "tags": {"role_tag": "role", "content_tag": "content", **{f"{key}_tag": tags[key] for key in tags}},
    }
    masks = example("with_llamafactory").masks(exported("x.jsonl"), tiny, dataset)
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    assert len(masks) == 2
    assert any('"path": null' in tokenizer.decode(ids) for ids, _ in masks)
