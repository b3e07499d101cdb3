"""WebSockets (RFC 6455) through the gate, which shakes hands with each side itself, and counts and bounds frames.

Nothing of the agent's handshake goes on to the verifier. Afterwards bytes are passed on as they are;
a frame whose header is not in order ends both connections.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from openfingym_runtime.gate.upstream import LiveConnection

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Appended to the key for the handshake's answer, as the standard has it."""
KEY = re.compile(rb"[A-Za-z0-9+/]{21}[AQgw]==")
"""Sixteen bytes in base64, whose last character has only two bits of them."""
LIVE_IDLE_S = 600.0
"""How long the agent may be silent, as it may think for long between two steps."""
FRAME_TIMEOUT_S = 60.0
"""How long a frame may take to arrive."""

_CONTROL, _CLOSE = 0x8, 0x8
"""The bit of an opcode that only control frames have, and the opcode of a close frame."""
_OPCODES = frozenset({0x0, 0x1, 0x2, 0x8, 0x9, 0xA})
MAX_CONTROL_BYTES = 125
UNBOUNDED = 1 << 63
"""Length of a message that no frame's header can state."""
PROTOCOL_ERROR, POLICY_VIOLATION, TOO_BIG = 1002, 1008, 1009
"""Codes of close frames (RFC 6455, section 7.4.1)."""


class Accounts(Protocol):
    """What a gate bounds and counts of its WebSockets."""

    @property
    def max_body_bytes(self) -> int:
        """Length of the longest message."""

    def spend(self, calls: int, /) -> bool:
        """Count so many calls of the agent; False if not so many are left."""

    def refused(self) -> None:
        """Count a frame that is not passed on."""

    def verifier_failed(self) -> None:
        """Count a failure of the verifier."""


def new_key() -> bytes:
    """A fresh Sec-WebSocket-Key."""
    return base64.b64encode(os.urandom(16))


def accept_of(key: bytes) -> bytes:
    """The Sec-WebSocket-Accept that answers a key."""
    return base64.b64encode(hashlib.sha1(key + GUID, usedforsecurity=False).digest())


def is_handshake(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request's headers ask for a WebSocket of version 13."""
    connection = {token.strip().lower() for token in headers.get(b"connection", b"").split(b",")}
    return (
        headers.get(b"upgrade", b"").lower() == b"websocket"
        and b"upgrade" in connection
        and headers.get(b"sec-websocket-version") == b"13"
        and KEY.fullmatch(headers.get(b"sec-websocket-key", b"")) is not None
    )


def switching(key: bytes) -> bytes:
    """The answer that turns an agent's connection into a WebSocket, without extension or subprotocol."""
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        b"%s\r\n\r\n" % accept_of(key)
    )


class WebSocketFrameError(Exception):
    """Raised at a frame that must not be passed on.

    Attributes:
        code: code of the close frame that the sender's connection is closed with.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Frames:
    """Follows the frames of one direction without keeping any of their content."""

    def __init__(self, *, masked: bool, max_bytes: int) -> None:
        """Expect frames that are all ``masked`` or all not, and messages of at most ``max_bytes``."""
        self.closed = False
        """Whether a close frame has begun."""
        self._masked = masked
        self._max_bytes = max_bytes
        self._head = bytearray()
        """The header of the next frame, as far as it has arrived."""
        self._left = 0
        """Bytes of the current frame's content that are still to come."""
        self._message = 0
        """Length of the current message's earlier frames."""

    @property
    def within(self) -> bool:
        """Whether a frame has begun and not ended."""
        return self._left > 0 or bool(self._head)

    def feed(self, data: bytes) -> int:
        """Follow some bytes, and return how many frames' headers ended in them.

        Raises:
            WebSocketFrameError: a header is not in order; none of the bytes may be passed on.
        """
        begun, at = 0, 0
        while at < len(data):
            if self._left:
                taken = min(self._left, len(data) - at)
                self._left -= taken
                at += taken
                continue
            self._head.append(data[at])
            at += 1
            if len(self._head) == 2:
                self._check()
            if len(self._head) >= 2 and len(self._head) == self._head_bytes():
                self._begin()
                begun += 1
        return begun

    def _head_bytes(self) -> int:
        extended = {126: 2, 127: 8}.get(self._head[1] & 0x7F, 0)
        return 2 + extended + (4 if self._masked else 0)

    def _check(self) -> None:
        first, second = self._head
        opcode, final, size = first & 0x0F, bool(first & 0x80), second & 0x7F
        # The reserved bits would mean an extension, such as compression, and none was agreed on.
        if first & 0x70 or opcode not in _OPCODES or bool(second & 0x80) != self._masked:
            raise WebSocketFrameError(PROTOCOL_ERROR)
        # A control frame may be neither long nor one of several (RFC 6455, section 5.5).
        if opcode & _CONTROL and (size > MAX_CONTROL_BYTES or not final):
            raise WebSocketFrameError(PROTOCOL_ERROR)

    def _begin(self) -> None:
        opcode, final, size = self._head[0] & 0x0F, bool(self._head[0] & 0x80), self._head[1] & 0x7F
        if size == 126:
            size = int.from_bytes(self._head[2:4])
        elif size == 127:
            size = int.from_bytes(self._head[2:10])
        if opcode & _CONTROL:
            self.closed |= opcode == _CLOSE
        else:
            if self._message + size > self._max_bytes:
                raise WebSocketFrameError(TOO_BIG)
            # The frames of a message count together, since a message of endless small frames states no length.
            self._message = 0 if final else self._message + size
        self._left = size
        self._head.clear()


