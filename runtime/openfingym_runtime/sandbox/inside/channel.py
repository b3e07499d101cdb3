"""Messages between the launcher and the inside: JSON after its length, with file descriptors beside it.

Neither side waits for a dead peer: the end of the stream raises ``EOFError``.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Final

Message = dict[str, object]

_HEADER: Final = struct.Struct("!Q")
_MAX_FDS: Final = 8


def send(link: socket.socket, message: Message, fds: tuple[int, ...] = ()) -> None:
    """Send ``message``, with duplicates of the descriptors ``fds``."""
    body = json.dumps(message).encode()
    data = _HEADER.pack(len(body)) + body
    sent = socket.send_fds(link, [data], fds) if fds else link.send(data)
    # Only if something is left: the peer may have read everything and gone, and even sending nothing would then fail.
    if sent < len(data):
        link.sendall(data[sent:])


def receive(link: socket.socket) -> tuple[Message, tuple[int, ...]]:
    """The next message and the file descriptors that came with it, which the caller must close.

    Raises:
        EOFError: the peer has closed the channel.
        TypeError: the message is not a JSON object.
    """
    # Descriptors come with a message's first byte, and are lost to a read that does not ask for them.
    header, fds, _flags, _address = socket.recv_fds(link, _HEADER.size, _MAX_FDS)
    header += _exactly(link, _HEADER.size - len(header)) if header else b""
    if not header:
        raise EOFError("the other side of the sandbox channel is gone")
    (length,) = _HEADER.unpack(header)
    message = json.loads(_exactly(link, length))
    if not isinstance(message, dict):
        raise TypeError(f"a message must be an object, found {type(message).__name__}")
    return message, tuple(fds)


def _exactly(link: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = link.recv(min(size, 1 << 20))
        if not part:
            raise EOFError("the other side of the sandbox channel is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
