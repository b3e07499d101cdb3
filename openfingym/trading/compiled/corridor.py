"""Improving a plan of holdings with hindsight, one or two symbols at a time, where liquidity has its price.

With market impact, a volume cap or a fixed fee, what a trade costs depends on how many units it has, so that a plan
states units and not shares of equity. Discrete differential dynamic programming (Heidari, Chow, Kokotovic and
Meredith 1971) looks for a better plan in a corridor around a known one: at each bar a few holdings around the planned
one, and among all paths through them the one with the most cash, which for the same units is always the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openfingym.trading import rules
from openfingym.trading.compiled.compiling import kernel, part, rare, sources
from openfingym.trading.compiled.layout import CLOSE, DIVIDEND, OPEN, SPLIT, TRADABLE, UNITS, Floats

Codes = NDArray[np.int64]

OPENS_LONG, OPENS_SHORT, COVERS, FORBIDDEN = 1, 2, 4, 8
"""What a change of a holding does, as bits of a number."""


class Corridor(NamedTuple):
    """The holdings that are tried at each bar: those of one or two symbols, around the planned ones."""

    bars: Floats
    """The bar before the first one that is traded and those that are, float64[T + 1, S, 8]."""
    plan: Floats
    """Units held after the open of each bar, float64[T, S]."""
    width: Floats
    """Units between two neighbouring holdings, float64[T, S]."""
    a: int
    """A symbol."""
    b: int
    """Another symbol, or the same for one alone."""
    reach: int
    """Holdings on either side of the planned one."""
    market: Floats
    """:func:`~openfingym.trading.compiled.layout.market_numbers`."""
    sign: float
    """1 for the plan that ends with the most equity, -1 for the least."""


@part
def _change(bars: Floats, t: int, s: int, m: Floats, before: float, after: float) -> tuple[float, int]:
    """The cash that a bar brings to a holding, and what the trade at its open does.

    Args:
        bars: as in :class:`Corridor`.
        t: number of the bar in ``bars``.
        s: position of the symbol.
        m: as ``market`` in :class:`Corridor`.
        before: units held at the close of the bar before.
        after: units to be held after the open.
    """
    cash, split, dividend = 0.0, bars[t, s, SPLIT], bars[t, s, DIVIDEND]
    held = before * split
    if dividend > 0.0:
        cash += held * dividend
    if held < 0.0:
        # At the last price before the open, as the account is charged.
        cash += held * max(0.0, bars[t - 1, s, CLOSE] / split - dividend) * m[8]
    quantity, volume = abs(after - held), bars[t, s, UNITS]
    if quantity <= 1e-9 * (abs(held) + abs(after)):
        return cash, 0
    # A millionth is forgiven, by which sums of lots may miss the cap.
    if bars[t, s, TRADABLE] == 0.0 or (m[4] > 0.0 and quantity > m[4] * volume * (1.0 + 1e-6)):
        return cash, FORBIDDEN
    d = 1.0 if after > held else -1.0
    notional = quantity * rules.slip(bars[t, s, OPEN], d, quantity, volume, m[2], m[3])
    cash -= d * notional + rules.fee(notional, m[0], m[1])
    if d > 0.0:
        return cash, (COVERS if held < 0.0 else 0) | (OPENS_LONG if after > 0.0 else 0)
    return cash, OPENS_SHORT if after < 0.0 else 0


@rare
def _tabulate(c: Corridor, t: int, s: int, flow: Floats, does: Codes) -> None:
    """Every change of a symbol within the corridor, from a holding (row) to a holding (column)."""
    for p in range(len(flow)):
        before = c.plan[t - 1, s] + (p - c.reach) * c.width[t - 1, s] if t > 0 else 0.0
        for q in range(len(flow)):
            after = c.plan[t, s] + (q - c.reach) * c.width[t, s]
            flow[p, q], does[p, q] = _change(c.bars, t + 1, s, c.market, before, after)
        # Before the first bar nothing is held.
        if t == 0:
            flow[:], does[:] = flow[0], does[0]
            break


@rare
def _others(c: Corridor, t: int, sums: Floats) -> int:
    """What the symbols that keep their plan do; ``sums`` becomes their cash, and their long and short value at the open
    and at the close.
    """
    doing = 0
    sums[:] = 0.0
    for s in range(c.plan.shape[1]):
        if s not in (c.a, c.b):
            moved, what = _change(c.bars, t + 1, s, c.market, c.plan[t - 1, s] if t > 0 else 0.0, c.plan[t, s])
            sums[0] += moved
            doing |= what
            _add(c.bars, t + 1, s, c.plan[t, s], sums)
    return doing


@part
def _add(bars: Floats, t: int, s: int, units: float, sums: Floats) -> None:
    """Add the value of a holding to ``sums``, see :func:`_others`."""
    opening, closing = units * bars[t, s, OPEN], units * bars[t, s, CLOSE]
    if units > 0.0:
        sums[1] += opening
        sums[3] += closing
    else:
        sums[2] -= opening
        sums[4] -= closing


@part
def _allowed(what: int, cash: float, long: float, short: float, max_short: float) -> bool:
    """Whether the market carries out all of a bar's trades.

    Args:
        what: what they do.
        cash: cash after them.
        long: value of long positions at the open, after them.
        short: value of short positions, positive.
        max_short: multiple of equity that all shorts may be worth.
    """
    if what & FORBIDDEN or (what & COVERS and cash < 0.0):
        return False
    # Proceeds of short sales are collateral, with which nothing is bought.
    if what & OPENS_LONG and cash < short:
        return False
    return what == 0 or short <= max_short * (cash + long - short)


@rare
def _step(c: Corridor, t: int, value: Floats, flow: Floats, does: Codes, worth: Floats, came_from: Codes) -> None:
    """From the best cash of each state before bar t to that after it, in place; see the kernel for the arrays."""
    many, both = flow.shape[1], c.a != c.b
    few = many if both else 1
    others, sums, arriving = np.empty(5), np.empty(5), np.full(len(value), -np.inf)
    doing = _others(c, t, others)
    _tabulate(c, t, c.a, flow[0], does[0])
    if both:
        _tabulate(c, t, c.b, flow[1], does[1])
    for q in range(len(value)):
        qa, qb = q // few, q % few
        sums[:] = others
        _add(c.bars, t + 1, c.a, c.plan[t, c.a] + (qa - c.reach) * c.width[t, c.a], sums)
        if both:
            _add(c.bars, t + 1, c.b, c.plan[t, c.b] + (qb - c.reach) * c.width[t, c.b], sums)
        for p in range(len(value)):
            if value[p] > -np.inf:
                what, cash = doing | does[0, p // few, qa], c.sign * value[p] + others[0] + flow[0, p // few, qa]
                if both:
                    what |= does[1, p % few, qb]
                    cash += flow[1, p % few, qb]
                # The plan as it is has been played, and so is possible.
                planned = p == q == len(value) // 2
                if c.sign * cash > arriving[q] and (planned or _allowed(what, cash, sums[1], sums[2], c.market[7])):
                    arriving[q], came_from[q] = c.sign * cash, p
        if arriving[q] > -np.inf:
            worth[q] = c.sign * arriving[q] + sums[3] - sums[4]
            # A path into ruin ends there.
            if worth[q] <= 0.0 and q != len(value) // 2:
                arriving[q] = -np.inf
    value[:] = arriving


def _kernel(version: str) -> Callable[[Corridor, float, Floats], float]:
    """The search, whose cached machine code belongs to one version of the sources: it closes over ``version``."""

    def corridor(c: Corridor, cash: float, equity: Floats) -> float:
        """Find the best path through a corridor, and make it the plan, in place.

        Args:
            c: the corridor, whose plan is changed.
            cash: cash at the start, in units of currency.
            equity: filled with the equity at the close of each bar under the plan found, float64[T].

        Returns:
            The last equity.
        """
        version  # noqa: B018  # named, so that the function closes over it: Numba's cache compares what it closes over
        rows, many = len(c.plan), 2 * c.reach + 1
        few = many if c.a != c.b else 1
        states = many * few
        # The best cash of a path that ends in each state, with the sign; all paths begin without a holding.
        value = np.full(states, -np.inf)
        value[states // 2] = c.sign * cash
        worth, came_from = np.zeros((rows, states)), np.zeros((rows, states), np.int64)
        flow, does = np.zeros((2, many, many)), np.zeros((2, many, many), np.int64)
        for t in range(rows):
            _step(c, t, value, flow, does, worth[t], came_from[t])
        at = states // 2
        for q in range(states):
            if value[q] > -np.inf and c.sign * worth[rows - 1, q] > c.sign * worth[rows - 1, at]:
                at = q
        final = worth[rows - 1, at]
        for t in range(rows - 1, -1, -1):
            equity[t] = worth[t, at]
            c.plan[t, c.a] += (at // few - c.reach) * c.width[t, c.a]
            if c.a != c.b:
                c.plan[t, c.b] += (at % few - c.reach) * c.width[t, c.b]
            at = came_from[t, at]
        return float(final)

    return kernel(corridor)


ENOUGH = 0.01
"""Share of all gains so far that a search must add, or narrower corridors follow."""
CORRIDOR = _kernel(sources())


def improve(
    bars: Floats, plan: Floats, numbers: Floats, *, cash: float, worst: bool = False, finest: float = 1.0 / 256.0
) -> Floats:
    """A plan of holdings that ends with more equity than a given one, at the costs and limits of a market.

    Corridors become narrower, from half of equity to ``finest`` of it or to a quarter of what the volume cap lets
    trade in a bar, but not below a lot. At each width one symbol after the other is improved, and of up to six symbols
    each pair, of others each with its neighbour, until nothing is gained. Of one symbol and without a fixed fee, where
    the best plan is that of a concave problem, it comes within the last width of it; of several, and with a fixed fee,
    nothing better may be found though it exists.

    Args:
        bars: the bar before the first one that is traded and those that are, as of
            :func:`~openfingym.trading.compiled.layout.tape`, float64[T + 1, S, 8].
        plan: units held after the open of each bar, float64[T, S]; such as an account had.
        numbers: the market's :func:`~openfingym.trading.compiled.layout.market_numbers`.
        cash: cash at the start, in units of currency.
        worst: whether to look for less equity instead.
        finest: smallest width, as a share of equity.

    Returns:
        The plan, float64[T, S].
    """
    sign = -1.0 if worst else 1.0
    rows, symbols = plan.shape
    plan, equity = plan.copy(), np.empty(rows)
    factor = np.asarray(np.cumprod(bars[1:, :, SPLIT], axis=0), np.float64)

    def search(width: Floats, a: int, b: int, reach: int) -> float:
        return CORRIDOR(Corridor(bars, plan, width, a, b, reach, numbers, sign), cash, equity)

    first = reached = search(np.zeros_like(plan), 0, 0, 0)
    singles = [(s, s, 4) for s in range(symbols)]
    near = symbols > 6
    pairs = [(a, b, 1) for a in range(symbols) for b in range(a + 1, symbols) if not near or b == a + 1]
    for share in _shares(bars, numbers, cash, finest):
        for _ in range(12):
            before = reached
            width = _width(bars, factor, equity, share, numbers[5])
            for a, b, reach in singles + pairs:
                reached = search(width, a, b, reach)
            # Narrower corridors go on where a wide one gains little beside what was gained before.
            if sign * (reached - before) <= max(1e-7 * before, ENOUGH * sign * (before - first)):
                break
    return plan


def _shares(bars: Floats, numbers: Floats, cash: float, finest: float) -> list[float]:
    """Widths of corridors as shares of equity, each half of the one before."""
    widest, cap = 0.5, numbers[4]
    if cap > 0.0:
        values = cap * bars[1:, :, UNITS] * bars[1:, :, OPEN]
        if (values > 0.0).any():
            finest = min(finest, max(float(np.median(values[values > 0.0])) / (4.0 * cash), 2.0**-24))
            # Wider than the largest trade, no holding could be changed.
            widest = min(widest, max(2.0 * float(values.max()) / cash, finest))
    levels = range(math.floor(-math.log2(widest)), math.ceil(-math.log2(finest)) + 1)
    return [2.0**-level for level in levels]


def _width(bars: Floats, factor: Floats, equity: Floats, share: float, lot: float) -> NDArray[np.float64]:
    """Units between two holdings of the corridor, float64[T, S].

    A power of two times the first price's, so that it is the same for most neighbouring bars: only between equal widths
    can a holding beside the plan be kept without a trade.
    """
    worth = np.maximum.accumulate(np.maximum(equity, 0.0))[:, None] * share / (bars[1:, :, OPEN] * factor)
    width = np.exp2(np.floor(np.log2(np.maximum(worth, 1e-300))))
    if lot > 0.0:
        width = np.maximum(np.floor(width / lot), 1.0) * lot
    return np.ascontiguousarray(width * factor)
