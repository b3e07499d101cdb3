"""The loopback interface of a sandbox's own network namespace, which has no other."""

from __future__ import annotations

import fcntl
import socket
import struct
from typing import Final

_SET_FLAGS: Final = 0x8914  # SIOCSIFFLAGS
_UP: Final = 0x1  # IFF_UP
_REQUEST: Final = struct.Struct("16sh22x")
"""``struct ifreq`` with an interface's name and flags."""


def start() -> None:
    """Start the interface, which gives it 127.0.0.1; takes all capabilities over the namespace.

    Raises:
        OSError: the kernel refused.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", _UP))
