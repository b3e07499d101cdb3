"""Reading a request that a stranger's program makes: every part is checked, and none is passed on unread."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import NoReturn

from openfingym.models.messages import Tool, well_formed

Json = Mapping[str, object]
MOST_MESSAGES = 10_000
MOST_TOOLS = 256
MOST_STOPS = 16
MOST_REPLY_TOKENS = 10_000_000
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
"""Keys of a JSON schema whose values point at other schemas."""
_IDENTITIES = frozenset({"$schema", "$id", "id", "$anchor", "$vocabulary"})
"""Keys of a JSON schema by which it is known elsewhere: addresses, which mean nothing to a model."""


class RefusedRequestError(ValueError):
    """A request that is not answered.

    Attributes:
        status: the HTTP status.
        code: stable name of the reason, such as ``unsupported``.
    """

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def unsupported(what: str, instead: str) -> NoReturn:
    """Refuse a request for something that leads out of the rollout, or that no answer of ours can hold.

    Raises:
        RefusedRequestError: always.
    """
    raise RefusedRequestError(f"{what}: not offered here; {instead}", code="unsupported")


def parsed(body: bytes) -> Json:
    """The JSON object in the body of a request.

    Raises:
        RefusedRequestError: it is none.
    """
    try:
        document = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise RefusedRequestError(f"the body is no JSON ({type(error).__name__})") from None
    return as_object(document, "the body")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def as_object(value: object, what: str) -> Json:
    """A value that must be a JSON object."""
    if not isinstance(value, dict):
        raise RefusedRequestError(f"{what} must be an object, found {_kind(value)}")
    return value


def as_list(value: object, what: str, most: int) -> list[object]:
    """A value that must be a list of at most ``most`` items."""
    if not isinstance(value, list) or len(value) > most:
        raise RefusedRequestError(f"{what} must be a list of at most {most} items, found {_kind(value)}")
    return value


def as_text(value: object, what: str) -> str:
    """A value that must be a text."""
    if not isinstance(value, str):
        raise RefusedRequestError(f"{what} must be a text, found {_kind(value)}")
    return well_formed(value)


def as_flag(value: object, what: str) -> bool:
    """A value that must be true, false or null."""
    if value is not None and not isinstance(value, bool):
        raise RefusedRequestError(f"{what} must be true or false, found {_kind(value)}")
    return value is True


def as_count(value: object, what: str) -> int | None:
    """A value that must be a number of tokens, or null."""
    if value is None:
        return None
    # Not isinstance(), to which true and false are integers.
    if type(value) is not int or not 1 <= value <= MOST_REPLY_TOKENS:
        raise RefusedRequestError(f"{what} must be a whole number from 1, found {_kind(value)}")
    return value


def as_temperature(value: object) -> float | None:
    """A value that must be a sampling temperature, or null."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2 or not math.isfinite(value):
        raise RefusedRequestError(f"temperature must be a number from 0 to 2, found {_kind(value)}")
    return float(value)


def as_stops(value: object, what: str) -> tuple[str, ...]:
    """A value that must be a text, a few of them, or null; empty ones are left out."""
    values = [] if value is None else [value] if isinstance(value, str) else as_list(value, what, MOST_STOPS)
    return tuple(text for text in (as_text(item, what) for item in values) if text)


def as_texts(value: object, what: str, allowed: tuple[str, ...] = ("text",)) -> str:
    """A content that must be a text, null, or a list of parts that are texts, which are put together.

    Args:
        value: the content.
        what: what it is of, for messages.
        allowed: types of parts that hold a text, each under the name of its type.

    Raises:
        RefusedRequestError: a part is of another type, such as an image at an address.
    """
    if value is None or isinstance(value, str):
        return well_formed(value or "")
    texts = []
    for item in as_list(value, what, MOST_MESSAGES):
        part = as_object(item, f"a part of {what}")
        kind = part.get("type")
        if not isinstance(kind, str) or kind not in allowed:
            unsupported(f"a part of type {str(kind)[:40]!r} in {what}", "the model reads text alone")
        texts.append(as_text(part.get(kind), f"a text in {what}"))
    return "".join(texts)


def read_tool(name: object, description: object, schema: object) -> Tool:
    """A function that the client offers, made anew of its parts."""
    known = as_text(name, "a tool's name")
    if not _TOOL_NAME.fullmatch(known):
        raise RefusedRequestError("a tool's name has 1 to 128 letters, digits, '_', '-' or '.'")
    parameters = {"type": "object", "properties": {}} if schema is None else as_object(schema, f"{known}'s parameters")
    try:
        return Tool(known, "" if description is None else as_text(description, "a description"), _local(parameters))
    except RecursionError:
        raise RefusedRequestError(f"the parameters of {known!r} are nested too deep") from None


def _local(schema: Json) -> dict[str, object]:
    """A schema without addresses: some endpoints fetch the schemas that one points at."""
    kept: dict[str, object] = {}
    for key, value in schema.items():
        name = well_formed(key)
        if key in _REFERENCES and not (isinstance(value, str) and value.startswith("#")):
            unsupported(f"a schema that points at {str(value)[:60]!r}", "state the schema itself, or '#/$defs/NAME'")
        # An argument may be called "id", and its schema is an object.
        if key in _IDENTITIES and isinstance(value, str):
            continue
        kept[name] = _local_value(value)
    return kept


def _local_value(value: object) -> object:
    if isinstance(value, dict):
        return _local(value)
    if isinstance(value, list):
        return [_local_value(item) for item in value]
    return well_formed(value) if isinstance(value, str) else value


def require_once(ids: list[str], what: str) -> None:
    """Refuse two of the same identifiers."""
    if len(set(ids)) < len(ids):
        raise RefusedRequestError(f"two {what} have the same identifier")


def _kind(value: object) -> str:
    """What a value is, for a message."""
    if value is None:
        return "null"
    names = {
        bool: "a truth value",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)
