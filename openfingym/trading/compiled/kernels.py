"""The kernels of the compiled core that Python calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from openfingym.trading.compiled.compiling import borrowed, kernel, part, rare, sources
from openfingym.trading.compiled.layout import (
    BANKRUPT,
    CLOSED,
    COST,
    EQUITY,
    EVENTS,
    HAPPENED,
    LAST,
    MARK,
    POSITION,
    ROW,
    TRADED,
    WON,
    Floats,
    Market,
    State,
    events_of_a_step,
)
from openfingym.trading.compiled.observing import EpisodeSettings, earn, observe
from openfingym.trading.compiled.simulator import ask, on_bar, open_account, target

Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
Observations = NDArray[np.float32]

Stepped = tuple[float, float, int, bool, bool, int]
"""Reward, equity, row, whether that is the last row, whether the account is bankrupt, and the number of events."""


@part
def _state(cells: Floats, book: Floats, orders: Floats, events: Floats) -> State:
    return State(borrowed(cells), borrowed(book), borrowed(orders), borrowed(events))


@part
def _market(numbers: Floats) -> Market:
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
def _episode(numbers: Floats) -> EpisodeSettings:
    return EpisodeSettings(numbers[15], int(numbers[16]), int(numbers[17]), numbers[18])


@part
def _act(a: State, i: int, m: Market, action: Floats) -> None:
    # The number of axes is known when compiling, and the other branch is left out.
    if action.ndim == 2:
        target(a, i, m, action)
    else:
        ask(a, i, m, action)


@part
def _finish(a: State, features: Observations, numbers: Floats, out: Observations) -> Stepped:
    e, cells = _episode(numbers), a.cells
    reward, row = earn(cells, 0, e.reward, e.decay), int(cells[0, ROW])
    observe(a, 0, row, borrowed(features), e.lookback, borrowed(out.reshape((1, out.size))), 0)
    return reward, cells[0, EQUITY], row, row >= cells[0, LAST], cells[0, BANKRUPT] != 0.0, int(cells[0, HAPPENED])


@part
def _step_one(
    a: State,
    m: Market,
    e: EpisodeSettings,
    bars: Floats,
    features: Observations,
    action: Floats,
    rows: Rows,
    lasts: Rows,
    same_step: bool,
    over: Flags,
    out: Observations,
    final: Observations,
    rewards: Floats,
    equity: Floats,
    terminated: Flags,
    truncated: Flags,
    i: int,
) -> None:
    cells = a.cells
    begins, ended = over[i], False
    if begins:
        rewards[i] = 0.0
        terminated[i] = truncated[i] = False
    else:
        _act(a, i, m, action)
        on_bar(a, i, m, bars)
        rewards[i] = earn(cells, i, e.reward, e.decay)
        equity[i] = cells[i, EQUITY]
        terminated[i] = cells[i, BANKRUPT] != 0.0
        truncated[i] = not terminated[i] and cells[i, ROW] >= cells[i, LAST]
        ended = terminated[i] or truncated[i]
    over[i] = ended and not same_step
    if ended and same_step:
        observe(a, i, int(cells[i, ROW]), features, e.lookback, final, i)
        begins = True
    if begins:
        open_account(a, i, bars, rows[i], lasts[i], e.cash)
        if not same_step:
            equity[i] = e.cash
    observe(a, i, int(cells[i, ROW]), features, e.lookback, out, i)


@rare
def _step_some(
    cells: Floats,
    book: Floats,
    orders: Floats,
    events: Floats,
    bars: Floats,
    features: Observations,
    numbers: Floats,
    action: Floats,
    rows: Rows,
    lasts: Rows,
    same_step: bool,
    over: Flags,
    out: Observations,
    final: Observations,
    rewards: Floats,
    equity: Floats,
    terminated: Flags,
    truncated: Flags,
    begin: int,
    end: int,
) -> None:
    bars, features, action, out, final = (
        borrowed(bars),
        borrowed(features),
        borrowed(action),
        borrowed(out),
        borrowed(final),
    )
    over, rewards, terminated, truncated = borrowed(over), borrowed(rewards), borrowed(terminated), borrowed(truncated)
    rows, lasts, equity = borrowed(rows), borrowed(lasts), borrowed(equity)
    a, m, e = _state(cells, book, orders, events), _market(numbers), _episode(numbers)
    # Weights of one symbol are most frequent: where it is known to be one, the loops over symbols vanish.
    if action.ndim == 2 and book.shape[1] == 1:
        for i in range(begin, end):
            _step_one(
                a,
                m,
                e,
                bars,
                features,
                action,
                rows,
                lasts,
                same_step,
                over,
                out,
                final,
                rewards,
                equity,
                terminated,
                truncated,
                i,
            )
    else:
        for i in range(begin, end):
            _step_one(
                a,
                m,
                e,
                bars,
                features,
                action,
                rows,
                lasts,
                same_step,
                over,
                out,
                final,
                rewards,
                equity,
                terminated,
                truncated,
                i,
            )


class Kernels(NamedTuple):
    """The compiled functions; arrays are as in :mod:`openfingym.trading.compiled.layout`, numbers a market's and an
    episode's.
    """

    begin: Callable[
        [Floats, Floats, Floats, Floats, Floats, Observations, Floats, Rows, Rows, Rows, Observations], None
    ]
    """Open the accounts ``which`` at ``rows`` for episodes that end at ``lasts``, and write what they see unless that
    has no columns."""
    step: Callable[[Floats, Floats, Floats, Floats, Floats, Observations, Floats, Floats, Observations], Stepped]
    """The first account, one bar; the action is its weights, float64[S], or its requests, float64[K, 8]."""
    settle: Callable[[Floats, Floats, Floats, Floats, Observations, Floats, Observations], Stepped]
    """The end of a step alone, of an account that something else has moved."""
    step_many: Callable[..., None]
    """All accounts, one bar; see :class:`openfingym.envs.trading_vector.TradingVectorEnv`."""
    run: Callable[..., int]
    """One account through many bars; see :func:`openfingym.trading.compiled.account.CompiledAccount.run_arrays`."""


def _kernels(version: str) -> Kernels:
    """Kernels whose cached machine code belongs to one version of the sources; each mentions ``version`` to close over
    it.
    """

    def begin(
        cells: Floats,
        book: Floats,
        orders: Floats,
        events: Floats,
        bars: Floats,
        features: Observations,
        numbers: Floats,
        which: Rows,
        rows: Rows,
        lasts: Rows,
        out: Observations,
    ) -> None:
        version  # noqa: B018
        a, e = _state(cells, book, orders, events), _episode(numbers)
        for j in range(len(which)):
            open_account(a, which[j], bars, rows[j], lasts[j], e.cash)
            if out.shape[1] > 0:
                observe(a, which[j], rows[j], features, e.lookback, out, which[j])

    def step(
        cells: Floats,
        book: Floats,
        orders: Floats,
        events: Floats,
        bars: Floats,
        features: Observations,
        numbers: Floats,
        action: Floats,
        out: Observations,
    ) -> Stepped:
        version  # noqa: B018
        a, m = _state(cells, book, orders, events), _market(numbers)
        _act(a, 0, m, borrowed(action.reshape((1, *action.shape))))
        on_bar(a, 0, m, borrowed(bars))
        return _finish(a, features, numbers, out)

    def settle(
        cells: Floats,
        book: Floats,
        orders: Floats,
        events: Floats,
        features: Observations,
        numbers: Floats,
        out: Observations,
    ) -> Stepped:
        version  # noqa: B018
        return _finish(_state(cells, book, orders, events), features, numbers, out)

    def step_many(
        cells: Floats,
        book: Floats,
        orders: Floats,
        events: Floats,
        bars: Floats,
        features: Observations,
        numbers: Floats,
        action: Floats,
        rows: Rows,
        lasts: Rows,
        same_step: bool,
        over: Flags,
        out: Observations,
        final: Observations,
        rewards: Floats,
        equity: Floats,
        terminated: Flags,
        truncated: Flags,
        blocks: int,
    ) -> None:
        version  # noqa: B018
        for block in numba.prange(blocks):
            begin, end = block * len(cells) // blocks, (block + 1) * len(cells) // blocks
            _step_some(
                cells,
                book,
                orders,
                events,
                bars,
                features,
                numbers,
                action,
                rows,
                lasts,
                same_step,
                over,
                out,
                final,
                rewards,
                equity,
                terminated,
                truncated,
                begin,
                end,
            )

    def run(
        cells: Floats,
        book: Floats,
        orders: Floats,
        events: Floats,
        bars: Floats,
        numbers: Floats,
        requests: Floats,
        starts: Rows,
        weights: Floats,
        weighted: Flags,
        record: Floats,
        last: int,
    ) -> int:
        version  # noqa: B018
        a, m = _state(cells, book, orders, events), _market(numbers)
        bars, requests, weights, record = borrowed(bars), borrowed(requests), borrowed(weights), borrowed(record)
        first = int(cells[0, ROW])
        for row in range(first, last):
            n = row - first
            asked = starts[n + 1] - starts[n]
            if events.shape[1] - int(cells[0, EVENTS]) < events_of_a_step(book.shape[1], orders.shape[1] - 1, asked):
                return row
            if weighted[n]:
                target(a, 0, m, weights[n : n + 1])
            if asked > 0:
                ask(a, 0, m, requests[starts[n] : starts[n + 1]].reshape((1, asked, requests.shape[1])))
            ruined = cells[0, BANKRUPT] != 0.0
            on_bar(a, 0, m, bars)
            # A bankrupt account keeps its positions, and its record stays at zero.
            if ruined:
                record[n] = 0.0
                continue
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
        return last

    return Kernels(kernel(begin), kernel(step), kernel(settle), kernel(step_many, parallel=True), kernel(run))


KERNELS = _kernels(sources())
