"""What LLaMA-Factory trains on of exported conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

llamafactory = required("llamafactory")


def test_what_is_trained(exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_llamafactory").masks(exported("x.jsonl", form="sharegpt"), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}


def test_openai(exported: Callable[..., Path], tiny: Path) -> None:
    d = {
        "formatting": "openai",
        "columns": {"messages": "messages", "tools": "tools"},
        "tags": {
            "role_tag": "role",
            "content_tag": "content",
            "user_tag": "user",
            "assistant_tag": "assistant",
            "observation_tag": "tool",
            "function_tag": "function",
            "system_tag": "system",
        },
    }
    masks = example("with_llamafactory").masks(exported("x.jsonl"), tiny, d)
    from transformers import AutoTokenizer
