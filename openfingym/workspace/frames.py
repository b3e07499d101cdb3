"""Messages to and from the inside of a workspace, of which nothing that arrives is trusted.

A message is four bytes of length, big-endian, and a JSON object. The reader says beforehand how long an
answer may be, so that memory is bounded by what was asked for.
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
"""Room for everything in an answer that is not its content."""


class WorkspaceFrameError(Exception):
    """Raised when what arrived is not a valid answer."""


def room_for(content_bytes: int) -> int:
    """Longest message that carries so many bytes in base64."""
    return ENVELOPE_BYTES + 4 * (content_bytes // 3 + 1)


async def send(writer: asyncio.StreamWriter, message: Mapping[str, object]) -> None:
    """Send a message; returns when the other side has taken most of it."""
    body = json.dumps(message).encode()
    writer.write(HEADER.pack(len(body)) + body)
    await writer.drain()


async def receive(reader: asyncio.StreamReader, most_bytes: int) -> Fields:
    """The next message.

    Raises:
        EOFError: the other side is gone.
        FrameError: it is longer than ``most_bytes``, or no JSON object.
    """
    (size,) = HEADER.unpack(await reader.readexactly(HEADER.size))
    # Before anything is read: a length alone must not make this process hold gigabytes.
    if size > most_bytes:
        raise WorkspaceFrameError(f"a message of {size} bytes, where at most {most_bytes} were expected")
    try:
        found = json.loads(await reader.readexactly(size))
    except (ValueError, RecursionError) as error:
        raise WorkspaceFrameError(f"no JSON ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise WorkspaceFrameError("no JSON object")
    return Fields(found)


@dataclass(frozen=True)
class Fields:
    """A message that arrived; every method raises :class:`WorkspaceFrameError` where the field is not what it must
    be.
    """

    values: Mapping[str, object]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def integer(self, name: str, low: int, high: int) -> int:
        """A whole number in [low, high]."""
        found = self.values.get(name)
        # Not isinstance: true and false are integers to Python.
        if type(found) is not int or not low <= found <= high:
            raise WorkspaceFrameError(f"{name!r} is no whole number from {low} to {high}")
        return found

    def text(self, name: str, most: int) -> str:
        """At most so many characters, made printable as UTF-8."""
        return clean(self.values.get(name), name, most)

    def content(self, name: str, most: int) -> bytes:
        """At most so many bytes."""
        found = self.values.get(name)
        try:
            content = base64.b64decode(found, validate=True) if isinstance(found, str) else None
        except ValueError:
            content = None
        if content is None or len(content) > most:
            raise WorkspaceFrameError(f"{name!r} is no base64 of at most {most} bytes")
        return content

    def items(self, name: str, most: int) -> list[object]:
        """A list of at most so many items."""
        found = self.values.get(name)
        if not isinstance(found, list) or len(found) > most:
            raise WorkspaceFrameError(f"{name!r} is no list of at most {most} items")
        return found


def clean(found: object, name: str, most: int) -> str:
    """``found`` as a text of at most ``most`` characters that can be written as UTF-8.

    Raises:
        FrameError: it is no such text.
    """
    if not isinstance(found, str) or len(found) > most:
        raise WorkspaceFrameError(f"{name!r} is no text of at most {most} characters")
    # JSON can hold half of a surrogate pair, which no file or terminal takes.
    return found.encode("utf-8", "replace").decode()