@dataclass
class Sides:
    """The operations of the agent's connection that a relay uses."""

    write: Callable[[bytes], None]
    """Sends some bytes to the agent."""
    end: Callable[[], None]
    """Closes the connection once what was written has gone."""
    pause: Callable[[], None]
    """Stops reading from the agent."""
    resume: Callable[[], None]
    """Reads from the agent again."""


class Relay:
    """Carries the frames of one WebSocket in both directions; runs on the gate's event loop."""

    def __init__(self, agent: Sides, verifier: LiveConnection, gate: Accounts) -> None:
        """Begin to carry frames.

        Args:
            agent: the agent's connection, which has been answered the handshake.
            verifier: the connection to the verifier, which is a WebSocket already.
            gate: the gate that counts frames, refusals and failures, and says how long a message may be.
        """
        self._agent = agent
        self._verifier = verifier
        self._gate = gate
        self._up = Frames(masked=True, max_bytes=gate.max_body_bytes)
        self._down = Frames(masked=False, max_bytes=UNBOUNDED)
        self._over = False
        verifier.hand_over(self)

    @property
    def patience_s(self) -> float:
        """Seconds to wait for the agent's next bytes, or for the end of the frame that has begun."""
        return FRAME_TIMEOUT_S if self._up.within else LIVE_IDLE_S

    @property
    def within(self) -> bool:
        """Whether the agent is in the middle of a frame."""
        return self._up.within

    def from_agent(self, data: bytes) -> None:
        """Pass on what the agent sent, or end both connections."""
        if self._over:
            return
        try:
            begun = self._up.feed(data)
        except WebSocketFrameError as error:
            self._gate.refused()
            self.end(error.code)
            return
        # Frames, not messages, are counted: the parts of one message cost the verifier as much.
        if begun and not self._gate.spend(begun):
            self.end(POLICY_VIOLATION)
            return
        self._verifier.write(data)

    def from_verifier(self, data: bytes) -> None:
        """Pass on what the verifier sent."""
        if not self._over:
            # What this raises ends up in asyncio, which drops the connection: a failure of the verifier's.
            self._down.feed(data)
            self._agent.write(data)

    def verifier_lost(self) -> None:
        """End the agent's connection, now that the verifier's is gone."""
        if self._over:
            return
        # An end that neither side announced by a close frame is a failure of the verifier's.
        if not (self._up.closed or self._down.closed):
            self._gate.verifier_failed()
        self._over = True
        self._agent.end()

    def pause_agent(self, pause: bool) -> None:
        """Stop reading from the agent while the verifier does not read, or go on."""
        (self._agent.pause if pause else self._agent.resume)()

    def pause_verifier(self, pause: bool) -> None:
        """Stop reading from the verifier while the agent does not read, or go on."""
        self._verifier.pause(pause)

    def end(self, code: int | None = None) -> None:
        """Drop the verifier's connection, and with a code close the agent's too."""
        if self._over:
            return
        self._over = True
        self._verifier.abort()
        if code is not None:
            # A close frame with two bytes of content, not masked, as a server's frames are.
            self._agent.write(b"\x88\x02" + code.to_bytes(2))
            self._agent.end()
