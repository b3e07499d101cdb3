"""Account records of steps drawn again: what an account might have made of the same market in another order.

A step is taken for what it did to the account before it: by how much equity grew, and traded notional, cost
and positions as shares of the equity at its beginning. Put one after the other, drawn steps make a record
with the same initial equity, so that pooled ratios, returns and drawdowns all have their meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.performance import RecordColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

MONEY = [RecordColumn.TRADED, RecordColumn.COST, RecordColumn.LONG, RecordColumn.SHORT]
"""Columns in cash beside equity, which are scaled with it."""


def redrawn_record(record: NDArray[np.float64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """The record that an account would have of drawn steps, one after the other.

    Args:
        record: the account record that is drawn from, float64[episodes, steps + 1, 7].
        steps: numbers of the drawn steps, int64[episodes * steps]; steps are counted through all episodes, from 0.

    Returns:
        float64[episodes, steps + 1, 7], an account record. Ruin stays: a step drawn after it finds nothing left.
    """
    episodes, rows, width = record.shape
    before, after = record[:, :-1].reshape(-1, width), record[:, 1:].reshape(-1, width)
    equity = before[:, RecordColumn.EQUITY]
    # A step that follows ruin returns 0, as in openfingym.metrics.performance.
    alive = equity > 0.0
    divisor = np.where(alive, equity, 1.0)
    growth = np.where(alive, after[:, RecordColumn.EQUITY] / divisor, 1.0)
    shares = after[:, MONEY] / divisor[:, None]
    out = np.empty_like(record)
    out[:, 0] = record[:, 0]
    # Counts of fills are taken over as they are; what is in cash is replaced below.
    out[:, 1:] = after[steps].reshape(episodes, rows - 1, width)
    # Once a drawn step is ruin, its growth of 0 keeps the product at 0.
    grown = np.cumprod(growth[steps].reshape(episodes, rows - 1), axis=1)
    out[:, 1:, RecordColumn.EQUITY] = record[:, :1, RecordColumn.EQUITY] * grown
    out[:, 1:, MONEY] = shares[steps].reshape(episodes, rows - 1, len(MONEY)) * out[:, :-1, RecordColumn.EQUITY, None]
    return out
