"""Messages to and from the inside of a workspace, of which nothing that arrives is trusted.

A message is four bytes of length, big-endian, and a JSON object. The reader states beforehand how long an
answer may be, so that what was asked for bounds the memory that it takes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass

HEADER = struct.Struct(">I")
ENVELOPE_BYTES = 4096
"""Room in an answer for everything but its content."""


class WorkspaceFrameError(Exception):
    """Raised when what arrived is not a valid answer."""


def room_for(content_bytes: int) -> int:
    """Length in bytes of the longest message with so many bytes of content, which are base64 in it."""
    return ENVELOPE_BYTES + 4 * (content_bytes // 3 + 1)


async def send(writer: asyncio.StreamWriter, message: Mapping[str, object]) -> None:
    """Send a message, and return when the other side has taken most of it."""
    body = json.dumps(message).encode()
    writer.write(HEADER.pack(len(body)) + body)
    await writer.drain()


async def receive(reader: asyncio.StreamReader, most_bytes: int) -> Fields:
    """The next message.

    Raises:
        EOFError: the other side is gone.
        WorkspaceFrameError: the message is longer than ``most_bytes``, or not a JSON object.
    """
    (size,) = HEADER.unpack(await reader.readexactly(HEADER.size))
    # Before the content is read: a length alone must not make this process hold gigabytes.
    if size > most_bytes:
        raise WorkspaceFrameError(f"a message of {size} bytes, where at most {most_bytes} were expected")
    try:
        message = json.loads(await reader.readexactly(size))
    # Deeply nested JSON exhausts the parser's stack.
    except (ValueError, RecursionError) as error:
        raise WorkspaceFrameError(f"no JSON ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise WorkspaceFrameError("no JSON object")
    return Fields(message)


@dataclass(frozen=True)
class Fields:
    """A message that arrived. Every method raises :class:`WorkspaceFrameError` if the field is not what it must be."""

    values: Mapping[str, object]
    """The fields as they arrived, by name."""

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def integer(self, name: str, low: int, high: int) -> int:
        """The field ``name``, a whole number in [low, high]."""
        value = self.values.get(name)
        # Not isinstance(), to which true and false are integers.
        if type(value) is not int or not low <= value <= high:
            raise WorkspaceFrameError(f"{name!r} is no whole number from {low} to {high}")
        return value

    def text(self, name: str, most: int) -> str:
        """The field ``name``, a text of at most ``most`` characters that can be written as UTF-8."""
        return clean(self.values.get(name), name, most)

    def content(self, name: str, most: int) -> bytes:
        """The field ``name``, at most ``most`` bytes in base64."""
        value = self.values.get(name)
        try:
            content = base64.b64decode(value, validate=True) if isinstance(value, str) else None
        except ValueError:
            content = None
        if content is None or len(content) > most:
            raise WorkspaceFrameError(f"{name!r} is no base64 of at most {most} bytes")
        return content

    def items(self, name: str, most: int) -> list[object]:
        """The field ``name``, a list of at most ``most`` items."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise WorkspaceFrameError(f"{name!r} is no list of at most {most} items")
        return value


def clean(value: object, name: str, most: int) -> str:
    """A value as a text of at most ``most`` characters that can be written as UTF-8.

    Args:
        value: a value that was read from JSON.
        name: name of the field that it is of, for the error message.
        most: most characters that the text may have.

    Raises:
        WorkspaceFrameError: the value is no text, or a longer one.
    """
    if not isinstance(value, str) or len(value) > most:
        raise WorkspaceFrameError(f"{name!r} is no text of at most {most} characters")
    # JSON can hold half of a surrogate pair, which no file or terminal takes.
    return value.encode("utf-8", "replace").decode()
