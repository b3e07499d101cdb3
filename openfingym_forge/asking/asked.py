"""The two models of a forge, generator and reviewer: asked from any thread, with a journal and a budget."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Self

from openfingym.digests import sha256_of_text
from openfingym.errors import ModelRefusedError, ModelUnavailableError, UsageError
from openfingym.models import Completion, LanguageModel, Message, ModelSpec
from openfingym.models.prices import PriceTable
from openfingym_forge.asking.budget import ForgeBudget
from openfingym_forge.asking.journal import PaperJournal
from openfingym_forge.stage import Role

SEED = 0
"""Seed of every request, so that an endpoint that has seeds answers the same prompt in the same way."""
REPLY_TOKENS = 16_000
"""The most tokens of an answer, the model's reasoning included."""
PATIENCE_S = 120.0
"""For how long a failing endpoint is tried again; then the paper fails, and the next run goes on with it."""

OF_THE_PROMPT = frozenset({"context-too-long", "content-filter", "bad-call"})
"""Reasons of refusals that are of a prompt, and of what the model makes of it; any other is a failure of ours."""


class RoleModels:
    """The models that the stages of one paper ask; an :class:`openfingym_forge.stage.ForgeAsking`.

    Every answer is in the journal before it is returned, and one that is there is returned again without a request.
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
            folder: folder of the paper; the budget is shared by all papers' folders beside it.
            generator: the model that writes: a name, as ``openfingym run --model`` takes it, or the model itself.
            reviewer: the model that judges, in the same form; empty for the model that writes.
            base_url: address of the endpoint of both models; empty for the one that the environment names.
            budget_usd: US dollars that the whole forge may spend; None for no limit.
            budget_tokens: tokens that the whole forge may use; None for no limit.
            prices: prices of models; None for the table that the library brings.
            patience_s: seconds for which failing requests are tried again.

        Raises:
            UsageError: a name is not that of a model, or there is a limit on money and a model's price is not known.
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
        # Answers of the journal by role, purpose, model and prompt; None until the journal was read.
        self._answers: dict[tuple[object, ...], str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stack = contextlib.AsyncExitStack()
        self._open: dict[str, LanguageModel] = {}

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        """The text of a model's answer, as :meth:`openfingym_forge.stage.ForgeAsking.ask` gives it. If the endpoint
        refuses the prompt for what it holds (:data:`OF_THE_PROMPT`), the answer is empty, and no stage can read that.

        Raises:
            ModelUnavailableError: the model cannot be reached, or its endpoint refuses every prompt, or one in words
                that nobody knows.
            BudgetSpentError: the budget does not allow another request.
            StoreError: the journal cannot be read or written.
        """
        model, digest = self._models[role], sha256_of_text(prompt)
        key = (role, purpose, model.name, digest)
        # One request at a time: what one takes of the budget must be known before the next is allowed.
        with self._lock:
            if self._answers is None:
                self._answers = {_key(entry): str(entry["answer"]) for entry in self.journal.entries() if _asked(entry)}
            if key in self._answers:
                return self._answers[key]
            self.budget.require(prompt)
            try:
                completion = self._completed(role, prompt)
            # Not kept as an answer: the endpoint may take the same prompt the next time.
            except ModelRefusedError as error:
                self.journal.add("refused", role=role, purpose=purpose, model=model.name, prompt=prompt, why=str(error))
                if error.reason in OF_THE_PROMPT:
                    return ""
                # Settings, or what nobody knows: no paper is refused for that.
                raise ModelUnavailableError(
                    f"{model.name}: {error}; check the model's name, its limits and the account, and run it again"
                ) from error
            # Where the endpoint counted no tokens there is no cost, and a limit on money would not see the answer.
            if completion.cost_usd is None and self.budget.usd is not None:
                cost = self._prices.cost_usd(model.name, completion.usage)
            else:
                cost = completion.cost_usd
            answer = completion.message.content
            # On the disk before it is used: an answer that was paid for is not lost with the process.
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
            self._answers[key] = answer
            return answer

    def close(self) -> None:
        """Close the models and end their event loop; the next request starts them anew."""
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
        """The completion of a prompt, waited for in this thread."""
        # Models are asynchronous and bound to the loop they were opened on, and stages are not: one loop serves all.
        if self._loop is None:
            self._loop = _running_loop()
        future = asyncio.run_coroutine_threadsafe(self._complete(role, prompt), self._loop)
        return future.result()

    async def _complete(self, role: Role, prompt: str) -> Completion:
        chosen = self._models[role]
        model: LanguageModel
        if isinstance(chosen, ModelSpec):
            # By name: generator and reviewer are often the same model, which is opened once.
            if chosen.name not in self._open:
                self._open[chosen.name] = await self._stack.enter_async_context(
                    chosen.open(prices=self._prices, patience_s=self._patience_s)
                )
            model = self._open[chosen.name]
        else:
            model = chosen
        return await model.complete((Message("user", prompt),), max_tokens=REPLY_TOKENS, temperature=0.0, seed=SEED)


def _model(model: str | LanguageModel, base_url: str) -> ModelSpec | LanguageModel:
    """A model that was given by name or as itself, checked."""
    if isinstance(model, str):
        return ModelSpec.parse(model, base_url=base_url or None)
    from openfingym.models.given import CheckedModel, require_language_model

    require_language_model(model)
    return CheckedModel(model)


def _asked(entry: Mapping[str, object]) -> bool:
    """Whether an entry of the journal is an answer; whoever edits a journal may leave anything in it."""
    return entry.get("kind") == "asked" and isinstance(entry.get("answer"), str)


def _key(entry: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(entry.get(name) for name in ("role", "purpose", "model", "digest"))


def _running_loop() -> asyncio.AbstractEventLoop:
    """An event loop that runs in a thread of its own, which ends with the process."""
    ready: Future[asyncio.AbstractEventLoop] = Future()

    def run() -> None:
        loop = asyncio.new_event_loop()
        # Called by the loop itself, so that it runs before anybody hands work to it.
        loop.call_soon(ready.set_result, loop)
        try:
            loop.run_forever()
        finally:
            loop.close()

    threading.Thread(target=run, name="openfingym-forge-asking", daemon=True).start()
    loop = ready.result(timeout=60)
    if not loop.is_running():
        raise UsageError("no event loop could be started to ask models on")
    return loop
