"""What an answer as of a time costs, against boolean masks of pandas over the same rows.

Run: ``python benchmarks/vault.py [EVENTS] [ARTICLES] [READS]`` (default: 10 million, 400,000, a million). Prints the
seconds that building takes; p50 in milliseconds of counts, of the newest 30 rows and of distributions, by a vault and
by pandas (limits: 20 ms, and 20 times as fast); p50 of a BM25 search (limit: 50 ms); p50 of a fact of the bundled vault
(limit: 1 ms), and how many facts were later than asked for (limit: 0); and the memory of 64 threads that ask one
vault against that of one thread (limit: 1.5 times).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

# Before NumPy is loaded: threads of one product that wait for one another cost more.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import duckdb
import numpy as np
import pandas as pd
import psutil
from size import sized

from openfingym.vault import Between, TableSpec, Vault, VaultWriter, View

DAYS = 400
FIRST = date(2023, 1, 1)
EVENTS = TableSpec(
    name="events",
    columns={"day": "DATE", "head": "VARCHAR", "relation": "VARCHAR", "tail": "VARCHAR", "mentions": "INTEGER"},
    about="day",
)
ARTICLES = TableSpec(name="articles", columns={"id": "VARCHAR", "body": "VARCHAR"}, text=("body",))
WORDS = 50_000
ASKED = sized(200, 3)
THREADS = sized(64, 2)


def main() -> None:
    given = [int(number) for number in sys.argv[1:]]
    events, articles, reads = (*given, *sized((10_000_000, 400_000, 1_000_000), (20_000, 500, 100))[len(given) :])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "world"
        build(folder, events, articles)
        compare(Vault.open(folder))
        search(Vault.open(folder))
        memory(folder)
    facts(reads)


def build(folder: Path, events: int, articles: int) -> None:
    rows = folder.with_suffix(".parquet")
    # Countries and relations are as unevenly frequent as in the world's news: a few have most of the events.
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(f"""
        COPY (SELECT DATE '{FIRST}' + (n * {DAYS} // {events})::INTEGER AS day,
              'C' || lpad((150 * random() * random() * random())::INTEGER::VARCHAR, 3, '0') AS head,
              lpad((1 + 195 * random() * random())::INTEGER::VARCHAR, 3, '0') AS relation,
              'C' || lpad((150 * random() * random() * random())::INTEGER::VARCHAR, 3, '0') AS tail,
              (100 * random())::INTEGER AS mentions,
              (DATE '{FIRST}' + (n * {DAYS} // {events})::INTEGER + 1)::TIMESTAMP AS known_at
              FROM range({events}) AS numbers(n)) TO '{rows}' (FORMAT parquet)""")
    rng = np.random.default_rng(0)
    likely = 1 / np.arange(1, WORDS + 1)
    lexicon = [f"word{number}" for number in range(WORDS)]
    times = pd.Timestamp(FIRST) + pd.to_timedelta(np.linspace(0, DAYS, articles), unit="D")

    def parts() -> Any:
        for start in range(0, articles, 10_000):
            count = min(10_000, articles - start)
            drawn = rng.choice(WORDS, (count, 150), p=likely / likely.sum())
            bodies = [" ".join([lexicon[number] for number in row]) for row in drawn.tolist()]
            ids = [f"a{number}" for number in range(start, start + count)]
            yield pd.DataFrame({"id": ids, "body": bodies, "known_at": times[start : start + count]})

    with VaultWriter(folder, name="world", title="Benchmark", sources=[], simulated=True) as writer:
        started = time.perf_counter()
        writer.add(EVENTS, rows)
        took = time.perf_counter() - started
        print(f"building: {events:,} events in {took:.0f} s, {events / took:,.0f} a second")
        started = time.perf_counter()
        writer.add(ARTICLES, parts())
        print(
            f"building: {articles:,} articles of 150 words in {time.perf_counter() - started:.0f} s, with drawing them"
        )
        writer.finish()
    sizes = {path.name: path.stat().st_size / 1e6 for path in folder.iterdir()}
    print("files in MB:", ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items())))
    rows.unlink()


Ask = Callable[[View, dict[str, Any]], object]
Mask = Callable[[pd.DataFrame, dict[str, Any]], object]


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A question's values: a time, countries, relations, and a month before the time."""
    last = int(rng.integers(60, DAYS))
    return {
        "time": datetime(FIRST.year, FIRST.month, FIRST.day, 12, tzinfo=UTC) + timedelta(days=last),
        "head": f"C{int(150 * rng.random() ** 3):03}",
        "tail": f"C{int(150 * rng.random() ** 3):03}",
        "relations": [f"{int(1 + 195 * rng.random() ** 2):03}" for _ in range(3)],
        "low": FIRST + timedelta(days=last - 30),
        "high": FIRST + timedelta(days=last),
    }


def month(values: dict[str, Any]) -> Between:
    return Between(values["low"], values["high"])


def monthly(rows: pd.DataFrame, values: dict[str, Any]) -> pd.Series:
    return (rows.day >= pd.Timestamp(values["low"])) & (rows.day <= pd.Timestamp(values["high"]))


def newest(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return rows.tail(30).to_dict("records")


QUESTIONS: dict[str, tuple[Ask, Mask]] = {
    "count of a country": (
        lambda view, v: view.count("events", {"head": v["head"]}),
        lambda rows, v: int((rows["head"] == v["head"]).sum()),
    ),
    "count of a pair, relations and month": (
        lambda view, v: view.count(
            "events", {"head": v["head"], "tail": v["tail"], "relation": v["relations"], "day": month(v)}
        ),
        lambda rows, v: int(
            (
                (rows["head"] == v["head"])
                & (rows["tail"] == v["tail"])
                & rows.relation.isin(v["relations"])
                & monthly(rows, v)
            ).sum()
        ),
    ),
    "count of a month": (
        lambda view, v: view.count("events", {"day": month(v)}),
        lambda rows, v: int(monthly(rows, v).sum()),
    ),
    "newest 30 of a pair": (
        lambda view, v: view.rows("events", {"head": v["head"], "tail": v["tail"]}, order=["-day"], limit=30),
        lambda rows, v: newest(rows[(rows["head"] == v["head"]) & (rows["tail"] == v["tail"])]),
    ),
    "newest 30 of a country and month": (
        lambda view, v: view.rows("events", {"head": v["head"], "day": month(v)}, order=["-day"], limit=30),
        lambda rows, v: newest(rows[(rows["head"] == v["head"]) & monthly(rows, v)]),
    ),
    "relations of a pair": (
        lambda view, v: view.counts("events", "relation", {"head": v["head"], "tail": v["tail"]}),
        lambda rows, v: (
            rows[(rows["head"] == v["head"]) & (rows["tail"] == v["tail"])].relation.value_counts().to_dict()
        ),
    ),
    "tails of a country": (
        lambda view, v: view.counts("events", "tail", {"head": v["head"]}),
        lambda rows, v: rows[rows["head"] == v["head"]]["tail"].value_counts().to_dict(),
    ),
    "relations of a month": (
        lambda view, v: view.counts("events", "relation", {"day": month(v)}),
        lambda rows, v: rows[monthly(rows, v)].relation.value_counts().to_dict(),
    ),
}


def compare(vault: Vault) -> None:
    rows = duckdb.sql(f"SELECT * FROM '{vault.folder}/events.parquet' ORDER BY known_at").df()
    ours, theirs = [], []
    for name, (ask, mask) in QUESTIONS.items():
        rng = np.random.default_rng(1)
        spent: tuple[list[float], list[float]] = ([], [])
        for number in range(ASKED):
            values = drawn(rng)
            started = time.perf_counter()
            answer = ask(vault.as_of(values["time"]), values)
            spent[0].append(time.perf_counter() - started)
            if number < 5:
                started = time.perf_counter()
                known = rows[rows.known_at <= values["time"].replace(tzinfo=None)]
                wanted = mask(known, values)
                spent[1].append(time.perf_counter() - started)
                same = len(answer) == len(wanted) if isinstance(answer, list) else answer == wanted
                assert same, (name, values, answer, wanted)
        ours.append(median(spent[0]))
        theirs.append(median(spent[1]))
        print(
            f"{name}: p50 {ours[-1] * 1e3:.2f} ms, pandas {theirs[-1] * 1e3:.0f} ms, {theirs[-1] / ours[-1]:,.0f} times"
        )
    print(f"slowest question: {max(ours) * 1e3:.1f} ms (limit: 20)")
    print(f"least gain: {min(their / our for our, their in zip(ours, theirs, strict=True)):,.0f} times (limit: 20)")


def search(vault: Vault) -> None:
    rng, spent = np.random.default_rng(2), []
    for _ in range(ASKED):
        values = drawn(rng)
        # Half of the words are frequent, half rare.
        words = [f"word{number}" for number in (*rng.integers(0, 100, 3), *rng.integers(100, WORDS, 3))]
        started = time.perf_counter()
        vault.as_of(values["time"]).search("articles", " ".join(words), limit=10)
        spent.append(time.perf_counter() - started)
    print(f"search for six words: p50 {median(spent) * 1e3:.1f} ms (limit: 50)")


MEMORY = """
import sys, psutil, numpy as np
sys.path.insert(0, sys.argv[1])
from vault import asked_by
print(asked_by(sys.argv[2], int(sys.argv[3])))
"""


def asked_by(folder: str, threads: int) -> int:
    """Memory in bytes of this process, with what is mapped, once so many threads have asked one vault everything."""
    vault = Vault.open(folder)

    def ask(number: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(3 * THREADS // threads):
            values = drawn(rng)
            view = vault.as_of(values["time"])
            for question, _ in QUESTIONS.values():
                question(view, values)
            view.search("articles", "word1 word20 word3000")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, range(threads)))
    return psutil.Process().memory_info().rss


def memory(folder: Path) -> None:
    here = str(Path(__file__).parent)
    one, many = (
        int(subprocess.check_output([sys.executable, "-c", MEMORY, here, str(folder), str(threads)]))
        for threads in (1, THREADS)
    )
    print(f"memory: {one / 1e6:.0f} MB of one thread, {many / 1e6:.0f} MB of {THREADS}")
    print(f"memory of {THREADS}: {many / one:.2f} times that of one (limit: 1.5)")


def facts(reads: int) -> None:
    vault = Vault.open("bundled")
    rows = vault.hindsight("2030-01-01T00:00:00Z").rows("company_facts")
    key = vault.table("company_facts").spec.key
    rng = np.random.default_rng(3)
    first = min(row["known_at"] for row in rows)
    span = (max(row["known_at"] for row in rows) - first).total_seconds()
    spent = np.zeros(reads)
    later = found = 0
    for number in range(reads):
        row = rows[int(rng.integers(len(rows)))]
        values = {name: row[name] for name in key}
        at = first + timedelta(seconds=span * float(rng.random()))
        started = time.perf_counter()
        fact = vault.as_of(at).latest("company_facts", **values)
        spent[number] = time.perf_counter() - started
        found += fact is not None
        later += fact is not None and fact["known_at"] > at
    print(f"a fact: p50 {np.median(spent) * 1e3:.3f} ms of {reads:,} (limit: 1); {found:,} were known")
    print(f"facts later than asked for: {later} (limit: 0)")


if __name__ == "__main__":
    main()
