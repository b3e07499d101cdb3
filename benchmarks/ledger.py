"""The ledger of forecasts: acknowledgements, resolving, and a look at a million.

Acknowledgements: 64 clients on one event loop, each with an answer to one question after the other, against a bare
loop on the same disk, in turns: a thread that inserts the same row with its key, and commits whatever has come
meanwhile at once. The ledger also checks the deadline, lets the latest forecast count, and appends to the log, its hash
chain and its tree.

    python benchmarks/ledger.py [--rounds 5] [--each 200] [--due 100000] [--stored 1000000]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import queue
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

# Two BLAS threads would compete with the event loop for nothing.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "verifier"), str(ROOT / "runtime")]

from size import sized, status  # noqa: E402

from openfingym.questions import ProviderAnswer, Question  # noqa: E402
from openfingym_verifier.ledger.ledger import Ledger  # noqa: E402
from openfingym_verifier.ledger.storage import Storage  # noqa: E402
from openfingym_verifier.questions.service import QuestionService  # noqa: E402
from openfingym_verifier.serving import SWITCH_INTERVAL_S  # noqa: E402

CLIENTS = 64
RATIO, P99_MS, RESOLVE_S, STATUS_S, STATUS_MB = 0.7, 50.0, 60.0, 2.0, 500
START, HOUR = 1_735_689_600_000_000_000, 3_600_000_000_000
CLOCK = "bench"
REFERENCE = '{"at_ns":1735689600000000000,"probability":0.5}'
ANSWER, SALT, DIGEST = '{"probability":0.5}', "5" * 32, "d" * 64


class Local:
    """A provider on this machine that knows everything at once."""

    name, simulated = "local", False

    def check(self, question: Question) -> None:
        """Any question will do."""

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any]:  # noqa: ARG002
        """An even market."""
        return {"probability": 0.5, "at_ns": now_ns}

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer]:
        """That all of it happened."""
        return {one.id: ProviderAnswer("resolved", 1.0, evidence={"y": 1}, provider_ns=now_ns) for one in questions}

    def close(self) -> None:
        """Nothing is held."""


def question(number: int) -> dict[str, Any]:
    """A question that is open for an hour."""
    times = {"generated_ns": START, "deadline_ns": START + HOUR, "evaluation_ns": START + 2 * HOUR}
    return {"id": f"q{number}", "text": "?", "form": "probability", "provider": "local", "clock": CLOCK, **times}


@contextlib.contextmanager
def opened(state: Path) -> Iterator[QuestionService]:
    """The questions of a ledger."""
    ledger, threads = Ledger(state), ThreadPoolExecutor(2)
    try:
        service = QuestionService(ledger, threads, b"a benchmark", Storage(None, {}))
        service.providers.add(Local())
        yield service
        service.close()
    finally:
        threads.shutdown()
        ledger.close()


async def in_turns(each: int, one: Any) -> tuple[float, list[float]]:
    """Acknowledgements a second of all clients together, and the seconds of each."""
    taken: list[float] = []

    async def client(number: int) -> None:
        for n in range(each):
            begun = time.perf_counter()
            await one(number, n)
            taken.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return CLIENTS * each / (time.perf_counter() - begun), taken


async def acknowledge(state: Path, each: int) -> tuple[float, list[float]]:
    """Forecasts as events of the ledger, through its writer."""
    with opened(state) as service:
        await service.clocks.advance(CLOCK, START)
        known = await service.ask([question(n) for n in range(each)])
        made, _ = await service.prepare(known[0], ("p", "a", "1"), {"probability": 0.5}, START)
        forecasters = [await service._forecasters.row_of((f"p{n}", "a", "1")) for n in range(CLIENTS)]

        events = [
            [
                replace(
                    made,
                    question_id=known[n].row,
                    question=known[n].question.id,
                    forecaster_id=forecasters[number],
                    forecaster=(f"p{number}", "a", "1"),
                )
                for n in range(each)
            ]
            for number in range(CLIENTS)
        ]

        async def one(number: int, n: int) -> None:
            await service._ledger.writer.submit(events[number][n].apply, overtakes=True)

        return await in_turns(each, one)


class BareLoop:
    """One thread that writes whatever has come meanwhile in one commit: the row of a forecast, with its keys."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.executescript(
            "CREATE TABLE forecasts (id INTEGER PRIMARY KEY, question INTEGER NOT NULL, forecaster INTEGER NOT NULL,"
            " received_ns INTEGER NOT NULL, answer TEXT NOT NULL, salt TEXT NOT NULL, digest TEXT NOT NULL,"
            " reference TEXT, p REAL); CREATE INDEX of_question ON forecasts (question, forecaster);"
        )
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def submit(self, row: tuple[object, ...]) -> asyncio.Future[None]:
        """Queue a row; done once it is on the disk."""
        done = asyncio.get_running_loop().create_future()
        self._jobs.put((row, done))
        return done

    def close(self) -> None:
        """End the thread."""
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            group = [first]
            with contextlib.suppress(queue.Empty):
                while True:
                    group.append(self._jobs.get_nowait())
            self._connection.execute("BEGIN IMMEDIATE")
            for row, _ in group:
                self._connection.execute(
                    "INSERT INTO forecasts (question, forecaster, received_ns, answer, salt, digest, reference, p)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
            self._connection.execute("COMMIT")
            for _, done in group:
                done.get_loop().call_soon_threadsafe(done.set_result, None)


async def bare(path: Path, each: int) -> tuple[float, list[float]]:
    """The same rows through the bare loop."""
    loop = BareLoop(path)

    async def one(number: int, n: int) -> None:
        await loop.submit((n, number, n, ANSWER, SALT, DIGEST, REFERENCE, 0.5))

    try:
        return await in_turns(each, one)
    finally:
        loop.close()


async def resolve(state: Path, count: int) -> float:
    """Seconds to resolve and score so many forecasts, ten of each question."""
    with opened(state) as service:
        await service.clocks.advance(CLOCK, START)
        questions, forecasters = count // 10, 10
        known = [one for n in range(0, questions, 5000) for one in await service.ask(
            [question(i) for i in range(n, min(n + 5000, questions))])]  # fmt: skip
        rows = [await service._forecasters.row_of((f"p{n}", "a", "1")) for n in range(forecasters)]
        made, _ = await service.prepare(known[0], ("p", "a", "1"), {"probability": 0.5}, START)
        waiting = []
        for one in known:
            for n, row in enumerate(rows):
                forecast = replace(
                    made,
                    question_id=one.row,
                    question=one.question.id,
                    forecaster_id=row,
                    forecaster=(f"p{n}", "a", "1"),
                )
                waiting.append(service._ledger.writer.submit(forecast.apply, size=10_000))
            if len(waiting) >= 5000:
                await asyncio.gather(*waiting)
                waiting.clear()
        await asyncio.gather(*waiting)
        await service.clocks.advance(CLOCK, START + 2 * HOUR)
        begun = time.perf_counter()
        done = await service.resolver.run()
        taken = time.perf_counter() - begun
        assert (done.forecasts, done.scored) == (count, questions), done
        return taken


def fill(state: Path, count: int) -> None:
    """A ledger of so many forecasts, half of them scored, written without its log."""
    Ledger(state).close()
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        questions = count // 100
        columns = "name, content, provider, form, category, market, round, clock, generated_ns, deadline_ns"
        connection.executemany(
            f"INSERT INTO questions ({columns}, evaluation_ns, simulated, state, due_ns)"  # a constant
            " VALUES (?, '{}', 'local', 'probability', '', '', '', 'real', 1, 2, 3, 0, ?, 3)",
            ((f"q{n}", "scored" if n % 2 else "pending") for n in range(questions)),
        )
        connection.executemany("INSERT INTO forecasters VALUES (?, 'p', ?, '')", ((n, f"a{n}") for n in range(1, 101)))
        connection.executemany(
            "INSERT INTO forecasts (question, forecaster, received_ns, answer, salt, digest, p, loss)"
            " VALUES (?, ?, 1, ?, ?, ?, 0.5, ?)",
            ((n // 100 + 1, n % 100 + 1, ANSWER, SALT, DIGEST, 0.25 if (n // 100) % 2 else None) for n in range(count)),
        )
        connection.commit()


def status_cost(state: Path) -> tuple[float, float]:
    """Seconds and MB of `openfingym ledger status`, as a process."""
    path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier", "runtime"))
    command = ["/usr/bin/env", sys.executable, "-c", (
        "import resource, sys; from openfingym.cli import cli;"
        " cli.main(['ledger', 'status', '--state-folder', sys.argv[1]], standalone_mode=False);"
        " print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    ), str(state)]  # fmt: skip
    begun = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    return time.perf_counter() - begun, int(done.stdout.split()[-1]) / 1024


def main() -> int:
    """Measure, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=sized(5, 1))
    parser.add_argument("--each", type=int, default=sized(200, 3), help="forecasts of each client")
    parser.add_argument("--due", type=int, default=sized(100_000, 100))
    parser.add_argument("--stored", type=int, default=sized(1_000_000, 1_000))
    options = parser.parse_args()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    ratios, slow = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(options.rounds):
            other, _ = asyncio.run(bare(root / f"bare{number}.db", options.each))
            own, taken = asyncio.run(acknowledge(root / f"own{number}", options.each))
            p99 = 1000 * statistics.quantiles(taken, n=100)[98]
            ratios.append(own / other)
            slow.append(p99)
            print(f"acknowledged/s: ledger {own:8.0f}, bare {other:8.0f}, ratio {own / other:.2f}; p99 {p99:.1f} ms")
        ratio, p99 = statistics.median(ratios), statistics.median(slow)
        print(f"acknowledgements: median ratio {ratio:.2f} (target {RATIO}), p99 {p99:.1f} ms (target {P99_MS:g})")
        seconds = asyncio.run(resolve(root / "due", options.due))
        print(f"resolving {options.due:,} forecasts: {seconds:.1f} s (target {RESOLVE_S:g})")
        fill(root / "stored", options.stored)
        status_s, megabytes = status_cost(root / "stored")
        print(f"status of {options.stored:,}: {status_s:.2f} s, {megabytes:.0f} MB (targets {STATUS_S:g}, {STATUS_MB})")
    met = ratio >= RATIO and p99 <= P99_MS and seconds <= RESOLVE_S and status_s <= STATUS_S and megabytes <= STATUS_MB
    return status(met)


if __name__ == "__main__":
    sys.exit(main())
