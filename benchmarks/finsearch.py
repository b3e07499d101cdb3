"""What a search as of a time costs among the pages of financial search, against bm25s on the pages that were known.

Run: ``python benchmarks/finsearch.py [PAGES]`` (default: 100,000). The pages are those of the default world, repeated.
Prints p50 and p95 in milliseconds of ``search`` with snippets (limit: p50 of 50 ms), of the
vault's search alone, and of bm25s, which has no as-of limit and is given an index of the known pages alone; and the
seconds that writing the world takes (limit: 60 s on an idle machine).
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pandas as pd
from size import SHORT, sized

from openfingym.vault import Source, Vault, VaultWriter
from openfingym.vault.search import words
from openfingym_suites.finsearch.tools import FinanceTools
from openfingym_suites.finsearch.world import finsearch_vault, write_finsearch
from openfingym_suites.finsearch.world.specs import PAGES

AS_OF = "2024-06-28T21:00:00Z"
ASKED = sized(200, 5)


def main() -> None:
    """Measure, and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else sized(100_000, 1_000)
    with tempfile.TemporaryDirectory() as scratch:
        started, spent = time.perf_counter(), time.process_time()
        if not SHORT:
            write_finsearch(Path(scratch) / "world")
        print(f"write the world: {time.perf_counter() - started:.1f} s, {time.process_time() - spent:.1f} s of CPU")
        pages = _repeated(pd.DataFrame(finsearch_vault().hindsight(AS_OF).rows("pages")), count)
        with VaultWriter(
            Path(scratch) / "v", name="pages", title="Pages", sources=[Source(name="x", licence="x")]
        ) as w:
            w.add(PAGES, pages)
            vault = w.finish()
        _search(vault, pages)


def _repeated(pages: pd.DataFrame, count: int) -> pd.DataFrame:
    parts = []
    while sum(map(len, parts)) < count:
        part, again = pages.copy(), len(parts)
        if again:
            part["url"] += f"?{again}"
            part["text"] += f" copy {again}"
            part = part[part["simulated"]]
        parts.append(part)
    return pd.concat(parts, ignore_index=True)[:count].sort_values("known_at", kind="stable")


def _search(vault: Vault, pages: pd.DataFrame) -> None:
    known = pages[pages["known_at"] <= pd.Timestamp(AS_OF)]
    draw = random.Random(0)
    titles = draw.sample(list(known["title"]), ASKED)
    queries = [" ".join(words(title)[:8]) if title.isascii() else title[:30] for title in titles]
    view = vault.as_of(AS_OF)
    tools = FinanceTools(view)
    print(f"{len(pages):,} pages, {len(known):,} known, {ASKED} queries of titles; milliseconds, p50 and p95")
    print(f"  search with snippets  {_timed(lambda query: tools.reply('search', {'query': query}), queries)}")
    print(f"  the vault's search    {_timed(lambda query: view.search('pages', query, columns=['url']), queries)}")
    try:
        import bm25s
    except ImportError:
        print("  bm25s                 not installed: pip install bm25s")
        return
    tokens = [words(f"{title}\n{text}") for title, text in zip(known["title"], known["text"], strict=True)]
    peer = bm25s.BM25(k1=1.5, b=0.75)
    peer.index(tokens, show_progress=False)
    found = _timed(lambda query: peer.retrieve([words(query)], k=8, show_progress=False), queries)
    print(f"  bm25s, known pages    {found}")


def _timed(call: Callable[[str], object], queries: list[str]) -> str:
    call(queries[0])
    seconds = []
    for query in queries:
        started = time.perf_counter()
        call(query)
        seconds.append(1e3 * (time.perf_counter() - started))
    return f"{median(seconds):7.2f} {quantiles(seconds, n=20)[-1]:7.2f}"


if __name__ == "__main__":
    main()
