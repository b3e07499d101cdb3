"""Frames of OpenEnv's WebSocket protocol: one text frame in, one out, in order.

::

    -> {"type": "reset", "data": {...}}            <- {"type": "observation", "data": {"observation", "reward", "done"}}
    -> {"type": "step", "data": {ACTION}}          <- the same
    -> {"type": "state"}                           <- {"type": "state", "data": {"episode_id", "step_count", ...}}
    -> {"type": "mcp", "data": JSON-RPC}           <- {"type": "mcp", "data": JSON-RPC}
    -> {"type": "close"}                           (the socket is closed)
                                                   <- {"type": "error", "data": {"message", "code", ...}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Json = dict[str, Any]
Code = Literal[
    "INVALID_JSON",
    "UNKNOWN_TYPE",
    "VALIDATION_ERROR",
    "EXECUTION_ERROR",
    "CAPACITY_REACHED",
    "FACTORY_ERROR",
    "SESSION_ERROR",
]
"""Codes of errors, as OpenEnv names them."""
TYPES = frozenset({"reset", "step", "state", "mcp", "close"})
"""Types of frames that a client may send."""
EVENT = ("kind", "bar", "order_id", "symbol", "side", "quantity", "price", "fee", "slippage", "reason")
"""Columns of the table of events of a trading environment's step, in their order."""
MAX_FRAME = 4 * 1024 * 1024
"""Most bytes of a frame or a body that a client may send."""


class ActionRefused(Exception):  # noqa: N818  # an answer, not a failure
    """What a client asked for was not done; the message is for the client to read.

    Attributes:
        code: code of the error, as OpenEnv names it.
        more: further keys of the error's data.
    """

    def __init__(self, code: Code, message: str, **more: object) -> None:
        super().__init__(message)
        self.code = code
        self.more = more

    @property
    def frame(self) -> Json:
        """The error as a frame."""
        return {"type": "error", "data": {"message": str(self), "code": self.code, **self.more}}


def invalid(place: str, problem: str, *, kind: str = "value_error", message: str = "Invalid message") -> ActionRefused:
    """A refusal of something that does not have the expected form.

    Args:
        place: the key that is wrong, with dots between the parts of its path; empty for the whole.
        problem: what was found and what was expected.
        kind: type of the problem, as pydantic names it, which OpenEnv uses.
        message: one line about what is refused.
    """
    fault = {"type": kind, "loc": place.split(".") if place else [], "msg": problem}
    return ActionRefused("VALIDATION_ERROR", f"{message}: {place or 'it'}: {problem}", errors=[fault])


class Frame(msgspec.Struct, forbid_unknown_fields=True):
    """A message of a client."""

    type: Any = ""
    data: Json | msgspec.UnsetType = msgspec.UNSET


_frames = msgspec.json.Decoder(Frame)
_values = msgspec.json.Decoder()


def read(text: str | bytes) -> Frame:
    """Read a frame.

    Args:
        text: the frame's text, JSON.

    Raises:
        ActionRefused: the frame is malformed; the session goes on.
    """
    try:
        frame = _frames.decode(text)
    except msgspec.ValidationError as error:
        raise _unfit(decode(text), str(error)) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ActionRefused("INVALID_JSON", f"Invalid JSON: {error}") from None
    if not (isinstance(frame.type, str) and frame.type in TYPES):
        raise _unknown(frame.type)
    if frame.data is msgspec.UNSET:
        if frame.type in {"step", "mcp"}:
            raise invalid("data", "it is missing", kind="missing")
        frame.data = {}
    elif frame.type in {"state", "close"}:
        raise invalid("data", f"a {frame.type} message has none", kind="extra_forbidden")
    return frame


def _unfit(value: object, problem: str) -> ActionRefused:
    """What is wrong with JSON that is no frame: its type, if that is unknown, or else its form."""
    if isinstance(value, dict):
        kind = value.get("type", "")
        if not (isinstance(kind, str) and kind in TYPES):
            return _unknown(kind)
        if extra := sorted(set(value) - {"type", "data"}):
            return invalid(extra[0], "a message has no such key", kind="extra_forbidden")
        return invalid("data", problem, kind="dict_type")
    return invalid("", f"expected an object, found {str(value)[:60]}", kind="dict_type")


def _unknown(kind: object) -> ActionRefused:
    return ActionRefused("UNKNOWN_TYPE", f"Unknown message type: {str(kind)[:100]}; known: {', '.join(sorted(TYPES))}")


def decode(text: str | bytes) -> Any:
    """The JSON value of a text.

    Raises:
        ActionRefused: the text is not JSON.
    """
    try:
        return _values.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ActionRefused("INVALID_JSON", f"Invalid JSON: {error}") from None


def _plain(value: object) -> object:
    """A value that JSON can hold, in the place of an array, a number of NumPy's or a record."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "array"):  # events of a step; a number names each of their kinds
        return [dict(zip(EVENT, row, strict=True)) for row in value.array.tolist()]
    return list(value) if hasattr(value, "__iter__") else str(value)


encode = msgspec.json.Encoder(enc_hook=_plain).encode
"""JSON of a value that may hold arrays; a number that is not finite is null."""
