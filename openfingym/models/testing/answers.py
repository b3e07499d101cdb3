"""The bodies that the stand-in sends: completions as a whole and in pieces, with their tokens counted."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice

from openfingym.digests import sha256_of_text
from openfingym.models.messages import ToolCall
from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym.models.text_tools import write_call

Json = dict[str, object]
CREATED = 1_700_000_000
"""Unix time of every answer, so that an answer is a function of its request alone."""
CACHE_BLOCK = 128
"""Tokens of a block of the cache that the stand-in pretends to have; only whole blocks are read from it."""
ENDLESS = 300_000
"""Tokens at which even endless text ends where it is sent as a whole."""
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")
"""A word or a mark, with the blanks before it."""


@dataclass(frozen=True)
class SentReply:
    """A reply as it is sent."""

    id: str
    model: str
    content: str
    calls: tuple[ToolCall, ...]
    """Native calls; calls that are written as text are part of the content."""
    refusal: str | None
    finish_reason: str
    usage: Json
    """Counts of tokens, as the API has them."""
    tokens: Json
    """Token ids and log probabilities, where they were asked for."""

    def whole(self) -> Json:
        """The body of an answer that is not streamed."""
        message: Json = {"role": "assistant", "content": self.content or None, "refusal": self.refusal}
        if self.calls:
            message["tool_calls"] = [_call(call) for call in self.calls]
        extra, prompt_ids = dict(self.tokens), self.tokens.get("prompt_token_ids")
        extra.pop("prompt_token_ids", None)
        body = self._head("chat.completion") | {
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason, **extra}],
            "usage": self.usage,
        }
        return body if prompt_ids is None else body | {"prompt_token_ids": prompt_ids}

    def chunks(self, *, usage: bool) -> Iterator[Json]:
        """The pieces of an answer that is streamed; the last of them with the counts of tokens, where ``usage``."""
        yield self.chunk({"role": "assistant", "content": ""})
        if self.refusal:
            yield self.chunk({"refusal": self.refusal})
        for piece in _TOKEN.findall(self.content):
            yield self.chunk({"content": piece})
        for index, call in enumerate(self.calls):
            yield self.chunk({"tool_calls": [{"index": index, **_call(ToolCall(call.id, call.name, ""))}]})
            for start in range(0, len(call.arguments), 40):
                part = {"arguments": call.arguments[start : start + 40]}
                yield self.chunk({"tool_calls": [{"index": index, "function": part}]})
        yield self.chunk({}, self.finish_reason)
        if usage:
            yield self._head("chat.completion.chunk") | {"choices": [], "usage": self.usage}

    def chunk(self, delta: Json, finish_reason: str | None = None) -> Json:
        """One piece of a streamed answer."""
        return self._head("chat.completion.chunk") | {
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        }

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": CREATED, "model": self.model}


def answer(body: Mapping[str, object], request: CompletionRequest, reply: Reply) -> SentReply:
    """A policy's reply as it is sent: counted, cut at ``max_tokens``, with calls in the form of the conversation.

    Args:
        body: body of the request.
        request: the request as policies see it.
        reply: what the policy answers.
    """
    digest = sha256_of_text(json.dumps(body, sort_keys=True))
    made = len(request.calls)
    calls = tuple(
        ToolCall(f"call_{digest[:8]}_{number}", call.name, call.text) for number, call in enumerate(reply.calls, made)
    )
    content = reply.content
    if request.form == "text" and calls:
        content, calls = "\n".join((content, *(write_call(call) for call in calls))).strip(), ()
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    most = limit if isinstance(limit, int) else ENDLESS
    pieces = _endless(content, most) if reply.endless else _TOKEN.findall(content)
    sent, cut = pieces[:most], len(pieces) > most or reply.endless
    completion = len(sent) + sum(count_tokens(call.arguments) + 4 for call in calls) + count_tokens(reply.refusal or "")
    return SentReply(
        id=f"chatcmpl-{digest[:24]}",
        model=str(body.get("model")),
        content="".join(sent),
        calls=() if cut else calls,
        refusal=reply.refusal,
        finish_reason="length" if cut else "tool_calls" if calls else "stop",
        usage=_usage(request, completion),
        tokens=_tokens(body, request, sent),
    )


def count_tokens(text: str) -> int:
    """The number of words and marks in a text, which is about what a tokeniser makes of it."""
    return len(_TOKEN.findall(text))


def _endless(text: str, most: int) -> list[str]:
    pieces = _TOKEN.findall(text)
    return [pieces[index % len(pieces)] for index in islice(count(), most)]


def _usage(request: CompletionRequest, completion: int) -> Json:
    counts = [
        count_tokens(message.content) + sum(count_tokens(call.arguments) for call in message.tool_calls)
        for message in request.messages
    ]
    # Four tokens a message for its marks, as chat templates have.
    prompt = sum(counts) + 4 * len(counts)
    # All but the last message was part of an earlier request, and is read from the cache, in whole blocks.
    cached = (prompt - counts[-1] - 4) // CACHE_BLOCK * CACHE_BLOCK if request.turn else 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _tokens(body: Mapping[str, object], request: CompletionRequest, sent: list[str]) -> Json:
    """Log probabilities and token ids, where the request asks for them; both follow from the tokens' texts."""
    tokens: Json = {}
    if body.get("logprobs"):
        tokens["logprobs"] = {
            "content": [
                {"token": piece, "logprob": -(_token_id(piece) % 1000 + 1) / 1000, "top_logprobs": []} for piece in sent
            ]
        }
    if body.get("return_token_ids"):
        tokens["token_ids"] = [_token_id(piece) for piece in sent]
        tokens["prompt_token_ids"] = [
            _token_id(piece) for message in request.messages for piece in _TOKEN.findall(message.content)
        ]
    return tokens


def _token_id(piece: str) -> int:
    return zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 50_000


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
