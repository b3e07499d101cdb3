"""The life of two questions, in a process that is killed at one of its writes, and then once more to the end.

Prints an object for each write before which it was killed: what had been acknowledged by then, and what was found wrong
afterwards. Run in a process of its own, which forks: nothing else may have threads.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.questions import reading
from openfingym_verifier.questions.service import QuestionService
from tests.verifier.scripted import CLOCK, HOUR, OPERATOR, START, Scripted, entries, question, resolved, service

FORECASTS = {"k1": ("q", 0.2, "a"), "k2": ("q", 0.9, "a"), "k3": ("q", 0.4, "b"), "k4": ("v", 0.5, "b")}
LOSSES = {("q", "a"): (0.9 - 1.0) ** 2, ("q", "b"): (0.4 - 1.0) ** 2}


def provider() -> Scripted:
    shows = {"probability": 0.5, "at_ns": START, "source": "a test"}
    return Scripted({"q": resolved(1.0, provider_ns=START + 2 * HOUR)}, shows=shows)


async def live(
    state: Path,
    acknowledged: Callable[[str], None],
    statement: Callable[[str], None] | None = None,
    found: list[str] | None = None,
) -> None:
    """All of it, each step as a client would repeat it; what is wrong at the end is added to ``found``."""
    async with service(state, provider()) as own:
        if statement is not None:
            own._ledger.writer._connection.set_trace_callback(statement)
        if own.clocks.now(CLOCK) < START + HOUR:
            await own.ask([question("q").to_dict(), question("v").to_dict()])
            for key, (name, p, agent) in FORECASTS.items():
                await own.forecast(OPERATOR, name, {"probability": p}, agent=agent, version="", idempotency_key=key)
                acknowledged(key)
        await own.clocks.advance(CLOCK, max(START + 2 * HOUR, own.clocks.now(CLOCK)))
        await own.resolver.run()
        await own.clocks.advance(CLOCK, START + 24 * 15 * HOUR)
        await own.resolver.run()
        if statement is not None:
            own._ledger.writer._connection.set_trace_callback(None)
        if found is not None:
            await _look(own, found)


def killed_at(state: Path, at: int) -> tuple[list[str], bool]:
    """Live in a child that is killed before its write number ``at``; what it acknowledged, and whether it was."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def statement(text: str) -> None:
            nonlocal seen
            seen += text.startswith(("INSERT", "UPDATE", "COMMIT"))
            if seen > at:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            asyncio.run(live(state, lambda key: os.write(writer, f"{key} ".encode()) and None, statement))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as stream:
        acknowledged = stream.read().split()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise SystemExit("the child failed")
    return acknowledged, os.WIFSIGNALED(status)


def wrong_after(state: Path, acknowledged: list[str]) -> list[str]:
    """What is wrong with a ledger whose process was killed, before and after it is started again."""
    found = []
    if (state / "ledger.db").exists():
        with sqlite3.connect(state / "ledger.db") as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            kept = connection.execute("SELECT idempotency_key, p FROM forecasts") if "forecasts" in tables else ()
            there = dict(iter(kept))
        connection.close()
        found += [f"{key} was lost" for key in acknowledged if there.get(key) != FORECASTS[key][1]]
    asyncio.run(live(state, lambda _key: None, found=found))
    for event in ("question-asked", "question-resolvable", "question-resolved", "question-void", "question-scored"):
        names = [entry["question"] for entry in entries(state, event)]
        if len(names) != len(set(names)):
            found.append(f"{event} twice")
    verify_chain(state)
    return found


async def _look(own: QuestionService, found: list[str]) -> None:
    states = {row["question"]["id"]: row["state"] for row in await own.read(reading.questions)}
    if states != {"q": "scored", "v": "void"}:
        found.append(f"states are {states}")
    rows = await own.read(reading.forecasts, principal=None)
    losses = {(row["question"], row["agent"]): row["loss"] for row in rows if row["loss"] is not None}
    if losses != LOSSES:
        found.append(f"losses are {losses}")
    if len(rows) != len(FORECASTS):
        found.append(f"{len(rows)} forecasts")


def main(root: Path) -> None:
    for at in range(10_000):
        state = root / str(at)
        state.mkdir()
        acknowledged, killed = killed_at(state, at)
        found = {"at": at, "acknowledged": acknowledged, "wrong": wrong_after(state, acknowledged)}
        sys.stdout.write(json.dumps(found) + "\n")
        if not killed:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
