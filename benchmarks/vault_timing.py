"""Whether the time that a lookup takes tells of rows that became known later.

Pairs of calls, one after the other in random order, many times: of the first only later rows would make it different.

* a word that 5,000 later documents have, against a word that none has, on one vault;
* the same call on a vault with many later rows, against a copy without them.

Printed are the medians, and how often the first takes longer than the second: 0.5 says that time tells nothing. Whoever
sends calls through a verifier sees these times behind those of two sockets and a commit to the ledger.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from size import sized

from openfingym.vault import Between, Source, TableSpec, Vault, VaultWriter

START, HALF = datetime(2024, 1, 1, tzinfo=UTC), 5_000
SPEC = TableSpec(
    name="articles",
    columns={"id": "VARCHAR", "day": "DATE", "country": "VARCHAR", "body": "VARCHAR"},
    about="day",
    text=("body",),
)
PAIRS = sized(4_000, 10)


def written(folder: Path) -> Vault:
    """As many documents after the time as before it; those after have the word ``later``."""
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"w{number}" for number in range(4_000)])
    likely = 1 / np.arange(1, len(vocabulary) + 1)
    bodies = [" ".join(rng.choice(vocabulary, 60, p=likely / likely.sum())) for _ in range(2 * HALF)]
    known = [START + timedelta(minutes=number) for number in range(2 * HALF)]
    frame = pd.DataFrame(
        {
            "id": [f"a{number:06}" for number in range(2 * HALF)],
            "day": [one.date() for one in known],
            "country": [f"{'B' if number >= HALF else 'A'}{number % 50:02}" for number in range(2 * HALF)],
            "body": [f"{body} later" if number >= HALF else body for number, body in enumerate(bodies)],
            "known_at": known,
        }
    )
    with VaultWriter(
        folder, name="timing", title="Timing", sources=[Source(name="made here", licence="none")]
    ) as writer:
        writer.add(SPEC, frame)
        return writer.finish()


def compared(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float, float, float]:
    """Medians in microseconds, how often the first is slower, and the standard error of that."""
    rng, times = np.random.default_rng(1), np.zeros((PAIRS, 2))
    for number, order in enumerate(rng.integers(0, 2, PAIRS + 200)):
        for which in (order, 1 - order):
            begun = time.perf_counter_ns()
            (second if which else first)()
            if number >= 200:
                times[number - 200, which] = time.perf_counter_ns() - begun
    slower = float(np.mean(times[:, 0] > times[:, 1]) + np.mean(times[:, 0] == times[:, 1]) / 2)
    return float(np.median(times[:, 0])) / 1e3, float(np.median(times[:, 1])) / 1e3, slower, 0.5 / PAIRS**0.5


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as scratch:
        vault = written(Path(scratch) / "whole")
        asked = START + timedelta(minutes=HALF) - timedelta(microseconds=1)
        view, alone = vault.as_of(asked), vault.truncated(asked, Path(scratch) / "cut").as_of(asked)
        day = Between(asked.date() - timedelta(days=1), None)
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "search: a later word, a word that is none": (
                lambda: view.search("articles", "w7 later"),
                lambda: view.search("articles", "w7 never"),
            ),
            "holding: a later word, a word that is none": (
                lambda: view.holding("articles", ["later"]),
                lambda: view.holding("articles", ["never"]),
            ),
            "count: a later value, a value that is none": (
                lambda: view.count("articles", {"country": "B07"}),
                lambda: view.count("articles", {"country": "B7x"}),
            ),
            "search: with later rows, without": (
                lambda: view.search("articles", "w7 w40"),
                lambda: alone.search("articles", "w7 w40"),
            ),
            "rows of the last days: with later rows, without": (
                lambda: view.rows("articles", {"day": day}, order=["-day"], limit=30),
                lambda: alone.rows("articles", {"day": day}, order=["-day"], limit=30),
            ),
            "counts: with later rows, without": (
                lambda: view.counts("articles", "country"),
                lambda: alone.counts("articles", "country"),
            ),
        }
        print(f"{'pair':50} {'p50 us':>9} {'p50 us':>9} {'slower':>7}")
        for name, (first, second) in pairs.items():
            one, other, slower, error = compared(first, second)
            print(f"{name:50} {one:9.1f} {other:9.1f} {slower:7.3f} +- {error:.3f}")


if __name__ == "__main__":
    main()
