"""Where the parts of an instance lie in time.

::

    training rows of the task   0                                        reserved          n
                                |------------------------------------------|--------------|
    an instance of train           |------ train ------|e|-public-|e|-private-|
    an instance of validation           |-------- train --------|e|-public-|e|-private-|

``e`` is the task's embargo. Of windows, look-back and horizon are at most those of the task; they are shorter where
so long ones would leave too few hidden windows, and the same lengths are drawn for either split.
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
"""Hidden windows of one series that an instance has at most."""
LADDER = ((20, 4, 2), (20, 8, 2), (14, 8, 2), (10, 8, 3), (8, 12, 5), (4, 1 << 30, 1 << 30))
"""Fewest hidden windows, and which parts of the task's look-back and horizon a window has at least; the first that fits
the data."""
ROOMY = (4, 2, 1, 0)
"""Horizons between two hidden windows at least where levels are predicted; the first that fits the data."""
FEWEST_APART = 10
"""Fewest hidden windows for the sake of rows between them."""
MOST_ROOMY = 8
"""Horizons between two hidden windows at most."""


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
    horizon: int
    lead: int
    """Rows before the inputs that belong to a window too."""
    n_public: int
    n_private: int

    @property
    def whole(self) -> int:
        """All rows of a window."""
        return self.lead + self.lookback + self.horizon


def room(rows: int, embargo: int) -> int:
    """How many rows the hidden windows of an instance may have, of so many training rows; the same for both splits."""
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
        task: the task, for messages.
        rows: number of its training rows.
        hidden: rows of the public and of the private fold.
        train: rows of the training part at least and at most.
        split: what the instance is for.
        generator: decides where.
        embargo: rows dropped before each fold.
        reserved: the first row that is reserved; None for that of :func:`first_reserved`.

    Raises:
        UsageError: there are too few rows.
    """
    public, private = hidden
    whole, reserved = public + embargo + private, first_reserved(rows) if reserved is None else reserved
    first = train[0] + embargo + whole
    low, high = (first, reserved) if split == "train" else (max(first, reserved + whole), rows)
    if low > high:
        raise too_little(task, f"{rows} rows", f"{max(5 * whole, (5 * first + 3) // 4)} rows")
    stop = between(generator, low, high)
    start = stop - private
    begin = start - embargo - public
    length = between(generator, train[0], min(train[1], begin - embargo))
    return TimeStretch(
        range(begin - embargo - length, begin - embargo), range(begin, begin + public), range(start, stop)
    )


def no_lead(_: int) -> int:
    """Of windows that are made of their own rows alone."""
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
        task: the task, for messages.
        rows: number of its training rows.
        reach: look-back and horizon of the task, which those of the instance do not exceed.
        generator: decides how long they are.
        embargo: rows dropped before each fold.
        share: share of the hidden windows that are in the public fold.
        lead: rows before the inputs that belong to a window too, given its look-back.
        longest: rows of a window at most, without its lead; None for no limit.
        levels: whether levels are predicted. The first input of a hidden window then tells of the targets of the one
            before, the less the more rows lie between; so there are few windows, and as many rows between as fit.

    Raises:
        UsageError: there are too few rows.
    """
    space = room(rows, embargo)
    # Rows that follow one another are too few for that where no longer run of them is shown.
    apart = levels and longest is None
    for gap, (fewest, of_lookback, of_horizon) in product(ROOMY if apart else (0,), LADDER):
        if gap and fewest < FEWEST_APART:
            continue
        shortest = -(-reach[0] // of_lookback), -(-reach[1] // of_horizon)
        most = min(space // fewest, longest or space)

        def fits(lookback: int, horizon: int, most: int = most, fewest: int = fewest, gap: int = gap) -> bool:
            whole = lead(lookback) + lookback + (1 + gap) * horizon
            return lookback + horizon <= most and whole * fewest <= space

        if not fits(*shortest):
            continue
        horizons = [one for one in range(shortest[1], reach[1] + 1) if fits(shortest[0], one)]
        horizon = horizons[below(generator, len(horizons))]
        lookbacks = [one for one in range(shortest[0], reach[0] + 1) if fits(one, horizon)]
        lookback = lookbacks[below(generator, len(lookbacks))]
        before = lead(lookback)
        count = min(space // (before + lookback + horizon), MOST_HIDDEN)
        count = between(generator, max(fewest, count // 2), count) if not apart else min(fewest, count)
        if apart:
            before += min(space // count - (before + lookback + horizon), MOST_ROOMY * horizon)
        n_public = public_part(count, share)
        return Lengths(lookback, horizon, before, n_public, count - n_public)
    raise too_little(task, f"{rows} rows", "four hidden windows in a fifth of them, with what is left out between")


def public_part(count: int, share: float) -> int:
    """How many of so many hidden items are in the public fold: the task's share, from a quarter to two fifths."""
    return min(max(round(count * min(max(share, 0.25), 0.4)), 1), count - 1)


def public_share(split: Split) -> float:
    """Of what is hidden, the part of the public fold."""
    return split.public / (split.public + split.private)
