"""Memory queued in a sandbox's unix sockets, as the kernel's socket monitor (``sock_diag``) reports it.

No process's resident size shows it. The filter leaves streams only, whose buffers cannot be made larger, so that each
socket holds what is sent through it up to a bound of the kernel's.
"""

from __future__ import annotations

import functools
import socket
import struct
from typing import Final

_SOCK_DIAG_BY_FAMILY: Final = 20
_REQUEST: Final = 0x1
_DUMP: Final = 0x300
_DONE: Final = 3
_ERROR: Final = 2
_SHOW_PEER, _SHOW_QUEUES, _SHOW_MEMORY = 0x4, 0x10, 0x20
_PEER, _QUEUES, _MEMORY = 2, 4, 5
_ALL_STATES: Final = 0xFFFFFFFF
_HEADER: Final = struct.Struct("=IHHII")
_SOCKET: Final = struct.Struct("=BBBxIII")
_WRITTEN: Final = 2
"""Place of the bytes written and not yet read, in the kernel's list of a socket's memory."""
_LARGEST_READ: Final = 1 << 17
SMALLEST_MESSAGE: Final = 1280
"""Bytes of kernel memory that one byte, sent alone, may take."""
_LISTENING: Final = 10


@functools.cache
def largest_queue() -> int:
    """Bytes that a closed socket may have left with its peer: a full buffer, and one more message of half its size at
    most.
    """
    with socket.socket(socket.AF_UNIX) as usual:
        return usual.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) * 3 // 2 + (1 << 13)


def queued_bytes(monitor: socket.socket) -> int:
    """Kernel memory in the queues of all unix sockets, at least; what the other end sent before it was closed
    counts for what it may be, and so does what waits to be accepted.

    Raises:
        OSError: the kernel has no monitor of unix sockets.
    """
    query = struct.pack(
        "=BBHIIIII", socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_PEER | _SHOW_QUEUES | _SHOW_MEMORY, 0, 0
    )
    monitor.send(_HEADER.pack(_HEADER.size + len(query), _SOCK_DIAG_BY_FAMILY, _REQUEST | _DUMP, 0, 0) + query)
    total = 0
    unread: list[tuple[int, int]] = []
    numbers: set[int] = set()
    while True:
        data = monitor.recv(_LARGEST_READ)
        place = 0
        while place < len(data):
            length, kind, *_rest = _HEADER.unpack_from(data, place)
            body = data[place + _HEADER.size : place + length]
            place += (length + 3) & ~3
            if kind == _DONE:
                return total + sum(
                    min(size * SMALLEST_MESSAGE, largest_queue()) for peer, size in unread if peer not in numbers
                )
            if kind == _ERROR:
                (number,) = struct.unpack_from("=i", body)
                raise OSError(-number, "the kernel does not list unix sockets")
            _family, _type, state, number, _cookie, _cookie = _SOCKET.unpack_from(body)
            numbers.add(number)
            found = _attributes(body[_SOCKET.size :])
            total += struct.unpack_from("=I", found.get(_MEMORY, bytes(12)), 4 * _WRITTEN)[0]
            waiting = struct.unpack_from("=I", found.get(_QUEUES, bytes(4)))[0]
            if state == _LISTENING:
                total += waiting * largest_queue()  # connections, which are not listed themselves
            elif waiting:
                unread.append((struct.unpack("=I", found.get(_PEER, bytes(4)))[0], waiting))


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found
