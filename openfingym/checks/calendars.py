"""One calendar for each real series: no task shows a day that another one hides for good.

Several datasets hold the same series (``aapl`` is in two), and many tasks rest on one. For each instrument a task has a
training, a public and a private block of days; what one task has in its private block, no other may have in the two
that are shown. An instrument is what a dataset states in ``instruments``; the columns of an author's own file, and of
data that were pulled, are recognised by their changes from day to day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.checks.finding import FailedCheckError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import Panel
    from openfingym.task import Task

FEWEST_DAYS = 60
"""Fewest days that two series must share to be compared."""
MOST_DAYS = 500
"""Most days that are compared, the last ones that they share: more take longer and say no more."""
ALIKE = 0.98
"""Rank correlation of changes from which two series are taken for one. Adjusted and unadjusted prices of a stock reach
it, and so do neighbouring yields of one curve; two stocks of one industry stay below 0.9."""


@dataclass(frozen=True)
class Days:
    """Days from the first to the last of a block."""

    first: np.datetime64
    last: np.datetime64

    def __str__(self) -> str:
        """Both days."""
        return f"{self.first} to {self.last}"

    def common(self, other: Days) -> Days | None:
        """The days that lie in both; None for none."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Days(first, last) if first <= last else None


@dataclass(frozen=True)
class Calendar:
    """The days of the three blocks of a task, and the real series whose days they are."""

    task: str
    """Name of the task."""
    instruments: frozenset[str]
    """Names of the series, as the bundled datasets state them."""
    train: Days
    public: Days
    """Days of the public block, with the embargo before its first window."""
    private: Days
    """Days of the private block, with the embargo before its first window."""

    def __str__(self) -> str:
        """The days of each block."""
        return f"train {self.train}, public {self.public}, private {self.private}"


@dataclass(frozen=True)
class Conflict:
    """Days that one task shows and another one hides."""

    shows: str
    hides: str
    instruments: frozenset[str]
    days: Days

    def __str__(self) -> str:
        """Who shows which days of what, and who hides them."""
        return f"{self.shows} shows {self.days} of {', '.join(sorted(self.instruments))}, which {self.hides} hides"


def conflicts(calendar: Calendar, others: Iterable[Calendar]) -> list[Conflict]:
    """What a task shows and another one hides, or the other way about.

    Args:
        calendar: the calendar of the task.
        others: calendars of other tasks; one of the same name is passed over.
    """
    found = []
    for other in others:
        shared = calendar.instruments & other.instruments
        if other.task == calendar.task or not shared:
            continue
        for shows, hides in ((calendar, other), (other, calendar)):
            # The two shown blocks follow one another, so that nothing lies between them.
            days = Days(shows.train.first, shows.public.last).common(hides.private)
            if days is not None:
                found.append(Conflict(shows.task, hides.task, shared, days))
    return found


def calendar_of(task: Task) -> Calendar | None:
    """The calendar of a task; None for one that rests on no real series that is bundled, or whose rows have no dates.

    Raises:
        DataError: the task's data are missing or damaged.
        TaskError: the task's data do not fit its split.
    """
    from openfingym.data.recipe import block_starts, rows_lost
    from openfingym.kinds import is_sequential
    from openfingym.kinds.real_forms import split_of

    series = _series(task)
    split = None if series is None else split_of(task)
    if series is None or split is None:
        return None
    times, instruments = series
    if not is_sequential(task.spec.contract):
        # Of a panel, the split divides what is made of the rows: of returns there is one fewer than of prices.
        times = times[rows_lost(getattr(task.spec.contract, "value_semantics", "mixed")) :]
    days = times.astype("datetime64[D]")
    first, second = block_starts(days, split)
    if not 0 < first < second < len(days):
        # A block without rows is refused where the package is built, which says more.
        return None
    blocks = (days[:first], days[first:second], days[second:])
    return Calendar(task.name, instruments, *(Days(block[0], block[-1]) for block in blocks))


@cache
def bundled_calendars() -> tuple[Calendar, ...]:
    """The calendars of all tasks that ship with the library and rest on a real series, by name."""
    from openfingym.catalog import builtin_root
    from openfingym.task import Task
    from openfingym.task.files import CONFIG, has_task_file

    folders = [folder for folder in sorted(builtin_root().iterdir()) if has_task_file(folder, CONFIG)]
    return tuple(calendar for folder in folders if (calendar := calendar_of(Task.read(folder))) is not None)


def cautions(task: Task) -> tuple[str, ...]:
    """What whoever uses an own task should know of days that it shares with bundled tasks, a sentence each; none for a
    bundled task, which is to have no such days.

    Raises:
        DataError: the task's data are missing or damaged.
        TaskError: the task's data do not fit its split.
    """
    calendar = None if is_bundled(task) else calendar_of(task)
    if calendar is None:
        return ()
    found = conflicts(calendar, bundled_calendars())
    shown = [conflict for conflict in found if conflict.shows == task.name]
    hidden = [conflict for conflict in found if conflict.hides == task.name]
    told = []
    if shown:
        told.append(
            f"{task.name} shows {_of(shown)} that bundled tasks hide: results of an agent that trains or practises on "
            f"it are worth nothing on {', '.join(conflict.hides for conflict in shown)}"
        )
    if hidden:
        told.append(
            f"{task.name} hides {_of(hidden)} that bundled tasks show: its results are worth nothing for an agent that "
            f"trains or practises on {', '.join(conflict.shows for conflict in hidden)}"
        )
    return tuple(told)


