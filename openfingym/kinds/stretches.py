"""Where the parts of an instance lie in time, and how long its windows are.

::

    training rows of the task   0                                        reserved          n
                                |------------------------------------------|--------------|
    an instance of train           |------ train ------|e|-public-|e|-private-|
    an instance of validation           |-------- train --------|e|-public-|e|-private-|

``e`` is the task's embargo. Look-back and horizon of a window are at most those of the task, and shorter where windows
as long as that would be too few. Lengths are drawn in the same way for both splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from openfingym.kinds.instances import below, between, first_reserved, too_little

if TYPE_CHECKING:
    import numpy as np

    from openfingym.kinds.instances import InstanceSplit
    from openfingym.task import Split, Task

MOST_HIDDEN = 60
"""Most hidden windows of one series that an instance has."""
LADDER = ((20, 4, 2), (20, 8, 2), (14, 8, 2), (10, 8, 3), (8, 12, 5), (4, 1 << 30, 1 << 30))
"""What an instance demands, from the most to the least; the first entry that the data can satisfy is taken. An entry
``(n, a, b)`` means at least ``n`` hidden windows, with at least 1/a of the task's look-back and at least 1/b of its
horizon; in the last entry, one row of each is enough."""
ROOMY = (4, 2, 1, 0)
"""Fewest horizons between two hidden windows where levels are predicted; the first entry that the data can satisfy is
taken."""
FEWEST_APART = 10
"""Rows between hidden windows must leave at least so many windows; else fewer rows are left between."""
MOST_ROOMY = 8
"""Most horizons between two hidden windows."""


@dataclass(frozen=True)
class TimeStretch:
    """The rows of the three parts of an instance."""

    train: range
    public: range
    private: range


@dataclass(frozen=True)
class Lengths:
    """Rows of a hidden window of an instance, and how many windows its folds have."""

    lookback: int
    """Rows of input."""
    horizon: int
    """Rows of target, directly after the inputs."""
    lead: int
    """Rows before the inputs that belong to the window too, and are not shown."""
    n_public: int
    """Hidden windows of the public fold."""
    n_private: int
    """Hidden windows of the private fold."""

    @property
    def whole(self) -> int:
        """All rows of a window."""
        return self.lead + self.lookback + self.horizon


def room(rows: int, embargo: int) -> int:
    """Rows that both folds of an instance may have together; the same for both splits.

    Args:
        rows: number of the task's training rows.
        embargo: rows dropped before each fold.
    """
    # What validation has: the reserved rows, less the embargo between the folds. Train could have more.
    return rows - first_reserved(rows) - embargo


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
    levels: bool = False,
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
        longest: most rows of a window, without its lead; None for no limit.
        levels: whether levels are predicted. The first input of a hidden window then tells of the targets of the window
            before, the less, the more rows lie between them; so there are few windows, as far apart as the rows allow.

    Raises:
        UsageError: the task has too few training rows.
    """
    space = room(rows, embargo)
    # Where the shown rows have gaps, `longest` is a run without one, and is too short to leave rows between windows.
    apart = levels and longest is None
    for gap, (fewest, of_lookback, of_horizon) in product(ROOMY if apart else (0,), LADDER):
        if gap and fewest < FEWEST_APART:
            continue
        # -(-a // b) is a / b, rounded up.
        shortest = -(-reach[0] // of_lookback), -(-reach[1] // of_horizon)
        most = min(space // fewest, longest or space)

        # The loop's variables as defaults: the function keeps the values of its own turn.
        def fits(lookback: int, horizon: int, most: int = most, fewest: int = fewest, gap: int = gap) -> bool:
            whole = lead(lookback) + lookback + (1 + gap) * horizon
            return lookback + horizon <= most and whole * fewest <= space

        if not fits(*shortest):
            continue
        # The horizon first, with the shortest look-back, then a look-back that goes with it.
        horizons = [horizon for horizon in range(shortest[1], reach[1] + 1) if fits(shortest[0], horizon)]
        horizon = horizons[below(generator, len(horizons))]
        lookbacks = [lookback for lookback in range(shortest[0], reach[0] + 1) if fits(lookback, horizon)]
        lookback = lookbacks[below(generator, len(lookbacks))]
        before = lead(lookback)
        count = min(space // (before + lookback + horizon), MOST_HIDDEN)
        count = between(generator, max(fewest, count // 2), count) if not apart else min(fewest, count)
        if apart:
            # Rows that are left over are put between the windows, as if each had a longer lead.
            before += min(space // count - (before + lookback + horizon), MOST_ROOMY * horizon)
        n_public = public_part(count, share)
        return Lengths(lookback, horizon, before, n_public, count - n_public)
    raise too_little(task, f"{rows} rows", "four hidden windows in a fifth of them, with what is left out between")


def public_part(count: int, share: float) -> int:
    """How many of ``count`` hidden items are in the public fold; at least one, and not all.

    The task's ``share`` is kept between a quarter and two fifths, so that neither fold of a small instance is tiny.
    """
    return min(max(round(count * min(max(share, 0.25), 0.4)), 1), count - 1)


def public_share(split: Split) -> float:
    """The share of the hidden rows that is in the public fold."""
    return split.public / (split.public + split.private)
