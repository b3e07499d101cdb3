"""Writes a ledger with a simulated season of forecasts, for the picture of a report and for its benchmark.

Run ``python scripts/simulated_season.py FOLDER [WEEKS [QUESTIONS]]``: writes ``ledger.db`` in FOLDER, with as many
questions a week. Every week is a round. Each event has a chance that nobody sees; the market and each forecaster see it
with noise of their own, and forecasters differ in noise, in how bold they are, and in what they leave out.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from openfingym.questions.question import DAY_NS
from openfingym_verifier.ledger.ledger import Ledger

FIRST = int(datetime(2026, 1, 4, 15, 59, tzinfo=UTC).timestamp()) * 10**9
"""Deadline of the first round, a Sunday."""
QUESTION_COLUMNS = (
    "id, name, content, provider, form, category, market, round, clock, generated_ns, deadline_ns, evaluation_ns,"
    " simulated, state, due_ns, attempts, reason"
)
CATEGORIES = ("rates", "earnings", "crypto", "policy", "commodities")
MARKETS = ("US", "EU", "JP", "CN")
HORIZON_DAYS = (1, 5, 14)
LEVEL = 0.9


@dataclass(frozen=True)
class Person:
    """How a simulated forecaster forecasts."""

    name: str
    noise: float
    """Standard deviation of what it sees beside the chance, in logits, or in per cent of a price."""
    bold: float = 1.0
    """Factor of its logits; above 1 it is surer than it may be."""
    price: float = 0.0
    """Weight of the market's logit in its own."""
    answers: float = 1.0
    """Share of questions that it answers."""
    since: int = 0
    """First round that it takes part in."""


PEOPLE = (
    Person("deep-research", 0.55, price=0.5),
    Person("search", 0.75, price=0.5),
    Person("search-again", 0.75, price=0.5),
    Person("bold", 0.7, bold=2.2),
    Person("latecomer", 0.7, price=0.4, since=12),
    Person("half-asked", 0.9, price=0.3, answers=0.5),
    Person("market-copy", 0.05, price=1.0),
    Person("from-memory", 1.8),
)
MARKET_NOISE = 0.8


def write_season(
    file: Path, people: tuple[Person, ...] = PEOPLE, *, weeks: int = 26, questions: int = 40, seed: int = 0
) -> int:
    """Write a ledger; returns the number of its forecasts.

    Args:
        file: ``ledger.db`` of a state folder, which must have none.
        people: those who take part, each a forecaster.
        weeks: number of rounds, one a week.
        questions: questions of each round: 70 % probabilities, 15 % numbers, 15 % intervals.
        seed: seed of everything that is drawn.
    """
    generator = np.random.default_rng(seed)
    Ledger(file.parent).close()
    connection = sqlite3.connect(file)
    with connection:
        names = [(place + 1, f"team-{place + 1}", person.name, "1.0") for place, person in enumerate(people)]
        connection.executemany("INSERT INTO forecasters VALUES (?, ?, ?, ?)", names)
        connection.executemany(
            f"INSERT INTO questions ({QUESTION_COLUMNS}) VALUES (?{', ?' * 16})",  # noqa: S608  # a constant
            _asked(weeks, questions),
        )
        count = 0
        for week in range(weeks):
            first = week * questions + 1
            found, truths = _round(people, week, first, questions, generator)
            connection.executemany(
                "INSERT INTO forecasts (question, forecaster, received_ns, answer, salt, digest, reference, p, loss,"
                " naive_loss, market_loss, correct) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                found,
            )
            connection.executemany(
                "INSERT INTO resolutions (question, n, kind, truth, value, source, evidence, vintage, fetched_ns)"
                " VALUES (?, 1, 'resolved', ?, ?, 'simulated', '{}', '', 0)",
                truths,
            )
            count += len(found)
    connection.close()
    return count


def _form(number: int, questions: int) -> str:
    share = number % questions / questions
    return "probability" if share < 0.7 else "value" if share < 0.85 else "interval"


