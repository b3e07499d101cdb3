"""Cases that take turns: of a long list, a run tries a part, and the runs of the next days the others.

For sweeps that are worth having, and not each time: a case in them differs little from its neighbours, and what could
break is found by several. Everything is tried where ``OPENFINGYM_ALL`` is set. A run says its turn at the top, and
``OPENFINGYM_TURN`` with that number repeats the choice.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

ALL = bool(os.environ.get("OPENFINGYM_ALL"))
# Set for the processes that this one starts as well: midnight may come between them.
TURN = int(os.environ.setdefault("OPENFINGYM_TURN", str(dt.datetime.now(dt.UTC).toordinal())))
"""The number of the day, in UTC."""


def in_turn(cases: Iterable[T], share: int, first: int = 0) -> list[T]:
    """One case in ``share``, others each day until all had their turn; at least one.

    Args:
        cases: all of them, in an order that never changes.
        share: days until each was tried.
        first: whose turn it is first, so that two sweeps over the same cases try different ones on a day.
    """
    every = list(cases)
    if ALL:
        return every
    share = min(share, len(every))
    return [case for number, case in enumerate(every) if (number + first + TURN) % share == 0]
