"""A small made-up world, with everything that may give a later row away: restated figures, late news, ties, gaps."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from openfingym.vault import Source, TableSpec, Vault, VaultWriter

START = datetime(2024, 1, 1, tzinfo=UTC)
CANARY = "zzcanary"
"""Stands in every text of every row from :data:`SECRET_FROM` on, and in none before."""
SECRET_FROM = START + timedelta(hours=300)
HEADS = ["USA", "FRA", "CHN", "Çelik", None]
WORDS = ["talks", "Trade", "tariff", "élan", "army", "budget", "vote", "flood", "rate", "bank", "x1", "2024"]

EVENTS = TableSpec(
    name="events",
    columns={
        "day": "DATE",
        "head": "VARCHAR",
        "relation": "VARCHAR",
        "tags": "VARCHAR[]",
        "mentions": "INTEGER",
        "tone": "DOUBLE",
        "major": "BOOLEAN",
    },
    about="day",
)
FACTS = TableSpec(
    name="facts",
    columns={"series": "VARCHAR", "day": "DATE", "value": "DOUBLE", "note": "VARCHAR"},
    key=("series", "day"),
    about="day",
)
DOCUMENTS = TableSpec(
    name="documents",
    columns={"number": "BIGINT", "outlet": "VARCHAR", "title": "VARCHAR", "body": "VARCHAR", "seen": "TIMESTAMP"},
    text=("title", "body"),
)


def frames(seed: int, rows: int = 120) -> dict[str, pd.DataFrame]:
    """The rows of a world, in no order; known times in whole hours, so that many are the same."""
    rng = np.random.default_rng(seed)

    def known(count: int) -> list[datetime]:
        return [START + timedelta(hours=int(hour)) for hour in rng.integers(0, 600, count)]

    def secret(times: list[datetime], texts: list[str | None]) -> list[str | None]:
        # Each value from then on is one that no row before has.
        return [
            f"{text} {CANARY}{at.hour}" if at >= SECRET_FROM else text for at, text in zip(times, texts, strict=True)
        ]

    def some(values: list[object], count: int) -> list[object]:
        return [values[place] for place in rng.integers(0, len(values), count)]

    def texts(count: int, longest: int) -> list[str | None]:
        return [" ".join(rng.choice(WORDS, rng.integers(0, longest))) for _ in range(count)]

    at = known(rows)
    days = [START.date() + timedelta(days=int(day)) for day in rng.integers(0, 25, rows)]
    events = pd.DataFrame(
        {
            "day": days,
            "head": secret(at, some(HEADS, rows)),
            "relation": [f"{code:03}" for code in rng.integers(1, 30, rows)],
            "tags": [secret([when] * 3, list(rng.choice(WORDS, 3)))[: rng.integers(0, 4)] for when in at],
            "mentions": pd.array(rng.integers(-5, 5, rows), "Int64"),
            "tone": rng.choice([0.0, -1.5, 0.1, np.nan], rows),
            "major": pd.array(some([True, False, None], rows), "boolean"),
            "known_at": at,
        }
    )
    events.loc[rng.random(rows) < 0.1, "mentions"] = None
    at = known(rows)
    facts = pd.DataFrame(
        {
            "series": secret(at, some(["gdp", "cpi", "jobs", None], rows)),
            "day": [date(2023, int(month), 1) for month in rng.integers(1, 4, rows)],
            "value": rng.normal(size=rows),
            "note": secret(at, some(["first", "revised"], rows)),
            "known_at": at,
        }
    )
    at = known(rows)
    documents = pd.DataFrame(
        {
            "number": np.arange(rows),
            "outlet": secret(at, some(["wire", "post"], rows)),
            "title": secret(at, texts(rows, 4)),
            "body": secret(at, texts(rows, 20)),
            "seen": at,
            "known_at": at,
        }
    )
    return {"events": events, "facts": facts, "documents": documents}


def world(folder: Path, seed: int = 0, rows: int = 120) -> Vault:
    """A vault of such a world."""
    sources = [Source(name="made up", licence="none")]
    with VaultWriter(folder, name="world", title="A small world", sources=sources, simulated=True) as writer:
        for spec in (EVENTS, FACTS, DOCUMENTS):
            writer.add(spec, frames(seed, rows)[spec.name])
        return writer.finish()
