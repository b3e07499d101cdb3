"""Why an answer ended, by the words of all providers: a list of what is known, and of nothing else.

A word that is not known says that something else happened than that the model came to its end. Such an answer is a
failed attempt and never an empty answer of the model's: servers end answers with ``abort`` when they load new weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from openfingym.models.messages import FinishReason

Ending = FinishReason | Literal["context", "bad-call"]
"""Why an answer ended. ``context``: the conversation has filled the model's context. ``bad-call``: the server could not
read the call that the model wrote."""


_WORDS: Mapping[Ending, str] = {
    "stop": "stop end_turn end stop_sequence eos eos_token completed complete finished",
    "tool_calls": "tool_calls tool_call function_call tool_use",
    "length": "length max_tokens max_output_tokens model_length max_completion_tokens",
    "context": "model_context_window_exceeded context_exceeded context_length_exceeded",
    "content_filter": "content_filter content_filtered guardrail_intervened sensitive safety recitation blocklist "
    "prohibited_content spii model_armor image_safety",
    "refusal": "refusal",
    "bad-call": "malformed_function_call unexpected_tool_call",
}
KNOWN: Mapping[str, Ending] = {word: ending for ending, words in _WORDS.items() for word in words.split()}
"""Endings by the words of providers, in lower case: OpenAI, Anthropic, Gemini, Bedrock, TGI, Mistral, Cohere, z.ai."""


def ending_of(stated: object) -> Ending | None:
    """The ending that an endpoint states; None where nobody knows what it says.

    Args:
        stated: the value of ``finish_reason``.
    """
    if not isinstance(stated, str):
        return None
    # Gemini's compatible endpoint puts a word of its own before the reason: "content_filter: PROHIBITED_CONTENT".
    words = [word.strip().lower().removeprefix("finish_reason_") for word in stated.split(":")]
    general = KNOWN.get(words[0])
    return KNOWN.get(words[-1]) or (general if general == "content_filter" else None)
