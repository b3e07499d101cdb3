"""Streamed answers, put together to the bodies of whole ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

from openfingym.models.echoing import OF_A_CALL, OF_A_FUNCTION, OF_A_MESSAGE, Fields, merged, unread
from openfingym.models.stated_usage import read_usage
from openfingym.models.wire import (
    MAX_CONTENT,
    THOUGHTS,
    Json,
    as_list,
    as_object,
    as_text,
    entries_of,
)


@dataclass
class _Call:
    """A call, as far as it came."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    fields: Fields = field(default_factory=dict)
    """Fields of the call that are not read."""
    inner: Fields = field(default_factory=dict)
    """Fields of its function that are not read."""

    @property
    def whole(self) -> bool:
        """Whether the arguments are a whole JSON object, so that nothing can follow."""
        text = self.arguments.strip()
        # Looked at before it is decoded: it may be long, and is asked for with each piece.
        if not text.endswith(("}", '"')):
            return False
        try:
            value = json.loads(text, strict=False)
            value = json.loads(value, strict=False) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return False
        return isinstance(value, dict)

    def body(self) -> Json:
        """The call as a whole answer has it."""
        return {
            **self.fields,
            "id": self.id,
            "function": {**self.inner, "name": self.name, "arguments": self.arguments},
        }


