"""Figures as they were published, of a whole vault, kept by subject: read once, asked as of any time.

A figure's vintages are pairs of time and value in order, and whoever asks looks at those up to its time alone.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from datetime import date, datetime, timedelta

import numpy as np

from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.taxonomy.formulas import DAYS_A_QUARTER
from openfingym.suites.findeepforecast.world.periods import month_end
from openfingym.vault import Vault
from openfingym.vault.columns import CodedColumn
from openfingym.vault.conditions import EPOCH
from openfingym.vault.spec import KNOWN_AT
from openfingym.vault.tables import OpenTable

Vintages = tuple[list[int], list[float]]
"""Times in microseconds since the epoch, in order, and values."""
FOREVER = 2**62
_KEPT = 4


class Prints:
    """Figures of a vault by subject.

    Args:
        vault: with the tables ``reported`` and ``macro``.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._of: dict[str, dict[date, dict[str, Vintages]]] = {}

    def as_of(self, time: datetime | None) -> KnownPrints:
        """What is known of them at a time; all of it if that is None."""
        return KnownPrints(self, FOREVER if time is None else (time - EPOCH) // timedelta(microseconds=1))

    def of(self, subject: str) -> dict[date, dict[str, Vintages]]:
        """Vintages by period and item; of a series the item is empty."""
        found = self._of.get(subject)
        if found is None:
            found = self._of[subject] = self._read(subject)
        return found

    def _read(self, subject: str) -> dict[date, dict[str, Vintages]]:
        series = ":" in subject
        table = self._vault.table("macro" if series else "reported")
        rows = _rows_of(table, "id" if series else "symbol", subject)
        items = [""] * len(rows) if series else [str(item) for item in table.column("item").values(rows)]
        known = [(time - EPOCH) // timedelta(microseconds=1) for time in table.column(KNOWN_AT).values(rows)]  # type: ignore[operator]
        days = table.column("period_end").values(rows)
        found: dict[date, dict[str, Vintages]] = {}
        for day, item, time, value in zip(days, items, known, table.column("value").values(rows), strict=True):
            assert isinstance(day, date)
            times, values = found.setdefault(day, {}).setdefault(item, ([], []))
            times.append(time)
            values.append(value)  # type: ignore[arg-type]  # no value of these tables is missing
        return dict(sorted(found.items()))


class KnownPrints:
    """What is known of them at a time. Quarters end with a month, so that those before are found by their last days.

    Args:
        prints: all of them.
        time: in microseconds since the epoch.
    """

    def __init__(self, prints: Prints, time: int) -> None:
        self._prints = prints
        self._time = time

    def periods(self, subject: str) -> list[date]:
        """Last days of the periods of which something is known, in order."""
        time = self._time
        return [
            period
            for period, items in self._prints.of(subject).items()
            if any(times[0] <= time for times, _ in items.values())
        ]

    def level(self, series: str, period: date, *, latest: bool = False) -> tuple[float, int] | None:
        """A value of a series, and since when it is known."""
        return _chosen(self._prints.of(series).get(period, {}).get(""), self._time, latest=latest)

    def computed(self, symbol: str, metric: str, period: date, *, latest: bool = False) -> tuple[float, int] | None:
        """A metric of a company, and since when it is known: as it is reported, else by its formula.

        Args:
            symbol: the company.
            metric: the metric.
            period: last day of the quarter.
            latest: whether it is computed from the figures as they stand, not as they came out first.
        """
        of = self._prints.of(symbol)
        report = of.get(period)
        if report is None:
            return None
        own = _chosen(report.get(metric), self._time, latest=latest)
        if own is not None:
            return own
        first = min((times[0] for times, _ in report.values()), default=FOREVER)
        if first > self._time:
            return None
        until = self._time if latest else first
        newest = first

        def reported(item: str, back: int) -> float | None:
            nonlocal newest
            earlier = of.get(month_end(period.year, period.month - 3 * back), {})
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


def _rows_of(table: OpenTable, column: str, value: str) -> np.ndarray:
    opened = table.column(column)
    assert isinstance(opened, CodedColumn)
    code = opened.code(value)
    return np.arange(0) if code is None else opened.postings.below(code, len(table))


_opened: OrderedDict[str, Prints] = OrderedDict()
_opening = threading.Lock()


def prints_of(vault: Vault) -> Prints:
    """The figures of a vault, which are read once in a process."""
    with _opening:
        found = _opened.get(vault.digest)
        if found is None:
            found = _opened[vault.digest] = Prints(vault)
        _opened.move_to_end(vault.digest)
        while len(_opened) > _KEPT:
            _opened.popitem(last=False)
        return found
