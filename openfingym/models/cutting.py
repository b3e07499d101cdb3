"""Conversations that a server has cut without a word, as Ollama does, told by the tokens that it counted.

A word is at least one token of every common tokenizer, so that fewer tokens than words have been read in part. A few
servers count only what they had no cache of: a count that the newest messages alone explain says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from openfingym.models.messages import Message

LEAST_WORDS = 1000
"""Fewest words of a conversation that is looked at; no server's context is as short."""
LEAST_TOKENS = 256
"""Smallest count that is taken for one: some relays state a placeholder."""
SLACK = 0.75
"""Share of the words that a count must be below: a tokenizer may join a few of them."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def cut_silently(messages: Sequence[Message], prompt_tokens: int | None) -> str | None:
    """Why a conversation cannot have been read whole, as a clause; None if it may have been.

    Args:
        messages: the conversation that was sent.
        prompt_tokens: tokens of it that the server counted; None if it did not count.
    """
    if prompt_tokens is None or prompt_tokens < LEAST_TOKENS:
        return None
    # What the model said before is left out: templates may drop parts of it, such as its thoughts.
    words = sum(len(_WORD.findall(message.content)) for message in messages if message.role != "assistant")
    if words < LEAST_WORDS or prompt_tokens >= SLACK * words or prompt_tokens <= _newest(messages):
        return None
    return f"the endpoint counted {prompt_tokens:,} tokens of a conversation of {words:,} words, and so has cut it"


def _newest(messages: Sequence[Message]) -> int:
    """Most tokens of the latest answer and what follows it, of a character each; 0 before the first answer."""
    answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
    if not answers:
        return 0
    newest = messages[answers[-1] :]
    calls = sum(len(call.name + call.arguments) for message in newest for call in message.tool_calls)
    return calls + sum(len(message.content) + len(message.reasoning or "") for message in newest)
