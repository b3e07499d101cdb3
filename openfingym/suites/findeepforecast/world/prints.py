"""Figures as they were published, of a whole vault, kept by subject: read once, asked as of any time.

A figure's vintages are pairs of time and value in order, and whoever asks looks at those up to its time alone.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.taxonomy.formulas import DAYS_A_QUARTER
from openfingym.suites.findeepforecast.world.periods import month_end
from openfingym.vault import Vault
from openfingym.vault.columns import CodedColumn
from openfingym.vault.conditions import EPOCH, EPOCH_DAY
from openfingym.vault.spec import KNOWN_AT
from openfingym.vault.tables import OpenTable

Vintages = tuple[list[int], list[float]]
"""Times in microseconds since the epoch, in order, and values."""
Periods = dict[date, dict[str, Vintages]]
"""Vintages by period, in order, and item; of a series the item is empty."""
FOREVER = 2**62


@dataclass(frozen=True)
class Printed:
    """Everything that was published of a subject.

    Attributes:
        of: vintages by period and item.
        came_out: when something became known of each period, in microseconds since the epoch.
    """

    of: Periods
    came_out: dict[date, int]


class VaultPrints:
    """Figures of a vault by subject. Safe to use from several threads: what two of them read is the same.

    Args:
        vault: with the tables ``reported`` and ``macro``.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._of: dict[str, Printed] = {}
        self._computed: dict[tuple[str, str, date], tuple[float, int] | None] = {}

    def as_of(self, time: datetime | None) -> KnownPrints:
        """What is known of them at a time; all of it if that is None."""
        return KnownPrints(self, FOREVER if time is None else microseconds(time))

    def of(self, subject: str) -> Printed:
        """Everything of a subject, whenever it became known."""
        found = self._of.get(subject)
        if found is None:
            found = self._of[subject] = self._read(subject)
        return found

    def first_computed(self, symbol: str, metric: str, period: date) -> tuple[float, int] | None:
        """A metric as it followed from a report when that came out, which is so for ever."""
        key = (symbol, metric, period)
        if key not in self._computed:
            printed = self.of(symbol)
            self._computed[key] = computed(printed, metric, period, printed.came_out.get(period, FOREVER))
        return self._computed[key]

    def _read(self, subject: str) -> Printed:
        series = ":" in subject
        table = self._vault.table("macro" if series else "reported")
        subjects = coded(table, "id" if series else "symbol")
        code = subjects.code(subject)
        rows = np.arange(0) if code is None else subjects.postings.below(code, len(table))
        found: Periods = {}
        if series:
            items = [""] * len(rows)
        else:
            column = coded(table, "item")
            codes = column.order(rows)
            names = {code: str(text) for code, text in zip(np.unique(codes).tolist(),
                                                           column.texts(np.unique(codes)), strict=True)}  # fmt: skip
            items = [names[code] for code in codes.tolist()]
        days = table.column("period_end").order(rows)
        dates = {day: date.fromordinal(EPOCH_DAY + day) for day in np.unique(days).tolist()}
        # Rows are in the order in which they became known, and so are the vintages.
        for day in dates.values():
            found[day] = {}
        known, values = table.column(KNOWN_AT).order(rows), table.column("value").order(rows)
        for day, item, time, value in zip(days.tolist(), items, known.tolist(), values.tolist(), strict=True):
            times, prints = found[dates[day]].setdefault(item, ([], []))
            times.append(time)
            prints.append(value)
        out = {day: min(times[0] for times, _ in report.values()) for day, report in found.items()}
        return Printed(found, out)


class KnownPrints:
    """What is known of them at a time. Quarters end with a month, so that those before are found by their last days.

    Args:
        prints: all of them.
        time: in microseconds since the epoch.
    """

    def __init__(self, prints: VaultPrints, time: int) -> None:
        self._prints = prints
        self._time = time

    def periods(self, subject: str) -> list[date]:
        """Last days of the periods of which something is known, in order."""
        return [period for period, time in self._prints.of(subject).came_out.items() if time <= self._time]

    def level(self, series: str, period: date, *, latest: bool = False) -> tuple[float, int] | None:
        """A value of a series, and since when it is known."""
        return _chosen(self._prints.of(series).of.get(period, {}).get(""), self._time, latest=latest)

    def computed(self, symbol: str, metric: str, period: date, *, latest: bool = False) -> tuple[float, int] | None:
        """A metric of a company, and since when it is known: as it is reported, else by its formula.

        Args:
            symbol: the company.
            metric: the metric.
            period: last day of the quarter.
            latest: whether it is computed from the figures as they stand, not as they came out first.
        """
        printed = self._prints.of(symbol)
        report = printed.of.get(period)
        if report is None or printed.came_out[period] > self._time:
            return None
        own = _chosen(report.get(metric), self._time, latest=latest)
        if own is not None:
            return own
        if latest:
            return computed(printed, metric, period, self._time)
        return self._prints.first_computed(symbol, metric, period)


def computed(printed: Printed, metric: str, period: date, until: int) -> tuple[float, int] | None:
    """A metric by its formula, from what was known at a time, and since when it is known."""
    of, newest = printed.of, printed.came_out.get(period, FOREVER)

    def reported(item: str, back: int) -> float | None:
        nonlocal newest
        earlier = of.get(month_end(period.year, period.month - 3 * back) if back else period, {})
        found = _chosen(earlier.get(item), until, latest=True)
        if found is None:
            return None
        newest = max(newest, found[1])
        return found[0]

    value = taxonomy().computed(metric, reported, DAYS_A_QUARTER)
    return None if value is None else (value, newest)


def _chosen(vintages: Vintages | None, time: int, *, latest: bool) -> tuple[float, int] | None:
    if vintages is None or vintages[0][0] > time:
        return None
    times, values = vintages
    place = bisect_right(times, time) - 1 if latest else 0
    return values[place], times[place]


def coded(table: OpenTable, name: str) -> CodedColumn:
    """A column of texts."""
    column = table.column(name)
    assert isinstance(column, CodedColumn)
    return column


def microseconds(time: datetime) -> int:
    """A time in microseconds since the epoch, as vaults have it."""
    return (time - EPOCH) // timedelta(microseconds=1)
