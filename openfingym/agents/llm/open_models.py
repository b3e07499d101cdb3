"""The models that a launcher has open: rollouts that ask the same one share it, and idle ones are closed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from openfingym.models.endpoint import ChatModel
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec

MOST_IDLE = 8
"""Most models that stay open while nobody asks them, so that the next rollout finds their connections warm."""


@dataclass
class _OpenModel:
    """A model that is open or being opened."""

    opening: asyncio.Task[ChatModel]
    """Gives the model once it is open."""
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    """Closes the model."""
    users: int = 0
    """How many rollouts have taken the model and not given it back."""


class OpenModels:
    """Models by their specification, of which a key that was given by value is part; used on one event loop alone.

    Where every rollout has an endpoint or a key of its own, those that were idle for longest are closed.
    """

    def __init__(self, patience_s: float) -> None:
        """Open nothing yet.

        Args:
            patience_s: seconds for which an endpoint that does not answer is asked again.
        """
        self._patience_s = patience_s
        self._models: dict[ModelSpec, _OpenModel] = {}

    def __len__(self) -> int:
        return len(self._models)

    async def take(self, spec: ModelSpec, prices: PriceTable) -> ChatModel:
        """A model, which is opened if it is not yet; the caller gives it back.

        Args:
            spec: the model that is asked.
            prices: the table by which the model's costs are counted; that of the first caller holds for all.

        Raises:
            UsageError: there is no key, or the extra ``llm`` is missing.
        """
        known = self._models.get(spec)
        if known is None:
            stack = contextlib.AsyncExitStack()
            opening = asyncio.ensure_future(self._open(spec, prices, stack))
            # Entered before it is open, so that all who come meanwhile wait for the one that is being opened.
            known = self._models[spec] = _OpenModel(opening, stack)
        known.users += 1
        try:
            # A caller that is cancelled must not cancel the opening that others wait for.
            return await asyncio.shield(known.opening)
        except BaseException:
            await self._give_back(spec, known)
            raise

    async def give_back(self, spec: ModelSpec) -> None:
        """Give a model back, once for each time that it was taken."""
        await self._give_back(spec, self._models[spec])

    async def close(self) -> None:
        """Close all models, even those that are being asked."""
        models, self._models = self._models, {}
        for model in models.values():
            await _close(model)

    async def _open(self, spec: ModelSpec, prices: PriceTable, stack: contextlib.AsyncExitStack) -> ChatModel:
        return await stack.enter_async_context(spec.open(prices=prices, patience_s=self._patience_s))

    async def _give_back(self, spec: ModelSpec, model: _OpenModel) -> None:
        model.users -= 1
        failed = model.opening.done() and (model.opening.cancelled() or model.opening.exception() is not None)
        # It failed for another caller, who has removed it, or all models were closed meanwhile.
        if self._models.get(spec) is not model:
            return
        if model.users == 0:
            # Moved to the end, so that the idle models stand in the order in which they became idle.
            self._models[spec] = self._models.pop(spec)
        # The next caller opens it anew: a key may be there by then.
        if failed:
            del self._models[spec]
        idle = [other for other, open_model in self._models.items() if not open_model.users]
        for other in idle[: max(0, len(idle) - MOST_IDLE)]:
            await _close(self._models.pop(other))


async def _close(model: _OpenModel) -> None:
    # What is still being opened enters the stack later, and would stay open if the stack were closed before.
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([model.opening])
    await model.stack.aclose()
