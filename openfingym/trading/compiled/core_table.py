"""The arrays that the compiled core works on: their addresses, in one table that is handed over instead of them.

Handing over an array costs Python about as much as a bar takes, and a compiled function would be compiled anew for
each kind of array. The core therefore takes the addresses of all its arrays from one int64 table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym.trading.compiled.layout import State

ADDRESSES = {
    "cells": np.float64,
    "book": np.float64,
    "orders": np.float64,
    "events": np.float64,
    "bars": np.float64,
    "features": np.float32,
    "numbers": np.float64,
    "weights": np.float64,
    "weighted": np.bool_,
    "requests": np.float64,
    "starts": np.int64,
    "rows": np.int64,
    "lasts": np.int64,
    "over": np.bool_,
    "out": np.float32,
    "final": np.float32,
    "rewards": np.float64,
    "equity": np.float64,
    "terminated": np.bool_,
    "truncated": np.bool_,
    "refusals": np.int64,
    "record": np.float64,
}
"""The types of the arrays by name, in the order of their addresses in the table.

``cells``, ``book``, ``orders`` and ``events`` are the fields of a :class:`~openfingym.trading.compiled.layout.State` of
N accounts. ``bars`` float64[T, S, 8] holds the bars, ``features`` float32[T * S * 5] what observations show of them,
``numbers`` float64[19] those of a market and of episodes.

For a step: ``weights`` float64[N, S] or ``requests`` float64[N, K, 8] are the decisions. ``rows`` and ``lasts``
int64[N] are the rows in which the next episodes start and end, ``over`` bool[N] tells which start now. ``out``
float32[N, size] are the observations, ``final`` the last ones of episodes that end. ``rewards``, ``equity`` (cash),
``terminated`` and ``truncated`` [N] are the results, ``refusals`` int64[N] the requests refused so far in each episode.

For a run of one account over many rows n: ``weights`` float64[n, S] where ``weighted`` bool[n], ``requests``
float64[K, 8], of which row n has those from ``starts[n]`` to ``starts[n + 1]``, and ``record`` float64[n, 7].
"""

(
    CELLS_AT,
    BOOK_AT,
    ORDERS_AT,
    EVENTS_AT,
    BARS_AT,
    FEATURES_AT,
    NUMBERS_AT,
    WEIGHTS_AT,
    WEIGHTED_AT,
    REQUESTS_AT,
    STARTS_AT,
    ROWS_AT,
    LASTS_AT,
    OVER_AT,
    OUT_AT,
    FINAL_AT,
    REWARDS_AT,
    EQUITY_AT,
    TERMINATED_AT,
    TRUNCATED_AT,
    REFUSALS_AT,
    RECORD_AT,
    ACCOUNTS,
    SYMBOLS,
    PLACES,
    EVENT_ROWS,
    BARS,
    SIZE,
    REQUESTS,
    TARGETS,
    SAME_STEP,
    REFUSED,
) = range(32)
"""Entries of the core's table: first the addresses, then numbers. PLACES and EVENT_ROWS are the rows that an account
has for orders and for events, BARS the rows of bars, SIZE the entries of an observation, REQUESTS the rows of requests
of each account in a step. TARGETS tells whether a step has weights, SAME_STEP whether the next episode starts in the
last step of one; REFUSED is set when a request is refused."""
TABLE_ENTRIES = 32
"""Number of entries of the core's table."""


class CoreTable:
    """The table of some arrays, which it keeps alive."""

    def __init__(self, state: State, **arrays: NDArray[Any]) -> None:
        """Lay out arrays for the core.

        Args:
            state: the arrays that hold the accounts.
            arrays: the other arrays, by the names of :data:`ADDRESSES`; those that a step does not use may be left out.
        """
        self.entries = np.zeros(TABLE_ENTRIES, np.int64)
        self.address = int(self.entries.ctypes.data)
        # An address does not keep its array alive; these references do.
        self._kept: dict[str, NDArray[Any]] = {}
        self.lay(**state._asdict(), **arrays)
        self.entries[[ACCOUNTS, SYMBOLS, PLACES]] = *state.book.shape[:2], state.orders.shape[1]

    @classmethod
    def of_one(cls, state: State, *, refusals: int = 0, **arrays: NDArray[Any]) -> CoreTable:
        """Lay out a single account.

        Args:
            state: the arrays that hold the account.
            refusals: number of requests refused so far in its episode.
            arrays: the other arrays, by the names of :data:`ADDRESSES`; those for the results of a step are made here
                where they are left out.
        """
        number = np.zeros(1, np.int64)
        step = {
            "rows": number,
            "lasts": number,
            "over": np.zeros(1, np.bool_),
            "rewards": np.zeros(1),
            "equity": np.zeros(1),
            "terminated": np.zeros(1, np.bool_),
            "truncated": np.zeros(1, np.bool_),
            "refusals": np.array([refusals]),
        }
        return cls(state, **(step | arrays))

    def lay(self, **arrays: NDArray[Any]) -> None:
        """Put arrays into the table, in the place of earlier ones of the same names.

        Raises:
            TypeError: an array does not have the type that the core expects, or is not contiguous.
        """
        for place, (name, kind) in enumerate(ADDRESSES.items()):
            if name in arrays:
                array = arrays[name]
                if array.dtype != kind or not array.flags.c_contiguous:
                    raise TypeError(f"{name} is {array.dtype}; expected a contiguous array of {np.dtype(kind)}")
                self.entries[place], self._kept[name] = array.ctypes.data, array
        if "bars" in arrays:
            self.entries[BARS] = len(arrays["bars"])
        self.entries[EVENT_ROWS] = self._kept["events"].shape[1]