class StreamedAnswer:
    """Puts the chunks of a streamed answer together to the body of one that was sent as a whole.

    Args:
        names: names of the tools that were offered, by which a name in pieces is told from one that is repeated.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = names
        self._body: Json = {}
        """Fields beside the choices, as the latest chunk states them."""
        self._content: list[str] = []
        self._thoughts: dict[str, list[str]] = {}
        """Pieces of what the model thought, by the name of their field."""
        self._refusal: list[str] = []
        self._fields: object = {}
        """Fields of the message that are not read."""
        self._calls: list[_Call] = []
        self._numbered: dict[int, _Call] = {}
        """The latest call of each index by which the endpoint numbers calls."""
        self._next_id: str | None = None
        """Identifier of a call of which nothing but the head came, the same as that of the call before."""
        self._logprobs: list[object] = []
        self._ids: list[object] = []
        self._finish: object = None
        self._length = 0
        """Characters of text and arguments that came."""
        self._chosen = False
        """Whether any chunk held a choice."""

    @property
    def too_long(self) -> bool:
        """Whether more was said than is kept."""
        return self._length > MAX_CONTENT

    @property
    def finished(self) -> bool:
        """Whether the endpoint said that the answer is complete, or has counted the tokens of none at all."""
        return self._finish is not None or (not self._chosen and "usage" in self._body)

    def add(self, chunk: object) -> None:
        """Take the next chunk.

        Raises:
            MalformedAnswer: the chunk is not one of a chat completion.
        """
        body = as_object(chunk, "a chunk")
        self._body |= {key: body[key] for key in ("model", "prompt_token_ids") if body.get(key)}
        self._count(body.get("usage"))
        for item in as_list(body.get("choices")):
            choice = as_object(item, "a choice")
            self._chosen = True
            self._finish = choice.get("finish_reason") or self._finish
            if choice.get("error"):
                self._body["error"] = choice["error"]
            self._logprobs += entries_of(choice.get("logprobs"))
            self._ids += as_list(choice.get("token_ids"))
            self._add_delta(as_object(choice.get("delta") or {}, "a delta"))

    def body(self) -> Json:
        """The whole answer."""
        if not self._chosen:
            return self._body | {"choices": []}
        message: Json = {
            **cast("Json", self._fields),
            **{name: "".join(parts) for name, parts in self._thoughts.items()},
            "content": "".join(self._content),
            "refusal": "".join(self._refusal),
            "tool_calls": [call.body() for call in self._calls],
        }
        choice: Json = {"message": message, "finish_reason": self._finish}
        if self._logprobs:
            choice["logprobs"] = {"content": self._logprobs}
        if self._ids:
            choice["token_ids"] = self._ids
        return self._body | {"choices": [choice]}

    def _count(self, usage: object) -> None:
        """Take the usage of a chunk: the last that says something counts, since many chunks state zeros or nulls."""
        if isinstance(usage, Mapping) and usage and ("usage" not in self._body or _counts(usage)):
            self._body["usage"] = usage

    def _add_delta(self, delta: Mapping[str, object]) -> None:
        for name in THOUGHTS:
            if isinstance(delta.get(name), str):
                self._thoughts.setdefault(name, []).append(as_text(delta[name]))
        self._length += max((len(as_text(delta.get(name))) for name in THOUGHTS), default=0)
        for parts, part in ((self._content, delta.get("content")), (self._refusal, delta.get("refusal"))):
            parts.append(as_text(part))
            self._length += len(parts[-1])
        texts = {name for name in THOUGHTS if isinstance(delta.get(name), str)}
        self._fields = merged(self._fields, unread(delta, OF_A_MESSAGE | texts))
        calls = delta.get("tool_calls")
        for call in [calls] if isinstance(calls, Mapping) else as_list(calls):
            self._add_call(as_object(call, "a tool call"))
        if isinstance(delta.get("function_call"), Mapping):
            self._add_call({"function": delta["function_call"]})

    def _add_call(self, part: Mapping[str, object]) -> None:
        """Add a piece of a call: usually the first has its identifier and its name, the others parts of its
        arguments.
        """
        function = as_object(part.get("function") or {}, "a tool call's function")
        stated = function.get("arguments")
        arguments = json.dumps(stated) if isinstance(stated, Mapping | list) else as_text(stated)
        name = as_text(function.get("name"))
        call = self._call_of(part, name, arguments)
        if call is None:
            return
        call.id = call.id or as_text(part.get("id"))
        call.name = self._named(call.name, name)
        call.arguments += arguments
        call.fields = cast("Fields", merged(call.fields, unread(part, OF_A_CALL)))
        call.inner = cast("Fields", merged(call.inner, unread(function, OF_A_FUNCTION)))
        self._length += len(arguments)

    def _call_of(self, part: Mapping[str, object], name: str, arguments: str) -> _Call | None:
        """The call that a piece belongs to, which may begin with it; None for a piece that only repeats one."""
        index, call_id = part.get("index"), as_text(part.get("id"))
        number = index if isinstance(index, int) and not isinstance(index, bool) else None
        if number is not None:
            current = self._numbered.get(number)
        else:
            same = (call for call in self._calls if call_id and call.id == call_id)
            current = next(same, self._calls[-1] if self._calls else None)
        if current is None:
            return self._begun(number)
        if call_id and call_id == current.id:
            return current
        another = bool(call_id and current.id)
        if not name:
            # A call of the same name as the one before, whose head was taken for a repetition.
            unnumbered = number is None and not call_id
            if arguments.strip() and (self._next_id is not None or unnumbered) and current.whole:
                return self._begun(number, call_id or self._next_id or "", current.name)
            return current
        if not current.whole:
            # Whether a piece of a name, or a name in every piece, or the call of another tool.
            begins = (another or number is None) and name != current.name and not self._continues(current.name, name)
            return self._begun(number) if begins else current
        if name == current.name and not arguments.strip():
            self._next_id = call_id
            return None
        if name == current.name and not another and arguments.strip() == current.arguments.strip():
            return None
        return self._begun(number)

    def _begun(self, number: int | None, call_id: str = "", name: str = "") -> _Call:
        call = _Call(call_id, name)
        self._next_id = None
        self._calls.append(call)
        if number is not None:
            self._numbered[number] = call
        return call

    def _continues(self, name: str, piece: str) -> bool:
        """Whether a piece can be the next one of a name."""
        return not self._names or any(known.startswith(name + piece) for known in self._names)

    def _named(self, name: str, piece: str) -> str:
        """A name with the next piece of it, which may only repeat what is there."""
        if not name or not piece:
            return name or piece
        if self._names and self._continues(name, piece):
            return name + piece
        if piece == name or name in self._names:
            return name
        return piece if piece.startswith(name) else name + piece


async def chunks_of(text: bytes) -> AsyncIterator[object]:
    """The chunks of a stream that was read to its end, decoded.

    Raises:
        ValueError: a chunk is no JSON.
    """
    for line in text.splitlines():
        data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
        if data == b"[DONE]":
            return
        if data:
            yield json.loads(data)


def _counts(usage: Mapping[str, object]) -> bool:
    """Whether a usage says something, and more than zeros."""
    stated = read_usage(usage, said=False)
    return bool(stated.prompt or stated.completion or stated.total)
