"""A WebSocket client (RFC 6455) over a unix socket: text messages, one after the other."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import socket
from typing import BinaryIO

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Appended to the key for the handshake's answer, as the standard has it."""
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
CONTINUATION, TEXT, CLOSE, PING, PONG = 0x0, 0x1, 0x8, 0x9, 0xA


class HandshakeRefused(Exception):  # noqa: N818 (reads as a sentence at the place where it is caught)
    """The server answered the handshake with another status than 101.

    Attributes:
        status: HTTP status of the answer.
        retry_after: value of the header ``Retry-After``; empty without one.
        content: bytes of the answer's body.
    """

    def __init__(self, status: int, retry_after: str, content: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after = retry_after
        self.content = content


class WebSocket:
    """One connection, which two threads must not use at once.

    Whatever goes wrong with it raises a ``ConnectionError`` or another ``OSError``, after which it cannot be used.
    """

    def __init__(self, path: str, target: str, *, timeout_s: float) -> None:
        """Connect to the unix socket at ``path`` and ask for ``target``.

        Raises:
            HandshakeRefused: the server answered with another status than 101.
            OSError: the connection cannot be made, or was lost.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._reader: BinaryIO = self._socket.makefile("rb")
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(path)
            self._shake_hands(target)
        except BaseException:
            self.close()
            raise

    def send(self, text: str) -> None:
        """Send one message."""
        self._send(TEXT, text.encode())

    def receive(self) -> str:
        """The next message; pings that come before it are answered.

        Raises:
            ConnectionError: the connection is closed or lost, or what came is no WebSocket message.
        """
        parts: list[bytes] = []
        size = 0
        while True:
            final, opcode, payload = self._frame()
            if opcode == PING:
                self._send(PONG, payload)
            # The standard has a close frame answered by one with the same code; 1005 stands for none.
            elif opcode == CLOSE:
                self._send(CLOSE, payload[:2])
                raise ConnectionError(f"the connection was closed with code {int.from_bytes(payload[:2]) or 1005}")
            elif opcode != PONG:
                if opcode != (CONTINUATION if parts else TEXT):
                    raise ConnectionError(f"unexpected frame of type {opcode:#x}")
                size += len(payload)
                if size > MAX_MESSAGE_BYTES:
                    raise ConnectionError(f"a message has more than {MAX_MESSAGE_BYTES} bytes")
                parts.append(payload)
                if final:
                    return b"".join(parts).decode()

    def close(self) -> None:
        """Send a close frame, if that is still possible, and close the connection."""
        try:
            self._send(CLOSE, (1000).to_bytes(2))
        except OSError:
            pass
        finally:
            self._reader.close()
            self._socket.close()

    def _shake_hands(self, target: str) -> None:
        key = base64.b64encode(os.urandom(16))
        lines = (
            f"GET {target} HTTP/1.1", "Host: gate", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key.decode()}", "", "",
        )  # fmt: skip
        self._socket.sendall("\r\n".join(lines).encode())
        words = self._reader.readline(1024).split()
        if len(words) < 2 or not words[1].isdigit():
            raise ConnectionError("the answer to the handshake is not HTTP")
        headers = http.client.parse_headers(self._reader)
        status = int(words[1])
        if status != http.client.SWITCHING_PROTOCOLS:
            length = headers.get("Content-Length", "")
            raise HandshakeRefused(
                status, headers.get("Retry-After", ""), self._read(int(length)) if length.isdigit() else b""
            )
        # Only a server that has read this very key can compute the answer to it.
        expected = base64.b64encode(hashlib.sha1(key + GUID, usedforsecurity=False).digest()).decode()
        if headers.get("Sec-WebSocket-Accept") != expected:
            raise ConnectionError("the answer to the handshake belongs to another one")

    def _frame(self) -> tuple[bool, int, bytes]:
        """Read a frame: whether it is its message's last, its opcode, and its content."""
        first, second = self._read(2)
        size = second & 0x7F
        # The reserved bits would mean an extension, and only a client's frames are masked.
        if first & 0x70 or second & 0x80:
            raise ConnectionError("a frame is masked, or has bits nobody agreed upon")
        if size >= 126:
            size = int.from_bytes(self._read(2 if size == 126 else 8))
        if size > MAX_MESSAGE_BYTES:
            raise ConnectionError(f"a frame has {size} bytes")
        return bool(first & 0x80), first & 0x0F, self._read(size)

    def _read(self, size: int) -> bytes:
        """Exactly ``size`` bytes."""
        data = self._reader.read(size)
        if len(data) < size:
            raise ConnectionError("the connection was lost")
        return data

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            length = bytes((0x80 | size,))
        elif size < 1 << 16:
            length = bytes((0x80 | 126,)) + size.to_bytes(2)
        else:
            length = bytes((0x80 | 127,)) + size.to_bytes(8)
        mask = os.urandom(4)
        # A client must mask what it sends. One exclusive or of two long integers is a thousand times faster than one of
        # every byte.
        covered = int.from_bytes(payload) ^ int.from_bytes((mask * (size // 4 + 1))[:size])
        self._socket.sendall(bytes((0x80 | opcode,)) + length + mask + covered.to_bytes(size))
