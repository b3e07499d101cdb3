"""The compiled core: one function for all that is done to accounts, so that it is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from openfingym.trading.compiled.compiling import array_at, kernel, part, sources
from openfingym.trading.compiled.core_table import (
    ACCOUNTS,
    BARS,
    BARS_AT,
    BOOK_AT,
    CELLS_AT,
    EQUITY_AT,
    EVENT_ROWS,
    EVENTS_AT,
    FEATURES_AT,
    FINAL_AT,
    LASTS_AT,
    NUMBERS_AT,
    ORDERS_AT,
    OUT_AT,
    OVER_AT,
    PLACES,
    RECORD_AT,
    REFUSALS_AT,
    REFUSED,
    REQUESTS,
    REQUESTS_AT,
    REWARDS_AT,
    ROWS_AT,
    SAME_STEP,
    SIZE,
    STARTS_AT,
    SYMBOLS,
    TABLE_ENTRIES,
    TARGETS,
    TERMINATED_AT,
    TRUNCATED_AT,
    WEIGHTED_AT,
    WEIGHTS_AT,
)
from openfingym.trading.compiled.layout import (
    BANKRUPT,
    BOOK,
    CELLS,
    CLOSED,
    COST,
    EQUITY,
    EVENT,
    EVENTS,
    LAST,
    MARK,
    ORDER,
    POSITION,
    RECORD,
    REQUEST,
    ROW,
    TRADED,
    WON,
    Floats,
    Market,
    State,
    events_of_a_step,
)
from openfingym.trading.compiled.observing import earn, observe
from openfingym.trading.compiled.simulator import ask, on_bar, open_account, target

Flags = NDArray[np.bool_]

OPEN, STEP, SETTLE, RUN = range(4)
"""The tasks of the core. OPEN: start the next episodes of the accounts whose episodes are over. STEP: carry out what
was decided, and let a bar pass. SETTLE: only the end of a step, its reward and observation, for an account that the
readable simulator has moved. RUN: many bars of the first account, without rewards and observations."""

_f8, _f4, _i8, _b1 = types.float64, types.float32, types.int64, types.uint8


@part
def _market(numbers: Floats) -> Market:
    # Written out: a compiled function cannot take the length of a tuple from an array.
    return Market(
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
        numbers[6],
        numbers[7],
        numbers[8],
        int(numbers[9]),
        numbers[10] != 0.0,
        numbers[11] != 0.0,
        int(numbers[12]),
        int(numbers[13]),
        numbers[14] != 0.0,
    )


@part
def _record(a: State, record: Floats, n: int) -> None:
    """Write row n of the first account's record."""
    cells, book = a.cells, a.book
    long = short = 0.0
    for s in range(book.shape[1]):
        value = book[0, s, POSITION] * book[0, s, MARK]
        if value > 0.0:
            long += value
        else:
            short -= value
    record[n, 0] = cells[0, EQUITY]
    record[n, 1] = cells[0, TRADED]
    record[n, 2] = cells[0, COST]
    record[n, 3] = long
    record[n, 4] = short
    record[n, 5] = cells[0, CLOSED]
    record[n, 6] = cells[0, WON]


class EpisodeArrays(NamedTuple):
    """The settings of episodes, and where the results of a step of N accounts are written; the arrays are those of
    :mod:`openfingym.trading.compiled.core_table`.
    """

    cash: float
    lookback: int
    reward: int
    decay: float
    same_step: bool
    bars: Floats
    features: NDArray[np.float32]
    rows: NDArray[np.int64]
    lasts: NDArray[np.int64]
    over: Flags
    out: NDArray[np.float32]
    final: NDArray[np.float32]
    rewards: Floats
    equity: Floats
    terminated: Flags
    truncated: Flags
    refusals: NDArray[np.int64]


@part
def _episode(table: NDArray[np.int64], numbers: Floats, bars: Floats) -> EpisodeArrays:
    count, size = table[ACCOUNTS], table[SIZE]
    return EpisodeArrays(
        numbers[15],
        int(numbers[16]),
        int(numbers[17]),
        numbers[18],
        table[SAME_STEP] != 0,
        bars,
        array_at(table[FEATURES_AT], (table[BARS] * table[SYMBOLS] * 5,), _f4),
        array_at(table[ROWS_AT], (count,), _i8),
        array_at(table[LASTS_AT], (count,), _i8),
        array_at(table[OVER_AT], (count,), _b1),
        array_at(table[OUT_AT], (count, size), _f4),
        array_at(table[FINAL_AT], (count, size), _f4),
        array_at(table[REWARDS_AT], (count,), _f8),
        array_at(table[EQUITY_AT], (count,), _f8),
        array_at(table[TERMINATED_AT], (count,), _b1),
        array_at(table[TRUNCATED_AT], (count,), _b1),
        array_at(table[REFUSALS_AT], (count,), _i8),
    )


