"""Fields of an answer that are not read here, and have to go back with it unchanged: signatures of thoughts, thoughts.

Gemini 3 refuses a conversation whose calls lack the ``thought_signature`` that came with them, and DeepSeek one without
the ``reasoning_content`` of its answers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping

from openfingym.models.messages import well_formed

Fields = dict[str, object]
OF_A_MESSAGE = frozenset(
    {"role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio", "finish_reason"}
)
"""Fields of an answer's message that are read, or that no endpoint wants back."""
OF_A_CALL = frozenset({"id", "type", "index", "function"})
"""Fields of a call that are read."""
OF_A_FUNCTION = frozenset({"name", "arguments"})
"""Fields of a call's function that are read."""
MOST_NESTED = 24
"""Most levels of a field that is kept."""
MOST_CHARACTERS = 1_000_000
"""Most characters of the fields of one message or call, as JSON; with more of them, none are kept."""


def unread(fields: Mapping[str, object], read: Collection[str]) -> Fields:
    """The fields that are not among those that are read, as JSON values that can be sent and recorded.

    A field without a value is none: many servers list all that they know, and refuse most of it in a request.
    """
    kept = {str(name): value for name, value in fields.items() if name not in read and value is not None}
    if not kept:
        return {}
    try:
        plain = {well_formed(name): _plain(value, 0) for name, value in kept.items()}
        return plain if len(json.dumps(plain)) <= MOST_CHARACTERS else {}
    except (ValueError, RecursionError):
        return {}


def merged(before: object, piece: object) -> object:
    """A field of a streamed answer, with the next piece of it.

    Texts are joined, unless the piece only repeats what is there; lists go on, and an item that continues the one
    before (of the same ``index`` and ``type``) is joined to it; objects are merged field by field.
    """
    if before is None or piece is None:
        return piece if before is None else before
    if isinstance(before, str) and isinstance(piece, str):
        return before if piece == before else before + piece
    if isinstance(before, Mapping) and isinstance(piece, Mapping):
        return {**before, **{name: merged(before.get(name), value) for name, value in piece.items()}}
    if isinstance(before, list) and isinstance(piece, list):
        items = list(before)
        for item in piece:
            if items and _continues(items[-1], item):
                items[-1] = merged(items[-1], item)
            else:
                items.append(item)
        return items
    return piece


def _continues(last: object, item: object) -> bool:
    """Whether an item of a list is the next piece of the last one."""
    if not isinstance(last, Mapping) or not isinstance(item, Mapping) or item.get("index") is None:
        return False
    return (last.get("index"), last.get("type")) == (item["index"], item.get("type"))


def _plain(value: object, depth: int) -> object:
    """A value as JSON has it.

    Raises:
        ValueError: it is nested too deep.
    """
    if depth > MOST_NESTED:
        raise ValueError(f"nested deeper than {MOST_NESTED} levels")
    if isinstance(value, Mapping):
        return {well_formed(str(name)): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | bool | None) else str(value)
