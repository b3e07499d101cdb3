"""The models that a launcher has open: each shared by all who ask it, and closed when it was not used for long."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from openfingym.models.endpoint import ChatModel
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec

MOST_IDLE = 8
"""Models that nobody asks and that stay open, so that the next rollout finds its connections warm."""


@dataclass
class _OpenModel:
    """A model, and how many rollouts may be asking it."""

    opening: asyncio.Task[ChatModel]
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    users: int = 0


class OpenModels:
    """Models by their specification, keys given by value included; used on one event loop alone.

    Where every rollout has an endpoint or a key of its own, the oldest that nobody asks any more are closed.
    """

    def __init__(self, patience_s: float) -> None:
        """Open nothing yet; ``patience_s`` is that with the models' endpoints."""
        self._patience_s = patience_s
        self._models: dict[ModelSpec, _OpenModel] = {}

    def __len__(self) -> int:
        return len(self._models)

    async def take(self, spec: ModelSpec, prices: PriceTable) -> ChatModel:
        """A model, opened if it is not; to be given back.

        Args:
            spec: the model that is asked.
            prices: the prices that the first caller brings hold for all.

        Raises:
            UsageError: there is no key, or the extra ``llm`` is missing.
        """
        found = self._models.get(spec)
        if found is None:
            stack = contextlib.AsyncExitStack()
            opening = asyncio.ensure_future(self._open(spec, prices, stack))
            found = self._models[spec] = _OpenModel(opening, stack)
        found.users += 1
        try:
            # Who is cancelled does not take the model from those who wait for it too.
            return await asyncio.shield(found.opening)
        except BaseException:
            await self._give_back(spec, found)
            raise

    async def give_back(self, spec: ModelSpec) -> None:
        """Say that a rollout asks the model no more."""
        await self._give_back(spec, self._models[spec])

    async def close(self) -> None:
        """Close all of them, also those that are being asked."""
        models, self._models = self._models, {}
        for model in models.values():
            await _close(model)

    async def _open(self, spec: ModelSpec, prices: PriceTable, stack: contextlib.AsyncExitStack) -> ChatModel:
        return await stack.enter_async_context(spec.open(prices=prices, patience_s=self._patience_s))

    async def _give_back(self, spec: ModelSpec, model: _OpenModel) -> None:
        model.users -= 1
        failed = model.opening.done() and (model.opening.cancelled() or model.opening.exception() is not None)
        if self._models.get(spec) is not model:
            return
        if model.users == 0:
            # At the end: the first of those that nobody asks is the one that was not asked for longest.
            self._models[spec] = self._models.pop(spec)
        if failed:
            del self._models[spec]
        idle = [known for known, other in self._models.items() if not other.users]
        for known in idle[: max(0, len(idle) - MOST_IDLE)]:
            await _close(self._models.pop(known))


async def _close(model: _OpenModel) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([model.opening])
    await model.stack.aclose()