def check_calendar(task: Task) -> str:
    """Check that a task hides the same days of its series as all bundled tasks do.

    An own task that does not passes: what its author does with data that anybody can read is the author's to decide.
    :func:`cautions` says what it costs.

    Raises:
        FailedCheckError: a bundled task shows days that another one hides.
    """
    calendar = calendar_of(task)
    if calendar is None:
        dated = task.spec.dataset.dates
        return "rests on no real series that is bundled" if dated else "rows have no dates, and are not compared"
    found = conflicts(calendar, bundled_calendars())
    names = ", ".join(sorted(calendar.instruments))
    if not found:
        return f"{names}: {calendar}; no bundled task differs"
    shown = "; ".join(map(str, found[:3])) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
    if is_bundled(task):
        raise FailedCheckError(shown)
    return f"{names}: {calendar}; {shown}"


def is_bundled(task: Task) -> bool:
    """Whether a task ships with the library, and runs on the data that ship with it."""
    from openfingym.catalog import builtin_root

    return not task.real and task.folder.resolve().parent == builtin_root().resolve()


def _of(found: list[Conflict]) -> str:
    """The days of some conflicts, from the first to the last, and the instruments."""
    first, last = min(one.days.first for one in found), max(one.days.last for one in found)
    names = frozenset[str]().union(*(one.instruments for one in found))
    return f"days of {', '.join(sorted(names))} ({Days(first, last)})"


def _series(task: Task) -> tuple[NDArray[np.datetime64], frozenset[str]] | None:
    """The times of a task's rows and the bundled real series that they are of; None if they are of none."""
    from openfingym.data.dataset import datasets
    from openfingym.kinds.bars.data import BarsContract, bars_of
    from openfingym.kinds.panels import panel_of, times_of
    from openfingym.kinds.paths import process_of

    contract, reference = task.spec.contract, task.spec.dataset
    if not contract.has_period or not reference.dates:
        return None
    symbols = contract.symbols if isinstance(contract, BarsContract) else ()
    if reference.name is not None and not task.real:
        known = {info.name: info for info in datasets() if info.instruments}.get(reference.name)
        if known is None:
            return None
        channels = tuple(f"{symbol}_close" for symbol in symbols) or reference.channels
        return times_of(task), known.instruments_of(channels)
    if not symbols and process_of(task) is not None:
        return None
    if symbols:
        bars = bars_of(task).bars
        times, values = bars.times, bars.close
    else:
        panel = panel_of(task)
        times, values = panel.times, panel.values
    instruments = recognised(times, values)
    return (times, instruments) if instruments else None


def recognised(times: NDArray[np.datetime64], values: NDArray[np.float64]) -> frozenset[str]:
    """The bundled real series that columns hold, as levels or as returns, under whatever name and in whatever unit.

    Args:
        times: datetime64[n], increasing.
        values: float64[n, columns], finite.
    """
    from openfingym.data.dataset import datasets

    # Stamps of an hour are of no day's close; those of midnight are.
    stamps = times.astype("datetime64[ns]")
    found: set[str] = set()
    for info in datasets():
        # Most data are of other years, which the description says, without loading the values.
        if not info.instruments or info.first is None or info.last is None:
            continue
        if stamps[-1] < np.datetime64(info.first) or stamps[0] > np.datetime64(info.last):
            continue
        known = _known_panel(info.name)
        _, own, theirs = np.intersect1d(stamps, known.times, return_indices=True)
        if len(own) < FEWEST_DAYS:
            continue
        own, theirs = own[-MOST_DAYS:], theirs[-MOST_DAYS:]
        changes = _changes(known.values[theirs])
        alike = _alike(_changes(values[own]), changes) | _alike(values[own][1:], changes)
        if alike.any():
            found |= info.instruments_of(np.array(known.channels)[alike].tolist())
    return frozenset(found)


@cache
def _known_panel(name: str) -> Panel:
    """A bundled panel of real series, which is loaded once; all of them have some 3 MB."""
    from openfingym.data import load_panel

    return load_panel(name)


def _changes(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative changes of columns that are positive, differences of the others; float64[n - 1, columns]."""
    positive = (levels > 0.0).all(axis=0)
    logs = np.log(np.where(positive, levels, 1.0))
    return np.asarray(np.diff(np.where(positive, logs, levels), axis=0))


def _alike(own: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns of ``known`` rise and fall with one of ``own``, or against it; bool[columns of known]."""
    correlation = _ranks(own).T @ _ranks(known)
    return np.asarray((np.abs(correlation) >= ALIKE).any(axis=0))


def _ranks(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks within each column, of mean 0 and length 1, so that products are rank correlations; 0 where constant.

    Of ranks, since a split or a slip of one day should not hide that two series are one.
    """
    out = np.empty_like(columns)
    for place, column in enumerate(columns.T):
        _, number, count = np.unique(column, return_inverse=True, return_counts=True)
        rank = (np.cumsum(count) - (count - 1) / 2.0)[number]
        rank -= rank.mean()
        length = np.sqrt((rank**2).sum())
        out[:, place] = rank / length if length > 0.0 else 0.0
    return out
