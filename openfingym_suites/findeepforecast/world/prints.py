"""Figures as they were published: read once from a vault, then looked up as of any time.

The vintages of a figure are its values in the order of the times at which they became known. Who looks a figure up as
of a time sees the vintages up to that time only.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from openfingym.vault import Vault
from openfingym.vault.columns import CodedColumn
from openfingym.vault.conditions import EPOCH, EPOCH_DAY
from openfingym.vault.spec import KNOWN_AT
from openfingym.vault.tables import OpenTable
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.taxonomy.formulas import DAYS_A_QUARTER
from openfingym_suites.findeepforecast.world.periods import month_end

Vintages = tuple[list[int], list[float]]
"""The vintages of a figure: when each became known, in microseconds since the epoch and in order, and their values."""
Periods = dict[date, dict[str, Vintages]]
"""Vintages by period, in the order of the periods, and by item; the one item of a series is the empty text."""
FOREVER = 2**62
"""A time after all others, in microseconds since the epoch."""


@dataclass(frozen=True)
class SubjectPrints:
    """All figures of a series or company that were ever published.

    Attributes:
        vintages: vintages of the figures, by last day of the period and by item.
        first_known: when the first figure of each period became known, in microseconds since the epoch.
    """

    vintages: Periods
    first_known: dict[date, int]


class VaultPrints:
    """The figures of a vault by subject, read when they are first wanted. Safe to use from several threads: if two of
    them read the same subject, both get the same.

    Args:
        vault: a vault with the tables ``reported`` and ``macro``.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._prints: dict[str, SubjectPrints] = {}
        self._computed: dict[tuple[str, str, date], tuple[float, int] | None] = {}

    def as_of(self, time: datetime | None) -> KnownPrints:
        """The figures that are known at a time; None for all that the vault has, whenever they became known."""
        return KnownPrints(self, FOREVER if time is None else microseconds(time))

    def subject(self, name: str) -> SubjectPrints:
        """All figures of a subject, whenever they became known.

        Args:
            name: id of a series, or symbol of a company.
        """
        prints = self._prints.get(name)
        if prints is None:
            prints = self._prints[name] = self._read(name)
        return prints

    def first_computed(self, symbol: str, metric: str, period: date) -> tuple[float, int] | None:
        """A metric as it followed from a report when that came out, and since when it is known.

        It is the same at any later time, so it is computed only once.
        """
        key = (symbol, metric, period)
        if key not in self._computed:
            prints = self.subject(symbol)
            self._computed[key] = computed(prints, metric, period, prints.first_known.get(period, FOREVER))
        return self._computed[key]

    def _read(self, subject: str) -> SubjectPrints:
        # Ids of series have a colon (US:CPI), and symbols have none.
        series = ":" in subject
        table = self._vault.table("macro" if series else "reported")
        subjects = coded(table, "id" if series else "symbol")
        code = subjects.code(subject)
        rows = np.arange(0) if code is None else subjects.postings.below(code, len(table))
        if series:
            items = [""] * len(rows)
        else:
            column = coded(table, "item")
            codes = column.order(rows)
            names = {code: str(text) for code, text in zip(np.unique(codes).tolist(),
                                                           column.texts(np.unique(codes)), strict=True)}  # fmt: skip
            items = [names[code] for code in codes.tolist()]
        days = table.column("period_end").order(rows)
        # np.unique sorts, so that the periods are in order.
        dates = {day: date.fromordinal(EPOCH_DAY + day) for day in np.unique(days).tolist()}
        vintages: Periods = {day: {} for day in dates.values()}
        # Rows are in the order in which they became known, and so are the vintages.
        known, values = table.column(KNOWN_AT).order(rows), table.column("value").order(rows)
        for day, item, time, value in zip(days.tolist(), items, known.tolist(), values.tolist(), strict=True):
            times, prints = vintages[dates[day]].setdefault(item, ([], []))
            times.append(time)
            prints.append(value)
        first_known = {day: min(times[0] for times, _ in report.values()) for day, report in vintages.items()}
        return SubjectPrints(vintages, first_known)


class KnownPrints:
    """The figures of a vault that are known at a time.

    Args:
        prints: all figures of the vault.
        time: the time, in microseconds since the epoch.
    """

    def __init__(self, prints: VaultPrints, time: int) -> None:
        self._prints = prints
        self._time = time

    def periods(self, subject: str) -> list[date]:
        """Last days of the periods of which something is known, in order.

        Args:
            subject: id of a series, or symbol of a company.
        """
        return [period for period, time in self._prints.subject(subject).first_known.items() if time <= self._time]

    def level(self, series: str, period: date, *, latest: bool = False) -> tuple[float, int] | None:
        """A value of a series, and since when it is known, in microseconds since the epoch.

        Args:
            series: id of the series.
            period: last day of the period.
            latest: whether the value as it stands is wanted, and not the first print.
        """
        return _chosen(self._prints.subject(series).vintages.get(period, {}).get(""), self._time, latest=latest)

    def computed(self, symbol: str, metric: str, period: date, *, latest: bool = False) -> tuple[float, int] | None:
        """A metric of a company, as it is reported or else by its formula, and since when it is known, in microseconds
        since the epoch.

        Args:
            symbol: symbol of the company.
            metric: name of the metric.
            period: last day of the quarter.
            latest: whether the figures as they stand are wanted, and not those that came out first.
        """
        prints = self._prints.subject(symbol)
        report = prints.vintages.get(period)
        if report is None or prints.first_known[period] > self._time:
            return None
        reported = _chosen(report.get(metric), self._time, latest=latest)
        if reported is not None:
            return reported
        if latest:
            return computed(prints, metric, period, self._time)
        return self._prints.first_computed(symbol, metric, period)


def computed(prints: SubjectPrints, metric: str, period: date, until: int) -> tuple[float, int] | None:
    """A metric by its formula, from the figures as they stood at a time, and since when its value is known.

    Args:
        prints: the figures of the company.
        metric: name of the metric.
        period: last day of the quarter.
        until: the time, in microseconds since the epoch.
    """
    # It is known since the newest of the figures that it follows from, but not before the report of its own quarter.
    newest = prints.first_known.get(period, FOREVER)

    def reported(item: str, back: int) -> float | None:
        nonlocal newest
        # Quarters end with a month, so that the earlier ones are found by their last days.
        quarter = month_end(period.year, period.month - 3 * back) if back else period
        vintage = _chosen(prints.vintages.get(quarter, {}).get(item), until, latest=True)
        if vintage is None:
            return None
        newest = max(newest, vintage[1])
        return vintage[0]

    value = read_taxonomy().computed(metric, reported, DAYS_A_QUARTER)
    return None if value is None else (value, newest)


def _chosen(vintages: Vintages | None, time: int, *, latest: bool) -> tuple[float, int] | None:
    """The first or the latest of the vintages that are known at a time, and since when it is known."""
    if vintages is None or vintages[0][0] > time:
        return None
    times, values = vintages
    place = bisect_right(times, time) - 1 if latest else 0
    return values[place], times[place]


def coded(table: OpenTable, name: str) -> CodedColumn:
    """A column of texts of a table.

    Args:
        table: the table.
        name: name of the column.
    """
    column = table.column(name)
    assert isinstance(column, CodedColumn)
    return column


def microseconds(time: datetime) -> int:
    """A time in microseconds since the epoch, as vaults store it."""
    return (time - EPOCH) // timedelta(microseconds=1)
