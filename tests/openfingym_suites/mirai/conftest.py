"""A small world of events and articles, in a real vault."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from openfingym.files.locks import take
from openfingym.vault import Source, TableSpec, Vault, VaultWriter
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.simulated import write_simulated
from openfingym_suites.mirai.world import SimulationSize

FIRST_DAY = date(2023, 1, 1)
DAYS = 120
COUNTRIES = ("USA", "CHN", "RUS", "UKR", "IRN", "ISR", "PNG", "AUS", "KOR", "PRK")
_WORDS = "talks trade sanctions troops visit aid treaty protest border summit grain missile budget embassy"
WORDS = _WORDS.split()
EVENTS = TableSpec(
    name="events",
    columns={
        "date": "DATE",
        "head": "VARCHAR",
        "relation": "VARCHAR",
        "tail": "VARCHAR",
        "mentions": "INTEGER",
        "articles": "INTEGER",
        "quad": "INTEGER",
    },
    about="date",
)
ARTICLES = TableSpec(
    name="articles",
    columns={"id": "VARCHAR", "date": "DATE", "title": "VARCHAR", "text": "VARCHAR", "url": "VARCHAR"},
    about="date",
    text=("title", "text"),
)
EVENT_ARTICLES = TableSpec(
    name="event_articles",
    columns={"date": "DATE", "head": "VARCHAR", "relation": "VARCHAR", "tail": "VARCHAR", "article": "VARCHAR"},
    about="date",
)


@dataclass(frozen=True)
class World:
    """The tables as data frames, and a vault of them."""

    events: pd.DataFrame
    articles: pd.DataFrame
    event_articles: pd.DataFrame
    vault: Vault

    def known(self, name: str, time: str) -> pd.DataFrame:
        """The rows of a table that were known at a time."""
        frame: pd.DataFrame = getattr(self, name)
        return frame[frame["known_at"] <= pd.Timestamp(time)]


def end_of(day: date) -> datetime:
    """The last microsecond of a day."""
    return datetime.combine(day, time.max, UTC)


def frames() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Events of pairs with habits, articles about them; every tenth event is known a day late."""
    rng = np.random.default_rng(18)
    codes = [relation.code for relation in taxonomy.relations(2)][::10]
    pairs = [(head, tail) for head in COUNTRIES for tail in COUNTRIES if head != tail]
    habits = rng.choice(codes, (len(pairs), 4)).tolist()
    happens = rng.random((DAYS, len(pairs), 4)) < 0.05
    late = (rng.random(happens.shape) < 0.1).astype(int).tolist()
    events, articles, links = [], [], []
    for number, pair, habit in zip(*np.nonzero(happens), strict=True):
        day, (head, tail), relation = FIRST_DAY + timedelta(days=int(number)), pairs[pair], habits[pair][habit]
        if relation in habits[pair][:habit]:
            continue  # the same event twice
        known = end_of(day) + timedelta(days=late[number][pair][habit])
        row = {"date": day, "head": head, "relation": relation, "tail": tail, "known_at": known}
        events.append({**row, "mentions": 60, "articles": 2, "quad": taxonomy.quad_of(relation)})
        for words in rng.choice(WORDS, (2, 12)).tolist():
            # What happens has a word of its own, so that articles tell something.
            words[0] = WORDS[codes.index(relation) % len(WORDS)]
            name = f"a{len(articles):05}"
            title = f"{taxonomy.country(head).name}'s {words[0]} with {taxonomy.country(tail).name}"
            article = {"id": name, "date": day, "title": title, "text": " ".join(words), "url": ""}
            articles.append({**article, "known_at": end_of(day)})
            links.append({**row, "article": name})
    made = (pd.DataFrame(rows).sort_values("known_at", kind="stable") for rows in (events, articles, links))
    return tuple(made)  # type: ignore[return-value]


def written(folder: Path, tables: dict[str, pd.DataFrame]) -> Vault:
    """A vault of such tables."""
    with VaultWriter(
        folder,
        name="small-world",
        title="A small world",
        sources=[Source(name="made here", licence="CC0-1.0")],
        simulated=True,
    ) as writer:
        for spec in (EVENTS, ARTICLES, EVENT_ARTICLES):
            writer.add(spec, tables[spec.name][[*spec.types]])
        return writer.finish()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    events, articles, links = frames()
    vault = written(
        tmp_path_factory.mktemp("mirai") / "world", {"events": events, "articles": articles, "event_articles": links}
    )
    return World(events, articles, links, vault)


@pytest.fixture(scope="session")
def simulated_world(store_home: Path) -> Vault:
    """The simulated world of seven months, most of them before its test month; of all processes, one makes it."""
    folder = store_home.parent / "mirai-seven-months"
    with take(store_home.parent / "mirai-seven-months.lock"):
        if not folder.exists():
            # What broke off is not taken for a world.
            made = write_simulated(folder.with_suffix(f".{os.getpid()}"), SimulationSize(days=212), seed=5)
            made.folder.rename(folder)
    return Vault.open(folder)
