"""Ledgers with the seasons that a test wants, scored by the library's own scores."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from openfingym.digests import canonical_json
from openfingym.questions import Question
from openfingym.questions.question import DAY_NS
from openfingym.questions.scoring import scores
from openfingym_verifier.ledger.ledger import Ledger
from scripts.simulated_season import QUESTION_COLUMNS

SERIES = "season"
FIRST = date(2025, 10, 30)
"""The Thursday on which the first round is generated, at midnight UTC."""
HORIZON_DAYS = {"week": 7, "month": 30, "quarter": 90}


@dataclass(frozen=True)
class Asked:
    """A question of a season, and what forecasters (agent, or (agent, principal)) said of it."""

    key: str
    quadrant: str = "recurrent corporate"
    market: str = "US"
    week: int = 0
    truth: float | None = 1.0
    said: Mapping[str | tuple[str, str], float] = field(default_factory=dict)
    subtype: str = "Revenue"
    subject: str = ""
    horizon: str = "quarter"
    measure: str = "amount"
    state: str = "scored"
    reason: str = ""
    text: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
    clock: str = SERIES
    simulated: bool = True

    @property
    def is_event(self) -> bool:
        return self.quadrant.startswith("non-recurrent")

    def question(self) -> Question:
        track, level = self.quadrant.rsplit(" ", 1)
        day = FIRST + timedelta(days=7 * self.week)
        generated = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 10**9
        year, week, _ = day.isocalendar()
        name = f"{SERIES}/{year}-W{week:02}"
        return Question(
            id=f"{name}/source/{self.key}",
            text=self.text or f"What becomes of {self.key}?",
            form="probability" if self.is_event else "value",
            generated_ns=generated,
            deadline_ns=generated + 3 * DAY_NS,
            evaluation_ns=generated + HORIZON_DAYS[self.horizon] * DAY_NS,
            provider="manual",
            query={
                "track": track,
                "level": level,
                "horizon": self.horizon,
                "subtype": self.subtype,
                "subject": self.subject or self.key,
                "vault": "made@0123456789ab",
            },
            unit="" if self.is_event else "USD million",
            measure=None if self.is_event else self.measure,  # type: ignore[arg-type]
            category=self.quadrant,
            market=self.market,
            clock=self.clock,
            round=name,
        )


def season_ledger(folder: Path, asked: Iterable[Asked]) -> Path:
    """Write a ledger; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    Ledger(folder).close()
    connection = sqlite3.connect(folder / "ledger.db")
    people: dict[tuple[str, str], int] = {}
    with connection:
        for number, one in enumerate(asked, 1):
            _ask(connection, number, one)
            for name, said in one.said.items():
                who = (name, "operator") if isinstance(name, str) else name
                if who not in people:
                    people[who] = len(people) + 1
                    connection.execute("INSERT INTO forecasters VALUES (?, ?, ?, '1')", (people[who], who[1], who[0]))
                _answer(connection, number, people[who], one, said)
    connection.close()
    return folder


def _ask(connection: sqlite3.Connection, number: int, one: Asked) -> None:
    question = one.question()
    connection.execute(
        f"INSERT INTO questions ({QUESTION_COLUMNS}) VALUES (?{', ?' * 16})",
        (
            *(number, question.id, canonical_json(question.to_dict()).decode(), question.provider, question.form),
            *(question.category, question.market, question.round, question.clock, question.generated_ns),
            *(question.deadline_ns, question.evaluation_ns, one.simulated, one.state, 0, 0, one.reason),
        ),
    )
    if one.state in {"scored", "void"}:
        value = one.truth if one.state == "scored" else None
        kind = "resolved" if one.state == "scored" else "void"
        connection.execute(
            "INSERT INTO resolutions (question, n, kind, truth, value, source, evidence, vintage, fetched_ns)"
            " VALUES (?, 1, ?, ?, ?, '', ?, '', 0)",
            (number, kind, None if value is None else json.dumps(value), value, json.dumps(dict(one.evidence))),
        )


