"""Messages, tools and completions: what is said to a model and what it answers.

Plain frozen values, of no vendor's form; :mod:`openfingym.models.wire` turns them into the bodies of chat completions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
CallForm = Literal["native", "text", "written", "block"]
"""How tools were offered and called. ``native``: by the endpoint's own means. ``text``: explained in the system
message, and called in the text of answers. ``written``: offered natively, and yet called in the text. ``block``:
offered, and never called; a code block was run instead."""
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "refusal"]
"""Why a completion ended. ``refusal``: the model said, in the field made for it, that it will not."""
CHARACTERS_A_TOKEN = 4
"""Characters of text that make a token, roughly, where nobody counted tokens."""
MOST_ENCODED = 3
"""How often arguments may have been encoded again as a text."""
_FENCE = re.compile(r"^```(?:json)?\s*|\s*```$")
"""The marks of a code block around arguments."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""A character that endpoints do not take in a tool's name."""


def well_formed(text: str) -> str:
    """A text that can be encoded as UTF-8: half a surrogate pair, which JSON can state, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that a model asks for."""

    id: str
    """Identifier of the call, which its result carries too."""
    name: str
    """Name of the tool, which may not exist."""
    arguments: str
    """JSON text as the model wrote it, which may be anything."""
    written: bool = field(default=False, compare=False)
    """Whether the call was read from the text of the answer, and not sent as a call."""
    wrote: str | None = field(default=None, compare=False)
    """The tool's name as the model wrote it, where it was mended to make :attr:`name`; None where it was not."""
    fields: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    """Fields of the call that are not read here, such as a signature of the thoughts behind it. They go back with it
    as they came; those of its ``function`` are in an object of that name."""

    def parsed(self) -> dict[str, object]:
        """The arguments as an object.

        Raises:
            ValueError: the arguments are no JSON object; the message is fit for the model to read.
        """
        text = _FENCE.sub("", self.arguments.strip())
        try:
            # Not strict: models write line breaks into the texts of their JSON.
            arguments = json.loads(text or "{}", strict=False)
            # Some models, and some endpoints, encode the object twice, or three times.
            for _ in range(MOST_ENCODED):
                if isinstance(arguments, str):
                    arguments = json.loads(arguments.strip(), strict=False)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the arguments of {self.name!r} are not valid JSON ({error})") from None
        # Null stands for no arguments, of a tool that takes none.
        arguments = {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            raise ValueError(f"the arguments of {self.name!r} must be a JSON object, found {type(arguments).__name__}")
        return arguments

    def sendable(self) -> ToolCall:
        """The call in a form that every endpoint takes back: with a name, and with a JSON object for arguments."""
        # Endpoints check both, some at 64 characters; what the model wrote is still there for it to see.
        name = _NO_NAME.sub("_", self.name)[:64] or "unknown"
        try:
            arguments = self.arguments.strip() or "{}"
            if not _is_object(arguments):
                arguments = json.dumps(self.parsed())
        except ValueError:
            arguments = json.dumps({"unreadable": self.arguments})
        return replace(self, name=name, arguments=arguments)

    def as_written(self) -> ToolCall:
        """The call with the name that the model wrote."""
        return self if self.wrote is None else replace(self, name=self.wrote, wrote=None)


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object, as a server reads it that takes no other."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls in an assistant's message."""
    tool_call_id: str | None = None
    """In a tool's message, the identifier of the call whose result it is."""
    reasoning: str | None = None
    """What a reasoning model thought, where its endpoint shows it."""
    said: str | None = field(default=None, compare=False, repr=False)
    """The whole text of the answer, where thoughts or calls were taken out of it to make :attr:`content`."""
    thought_aloud: bool = field(default=False, compare=False, repr=False)
    """Whether :attr:`reasoning` was taken out of that text, and did not come in a field of its own."""
    reasoning_field: str | None = field(default=None, compare=False, repr=False)
    """Name of the field that :attr:`reasoning` came in, in which it goes back; None where it came in none, and goes
    back only where that is asked for."""
    fields: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    """Fields of an answer that are not read here, which go back with it as they came."""

    def as_said(self) -> Message:
        """The message with the text that the model wrote, before thoughts and calls were taken out of it."""
        if self.role != "assistant":
            return self
        # What stands in the text must not be sent a second time beside it.
        calls = tuple(call.as_written() for call in self.tool_calls if not call.written)
        if self.said is None:
            return replace(self, tool_calls=calls)
        reasoning = None if self.thought_aloud else self.reasoning
        return replace(self, content=self.said, tool_calls=calls, reasoning=reasoning, said=None, thought_aloud=False)


@dataclass(frozen=True)
class Tool:
    """A function that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, object]
    """JSON schema of the arguments, an object."""

    @property
    def properties(self) -> Mapping[str, object]:
        """The schema of each argument, by its name."""
        properties = self.parameters.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    @property
    def texts(self) -> frozenset[str]:
        """Names of the arguments that are texts."""
        return frozenset(
            name
            for name, schema in self.properties.items()
            if isinstance(schema, Mapping) and schema.get("type") == "string"
        )


@dataclass(frozen=True)
class Usage:
    """Tokens of one or more completions."""

    prompt: int = 0
    """All input tokens, cached ones included."""
    completion: int = 0
    """All output tokens, reasoning included."""
    cached: int = 0
    """Part of ``prompt`` that was read from a cache."""
    reasoning: int = 0
    """Part of ``completion`` that the model spent on thoughts."""

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True)
class CompletionTokens:
    """The tokens of one completion, for training without tokenising again."""

    prompt_ids: tuple[int, ...] = ()
    """Token ids of everything that the model was given; empty where the endpoint does not tell."""
    completion_ids: tuple[int, ...] = ()
    """Token ids of the answer; empty where the endpoint does not tell."""
    logprobs: tuple[float, ...] = ()
    """Natural logarithm of the probability of each token of the answer; empty where the endpoint does not tell."""
    loss_mask: tuple[Literal[0, 1], ...] = ()
    """Whether each token of the answer is trained on; empty for all. No endpoint says so; a trainer that answers in the
    place of one may."""


@dataclass(frozen=True)
class Completion:
    """One answer of a model, and what it took."""

    message: Message
    finish_reason: FinishReason
    usage: Usage
    model: str
    """The model's name as the endpoint states it, which may be more exact than what was asked for."""
    cost_usd: float | None = None
    """None where no price is known: never a guess, and never 0 for want of one."""
    latency_s: float = 0.0
    """Seconds from sending the request that was answered to the end of the answer."""
    attempts: int = 1
    """Requests that were sent, the failed ones included."""
    counted: bool = True
    """Whether the endpoint counted the tokens; if not, ``usage`` is estimated from the characters."""
    tokens: CompletionTokens | None = field(default=None, repr=False)
    """Tokens of the answer, where they were asked for and the endpoint tells them."""
    call_form: CallForm | None = None
    """How tools were offered and called; None where none were offered."""


def estimated_usage(messages: Sequence[Message], answer: Message, tools: Sequence[Tool] = ()) -> Usage:
    """Tokens by the number of characters, so that a limit on tokens holds even where nobody counted them.

    Args:
        messages: the conversation that was sent.
        answer: the answer, of which thoughts are a part.
        tools: the tools that were offered.
    """
    prompt = sum(_size(message, thoughts=message.reasoning_field is not None) for message in messages)
    prompt += sum(len(tool.name + tool.description) + len(json.dumps(dict(tool.parameters))) for tool in tools)
    # Division that rounds up: no text is free.
    return Usage(-(-prompt // CHARACTERS_A_TOKEN), -(-_size(answer, thoughts=True) // CHARACTERS_A_TOKEN))


def _size(message: Message, *, thoughts: bool) -> int:
    """Characters of a message's texts."""
    texts = [message.content, *(part for call in message.tool_calls for part in (call.name, call.arguments))]
    if thoughts and message.reasoning:
        texts.append(message.reasoning)
    return sum(map(len, texts))
