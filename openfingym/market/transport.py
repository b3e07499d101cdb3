"""Carrying frames: the small interface behind which the WebSocket library can be changed."""

from __future__ import annotations

from typing import Protocol

from openfingym.market.feed import Address, Frame


class Connection(Protocol):
    """An open WebSocket. Pings are answered by the library underneath."""

    async def receive(self) -> Frame:
        """The next frame.

        Raises:
            ConnectionClosedError: the connection has ended, in whatever way.
        """

    async def send(self, frame: Frame) -> None:
        """Send a frame.

        Raises:
            ConnectionClosedError: the connection has ended.
        """

    async def close(self) -> None:
        """Close it, waiting no longer than a second for the other side."""


class Transport(Protocol):
    """A way to connect."""

    async def connect(self, address: Address) -> Connection:
        """Open a connection.

        Raises:
            ConnectionClosedError: it cannot be opened, with the reason and, where the venue states it, how long to
                wait.
        """
