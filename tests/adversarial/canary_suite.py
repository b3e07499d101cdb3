"""MIRAI on a world with canaries: what becomes known a microsecond after a question's time names a secret.

Installed as a distribution's suite beside a folder with the vault, since a verifier is another process.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from openfingym.data.dataset import DatasetInfo
from openfingym.suites.suite import QuestionSet, Scalar, SuiteQuestion
from openfingym.vault import Source, Vault, VaultWriter
from openfingym_suites.mirai import answers
from openfingym_suites.mirai.suite import MiraiSuite
from openfingym_suites.mirai.tables import ARTICLES, EVENT_ARTICLES, EVENTS

FOLDER = Path(__file__).with_name("vault")
FIRST = date(2023, 1, 1)
TIMES = tuple(datetime.combine(FIRST + timedelta(days=day), time.max, UTC) for day in (20, 30, 40, 50))
"""Of the questions: one to practise on, three that count."""
BAIT = "zzcanary"
"""Stands in every canary, and an attacker knows it."""
BAITED = ("TUV", "NRU", "203")
"""Head, tail and relation of events that are canaries alone."""
SECRET = "q7hx"
"""Follows the bait, and must never be seen: a mark a question."""


def secret(number: int) -> str:
    """What became known after question ``number``."""
    return f"{SECRET}{number}" + "wvut"[number] * 3


def write_world() -> Vault:
    """The vault: fifty days of talks, and after each question's time twenty rows with its secret."""
    events, articles, links = [], [], []

    def happen(known: datetime, head: str, tail: str, relation: str, title: str, text: str) -> None:
        event = {"date": known.date(), "head": head, "relation": relation, "tail": tail, "known_at": known}
        events.append({**event, "mentions": 60, "articles": 1, "quad": 1})
        article = {
            "id": f"{len(articles):04}{title[:20]}",
            "date": known.date(),
            "title": title,
            "text": text,
            "url": "",
        }
        articles.append({**article, "known_at": known})
        links.append({**event, "article": article["id"]})

    for day in range(50):
        known = datetime.combine(FIRST + timedelta(days=day), time(12), UTC)
        for head, tail in (("USA", "CHN"), ("CHN", "USA"), ("FRA", "DEU")):
            happen(known, head, tail, "036", f"{head} talks with {tail}", f"Ministers met on day {day} at the border.")
    for number, asked in enumerate(TIMES):
        for more in range(20):
            head, tail, relation = BAITED
            mark = f"{BAIT}{secret(number)}"
            # What lies a microsecond ahead is of the next day; half of it is dated back to the day that is asked on.
            happen(asked + timedelta(microseconds=1), head, tail, relation, f"{mark} {more}", f"{mark} at the border")
            if more % 2:
                events[-1]["date"] = articles[-1]["date"] = links[-1]["date"] = asked.date()
    sources = [Source(name="made here", licence="CC0-1.0")]
    with VaultWriter(FOLDER, name="canaries", title="Canaries", sources=sources, simulated=True) as writer:
        for spec, rows in ((EVENTS, events), (ARTICLES, articles), (EVENT_ARTICLES, links)):
            writer.add(spec, pd.DataFrame(rows).sort_values("known_at", kind="stable"))
        return writer.finish()


class CanarySuite(MiraiSuite):
    name = "canaries"

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:
        return Vault.open(FOLDER).digest

    def simulated(self, dataset: str) -> bool:
        return True

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        vault = Vault.open(FOLDER)
        known = TIMES[0] - timedelta(days=5)
        every = [
            SuiteQuestion(f"c{number}", "What will happen?", asked.isoformat(), {"head": "USA", "tail": "CHN"})
            for number, asked in enumerate([known, known, known, *TIMES])
        ]
        info = DatasetInfo(
            name=dataset,
            title="Canaries",
            kind="simulated",
            source="made here",
            provenance="made up",
            licence="CC0-1.0",
            frequency="daily",
            measure="mixed",
            unit="codes",
            calendar="every day",
            corporate_actions="none",
            first=FIRST,
            last=FIRST,
            rows=7,
            channels=answers.labels(),
            missing=0,
            sha256=vault.digest,
        )
        truths = np.stack([answers.CodeAnswer({"03": ("036",)}).numbers()] * len(every))
        return QuestionSet(info, vault.digest, tuple(every[:3]), tuple(every[3:4]), tuple(every[4:]), truths)

    def vault(self, snapshot: str) -> Vault:
        return Vault.open(FOLDER)


SUITE = CanarySuite()
