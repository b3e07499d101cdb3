"""Holdings with hindsight: the best and the worst at each bar if all prices were known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


RUIN = -100.0
"""Log growth that stands for a loss of everything."""


def hindsight_weights(
    opens: NDArray[np.float64], last: NDArray[np.float64], *, cost: float, short: float, worst: bool = False
) -> NDArray[np.float64]:
    """The target weights that grow an account fastest, if it holds cash or one symbol, long or short, at each bar.

    Viterbi's recursion over these 2 S + 1 states. Weights are traded at the open of their bar and held to the open of
    the next, so that a gain is that of open on open; a change of state costs its turnover. Limits of volume, lots and
    the cost of borrowing are left out.

    Args:
        opens: opening prices of the bars that are traded, float64[T, S], positive.
        last: closing prices of the last of these bars, float64[S].
        cost: cost of a trade, as a share of its value.
        short: weight of a short position, from 0 (no short positions) to 1.
        worst: whether to take the weights that shrink the account fastest instead.

    Returns:
        float64[T, S], one state a bar.
    """
    rows, width = opens.shape
    states = np.concatenate([np.zeros((1, width)), np.eye(width), -short * np.eye(width)])
    moves = np.concatenate([opens[1:], last[None]]) / opens - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.log(np.maximum(1.0 + moves @ states.T, 0.0))
        # From a state (row) to a state (column): what its turnover leaves.
        switching = np.log(np.maximum(1.0 - cost * np.abs(states[:, None] - states).sum(axis=2), 0.0))
    # Finite, so that paths through ruin can be compared; negated for the worst, infinities would meet those of the
    # states that cannot be reached, and make NaN.
    gains, switching = np.maximum(gains, RUIN), np.maximum(switching, RUIN)
    if worst:
        gains, switching = -gains, -switching
    # Forward: the best log growth of a path that ends in each state, and the state before it. All paths begin in cash.
    value = np.full(len(states), -np.inf)
    value[0] = 0.0
    came_from = np.empty((rows, len(states)), dtype=np.int64)
    for t in range(rows):
        arriving = value[:, None] + switching
        came_from[t] = arriving.argmax(axis=0)
        value = arriving.max(axis=0) + gains[t]
    # Backward: from the best last state along the states that led to it.
    path = np.empty(rows, dtype=np.int64)
    path[-1] = int(value.argmax())
    for t in range(rows - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    # Adding 0 makes 0.0 of the -0.0 that the negated identity matrix holds.
    chosen: NDArray[np.float64] = states[path] + 0.0
    return chosen
