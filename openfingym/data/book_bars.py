"""Bars of one minute from a simulated two-level limit order book that never closes.

Time runs in short steps, several a bar. Per step::

    f    AR(1) of unit variance                            order-flow imbalance
    e    GARCH(1,1), t shocks                              everything else that moves the price
    log mid(t) - log mid(t-1) = s (c f(t-1) + sqrt(1 - c^2) e)
    spread = 1 + geometric, wider when h is high           in ticks; levels one and two are 1 + geometric apart
    log sizes                                              AR(1) about a mean that f moves: bids are deep when f is high
    volume = exp(AR(1)) more when h is high                whole lots; buys' share is 1 / (1 + exp(-f))

Buys trade at the first ask and, beyond its size, at the second; sells at the bids. So the flow, and
with it the imbalance of the book at the end of a bar, says a little of the next bar's return. Every
number of a bar follows from its steps: low <= open, close, vwap <= high; volume is buy_volume plus
sell_volume; imbalance is (bid_size - ask_size) / (bid_size + ask_size).

No calibration to a venue: parameters are chosen by hand for a liquid instrument at 100.00 with a tick
of 0.01.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.processes.draws import Bits, Branch

    Floats = NDArray[np.float64]

CHANNELS = (
    "open", "high", "low", "close", "vwap", "volume", "n_trades", "buy_volume", "sell_volume",
    "bid_size", "ask_size", "spread", "imbalance", "realised_vol",
)  # fmt: skip
"""Names of the columns; sizes, spread and imbalance are those before the trades of a bar's last step."""
UNITS = (*("price",) * 5, "lots", "trades", *("lots",) * 4, "price", "ratio from -1 to 1", "basis points")
"""Units of the columns."""


class Quotes(NamedTuple):
    """The book before each step's trades, float64[steps] each; levels in ticks, sizes in lots."""

    bid: Floats
    ask: Floats
    bid_2: Floats
    ask_2: Floats
    bid_size: Floats
    ask_size: Floats
    bid_size_2: Floats
    ask_size_2: Floats