@part
def _finish(a: State, i: int, e: EpisodeArrays, begins: bool) -> int:
    """Write reward, end and observation of a step, or of an episode that ``begins``.

    Returns:
        How many requests of the step were refused.
    """
    cells, ended, refusals = a.cells, False, 0
    if begins:
        e.rewards[i] = 0.0
        e.terminated[i] = e.truncated[i] = 0
        e.refusals[i] = 0
    else:
        e.rewards[i] = earn(cells, i, e.reward, e.decay)
        e.equity[i] = cells[i, EQUITY]
        bankrupt, at_end = cells[i, BANKRUPT] != 0.0, cells[i, ROW] >= cells[i, LAST]
        e.terminated[i] = bankrupt
        e.truncated[i] = at_end and not bankrupt
        ended = bankrupt or at_end
    # With SAME_STEP, two observations: the last one of the episode that ends, and the first one of the next.
    twice = ended and e.same_step
    e.over[i] = ended and not twice
    for turn in range(2 if twice else 1):
        if begins or turn == 1:
            open_account(a, i, e.bars, e.rows[i], e.lasts[i], e.cash)
            if begins:
                e.equity[i] = e.cash
        if e.out.shape[1] > 0:
            seen = e.final if twice and turn == 0 else e.out
            refusals += observe(a, i, int(cells[i, ROW]), e.features, e.lookback, seen)
    e.refusals[i] += refusals
    return refusals


def _core(version: str) -> Callable[[int, int, int, int], int]:
    """The core, whose cached machine code belongs to one version of the sources: it closes over ``version``."""

    def core(address: int, what: int, begin: int, end: int) -> int:
        """Do something to accounts, or with RUN to rows after the present one, from ``begin`` to ``end``.

        Args:
            address: address in memory of the core's table.
            what: OPEN, STEP, SETTLE or RUN.
            begin: the first account or row.
            end: the account or row behind the last.

        Returns:
            ``end``, or with RUN the row for whose events there is no room.
        """
        version  # noqa: B018  # named, so that the function closes over it: Numba's cache compares what it closes over
        table = array_at(address, (TABLE_ENTRIES,), _i8)
        count, symbols = table[ACCOUNTS], table[SYMBOLS]
        a = State(
            array_at(table[CELLS_AT], (count, CELLS), _f8),
            array_at(table[BOOK_AT], (count, symbols, BOOK), _f8),
            array_at(table[ORDERS_AT], (count, table[PLACES], ORDER), _f8),
            array_at(table[EVENTS_AT], (count, table[EVENT_ROWS], EVENT), _f8),
        )
        bars = array_at(table[BARS_AT], (table[BARS], symbols, 8), _f8)
        numbers = array_at(table[NUMBERS_AT], (19,), _f8)
        m, e = _market(numbers), _episode(table, numbers, bars)
        # In a run there is a row of weights for each bar, in a step one for each account.
        weights = array_at(table[WEIGHTS_AT], (max(end, count), symbols), _f8)
        weighted = array_at(table[WEIGHTED_AT], (end,), _b1)
        starts = array_at(table[STARTS_AT], (end + 1,), _i8)
        each, targets, runs = table[REQUESTS], table[TARGETS] != 0, what == RUN
        requests = array_at(table[REQUESTS_AT], (starts[end] if runs else count * each, REQUEST), _f8)
        record = array_at(table[RECORD_AT], (end, RECORD), _f8)
        cells = a.cells
        for n in range(begin, end):
            # One loop over accounts and over bars, so that a bar is compiled once.
            i = 0 if runs else n
            # An account whose episode is over begins the next one, in place of what the others do.
            begins, ruined = not runs and e.over[i] != 0, False
            if what == OPEN and not begins:
                continue
            if not begins:
                # Which requests: a row of a run has any number of them, an account in a step always ``each``.
                if runs:
                    first, last = starts[n], starts[n + 1]
                    room = table[EVENT_ROWS] - int(cells[0, EVENTS])
                    if room < events_of_a_step(symbols, table[PLACES] - 1, last - first):
                        return n
                    ruined = cells[0, BANKRUPT] != 0.0
                else:
                    first, last = n * each, (n + 1) * each
                if what != SETTLE:
                    if weighted[n] != 0 if runs else targets:
                        target(a, i, m, weights, n)
                    if last > first:
                        ask(a, i, m, requests, first, last)
                    on_bar(a, i, m, bars)
            if runs:
                # A bankrupt account keeps its positions, and its record stays at zero.
                if ruined:
                    for k in range(RECORD):
                        record[n, k] = 0.0
                else:
                    _record(a, record, n)
                continue
            # Threads share this entry; all of them write the same.
            if _finish(a, i, e, begins) > 0:
                table[REFUSED] = 1
        return end

    return kernel(core)


CORE = _core(sources())
