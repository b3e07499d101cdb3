"""What was decided by hand about the real past: its issuers, its series, and the XBRL concepts of each metric.

The tables are files in ``recorded_data``: ``issuers.tsv``, ``series.tsv`` and ``concepts.tsv``.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import Literal

FOLDER = "recorded_data"
"""Folder of the tables, beside this module."""
Alternative = tuple[str, ...]
"""Concepts whose values add up to a metric."""


@dataclass(frozen=True)
class Issuer:
    """A company under one of its names."""

    cik: int
    """Number of the company at the SEC, which it keeps under all of its names."""
    symbol: str
    """Symbol of the company, such as ``AAPL``."""
    name: str
    """Name of the company."""
    since: date
    """The first day of that name and symbol; 1996-01-01 for the first ones that are recorded."""
    sector: str
    """Name of its industry, as the SEC classifies it."""
    financial: bool
    """Whether it is a bank or the like."""


@dataclass(frozen=True)
class MetricConcepts:
    """The XBRL concepts as which a metric is filed."""

    metric: str
    """Name of the metric, or of an input of formulas, in the taxonomy."""
    kind: Literal["instant", "duration"]
    """Whether it is about a point in time, such as assets, or about a period, such as revenue."""
    unit: str
    """Unit in which it is filed: ``USD``, ``USD/shares`` or ``shares``."""
    alternatives: tuple[Alternative, ...]
    """Ways in which companies file it, in order of preference; the first of which a report has all concepts counts."""
    note: str
    """Remark on the choice of concepts; empty if there is none."""

    @property
    def scale(self) -> float:
        """The number by which a filed value is divided: money and numbers of shares are in millions here."""
        return 1.0 if self.unit == "USD/shares" else 1e6


@dataclass(frozen=True)
class SeriesLine:
    """A macro series of the real past."""

    id: str
    """Id of the series, such as ``US:CPI``."""
    table: str
    """Where the vault has it: the table ``macro`` or ``gdp``, or else a dataset of the table ``market``."""
    key: str
    """Name of the series in that table, or of the channel in that dataset."""
    indicator: str
    """Name of its indicator."""
    economy: str
    """Code of the economy that it is about; ``GLOBAL`` for one that is none of the eight."""
    title: str
    """Name of the series in questions."""
    unit: str
    """Unit of its values."""
    frequency: Literal["day", "month", "quarter"]
    """How often it has a value."""
    earliest_days: int
    """The fewest days from the end of a period to its first print; below 0 if that comes within the period. An
    assumption, from the agencies' usual practice."""
    latest_days: int
    """Days from the end of a period at which its first print is expected, as long as no release is recorded."""


@functools.cache
def issuers() -> tuple[Issuer, ...]:
    """The issuers, in the order of the file: one for each name of a company, its older names first."""
    return tuple(
        Issuer(
            cik=int(row["cik"]),
            symbol=row["symbol"],
            name=row["name"],
            since=date.fromisoformat(row["since"]),
            sector=row["sector"],
            financial=row["financial"] == "yes",
        )
        for row in _rows("issuers.tsv")
    )


@functools.cache
def cik_of(symbol: str) -> int | None:
    """Number at the SEC of the company that has or had a symbol; None if there is no such company."""
    return next((issuer.cik for issuer in issuers() if issuer.symbol == symbol), None)


def issuer_on(cik: int, day: date) -> Issuer:
    """The company under the name that it had on a day.

    Args:
        cik: number of the company at the SEC, which is in the table.
        day: the day, from 1996 on.
    """
    names = (issuer for issuer in issuers() if issuer.cik == cik and issuer.since <= day)
    return max(names, key=lambda issuer: issuer.since)


@functools.cache
def metric_concepts() -> Mapping[str, MetricConcepts]:
    """The concepts of each metric that reports state themselves, by name of the metric."""
    by_metric = {}
    for row in _rows("concepts.tsv"):
        alternatives = tuple(tuple(alternative.split(" + ")) for alternative in row["concepts"].split(" | "))
        kind: Literal["instant", "duration"] = "instant" if row["kind"] == "instant" else "duration"
        by_metric[row["metric"]] = MetricConcepts(row["metric"], kind, row["unit"], alternatives, row["note"])
    return by_metric


@functools.cache
def concepts() -> frozenset[str]:
    """All concepts as which metrics are filed."""
    return frozenset(
        concept
        for metric in metric_concepts().values()
        for alternative in metric.alternatives
        for concept in alternative
    )


@functools.cache
def series_lines() -> Mapping[str, SeriesLine]:
    """The series by id."""
    by_id = {}
    for row in _rows("series.tsv"):
        frequency: Literal["day", "month", "quarter"] = row["frequency"]  # type: ignore[assignment]
        by_id[row["id"]] = SeriesLine(
            id=row["id"],
            table=row["table"],
            key=row["key"],
            indicator=row["indicator"],
            economy=row["economy"],
            title=row["title"],
            unit=row["unit"],
            frequency=frequency,
            earliest_days=int(row["earliest_days"]),
            latest_days=int(row["latest_days"]),
        )
    return by_id


def _rows(name: str) -> Iterable[dict[str, str]]:
    """The rows of a table, by the name of its file."""
    folder = resources.files("openfingym_suites.findeepforecast.world") / FOLDER
    with (folder / name).open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))
