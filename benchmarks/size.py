"""How much a benchmark does: all of it, or with ``--short`` just enough to see that it still runs."""

from __future__ import annotations

import os
import sys
from typing import TypeVar

T = TypeVar("T")

OPTION, VARIABLE = "--short", "OPENFINGYM_SHORT_BENCHMARK"
if OPTION in sys.argv:
    sys.argv.remove(OPTION)
    os.environ[VARIABLE] = "1"  # for the processes that it starts as well
SHORT = bool(os.environ.get(VARIABLE))


def sized(full: T, short: T) -> T:
    """The one of two sizes that was asked for."""
    return short if SHORT else full


def status(met: bool) -> int:
    """The exit status of a benchmark with targets, which the short form measures too little to judge."""
    return 0 if met or SHORT else 1