def _asked(weeks: int, questions: int) -> Iterator[tuple[object, ...]]:
    for number in range(weeks * questions):
        week, form = number // questions, _form(number, questions)
        deadline = FIRST + 7 * week * DAY_NS
        content = json.dumps({"id": f"q{number}", "form": form, "levels": [LEVEL] if form == "interval" else []})
        yield (
            *(number + 1, f"q{number}", content, "simulated", form),
            *(CATEGORIES[number % 5], MARKETS[number // 5 % 4], f"weekly-{week + 1:03}", "simulated"),
            *(deadline - 3 * DAY_NS, deadline, deadline + HORIZON_DAYS[number % 3] * DAY_NS, 1, "scored", 0, 0, ""),
        )


def _round(
    people: tuple[Person, ...], week: int, first: int, questions: int, generator: np.random.Generator
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Rows of the forecasts and the truths of one round."""
    # What moves all questions of a week at once, which is why a week is drawn as a whole.
    logit = generator.normal(generator.normal(0.0, 0.4), 1.3, questions)
    event = (generator.random(questions) < 1.0 / (1.0 + np.exp(-logit))).astype(float)
    shown = logit + generator.normal(0.0, MARKET_NOISE, questions)
    market = 1.0 / (1.0 + np.exp(-shown))
    price = 100.0 * np.exp(generator.normal(0.0, 0.3, questions))
    move = generator.normal(generator.normal(0.0, 0.01), 0.03, questions)
    truth = price * (1.0 + move)
    rows: list[tuple[object, ...]] = []
    for place, person in enumerate(people):
        if week < person.since:
            continue
        own = logit + generator.normal(0.0, person.noise, questions)
        p = 1.0 / (1.0 + np.exp(-person.bold * ((1.0 - person.price) * own + person.price * shown)))
        seen = move * 0.3 + generator.normal(0.0, 0.01 * person.noise, questions)
        value, half = price * (1.0 + seen), price * 0.05 / person.bold
        asked = generator.random(questions) < person.answers
        for number in np.flatnonzero(asked).tolist():
            drawn = (float(one[number]) for one in (p, value, half, event, truth, market, price))
            answered = _answered(_form(first + number - 1, questions), *drawn)
            rows += [(first + number, place + 1, FIRST + week * 7 * DAY_NS - DAY_NS, *answered)]
    truths: list[tuple[object, ...]] = [
        (first + number, json.dumps(y), y)
        for number in range(questions)
        for y in [float((event if _form(first + number - 1, questions) == "probability" else truth)[number])]
    ]
    return rows, truths


def _answered(
    form: str, p: float, value: float, half: float, event: float, truth: float, market: float, price: float
) -> tuple[object, ...]:
    """From the answer on, what a ledger holds of a forecast."""
    secrets = ("5" * 32, "d" * 64)
    if form == "probability":
        shown = {"at_ns": FIRST, "probability": round(market, 4), "source": "https://venue.example/book"}
        losses = (p, (p - event) ** 2, 0.25, (market - event) ** 2, int((p > 0.5) == (event > 0.5)))
        return (json.dumps({"probability": p}), *secrets, json.dumps(shown), *losses)
    shown = {"at_ns": FIRST, "price": round(price, 4), "source": "https://venue.example/book"}
    stays = abs(price - truth) / price
    if form == "value":
        losses = (value, abs(value - truth) / price, stays, stays, int(abs(value - truth) < 0.01 * abs(truth)))
        return (json.dumps({"value": value}), *secrets, json.dumps(shown), *losses)
    low, high = value - half, value + half
    score = high - low + 2.0 / (1.0 - LEVEL) * (max(low - truth, 0.0) + max(truth - high, 0.0))
    flat = 2.0 / (1.0 - LEVEL) * stays
    return (json.dumps({"interval": [low, high]}), *secrets, json.dumps(shown), None, score / price, flat, flat, None)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    options = dict(zip(("weeks", "questions"), map(int, sys.argv[2:]), strict=False))
    write_season(Path(sys.argv[1]) / "ledger.db", **options)
