"""Calendars of a whole vault: read once, asked as of any time."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.findeepforecast.world.known import Scheduled
from openfingym.suites.findeepforecast.world.prints import coded, microseconds
from openfingym.vault import Vault
from openfingym.vault.conditions import EPOCH, EPOCH_DAY
from openfingym.vault.spec import KNOWN_AT

if TYPE_CHECKING:
    from openfingym.vault.arrays import Array


class ReleaseCalendar:
    """A calendar: rows in the order in which they became known, of which the last one of a key counts.

    Args:
        vault: the vault that holds the calendar.
        table: ``release_calendar`` or ``report_calendar``.
        subject: its column with what is scheduled.
    """

    def __init__(self, vault: Vault, table: str, subject: str) -> None:
        self._table = vault.table(table)
        self._subjects, self._labels = coded(self._table, subject), coded(self._table, "label")
        every = slice(None)
        self._subject = self._subjects.order(every)
        self._label = self._labels.order(every)
        self._at = self._table.column("scheduled_at").order(every)
        self._period = self._table.column("period_end").order(every)
        self._known = self._table.column(KNOWN_AT).order(every)
        self._texts: dict[tuple[str, int], str] = {}

    def as_of(self, time: datetime | None) -> KnownSchedule:
        """The calendar as it stood at a time; with everything if that is None."""
        known = len(self._known)
        if time is not None:
            known = int(np.searchsorted(self._known, microseconds(time), side="right"))
        rows = self._table.newest_of_keys(np.arange(known))
        # By time, and at the same time by subject and period: codes of texts are in their order.
        by_time = np.lexsort((self._period[rows], self._subject[rows], self._at[rows]))
        return KnownSchedule(self, rows[by_time], self._at[rows[by_time]])

    def entry(self, row: int) -> Scheduled:
        """What a row says."""
        return Scheduled(
            self._text("subject", int(self._subject[row])),
            date.fromordinal(EPOCH_DAY + int(self._period[row])),
            EPOCH + timedelta(microseconds=int(self._at[row])),
            self._text("label", int(self._label[row])),
        )

    def _text(self, kind: str, code: int) -> str:
        found = self._texts.get((kind, code))
        if found is None:
            column = self._subjects if kind == "subject" else self._labels
            found = self._texts[kind, code] = column.strings.text(code)
        return found


class KnownSchedule:
    """A calendar as it stood at a time.

    Args:
        schedule: the calendar.
        rows: those that counted, by the time that they are scheduled for.
        at: these times, in microseconds since the epoch.
    """

    def __init__(self, schedule: ReleaseCalendar, rows: Array, at: Array) -> None:
        self._schedule = schedule
        self._rows = rows
        self._at = at

    def within(self, begin: datetime, end: datetime) -> list[Scheduled]:
        """What is scheduled in [begin, end), by time."""
        low, high = np.searchsorted(self._at, [microseconds(begin), microseconds(end)]).tolist()
        return [self._schedule.entry(row) for row in self._rows[low:high].tolist()]
