"""Conversations for supervised fine-tuning (SFT): one row for each rollout, all rows of one form.

A row holds ``messages`` and ``tools`` as chat templates take them, with arguments as objects, and columns to select by:
reward, state, task, split, agent, model, seed. Every key is in every row and in every message, None where it does not
apply, so that all readers see the same columns.

Trainers learn from every message of the model that they are given, and most of them cannot leave one out. So a
conversation is cut before the first message that is not to be learnt: one that is empty, that was cut off or refused,
whose calls cannot be read, or whose loss mask holds no 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from openfingym.digests import sha256_of_json
from openfingym.errors import DataError
from openfingym.models.messages import ToolCall, well_formed
from openfingym.models.wire import request_tool
from openfingym.trajectory.record import RolloutRecord, Turn

Json = dict[str, object]
Unlearnable = Literal["cut", "mark", "omit"]
"""What becomes of a message that is not to be learnt. ``cut``: the conversation ends before it. ``mark``: it stays,
with ``train`` false, for readers that heed it. ``omit``: the whole conversation is left out."""

# A space behind the first character breaks a token up, and leaves the text readable.
_CONTROL = re.compile(
    r"<(?=(?:\|[^<>|\s]{1,40}\||｜[^<>｜\n]{1,40}｜"  # the form of most: <|im_end|>, <｜User｜>
    r"|/?(?:tool_calls?|tool_response|tools|s|bos|eos|pad|unk|start_of_turn|end_of_turn)|turn\||\|turn)>)"
    r"|\[(?=/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])"
)
"""The first character of a text that tokenizers of models take for a control token."""
_DEEPEST = 64
"""Most objects and lists within each other in arguments, since chat templates and readers of files recurse."""
_UNFINISHED = frozenset({"length", "content_filter", "refusal"})
"""Reasons for which an answer ended before the model was done."""


def to_messages(rollout: RolloutRecord, unlearnable: Unlearnable = "cut") -> Json:
    """A rollout as one row.

    In every text, what tokenizers take for a control token (``<|im_end|>``) gets a space after its first character,
    since it would otherwise end the message that quotes it; ``control_tokens`` counts the places.

    Args:
        rollout: the rollout; the last message of the row is the model's last one that is to be learnt.
        unlearnable: what becomes of a message that is not to be learnt.

    Raises:
        DataError: no message is to be learnt, or there is one that is not and ``unlearnable`` is ``omit``.
    """
    answers = [index for index, turn in enumerate(rollout.messages) if turn.role == "assistant"]
    hidden = {index for index in answers if not learnable(rollout.messages[index])}
    if unlearnable == "omit" and hidden:
        raise DataError(f"rollout {rollout.id} holds a message that is not to be learnt")
    taught = [index for index in answers if index < min(hidden, default=len(rollout.messages)) or unlearnable == "mark"]
    # What follows the last message that is to be learnt would only be read, and teach nothing.
    while taught and taught[-1] in hidden:
        taught.pop()
    if not taught:
        raise DataError(f"rollout {rollout.id} holds no message of a model that is to be learnt")
    text = _Texts()
    turns = rollout.messages[: taught[-1] + 1]
    messages = [
        message
        for index, turn in enumerate(turns)
        for message in _messages(turn, text, train=index not in hidden, last=index == taught[-1])
    ]
    score = rollout.score
    return {
        "id": rollout.id,
        "messages": messages,
        "tools": [text.within(request_tool(tool)) for tool in rollout.tools],
        "reward": score.reward,
        "relative_total": score.relative_total,
        "state": score.state,
        "task": rollout.task,
        "task_digest": rollout.task_digest,
        "data_kind": rollout.data_kind,
        "split": rollout.split,
        "instance": rollout.instance,
        "agent": rollout.agent,
        "model": rollout.model,
        "seed": rollout.seed,
        "not_trained": len(hidden.intersection(range(len(turns)))),
        "control_tokens": text.broken,
        "digest": conversation_digest(messages),
    }


def to_sharegpt(rollout: RolloutRecord) -> Json:
    """A rollout as one row in the form that LLaMA-Factory calls ``sharegpt``, cut as by :func:`to_messages`.

    Arguments and tools are JSON texts, which no reader of files changes. Turns of the model and of others alternate, so
    what follows a result without an answer between the two is joined to it. Reasoning stands before the answer in
    ``<think>`` tags.

    Raises:
        DataError: no message is to be learnt, or the model's turns do not alternate with others'.
    """
    row = to_messages(rollout)
    messages, tools = row.pop("messages"), row.pop("tools")
    assert isinstance(messages, list)
    system, turns = "", list[Json]()
    for message in messages:
        if message["role"] == "system":
            system = f"{system}\n\n{message['content']}".strip()
            continue
        side, value = _turn_of(message)
        # LLaMA-Factory leaves out a row in which the two sides do not alternate, beginning with the human.
        both = turns and turns[-1]["from"] in {"human", "observation"} and side in {"human", "observation"}
        if both:
            between = _BETWEEN_RESULTS if (turns[-1]["from"], side) == ("observation", "observation") else "\n\n"
            turns[-1]["value"] = f"{turns[-1]['value']}{between}{value}"
        else:
            turns.append({"from": side, "value": value})
    sides = [turn["from"] in {"human", "observation"} for turn in turns]
    if sides != [index % 2 == 0 for index in range(len(turns))]:
        raise DataError(f"rollout {rollout.id} does not alternate between the model and what it is told")
    written = json.dumps(tools, ensure_ascii=False) if tools else ""
    return {"id": row.pop("id"), "conversations": turns, "system": system, "tools": written, **row}


_BETWEEN_RESULTS = "\n</tool_response>\n<tool_response>\n"
"""What stands between the results of parallel calls where LLaMA-Factory joins them."""


def conversation_digest(messages: Sequence[Json]) -> str:
    """SHA-256 of what a conversation says, without identifiers of calls and with any white space as one space."""
    return sha256_of_json([_plain(message) for message in messages])


def learnable(turn: Turn) -> bool:
    """Whether a message of a model is to be learnt."""
    if not (turn.content.strip() or turn.tool_calls):
        return False
    generation = turn.generation
    if generation is not None and generation.finish_reason in _UNFINISHED:
        return False
    tokens = generation.tokens if generation else None
    if tokens is not None and tokens.loss_mask and not any(tokens.loss_mask):
        return False
    return all(_readable(ToolCall(call.id, call.name, call.arguments)) for call in turn.tool_calls)


class _Texts:
    """Makes texts safe to write and to tokenise, and counts the control tokens in them."""

    def __init__(self) -> None:
        self.broken = 0
        """How many control tokens were broken up."""

    def plain(self, text: str) -> str:
        """A text without control tokens and half surrogate pairs."""
        plain, count = _CONTROL.subn(lambda match: f"{match[0]} ", well_formed(text))
        self.broken += count
        return plain

    def within(self, value: object) -> object:
        """A JSON value, all texts of which are plain."""
        if isinstance(value, str):
            return self.plain(value)
        if isinstance(value, dict):
            return {self.plain(key): self.within(item) for key, item in value.items()}
        return [self.within(item) for item in value] if isinstance(value, list) else value


def _messages(turn: Turn, text: _Texts, *, train: bool, last: bool) -> Iterator[Json]:
    """A turn's message, and the results of its calls unless it is the last.

    Args:
        turn: the message as it is recorded, with its calls.
        text: makes texts safe, and counts.
        train: whether the message is to be learnt, if it is the model's.
        last: whether it is the last message of the row.
    """
    # The model's own arguments may be unreadable; templates want an object for each.
    calls = [ToolCall(call.id, call.name, call.arguments).sendable() for call in turn.tool_calls]
    functions = [{"name": call.name, "arguments": text.within(_arguments(call))} for call in calls]
    written = [
        {"id": well_formed(call.id), "type": "function", "function": function}
        for call, function in zip(calls, functions, strict=True)
    ]
    yield _message(
        turn.role,
        text.plain(turn.content),
        reasoning_content=text.plain(turn.reasoning) if turn.reasoning else None,
        tool_calls=written or None,
        train=train and turn.role == "assistant",
    )
    if not last:
        # A call without a result gets an empty one: templates want one for each before the next message.
        for call, use in zip(calls, turn.tool_calls, strict=True):
            result = text.plain(use.result or "")
            yield _message("tool", result, tool_call_id=well_formed(use.id), name=call.name)


def _message(role: str, content: str, **others: object) -> Json:
    """A message with every key that a message may have, None where it does not apply."""
    absent: Json = dict.fromkeys(("reasoning_content", "tool_calls", "tool_call_id", "name"))
    return {"role": role, "content": content, **absent, "train": False, **others}


def _arguments(call: ToolCall) -> Json:
    """Arguments as an object, or an object with their text, where they cannot be read."""
    return call.parsed() if _readable(call) else {"unreadable": call.arguments}


def _readable(call: ToolCall) -> bool:
    """Whether a call's arguments are a JSON object of finite numbers, nested no deeper than :data:`_DEEPEST`."""
    try:
        arguments = call.parsed()
        json.dumps(arguments, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    # Level by level: after so many of them, nothing may be left.
    inside: list[object] = [arguments]
    for _ in range(_DEEPEST):
        inside = [
            part
            for value in inside
            if isinstance(value, dict | list)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
    return not inside


def _plain(message: Json) -> Json:
    """What a message says: its role, its text and its calls, with any white space as one space."""
    calls = message["tool_calls"]
    functions = [call["function"] for call in calls] if isinstance(calls, list) else []
    return {"role": message["role"], "content": _spaced(message["content"]), "calls": _spaced(functions)}


def _spaced(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _spaced(item) for key, item in value.items()}
    return [_spaced(item) for item in value] if isinstance(value, list) else value


def _turn_of(message: Json) -> tuple[str, str]:
    """Who speaks, in ShareGPT's words, and the text."""
    content, calls = str(message["content"]), message["tool_calls"]
    if message["role"] != "assistant":
        return ("observation" if message["role"] == "tool" else "human"), content
    thought = f"<think>\n{message['reasoning_content']}\n</think>\n\n" if message["reasoning_content"] else ""
    if not isinstance(calls, list):
        return "gpt", thought + content
    functions = json.dumps([call["function"] for call in calls], ensure_ascii=False)
    # LLaMA-Factory takes a turn for calls as a whole, unless they stand in these tags beside a text.
    return (
        "function_call",
        f"{thought}{content}\n<tool_call>{functions}</tool_call>" if content else thought + functions,
    )
