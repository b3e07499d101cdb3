"""Calendars of releases and reports: read once from a vault, then looked up as of any time."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.vault import Vault
from openfingym.vault.conditions import EPOCH, EPOCH_DAY
from openfingym.vault.spec import KNOWN_AT
from openfingym_suites.findeepforecast.world.known import Scheduled
from openfingym_suites.findeepforecast.world.prints import coded, microseconds

if TYPE_CHECKING:
    from openfingym.vault.arrays import Array


class ReleaseCalendar:
    """A calendar of a vault. Of the rows of one release, which stand in the order in which they became known, the last
    one counts.

    Args:
        vault: the vault that holds the calendar.
        table: name of its table, ``release_calendar`` or ``report_calendar``.
        subject: name of the column that says whose release it is: ``id`` of a series, or ``symbol`` of a company.
    """

    def __init__(self, vault: Vault, table: str, subject: str) -> None:
        self._table = vault.table(table)
        self._subjects, self._labels = coded(self._table, subject), coded(self._table, "label")
        # Of all rows: codes of subjects and labels, times in microseconds since the epoch, periods in days since it.
        all_rows = slice(None)
        self._subject = self._subjects.order(all_rows)
        self._label = self._labels.order(all_rows)
        self._at = self._table.column("scheduled_at").order(all_rows)
        self._period = self._table.column("period_end").order(all_rows)
        self._known = self._table.column(KNOWN_AT).order(all_rows)
        self._texts: dict[tuple[str, int], str] = {}
        # By row: the calendar of a season is gone through once for each of its weeks.
        self._entries: dict[int, Scheduled] = {}

    def as_of(self, time: datetime | None) -> KnownSchedule:
        """The calendar as it stood at a time; None for all that the vault has, whenever it became known."""
        known = len(self._known)
        if time is not None:
            known = int(np.searchsorted(self._known, microseconds(time), side="right"))
        rows = self._table.newest_of_keys(np.arange(known))
        # By time, and at the same time by subject and period. Codes of texts sort as the texts do.
        by_time = np.lexsort((self._period[rows], self._subject[rows], self._at[rows]))
        return KnownSchedule(self, rows[by_time], self._at[rows[by_time]])

    def entry(self, row: int) -> Scheduled:
        """The scheduled release or report of a row of the table."""
        entry = self._entries.get(row)
        if entry is None:
            entry = self._entries[row] = Scheduled(
                self._text("subject", int(self._subject[row])),
                date.fromordinal(EPOCH_DAY + int(self._period[row])),
                EPOCH + timedelta(microseconds=int(self._at[row])),
                self._text("label", int(self._label[row])),
            )
        return entry

    def _text(self, kind: str, code: int) -> str:
        text = self._texts.get((kind, code))
        if text is None:
            column = self._subjects if kind == "subject" else self._labels
            text = self._texts[kind, code] = column.strings.text(code)
        return text


class KnownSchedule:
    """A calendar as it stood at a time.

    Args:
        calendar: the calendar.
        rows: the rows of its table that counted at that time, ordered by the time for which they are scheduled.
        at: the times for which these rows are scheduled, in microseconds since the epoch.
    """

    def __init__(self, calendar: ReleaseCalendar, rows: Array, at: Array) -> None:
        self._calendar = calendar
        self._rows = rows
        self._at = at

    def within(self, begin: datetime, end: datetime) -> list[Scheduled]:
        """What is scheduled in [begin, end), by time."""
        low, high = np.searchsorted(self._at, [microseconds(begin), microseconds(end)]).tolist()
        return [self._calendar.entry(row) for row in self._rows[low:high].tolist()]