def _answer(connection: sqlite3.Connection, number: int, who: int, one: Asked, said: float) -> None:
    question = one.question()
    found = None if one.state != "scored" else scores(question, [said], one.truth, None)  # type: ignore[arg-type]
    connection.execute(
        "INSERT INTO forecasts (question, forecaster, received_ns, answer, salt, digest, p, loss, naive_loss, correct)"
        " VALUES (?, ?, ?, ?, '', '', ?, ?, ?, ?)",
        (
            *(number, who, question.generated_ns + DAY_NS, json.dumps({question.form: said}), said),
            *((None,) * 3 if found is None else (found.loss, found.naive_loss, found.correct)),
        ),
    )


WEEKS = 10
MARKETS = ("US", "CN", "HK", "JP", "UK", "DE", "FR", "SG")
AGENTS = {"naive": 1.0, "seasonal": 1.2, "gpt (T)": 0.9, "gpt (T+S)": 0.6, "deep": 0.4, "lazy": 0.5}
"""Forecasters by how far off they are."""
TYPES = {
    "recurrent macro": ("CPI", "GDP", "Policy rate"),
    "recurrent corporate": ("Revenue", "Net income", "Cash from operations", "Current ratio"),
    "non-recurrent macro": ("Rate decisions", "Fiscal stimulus"),
    "non-recurrent corporate": ("Mergers", "Executive changes", "Buybacks"),
}
VOLUMES = {
    "recurrent macro": 296,
    "recurrent corporate": 723,
    "non-recurrent macro": 128,
    "non-recurrent corporate": 247,
}
"""Questions of the paper's Table 17."""


def drawn_season(size: float = 1.0, seed: int = 0, agents: Mapping[str, float] = AGENTS) -> Iterator[Asked]:
    """A season of the paper's volumes, or of a part of them, in which weeks and subjects move together."""
    generator = np.random.default_rng(seed)
    luck = generator.normal(0.0, 0.3, WEEKS)
    for quadrant, volume in VOLUMES.items():
        subjects = [f"{quadrant[0:1].upper()}{n:03}" for n in range(max(2, int(volume * size) // 3))]
        liking = dict(zip(subjects, generator.normal(0.0, 0.3, len(subjects)), strict=True))
        for number in range(int(volume * size)):
            week, subject = number % WEEKS, subjects[int(generator.integers(len(subjects)))]
            hard = np.exp(luck[week] + liking[subject])
            event, state = quadrant.startswith("non"), "scored" if generator.random() < 0.96 else "void"
            chance = 1.0 / (1.0 + np.exp(-generator.normal(-0.8, 1.2)))
            truth = float(generator.random() < chance) if event else float(np.exp(generator.normal(6.0, 1.0)))
            said: dict[str | tuple[str, str], float] = {}
            for agent, off in agents.items():
                noise = generator.normal(0.0, off * hard)
                logit = np.log(chance / (1.0 - chance)) + 1.5 * noise + (1.0 - off) * (2.0 * truth - 1.0) * event
                if agent != "lazy" or generator.random() < 0.8:
                    p = 1.0 / (1.0 + np.exp(-logit))
                    said[agent] = float(np.round(p, 2)) if event else float(np.round(truth * (1 + 0.1 * noise), 3))
            yield Asked(
                f"q-{quadrant.replace(' ', '-')}-{number}",
                quadrant,
                MARKETS[int(generator.integers(8))],
                week,
                truth,
                said,
                TYPES[quadrant][int(generator.integers(len(TYPES[quadrant])))],
                subject,
                "quarter" if quadrant == "recurrent corporate" else ("week", "month", "quarter")[number % 3],
                "macro" if quadrant == "recurrent macro" else "amount",
                state,
                "" if state == "scored" else "no truth within 14 days",
            )
