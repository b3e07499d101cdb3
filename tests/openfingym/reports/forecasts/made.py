"""Ledgers with the forecasts that a test wants."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from openfingym.reports.forecasts import ForecastReport, forecast_report
from openfingym_verifier.ledger.ledger import Ledger
from scripts.simulated_season import DAY_NS, FIRST, QUESTION_COLUMNS


@dataclass(frozen=True)
class Said:
    """A scored forecast of an event."""

    agent: str
    question: str
    p: float
    y: float
    round: str = ""
    week: int = 0
    market: float | None = None
    principal: str = "local"
    version: str = "1"
    category: str = ""
    simulated: bool = False
    counts: int = 1
    state: str = "scored"


def ledger(folder: Path, forecasts: Iterable[Said]) -> Path:
    """Write a ledger; returns its folder."""
    Ledger(folder).close()
    connection = sqlite3.connect(folder / "ledger.db")
    with connection:
        questions: dict[str, int] = {}
        people: dict[tuple[str, str, str], int] = {}
        for attempt, one in enumerate(forecasts):
            if one.question not in questions:
                number = questions[one.question] = len(questions) + 1
                deadline = FIRST + 7 * one.week * DAY_NS
                connection.execute(
                    f"INSERT INTO questions ({QUESTION_COLUMNS}) VALUES"
                    " (?, ?, '{}', 'manual', 'probability', ?, 'US', ?, 'real', ?, ?, ?, ?, ?, 0, 0, '')",
                    (
                        *(number, one.question, one.category, one.round),
                        *(deadline - DAY_NS, deadline, deadline + DAY_NS, one.simulated, one.state),
                    ),
                )
                connection.execute(
                    "INSERT INTO resolutions (question, n, kind, truth, value, source, evidence, vintage, fetched_ns)"
                    " VALUES (?, 1, 'resolved', ?, ?, '', '{}', '', 0)",
                    (number, json.dumps(one.y), one.y),
                )
                # What came later decides nothing.
                connection.execute(
                    "INSERT INTO resolutions (question, n, kind, truth, value, source, evidence, vintage, fetched_ns)"
                    " VALUES (?, 2, 'correction', '0.25', 0.25, '', '{}', '', 0)",
                    (number,),
                )
            who = (one.principal, one.agent, one.version)
            if who not in people:
                people[who] = len(people) + 1
                connection.execute("INSERT INTO forecasters VALUES (?, ?, ?, ?)", (people[who], *who))
            connection.execute(
                "INSERT INTO forecasts (question, forecaster, rollout_id, received_ns, answer, salt, digest, counts, p,"
                " loss, naive_loss, market_loss, correct) VALUES (?, ?, ?, 0, ?, '', '', ?, ?, ?, ?, ?, ?)",
                (
                    *(
                        questions[one.question],
                        people[who],
                        str(attempt),
                        json.dumps({"probability": one.p}),
                        one.counts,
                        one.p,
                    ),
                    *((one.p - one.y) ** 2, (0.5 - one.y) ** 2),
                    None if one.market is None else (one.market - one.y) ** 2,
                    None if one.y not in {0.0, 1.0} else int((one.p > 0.5) == (one.y > 0.5)),
                ),
            )
    connection.close()
    return folder


def reported(folder: Path, forecasts: Iterable[Said], **options) -> ForecastReport:
    """The report on a ledger of these forecasts."""
    return forecast_report(ledger(folder, forecasts), **options)
