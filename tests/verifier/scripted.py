"""A provider that says what a test tells it, and questions of it on a simulated clock."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.questions import ProviderAnswer, Question
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.storage import Storage
from openfingym_verifier.principals import Caller
from openfingym_verifier.questions.service import QuestionService

HOUR = 3_600_000_000_000
START = 1_735_689_600_000_000_000
CLOCK = "season"
OPERATOR = Caller("local", operator=True)


@dataclass
class Scripted:
    """Says of each question what stands in ``says``; shows what stands in ``shows``."""

    says: dict[str, ProviderAnswer | Exception] = field(default_factory=dict)
    shows: Mapping[str, Any] | Exception | None = None
    wait_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    looks: int = 0
    name: str = "scripted"
    simulated: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, question: Question) -> None:
        if "market" not in question.query:
            raise UsageError(f"question {question.id} names no market")

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        with self._lock:
            self.looks += 1
        time.sleep(self.wait_s)
        if isinstance(self.shows, Exception):
            raise self.shows
        return self.shows

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, Any]:
        with self._lock:
            self.asked += [one.id for one in questions]
        time.sleep(self.wait_s)
        found = {one.id: self.says.get(one.id, ProviderAnswer("waiting")) for one in questions}
        for one in found.values():
            if isinstance(one, Exception) and not isinstance(one, OpenFinGymError):
                raise one
        return found

    def close(self) -> None:
        pass


def question(name: str, **changes: Any) -> Question:
    """A question about an event, open for an hour and resolved after two."""
    values: dict[str, Any] = {
        "id": name, "text": "Will it?", "form": "probability", "generated_ns": START - 1, "deadline_ns": START + HOUR,
        "evaluation_ns": START + 2 * HOUR, "provider": "scripted", "query": {"market": name}, "clock": CLOCK,
    }  # fmt: skip
    return Question(**{**values, **changes})


def resolved(truth: Any, **more: Any) -> ProviderAnswer:
    return ProviderAnswer("resolved", truth, source="a test", evidence={"said": truth}, **more)


@contextlib.asynccontextmanager
async def service(state: Path, provider: Scripted) -> AsyncIterator[QuestionService]:
    """The questions of one ledger, as a verifier serves them, with the clock made."""
    ledger = Ledger(state)
    threads = ThreadPoolExecutor(2)
    try:
        found = QuestionService(ledger, threads, b"a secret of tests", Storage(None, {}))
        found.providers.add(provider)
        if CLOCK not in found.clocks.simulated:
            await found.clocks.advance(CLOCK, START)
        yield found
        found.close()
    finally:
        threads.shutdown()
        ledger.close()


def entries(state: Path, event: str) -> list[dict[str, Any]]:
    """The log's entries of one event."""
    import json
    import sqlite3

    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        rows = [json.loads(text) for (text,) in connection.execute("SELECT entry FROM log ORDER BY seq")]
    return [row for row in rows if row["event"] == event]
