"""What was decided by hand about the real past: its issuers, its series, and which XBRL concepts a metric is."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import Literal

FOLDER = "recorded_data"
Alternative = tuple[str, ...]
"""Concepts whose values are added up."""


@dataclass(frozen=True)
class Issuer:
    """A company under one of its names."""

    cik: int
    symbol: str
    name: str
    since: date
    """The first day of that name and symbol."""
    sector: str
    financial: bool


@dataclass(frozen=True)
class MetricConcepts:
    """Which concepts of XBRL a metric is."""

    metric: str
    kind: Literal["instant", "duration"]
    unit: str
    """As filed: ``USD``, ``USD/shares`` or ``shares``."""
    alternatives: tuple[Alternative, ...]
    """In order of preference: the first of which a filing has all parts."""
    note: str

    @property
    def scale(self) -> float:
        """What a filed value is divided by: money and shares are in millions."""
        return 1.0 if self.unit == "USD/shares" else 1e6


@dataclass(frozen=True)
class SeriesLine:
    """A series of the record."""

    id: str
    table: str
    """Of the vault: ``macro``, ``gdp``, or a dataset of ``market``."""
    key: str
    """Its name there."""
    indicator: str
    economy: str
    title: str
    unit: str
    frequency: Literal["day", "month", "quarter"]
    earliest_days: int
    """Days after the end of the period before which its figure was never public: an assumption, from the agencies'
    usual practice."""
    latest_days: int
    """Days after the end of the period at which it is expected, as long as the record has shown no release."""


@functools.cache
def issuers() -> tuple[Issuer, ...]:
    """The issuers, a line a name, in the order of their numbers and days."""
    return tuple(
        Issuer(
            int(line["cik"]),
            line["symbol"],
            line["name"],
            date.fromisoformat(line["since"]),
            line["sector"],
            line["financial"] == "yes",
        )
        for line in _lines("issuers.tsv")
    )


@functools.cache
def cik_of(symbol: str) -> int | None:
    """Number of the issuer that has or had a symbol."""
    return next((one.cik for one in issuers() if one.symbol == symbol), None)


def issuer_on(cik: int, day: date) -> Issuer:
    """An issuer under the name that it had on a day."""
    return max((one for one in issuers() if one.cik == cik and one.since <= day), key=lambda one: one.since)


@functools.cache
def mappings() -> Mapping[str, MetricConcepts]:
    """Concepts of each metric that reports say themselves, by the metric's name."""
    found = {}
    for line in _lines("concepts.tsv"):
        alternatives = tuple(tuple(part.split(" + ")) for part in line["concepts"].split(" | "))
        kind: Literal["instant", "duration"] = "instant" if line["kind"] == "instant" else "duration"
        found[line["metric"]] = MetricConcepts(line["metric"], kind, line["unit"], alternatives, line["note"])
    return found


@functools.cache
def concepts() -> frozenset[str]:
    """Every concept that a metric may be."""
    return frozenset(part for one in mappings().values() for parts in one.alternatives for part in parts)


@functools.cache
def series_lines() -> Mapping[str, SeriesLine]:
    """The series by their ids."""
    found = {}
    for line in _lines("series.tsv"):
        frequency: Literal["day", "month", "quarter"] = line["frequency"]  # type: ignore[assignment]
        found[line["id"]] = SeriesLine(
            id=line["id"],
            table=line["table"],
            key=line["key"],
            indicator=line["indicator"],
            economy=line["economy"],
            title=line["title"],
            unit=line["unit"],
            frequency=frequency,
            earliest_days=int(line["earliest_days"]),
            latest_days=int(line["latest_days"]),
        )
    return found


def _lines(name: str) -> Iterable[dict[str, str]]:
    folder = resources.files("openfingym.suites.findeepforecast.world") / FOLDER
    with (folder / name).open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))
