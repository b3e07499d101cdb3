"""Where the parts of an instance lie in time, and how long its windows are.

::

    training rows of the task   0                                        reserved          n
                                |------------------------------------------|--------------|
    an instance of train           |------ train ------|e|-public-|e|-private-|
    an instance of validation           |-------- train --------|e|-public-|e|-private-|

``e`` is the task's embargo. Hidden windows are walked through, and each begins a horizon after the one before it.
Look-back and horizon of a window are at most those of the task, and shorter where windows as long as that would be too
few. Lengths are drawn in the same way for both splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.kinds.instances import below, between, first_reserved, too_little

if TYPE_CHECKING:
    import numpy as np

    from openfingym.kinds.instances import InstanceSplit
    from openfingym.task import Task
    from openfingym.task.model import Split

MOST_HIDDEN = 24
"""Most hidden windows of one series that an instance has."""
LADDER = ((20, 4, 2), (20, 8, 2), (14, 8, 2), (10, 8, 3), (8, 12, 5), (4, 1 << 30, 1 << 30))
"""What an instance demands, from the most to the least; the first entry that the data can satisfy is taken. An entry
``(n, a, b)`` means at least ``n`` hidden windows, with at least 1/a of the task's look-back and at least 1/b of its
horizon; in the last entry, one row of each is enough."""


@dataclass(frozen=True)
class TimeStretch:
    """The rows of the three parts of an instance."""

    train: range
    public: range
    private: range


@dataclass(frozen=True)
class Lengths:
    """Rows of a hidden window of an instance, and of its folds."""

    lookback: int
    """Rows of input."""
    horizon: int
    """Rows of target, directly after the inputs."""
    lead: int
    """Rows before the first inputs of a part that belong to it too, and are not shown."""
    n_public: int
    """Hidden windows of the public fold."""
    n_private: int
    """Hidden windows of the private fold."""
    gaps: bool
    """Whether rows are missing between those that are shown, so that no window may begin where another ends."""

    @property
    def whole(self) -> int:
        """All rows of a window."""
        return self.lead + self.lookback + self.horizon

    @property
    def hidden(self) -> tuple[int, int]:
        """Rows of the public fold, and of the private fold."""
        public, private = (
            count * self.whole if self.gaps else self.whole + (count - 1) * self.horizon
            for count in (self.n_public, self.n_private)
        )
        return public, private


def room(rows: int, embargo: int) -> int:
    """Rows that both folds of an instance may have together; the same for both splits.

    Args:
        rows: number of the task's training rows.
        embargo: rows dropped before each fold.
    """
    # What validation has: the reserved rows, less the embargo between the folds. Train could have more.
    return rows - first_reserved(rows) - embargo


def known_rows(rows: int, embargo: int) -> tuple[int, int]:
    """Fewest and most rows of the training part of an instance: as many as could be hidden, or more."""
    return room(rows, embargo), rows


def placed(
    task: Task,
    rows: int,
    hidden: tuple[int, int],
    train: tuple[int, int],
    split: InstanceSplit,
    generator: np.random.Generator,
    *,
    embargo: int,
    reserved: int | None = None,
) -> TimeStretch:
    """A place for an instance among the training rows.

    Args:
        task: the task that the instance is cut from, for messages.
        rows: number of the task's training rows.
        hidden: number of rows of the public fold, and of the private fold.
        train: fewest and most rows of the instance's training part.
        split: split of the instance.
        generator: random generator that the place is drawn from.
        embargo: rows dropped before each fold.
        reserved: the first row that is reserved for ``validation``; None for that of :func:`first_reserved`.

    Raises:
        UsageError: the task has too few training rows.
    """
    public, private = hidden
    whole, reserved = public + embargo + private, first_reserved(rows) if reserved is None else reserved
    # Where the private fold may end. An instance of train ends before the reserved rows; one of validation has all of
    # its hidden rows among them, and its training part where it fits.
    first = train[0] + embargo + whole
    low, high = (first, reserved) if split == "train" else (max(first, reserved + whole), rows)
    if low > high:
        raise too_little(task, f"{rows} rows", f"{max(5 * whole, (5 * first + 3) // 4)} rows")
    # From the end backwards: private fold, embargo, public fold, embargo, training part.
    stop = between(generator, low, high)
    start = stop - private
    begin = start - embargo - public
    length = between(generator, train[0], min(train[1], begin - embargo))
    return TimeStretch(
        range(begin - embargo - length, begin - embargo), range(begin, begin + public), range(start, stop)
    )


def no_lead(_: int) -> int:
    """The lead of windows that are made of their own rows alone, whatever their look-back."""
    return 0


def lengths(
    task: Task,
    rows: int,
    reach: tuple[int, int],
    generator: np.random.Generator,
    *,
    embargo: int,
    share: float,
    lead: Callable[[int], int] = no_lead,
    longest: int | None = None,
) -> Lengths:
    """Look-back, horizon and number of hidden windows of an instance.

    Args:
        task: the task that the instance is cut from, for messages.
        rows: number of the task's training rows.
        reach: look-back and horizon of the task, which those of the instance do not exceed.
        generator: random generator that lengths and numbers are drawn from.
        embargo: rows dropped before each fold.
        share: share of the hidden windows that are in the public fold.
        lead: given the look-back of a window, returns the rows before its inputs that belong to it too.
        longest: rows that are shown without a gap between, and so most rows of a window, without its lead; None where
            no row is missing.

    Raises:
        UsageError: the task has too few training rows.
    """
    space = room(rows, embargo)

    def most(lookback: int, horizon: int) -> int:
        before = lead(lookback) + lookback
        if longest is None:
            # Each fold begins with a look-back, and then every window takes a horizon.
            return (space - 2 * before) // horizon
        return space // (before + horizon) if lookback + horizon <= longest else 0

    for fewest, of_lookback, of_horizon in LADDER:
        # -(-a // b) is a / b, rounded up.
        shortest = -(-reach[0] // of_lookback), -(-reach[1] // of_horizon)
        # The horizon first, with the shortest look-back, then a look-back that goes with it.
        horizons = [h for h in range(shortest[1], reach[1] + 1) if most(shortest[0], h) >= fewest]
        if not horizons:
            continue
        horizon = horizons[below(generator, len(horizons))]
        lookbacks = [lookback for lookback in range(shortest[0], reach[0] + 1) if most(lookback, horizon) >= fewest]
        lookback = lookbacks[below(generator, len(lookbacks))]
        count = min(most(lookback, horizon), MOST_HIDDEN)
        count = between(generator, max(fewest, count // 2), count)
        n_public = public_part(count, share)
        return Lengths(lookback, horizon, lead(lookback), n_public, count - n_public, longest is not None)
    raise too_little(task, f"{rows} rows", "four hidden windows in a fifth of them, with what is left out between")


def public_part(count: int, share: float) -> int:
    """How many of ``count`` hidden items are in the public fold; at least one, and not all.

    The task's ``share`` is kept between a quarter and two fifths, so that neither fold of a small instance is tiny.
    """
    return min(max(round(count * min(max(share, 0.25), 0.4)), 1), count - 1)


def public_share(split: Split) -> float:
    """The share of the hidden rows that is in the public fold; a third where the split is by days."""
    if split.dated:
        return 1 / 3
    _, public, private = split.shares
    return public / (public + private)
