"""A step of the compiled core, for one account and for many: small functions that hand its arrays over."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from openfingym.trading.compiled.compiling import array_at, called, kernel, sources
from openfingym.trading.compiled.core import STEP
from openfingym.trading.compiled.core_table import (
    ACCOUNTS,
    CELLS_AT,
    EQUITY_AT,
    OUT_AT,
    REFUSALS_AT,
    REQUESTS,
    REQUESTS_AT,
    REWARDS_AT,
    TERMINATED_AT,
    TRUNCATED_AT,
    WEIGHTS_AT,
)
from openfingym.trading.compiled.layout import BANKRUPT, CELLS, EQUITY, HAPPENED, LAST, ROW, Floats

Flags = NDArray[np.bool_]
Observations = NDArray[np.float32]
Table = NDArray[np.int64]
Stepped = tuple[float, float, int, bool, bool, int, int]
"""Reward, equity, row, whether that is the last row, whether the account is bankrupt, the number of events, and the
number of requests that were refused so far in the episode."""

_f8, _i8 = numba.float64, numba.int64


def _stepping(version: str) -> Callable[[int, Table, int, Floats, Observations], Stepped]:
    """Make the kernel for a step of one account.

    The kernel takes the address of the core, the core's table, the task (STEP or SETTLE), the decision (weights
    float64[S] or requests float64[K, 8]) and the array that the observation is written to, float32[size].
    """

    def step(core: int, table: Table, what: int, action: Floats, out: Observations) -> Stepped:
        version  # noqa: B018  # see ``_core``
        # One address for both: the core reads weights or requests, as the table's TARGETS says.
        table[WEIGHTS_AT] = table[REQUESTS_AT] = action.ctypes.data
        if action.ndim == 2:
            table[REQUESTS] = len(action)
        table[OUT_AT] = out.ctypes.data
        called(core, table.ctypes.data, what, 0, 1)
        cells = array_at(table[CELLS_AT], (CELLS,), _f8)
        row, bankrupt = int(cells[ROW]), cells[BANKRUPT] != 0.0
        return (
            array_at(table[REWARDS_AT], (1,), _f8)[0],
            cells[EQUITY],
            row,
            row >= cells[LAST],
            bankrupt,
            int(cells[HAPPENED]),
            array_at(table[REFUSALS_AT], (1,), _i8)[0],
        )

    return kernel(step)


def _stepping_many(
    version: str,
) -> Callable[[int, Table, Floats, Observations, Floats, Floats, Flags, Flags, int], None]:
    """Make the kernel for a step of all accounts, in blocks that threads share.

    The kernel takes the address of the core, the core's table, the decisions, the arrays ``out``, ``rewards``,
    ``equity``, ``terminated`` and ``truncated`` of the core's table, and the number of blocks.
    """

    def step_many(
        core: int,
        table: Table,
        action: Floats,
        out: Observations,
        rewards: Floats,
        equity: Floats,
        terminated: Flags,
        truncated: Flags,
        blocks: int,
    ) -> None:
        version  # noqa: B018  # see ``_core``
        table[WEIGHTS_AT] = table[REQUESTS_AT] = action.ctypes.data
        table[OUT_AT], table[REWARDS_AT], table[EQUITY_AT] = out.ctypes.data, rewards.ctypes.data, equity.ctypes.data
        table[TERMINATED_AT], table[TRUNCATED_AT] = terminated.ctypes.data, truncated.ctypes.data
        address, count = table.ctypes.data, table[ACCOUNTS]
        for block in numba.prange(blocks):
            called(core, address, STEP, block * count // blocks, (block + 1) * count // blocks)

    return kernel(step_many, parallel=True)


step, step_many = _stepping(sources()), _stepping_many(sources())
