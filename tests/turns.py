"""Cases that take turns: of a long list, a run tries a part, and the runs of the next days the others.

For sweeps that are worth having, and not each time: a case in them differs little from its neighbours, and what could
break is found by several. Everything is tried where ``OPENFINGYM_ALL`` is set. A run says its turn at the top, and
``OPENFINGYM_TURN`` with that number repeats the choice.

Slow tests take turns as well, those of the functions in ``slow.txt``: all of them are tried in CI and where
``OPENFINGYM_SLOW`` is set, and whenever a run is of some tests and not of all.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

FOLDER = Path(__file__).parent
ALL = bool(os.environ.get("OPENFINGYM_ALL"))
SLOW = ALL or bool(os.environ.get("OPENFINGYM_SLOW"))
SLOW_SHARE = 4
"""Days until each slow test was tried."""
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


def slow_functions() -> set[str]:
    """The functions whose tests are slow, as they begin a test's name: ``tests/test_surface.py::test_...``."""
    lines = (FOLDER / "slow.txt").read_text().splitlines()
    return {f"{FOLDER.name}/{line}" for line in lines if not line.startswith("#")}


def left_to_other_days(tests: Iterable[str]) -> set[str]:
    """Names of the slow tests, among all tests in an order that never changes, that are not tried today."""
    functions = slow_functions()
    slow = [name for name in tests if name.partition("[")[0] in functions]
    return set() if SLOW else set(slow) - set(in_turn(slow, SLOW_SHARE))
