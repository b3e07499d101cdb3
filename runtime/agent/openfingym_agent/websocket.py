"""A WebSocket client (RFC 6455) over a unix socket: text messages, one after the other."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import socket
from typing import BinaryIO

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
CONTINUATION, TEXT, CLOSE, PING, PONG = 0x0, 0x1, 0x8, 0x9, 0xA


class HandshakeRefused(Exception):  # noqa: N818 (reads as a sentence at the place where it is caught)
    """The server answered the handshake in another way."""

    def __init__(self, status: int, retry_after: str, content: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after = retry_after
        """Value of the header, or nothing."""
        self.content = content


class WebSocket:
    """One connection; not to be used by two threads at once.

    Whatever goes wrong with it is a ``ConnectionError`` or another ``OSError``; it is of no further use then.
    """

    def __init__(self, path: str, target: str, *, timeout_s: float) -> None:
        """Connect to the unix socket at ``path`` and ask for ``target``.

        Raises:
            HandshakeRefused: answered with another status than 101.
            OSError: no connection.
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
        """The next message; pings are answered in passing.

        Raises:
            ConnectionError: the connection is closed or lost, or what came is no WebSocket message.
        """
        parts: list[bytes] = []
        size = 0
        while True:
            final, opcode, payload = self._frame()
            if opcode == PING:
                self._send(PONG, payload)
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
        """Say goodbye, as far as that is possible, and close."""
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
        expected = base64.b64encode(hashlib.sha1(key + GUID, usedforsecurity=False).digest()).decode()
        if headers.get("Sec-WebSocket-Accept") != expected:
            raise ConnectionError("the answer to the handshake belongs to another one")

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._read(2)
        size = second & 0x7F
        if first & 0x70 or second & 0x80:
            raise ConnectionError("a frame is masked, or has bits nobody agreed upon")
        if size >= 126:
            size = int.from_bytes(self._read(2 if size == 126 else 8))
        if size > MAX_MESSAGE_BYTES:
            raise ConnectionError(f"a frame has {size} bytes")
        return bool(first & 0x80), first & 0x0F, self._read(size)

    def _read(self, size: int) -> bytes:
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
        # One exclusive or of two long integers is a thousand times faster than one of every byte.
        covered = int.from_bytes(payload) ^ int.from_bytes((mask * (size // 4 + 1))[:size])
        self._socket.sendall(bytes((0x80 | opcode,)) + length + mask + covered.to_bytes(size))
