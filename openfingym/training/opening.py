"""An episode that is being opened, which may be awaited or entered as a context."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any

from openfingym.training.episode import Episode

if TYPE_CHECKING:
    from types import TracebackType


class Opening(Coroutine[Any, Any, Episode]):
    """An episode that is being opened: a coroutine that returns it, and a context manager that finishes it.

    A coroutine in full, with ``send`` and ``throw``, so that ``asyncio.create_task`` and its like take it.
    """

    def __init__(self, work: Coroutine[Any, Any, Episode]) -> None:
        self._work = work
        self._episode: Episode | None = None

    def send(self, value: Any) -> Any:  # as of every coroutine
        """See :class:`collections.abc.Coroutine`."""
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:  # as of every coroutine
        """See :class:`collections.abc.Coroutine`."""
        return self._work.throw(*error)

    def close(self) -> None:
        """See :class:`collections.abc.Coroutine`."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Episode]:
        return self._work.__await__()

    async def __aenter__(self) -> Episode:
        self._episode = await self._work
        return await self._episode.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._episode is not None
        await self._episode.__aexit__(kind, error, trace)
