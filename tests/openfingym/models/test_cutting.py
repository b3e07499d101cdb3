"""Conversations that a server cut without a word are told by its own count, and whole ones never."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import ModelRefusedError
from openfingym.models import Message, ToolCall
from openfingym.models.cutting import cut_silently
from openfingym.models.endpoint import ModelEndpoint

from .scripted import Scripted, completion

PROSE = "The yield of ten years rose, and it didn't fall again. "
"""Eleven words; OpenAI's o200k makes thirteen tokens of it."""
LONG = PROSE * 1000
SYSTEM, ASK = Message("system", "You act."), Message("user", LONG)
SAID = Message("assistant", "Look.", (ToolCall("c", "run_python", '{"code": "print(1)"}'),), reasoning="Hm " * 3000)
RESULT = Message("tool", "ok " * 100, tool_call_id="c")


@pytest.mark.parametrize(
    ("messages", "counted", "cut"),
    [
        ((SYSTEM, ASK), 13_010, False),
        ((SYSTEM, ASK), 4096, True),
        ((SYSTEM, ASK), 2048, True),
        ((SYSTEM, ASK), 8251, True),
        ((SYSTEM, ASK), 8252, False),  # three quarters of 11,002 words: nobody knows
        ((SYSTEM, ASK), 256, True),
        ((SYSTEM, ASK), 255, False),  # a placeholder
        ((SYSTEM, ASK), None, False),
        ((SYSTEM, ASK, SAID, RESULT, Message("user", "Go on.")), 4096, False),  # the newest messages, the rest cached
        ((SYSTEM, ASK, Message("assistant", "Look.", SAID.tool_calls), RESULT), 4096, True),
        ((SYSTEM, Message("user", PROSE * 90)), 500, False),  # 992 words
        ((SYSTEM, Message("user", PROSE * 91)), 500, True),  # 1,003 words
        # What a model has said may be left out by a template, and what is no word may be few tokens.
        ((SYSTEM, Message("user", "Go."), Message("assistant", LONG), Message("user", "Go on.")), 300, False),
        ((SYSTEM, Message("user", "-=_ \n" * 50_000)), 300, False),
        ((SYSTEM, Message("user", "国债收益率上升" * 5000)), 4096, False),
    ],
)
def test_a_count_below_the_words_is_a_cut(messages: tuple[Message, ...], counted: int | None, cut: bool) -> None:
    assert (cut_silently(messages, counted) is not None) == cut


@settings(max_examples=25)
@given(st.lists(st.text(max_size=20), max_size=10), st.integers(1, 200))
def test_a_tokenizer_that_never_joins_words_is_never_taken_for_a_cut(texts: list[str], times: int) -> None:
    messages = [Message("user", text * times) for text in texts]
    # As the pre-tokenizers of BPE split: at everything that is no letter or digit.
    words = sum(len("".join(c if c.isalnum() else " " for c in text * times).split()) for text in texts)
    assert cut_silently(messages, words) is None


def test_a_cut_conversation_is_never_an_answer() -> None:
    body = completion({"role": "assistant", "content": "I have read all of it."})
    body["usage"] = {"prompt_tokens": 4096, "completion_tokens": 8, "total_tokens": 4104}

    async def ask(url: str) -> None:
        async with ModelEndpoint(url, "none", loopback=True) as endpoint:
            await endpoint.model("m").complete([SYSTEM, ASK])

    with Scripted(lambda *_: body) as endpoint, pytest.raises(ModelRefusedError) as caught:
        asyncio.run(ask(endpoint.base_url))
    assert caught.value.reason == "settings"
    assert "4,096 tokens of a conversation of 11,002 words" in str(caught.value)
    assert "OLLAMA_CONTEXT_LENGTH" in str(caught.value)
