"""Two models in their roles, asked from any thread, with a journal and a budget."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Self

from openfingym.digests import sha256_of_text
from openfingym.errors import ModelRefusedError, UsageError
from openfingym.forge.asking.budget import ForgeBudget
from openfingym.forge.asking.journal import PaperJournal
from openfingym.forge.stage import Role
from openfingym.models import Completion, LanguageModel, Message, ModelSpec
from openfingym.models.prices import PriceTable

SEED = 0
"""Where an endpoint has seeds, the same prompt gets the same answer."""
REPLY_TOKENS = 16_000
"""Longest answer, its thoughts included."""
PATIENCE_S = 120.0
"""For how long a failing endpoint is tried again; the paper can be taken up later."""


class RoleModels:
    """What stages ask; an :class:`openfingym.forge.stage.ForgeAsking`.

    Every answer is in the journal before it is given, and one that is there is given again without a request.
    """

    def __init__(
        self,
        folder: Path,
        generator: str | LanguageModel,
        reviewer: str | LanguageModel = "",
        *,
        base_url: str = "",
        budget_usd: float | None = None,
        budget_tokens: int | None = None,
        prices: PriceTable | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Models for one paper; nothing is asked or started yet.

        Args:
            folder: the paper's folder in the forge's folder of papers; the budget is over all folders beside it.
            generator: the model that writes: a name, as ``openfingym run --model`` takes it, or the model itself.
            reviewer: the model that judges; empty for the same.
            base_url: address of their endpoint; empty for that of the environment.
            budget_usd: US dollars that the forge may spend; None for no limit.
            budget_tokens: tokens that the forge may use; None for no limit.
            prices: prices of models; None for the table of the package.
            patience_s: seconds for which failing requests are tried again.

        Raises:
            UsageError: a name is none of a model, or no price is known where there is a limit on money.
        """
        self._prices = prices or PriceTable.load()
        self._patience_s = patience_s
        self._models: Mapping[Role, ModelSpec | LanguageModel] = {
            "generator": _model(generator, base_url),
            "reviewer": _model(reviewer or generator, base_url),
        }
        if budget_usd is not None:
            for model in self._models.values():
                if isinstance(model, ModelSpec):
                    self._prices.require(model.name)
        self.journal = PaperJournal(folder)
        self.budget = ForgeBudget(folder.parent, budget_usd, budget_tokens)
        self._lock = threading.Lock()
        self._kept: dict[tuple[object, ...], str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stack = contextlib.AsyncExitStack()
        self._open: dict[str, LanguageModel] = {}

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        """The answer's text; see :class:`openfingym.forge.stage.ForgeAsking`. An endpoint that refuses a prompt answers
        nothing, which no stage takes for an answer.

        Raises:
            ModelUnavailableError: the model cannot be reached.
            BudgetSpentError: the budget does not allow another request.
            StoreError: the journal cannot be read or written.
        """
        model, digest = self._models[role], sha256_of_text(prompt)
        key = (role, purpose, model.name, digest)
        # One request at a time: the budget is looked at, and what it takes is known, before the next.
        with self._lock:
            if self._kept is None:
                self._kept = {_key(entry): str(entry["answer"]) for entry in self.journal.entries() if _asked(entry)}
            if key in self._kept:
                return self._kept[key]
            self.budget.require(prompt)
            try:
                completion = self._completed(role, prompt)
            except ModelRefusedError as error:
                self.journal.add("refused", role=role, purpose=purpose, model=model.name, prompt=prompt, why=str(error))
                return ""
            if completion.cost_usd is None and self.budget.usd is not None:
                cost = self._prices.cost_usd(model.name, completion.usage)
            else:
                cost = completion.cost_usd
            answer = completion.message.content
            self.journal.add(
                "asked",
                role=role,
                purpose=purpose,
                model=model.name,
                answered_by=completion.model,
                digest=digest,
                prompt=prompt,
                answer=answer,
                finish_reason=completion.finish_reason,
                prompt_tokens=completion.usage.prompt,
                completion_tokens=completion.usage.completion,
                tokens=completion.usage.total,
                cost_usd=cost,
                seconds=round(completion.latency_s, 3),
            )
            self._kept[key] = answer
            return answer

    def close(self) -> None:
        """End what was started; asking again starts it anew."""
        with self._lock:
            loop, self._loop = self._loop, None
            self._open.clear()
            if loop is not None:
                asyncio.run_coroutine_threadsafe(self._stack.aclose(), loop).result()
                loop.call_soon_threadsafe(loop.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _completed(self, role: Role, prompt: str) -> Completion:
        if self._loop is None:
            self._loop = _running_loop()
        asked = asyncio.run_coroutine_threadsafe(self._complete(role, prompt), self._loop)
        return asked.result()

    async def _complete(self, role: Role, prompt: str) -> Completion:
        found = self._models[role]
        model: LanguageModel
        if isinstance(found, ModelSpec):
            if found.name not in self._open:
                self._open[found.name] = await self._stack.enter_async_context(
                    found.open(prices=self._prices, patience_s=self._patience_s)
                )
            model = self._open[found.name]
        else:
            model = found
        return await model.complete((Message("user", prompt),), max_tokens=REPLY_TOKENS, temperature=0.0, seed=SEED)


def _model(model: str | LanguageModel, base_url: str) -> ModelSpec | LanguageModel:
    if isinstance(model, str):
        return ModelSpec.parse(model, base_url=base_url or None)
    from openfingym.models.given import CheckedModel, require_language_model

    require_language_model(model)
    return CheckedModel(model)


def _asked(entry: Mapping[str, object]) -> bool:
    return entry.get("kind") == "asked" and isinstance(entry.get("answer"), str)


def _key(entry: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(entry.get(name) for name in ("role", "purpose", "model", "digest"))


def _running_loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread of its own, which ends with the process."""
    ready: Future[asyncio.AbstractEventLoop] = Future()

    def run() -> None:
        loop = asyncio.new_event_loop()
        loop.call_soon(ready.set_result, loop)
        try:
            loop.run_forever()
        finally:
            loop.close()

    threading.Thread(target=run, name="openfingym-forge-asking", daemon=True).start()
    found = ready.result(timeout=60)
    if not found.is_running():
        raise UsageError("no event loop could be started to ask models on")
    return found