@dataclass(frozen=True)
class BookBars:
    """Parameters of simulated bars of one minute from a limit order book."""

    seed: int
    start: str
    """First minute (ISO), UTC."""
    rows: int
    steps_per_bar: int
    burn_in: int
    """Steps thrown away before the first bar."""
    price: float
    """Mid-price before the first bar."""
    tick: float
    """Smallest step of a price."""
    step_deviation: float
    """s, standard deviation of a step's log return."""
    impact: float
    """c, correlation of a step's return with the flow before it."""
    flow_ar: float
    """Autoregression of the flow, from 0 to below 1."""
    alpha: float
    """Effect of a squared shock on the next step's variance h."""
    beta: float
    """Share of h that is left in the next step."""
    degrees_of_freedom: float
    """Degrees of freedom of e; above 4, so that a kurtosis exists."""
    spread_q: float
    """Parameter of the geometric law of the spread at h = 1; it grows with sqrt(h), to 0.9 at most."""
    gap_q: float
    """Parameter of the geometric law of the distance between levels one and two."""
    size_ar: float
    """Autoregression of log sizes, from 0 to below 1."""
    size_sd: float
    """Stationary standard deviation of log sizes."""
    size_flow: float
    """How much f adds to a bid's log size, and takes from an ask's."""
    log_size: float
    """Median log size of a quote, lots."""
    activity_ar: float
    """Autoregression of log volume, from 0 to below 1."""
    activity_sd: float
    """Stationary standard deviation of log volume."""
    log_volume: float
    """Median log volume of a step, lots."""
    lots_per_trade: float
    """About how many lots one trade has."""

    def __post_init__(self) -> None:
        rates = (
            self.impact,
            self.flow_ar,
            self.size_ar,
            self.activity_ar,
            self.alpha,
            self.beta,
            self.alpha + self.beta,
        )
        if not all(0.0 <= rate < 1.0 for rate in rates):
            raise DataError(f"autoregressions, impact and alpha + beta must be in [0, 1), found {rates}")
        if not (0.0 < self.spread_q <= 0.9 and 0.0 < self.gap_q < 1.0 and self.degrees_of_freedom > 4.0):
            raise DataError("need 0 < spread_q <= 0.9, 0 < gap_q < 1 and more than 4 degrees of freedom")
        if min(self.rows, self.steps_per_bar) < 1 or self.burn_in < 1:
            raise DataError("need a bar, a step a bar and a step of burn-in at least")

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, in the order of the columns."""
        return CHANNELS

    def generate(self, branch: Branch | None = None) -> tuple[NDArray[np.datetime64], Floats]:
        """Make the bars: (times datetime64[ns][rows], the start of each minute; values float64[rows, 14])."""
        from openfingym.data.processes.draws import normals, stream, students

        # The order in which `bits` is drawn from is part of the dataset: another order makes other numbers.
        length = self.burn_in + self.rows * self.steps_per_bar
        bits = stream(self.seed, branch=branch and branch.finer(self.steps_per_bar))
        flow = autoregression(normals(bits, length), self.flow_ar)
        e, h = self._garch(students(bits, self.degrees_of_freedom, length))
        # A return follows the flow of the step before; the first is in the burn-in, so any value does.
        before = np.concatenate([flow[:1], flow[:-1]])
        returns = self.step_deviation * (self.impact * before + math.sqrt(1.0 - self.impact**2) * e)
        kept = slice(self.burn_in, None)
        returns, flow, h = returns[kept], flow[kept], h[kept]
        quotes = self._quotes(bits, self.price / self.tick * np.exp(np.add.accumulate(returns)), flow, h)
        values = self._bars(quotes, *self._trades(bits, quotes, flow, h), returns)
        minutes = np.datetime64(self.start, "m") + np.arange(self.rows).astype("timedelta64[m]")
        return minutes.astype("datetime64[ns]"), values

    def _garch(self, shocks: Floats) -> tuple[Floats, Floats]:
        variances, h = [], 1.0
        for z in shocks.tolist():
            variances.append(h)
            h = (1.0 - self.alpha - self.beta) + (self.alpha * z * z + self.beta) * h
        path = np.array(variances)
        return np.sqrt(path) * shocks, path

    def _quotes(self, bits: Bits, mid: Floats, flow: Floats, h: Floats) -> Quotes:
        from openfingym.data.processes.draws import geometrics, normals

        n = len(mid)
        spread = 1.0 + geometrics(bits, np.minimum(self.spread_q * np.sqrt(h), 0.9), n)
        bid = np.rint(mid - spread / 2.0)
        # From the bid and not from the mid, so that the spread is a whole number of ticks.
        ask = bid + spread
        bid_2, ask_2 = bid - 1.0 - geometrics(bits, self.gap_q, n), ask + 1.0 + geometrics(bits, self.gap_q, n)
        # Quotes are thinner where volatility is high.
        centre = self.log_size - 0.25 * np.log(h)
        drawn = [self.size_sd * autoregression(normals(bits, n), self.size_ar) for _ in range(4)]
        signs = (1.0, -1.0, 1.0, -1.0)
        sizes = [
            1.0 + np.floor(np.exp(centre + sign * self.size_flow * flow + noise))
            for sign, noise in zip(signs, drawn, strict=True)
        ]
        return Quotes(bid, ask, bid_2, ask_2, *sizes)

    def _trades(self, bits: Bits, quotes: Quotes, flow: Floats, h: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Buy and sell volume in lots, number of trades, and whether the step's last trade is a buy; every step has a
        trade.
        """
        from openfingym.data.processes.draws import normals, uniforms

        n = len(flow)
        volume = np.exp(
            self.log_volume + self.activity_sd * autoregression(normals(bits, n), self.activity_ar) + 0.5 * np.log(h)
        )
        # Nobody can trade more than the two levels hold: there is no price beyond them.
        share = 1.0 / (1.0 + np.exp(-flow))
        buy = np.minimum(np.floor(volume * share), quotes.ask_size + quotes.ask_size_2)
        sell = np.minimum(np.floor(volume * (1.0 - share)), quotes.bid_size + quotes.bid_size_2)
        last_buy = uniforms(bits, n) <= share
        # Where both sides round down to nothing, one lot is traded on the side of the last trade.
        none = buy + sell == 0.0
        buy, sell = buy + (none & last_buy), sell + (none & ~last_buy)
        trades = np.zeros(n)
        for side, best in ((buy, quotes.ask_size), (sell, quotes.bid_size)):
            wanted = np.ceil(side / self.lots_per_trade * np.exp(0.3 * normals(bits, n)))
            # No trade is less than a lot, and volume that goes through to the second level takes two trades at least.
            trades += np.clip(wanted, np.where(side > best, 2.0, 1.0), np.maximum(side, 1.0)) * (side > 0.0)
        # A side that did not trade cannot have traded last.
        return buy, sell, trades, np.where(buy == 0.0, 0.0, np.where(sell == 0.0, 1.0, last_buy))

    def _bars(
        self, quotes: Quotes, buy: Floats, sell: Floats, trades: Floats, last_buy: Floats, returns: Floats
    ) -> Floats:
        """Bars from the steps of each, float64[rows, 14]."""

        def by_bar(values: Floats) -> Floats:
            return values.reshape(self.rows, self.steps_per_bar)

        def total(values: Floats) -> Floats:
            # Lots, trades and ticks are whole, so their sums are exact; squares are added in one fixed order.
            return np.add.accumulate(by_bar(values), axis=1)[:, -1]

        deep_buy, deep_sell = np.maximum(buy - quotes.ask_size, 0.0), np.maximum(sell - quotes.bid_size, 0.0)
        highest_buy, lowest_sell = (
            np.where(deep_buy > 0.0, quotes.ask_2, quotes.ask),
            np.where(deep_sell > 0.0, quotes.bid_2, quotes.bid),
        )
        # Without a buy, the highest price traded is the bid that sellers hit first; and the other way round.
        highest = np.where(buy > 0.0, highest_buy, quotes.bid)
        lowest = np.where(sell > 0.0, lowest_sell, quotes.ask)
        both = (buy > 0.0) & (sell > 0.0)
        # The side that does not trade last traded first, from its best level on.
        first = np.where(np.where(both, 1.0 - last_buy, last_buy) > 0.0, quotes.ask, quotes.bid)
        last = np.where(last_buy > 0.0, highest_buy, lowest_sell)
        notional = total(
            (buy - deep_buy) * quotes.ask
            + deep_buy * quotes.ask_2
            + (sell - deep_sell) * quotes.bid
            + deep_sell * quotes.bid_2
        )
        volume = total(buy + sell)
        bids, asks = (
            by_bar(size)[:, -1] for size in (quotes.bid_size + quotes.bid_size_2, quotes.ask_size + quotes.ask_size_2)
        )
        # Ticks over a whole number: the double nearest to the decimal price, which ticks x 0.01 is not always.
        per_unit = round(1.0 / self.tick)
        columns = (
            by_bar(first)[:, 0] / per_unit,
            by_bar(highest).max(axis=1) / per_unit,
            by_bar(lowest).min(axis=1) / per_unit,
            by_bar(last)[:, -1] / per_unit,
            (notional / volume / per_unit).round(6),
            volume,
            total(trades),
            total(buy),
            total(sell),
            bids,
            asks,
            by_bar(quotes.ask - quotes.bid)[:, -1] / per_unit,
            ((bids - asks) / (bids + asks)).round(6),
            (1e4 * np.sqrt(total(returns * returns))).round(4),
        )
        return np.column_stack(columns)


def autoregression(noise: Floats, coefficient: float) -> Floats:
    """AR(1) of unit variance from its stationary law; ``noise`` is standard normal, float64[n]."""
    fresh = math.sqrt(1.0 - coefficient**2)
    first, *rest = noise.tolist()
    return np.array(list(accumulate(rest, lambda last, z: coefficient * last + fresh * z, initial=first)))
