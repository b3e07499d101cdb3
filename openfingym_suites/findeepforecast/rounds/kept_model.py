"""A language model for generating and adjudicating questions: all its answers are kept, and its budget is limited."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.digests import sha256_of_json
from openfingym.errors import BudgetSpentError, StoreError
from openfingym.files.strange import parse_json
from openfingym.files.whole import store_errors, write_text
from openfingym.models import Allowance, Completion, LanguageModel, Message, Meter, ModelSpec, Usage
from openfingym.models.meter import Spent

if TYPE_CHECKING:
    from openfingym.models.prices import PriceTable

FILE = "asked.jsonl"
"""Name of the file of answers, with a line for each, in the folder that a model is given."""
ANSWER_TOKENS = 4000
"""Most tokens of one answer."""


class KeptModel:
    """A model whose answers are kept in a file, from which a prompt that was asked before is answered.

    So a tick that was killed asks, and pays, for nothing twice.

    Args:
        model: the language model that answers the prompts.
        loop: the event loop of the model, which runs in another thread.
        folder: the folder in which ``asked.jsonl`` is written.
        allowance: the most that may be spent, what earlier processes spent by the file included; None for no limit.
    """

    def __init__(
        self, model: LanguageModel, loop: asyncio.AbstractEventLoop, folder: Path, allowance: Allowance | None = None
    ) -> None:
        self._model, self._loop, self._path = model, loop, folder / FILE
        self._lock = threading.Lock()
        with store_errors(folder, "make the folder writable"):
            folder.mkdir(parents=True, exist_ok=True)
        rows = _rows(self._path)
        self._answers = {str(row["key"]): str(row["answer"]) for row in rows}
        self._meter = Meter(allowance, before=_spent(rows))

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    @property
    def asked(self) -> int:
        """How many answers are kept, those of earlier processes included."""
        return len(self._answers)

    def ask(self, stage: str, prompt: str, attempt: int = 0) -> str:
        """See :class:`~openfingym_suites.findeepforecast.model_asking.AsksModel`."""
        key = sha256_of_json([self.name, stage, prompt, attempt])
        # Held while the model answers, so that the same prompt from two threads is paid for once.
        with self._lock:
            if key in self._answers:
                return self._answers[key]
            if limit := self._meter.exhausted:
                raise BudgetSpentError(
                    f"the limit of {limit} is reached for {self.name}: {self.asked} answers are kept"
                )
            asked = self._model.complete([Message("user", prompt)], max_tokens=ANSWER_TOKENS, temperature=0.0)
            completion = asyncio.run_coroutine_threadsafe(_awaited(asked), self._loop).result()
            self._meter.charge(completion)
            answer = completion.message.content
            line = {
                "key": key,
                "stage": stage,
                "attempt": attempt,
                "model": completion.model,
                "prompt": prompt,
                "answer": answer,
                "prompt_tokens": completion.usage.prompt,
                "completion_tokens": completion.usage.completion,
                "cost_usd": completion.cost_usd,
            }
            # In the file before it is used: what follows from an answer can always be repeated.
            with store_errors(self._path, "make the folder writable"), self._path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line, sort_keys=True) + "\n")
            self._answers[key] = answer
            return answer


async def _awaited(asked: Awaitable[Completion]) -> Completion:
    # `run_coroutine_threadsafe` takes a coroutine, and a model gives any awaitable.
    return await asked


def _rows(path: Path) -> list[dict[str, Any]]:
    """The finished lines of the file; half a line, which a killed process left, is removed from it."""
    if not path.is_file():
        return []
    whole, _, cut = path.read_bytes().rpartition(b"\n")
    if cut:
        write_text(path, f"{whole.decode()}\n" if whole else "")
    rows = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            row = parse_json(line)
            if not isinstance(row, dict) or not {"key", "answer", "prompt_tokens", "completion_tokens"} <= row.keys():
                raise TypeError("it is no answer")
        except (TypeError, ValueError) as error:
            raise StoreError(f"{path}, line {number}: {error}; move the file away to ask anew") from error
        rows.append(row)
    return rows


def _spent(rows: Sequence[Mapping[str, Any]]) -> Spent:
    """What the answers of these lines cost; in money None if the price of one is not known."""
    costs = [row.get("cost_usd") for row in rows]
    return Spent(
        turns=len(rows),
        usage=Usage(sum(row["prompt_tokens"] for row in rows), sum(row["completion_tokens"] for row in rows)),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


@contextlib.contextmanager
def kept_model(
    spec: ModelSpec, folder: Path, *, allowance: Allowance | None = None, prices: PriceTable | None = None
) -> Iterator[KeptModel]:
    """Open a model for the time of a ``with`` block.

    Args:
        spec: which model to open, and at which endpoint.
        folder: the folder in which prompts and answers are kept.
        allowance: the most that may be spent in all; None for no limit.
        prices: the prices of models; None for the table of the package.
    """
    # Stages are synchronous, and a model is asynchronous: it gets an event loop in a thread of its own.
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="openfingym-kept-model", daemon=True)
    thread.start()
    try:
        opened = spec.open(prices=prices)
        model = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        try:
            yield KeptModel(model, loop, folder, allowance)
        finally:
            asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
