"""Memory that is queued in a sandbox's sockets, as the kernel's socket monitor (``sock_diag``) reports it.

It shows in no process's resident size. The system-call filter leaves only stream sockets, whose buffers cannot be made
larger, so that the kernel bounds what each of them holds.
"""

from __future__ import annotations

import functools
import socket
import struct
from collections.abc import Iterator
from typing import Final

# Of linux/netlink.h, linux/sock_diag.h and linux/unix_diag.h: kinds of messages, what is asked for, and its attributes.
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
"""Place of the memory of messages written and not yet read, in the kernel's list of a socket's memory."""
_LARGEST_READ: Final = 1 << 17
SMALLEST_MESSAGE: Final = 1280
"""Bytes of kernel memory that a message of a single byte may take."""
_LISTENING: Final = 10
"""State of a socket that waits for connections."""
_TCP: Final = 6
_TCP_SOCKET_BYTES: Final = 72
"""Length of what the kernel says of a TCP socket before its attributes (``struct inet_diag_msg``)."""
_TCP_MEMORY: Final = 7
"""Attribute of a TCP socket's memory, as the kernel lists it."""
_HELD: Final = (0, 4, 5, 7)
"""Places in that list of what a TCP socket holds: unread, reserved, written and not acknowledged, waiting its turn."""


@functools.cache
def largest_queue() -> int:
    """Bytes of kernel memory that a closed socket may have left with its peer: a full buffer, and one more message that
    takes at most half a buffer.
    """
    with socket.socket(socket.AF_UNIX) as usual:
        return usual.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) * 3 // 2 + (1 << 13)


def queued_bytes(monitor: socket.socket) -> int:
    """Bytes of kernel memory in the queues of all unix sockets. What a socket sent before it was closed, and what waits
    to be accepted, counts as the most that it may be.

    Args:
        monitor: the socket monitor of the network namespace.

    Raises:
        OSError: the kernel has no monitor of unix sockets.
    """
    query = struct.pack(
        "=BBHIIIII", socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_PEER | _SHOW_QUEUES | _SHOW_MEMORY, 0, 0
    )
    total = 0
    # Peer and unread bytes of each socket that has any, and the numbers of all sockets.
    unread: list[tuple[int, int]] = []
    numbers: set[int] = set()
    for body in _listed(monitor, query, "unix sockets"):
        _family, _type, state, number, _cookie, _cookie = _SOCKET.unpack_from(body)
        numbers.add(number)
        attributes = _attributes(body[_SOCKET.size :])
        total += struct.unpack_from("=I", attributes.get(_MEMORY, bytes(12)), 4 * _WRITTEN)[0]
        waiting = struct.unpack_from("=I", attributes.get(_QUEUES, bytes(4)))[0]
        # Of a socket that listens, it is the number of connections to accept, which are not listed themselves; of any
        # other, the number of bytes to read.
        if state == _LISTENING:
            total += waiting * largest_queue()
        elif waiting:
            unread.append((struct.unpack("=I", attributes.get(_PEER, bytes(4)))[0], waiting))
    # The memory of a message counts as its sender's. A sender that was closed is not listed any more; only the number
    # of bytes that it sent is known.
    return total + sum(min(size * SMALLEST_MESSAGE, largest_queue()) for peer, size in unread if peer not in numbers)


def tcp_bytes(monitor: socket.socket) -> int:
    """Bytes of kernel memory that all TCP sockets hold, also those that wait to be accepted or were closed. What is
    under way on the loopback interface counts at both ends.

    Args:
        monitor: the socket monitor of the network namespace.

    Raises:
        OSError: the kernel has no monitor of TCP sockets.
    """
    query = struct.pack("=BBBxI48x", socket.AF_INET, _TCP, 1 << (_TCP_MEMORY - 1), _ALL_STATES)
    total = 0
    for body in _listed(monitor, query, "TCP sockets (CONFIG_INET_DIAG; run: sudo modprobe tcp_diag)"):
        held = _attributes(body[_TCP_SOCKET_BYTES:]).get(_TCP_MEMORY, b"")
        values = struct.unpack(f"={len(held) // 4}I", held[: len(held) // 4 * 4])
        total += sum(values[place] for place in _HELD if place < len(values))
    return total


def _listed(monitor: socket.socket, query: bytes, what: str) -> Iterator[bytes]:
    """What the kernel says of each socket that a query is about.

    Raises:
        OSError: the kernel does not list such sockets.
    """
    monitor.send(_HEADER.pack(_HEADER.size + len(query), _SOCK_DIAG_BY_FAMILY, _REQUEST | _DUMP, 0, 0) + query)
    while True:
        data = monitor.recv(_LARGEST_READ)
        place = 0
        while place < len(data):
            length, kind, *_rest = _HEADER.unpack_from(data, place)
            body = data[place + _HEADER.size : place + length]
            place += (length + 3) & ~3
            if kind == _DONE:
                return
            if kind == _ERROR:
                (number,) = struct.unpack_from("=i", body)
                raise OSError(-number, f"the kernel does not list {what}")
            yield body


def _attributes(data: bytes) -> dict[int, bytes]:
    """The attributes of one socket by their kinds; each begins at a multiple of four bytes."""
    attributes = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        attributes[kind] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return attributes
