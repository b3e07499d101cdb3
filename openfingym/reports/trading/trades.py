"""Round trips of an account: what was bought and sold again, and what each earned; also as CSV.

A fill that reduces a position closes the units that were opened first (first in, first out), so a round trip is a part
of one fill that opened and of one that closed. What is still held at the end of an episode is valued at its last close.
The profits of all trades of an episode add up to what its account has gained or lost.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.files.spreadsheet import not_a_formula
from openfingym.metrics.performance import RecordColumn
from openfingym.trading.orders import EventKind
from openfingym.trading.rules import settled, whole_lots

if TYPE_CHECKING:
    from openfingym.reports.trading.replay import Replay
    from openfingym.trading.orders import Event

Status = Literal["closed", "paid out", "open", "forgiven"]
"""``closed``: sold or bought back; ``paid out``: a fraction of a lot that a split left, paid in cash; ``open``: held at
the end; ``forgiven``: no trade, but the debt of a bankrupt account, which nobody collects."""


@dataclass(frozen=True)
class RoundTrip:
    """One round trip, or what is held at the end. Money is in the account's currency."""

    episode: int
    """Number of the episode, from 1."""
    symbol: str
    """Name of the symbol; empty for a debt."""
    side: Literal["long", "short", ""]
    """Whether units were bought first or sold first; empty for a debt."""
    status: Status
    """How the round trip ended."""
    quantity: float
    """Units, after all splits until the exit."""
    entry_time: str
    """Time of the bar of the fill that opened it, ISO 8601 in UTC."""
    entry_price: float
    """Price at the entry, slippage included, divided by the splits until the exit."""
    exit_time: str
    """Time of the bar at which it ended, ISO 8601 in UTC."""
    exit_price: float
    """Price at the exit, slippage included; the last close if it is still open."""
    bars: int
    """Bars from entry to exit."""
    fees: float
    """Its shares of the fees of both fills."""
    carry: float
    """Dividends received, minus dividends and borrowing paid."""
    pnl: float
    """Profit after slippage and fees, carry included."""


@dataclass
class _Lot:
    """The units that one fill opened, or what is left of them."""

    row: int
    """Row of the episode in which they were opened."""
    quantity: float
    """Units that are left."""
    price: float
    """Price of a unit at which they were opened."""
    fees: float
    """Fees that were paid for them."""
    carry: float = 0.0
    """Dividends received for them, minus dividends and borrowing paid."""

    def take(self, quantity: float) -> _Lot:
        """Remove some units with their shares of fees and carry, and return them."""
        # A quantity may exceed the lot by rounding.
        part = min(quantity / self.quantity, 1.0)
        taken = _Lot(self.row, quantity, self.price, part * self.fees, part * self.carry)
        self.quantity, self.fees, self.carry = (
            self.quantity - quantity,
            self.fees - taken.fees,
            self.carry - taken.carry,
        )
        return taken


def trades_of(replays: Sequence[Replay]) -> list[RoundTrip]:
    """The round trips of episodes, by episode and in the order of their exits; those that are still open come last."""
    return [trade for number, episode in enumerate(replays, start=1) for trade in _Book(episode, number).trades()]


def to_csv(trades: Sequence[RoundTrip]) -> str:
    """Round trips as CSV, with the fields of :class:`RoundTrip` as columns; numbers have all digits, so that they add
    up.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [field.name for field in fields(RoundTrip)]
    writer.writerow(names)
    for trade in trades:
        values = [getattr(trade, name) for name in names]
        writer.writerow([not_a_formula(value) if isinstance(value, str) else value for value in values])
    return stream.getvalue()


class _Book:
    """The open lots of one episode, which is gone through from its first row to its last."""

    def __init__(self, episode: Replay, number: int) -> None:
        trace, tape = episode.trace, episode.tape
        rows = slice(tape.first, tape.first + len(trace.record))
        self.number, self.trace, self.market = number, trace, tape.market
        self.times = np.datetime_as_string(trace.times.astype("datetime64[s]")).tolist()
        self.split, self.dividend = tape.bars.split[rows], tape.bars.dividend[rows]
        self.close, self.tradable = tape.bars.close[rows], tape.bars.tradable[rows]
        self.mark = self.close[0].copy()
        """The price at which the account values a unit, float64[symbols]."""
        self.held = [0.0] * len(trace.symbols)
        """Units of each symbol, negative for a short position."""
        self.lots: list[deque[_Lot]] = [deque() for _ in trace.symbols]
        """The open lots of each symbol, the oldest first."""

    def trades(self) -> Iterator[RoundTrip]:
        """The round trips of the episode in the order of their exits; those that are still open come last."""
        fills: dict[int, list[Event]] = {}
        for event in self.trace.events:
            if event.kind is EventKind.FILLED:
                fills.setdefault(event.bar, []).append(event)
        equity = self.trace.record[:, RecordColumn.EQUITY]
        last = len(equity) - 1
        # A bankrupt account keeps its positions, and nothing happens to them any more.
        end = int(np.argmin(equity)) if equity.min() <= 0.0 else last
        profit = 0.0
        for row in range(1, end + 1):
            for trade in (*self._corporate_actions(row), *self._fill(fills.get(row, ()))):
                profit += trade.pnl
                yield trade
            # A symbol that is halted keeps its value.
            self.mark = np.where(self.tradable[row], self.close[row], self.mark)
        for symbol, lots in enumerate(self.lots):
            for lot in lots:
                trade = self._trade(symbol, lot, end, float(self.mark[symbol]), 0.0, "open")
                profit += trade.pnl
                yield trade
        # The equity of a bankrupt account is recorded as 0, while its trades lost more than it had: the difference is
        # stated, so that profits add up.
        if end < last or equity[end] <= 0.0:
            debt = -float(equity[0]) - profit
            at = self.times[end]
            yield RoundTrip(self.number, "", "", "forgiven", 0.0, at, 0.0, at, 0.0, 0, 0.0, 0.0, debt)

    def _corporate_actions(self, row: int) -> Iterator[RoundTrip]:
        """Apply what happens before the open: splits, dividends and borrowing, in the order of the simulator."""
        for symbol, lots in enumerate(self.lots):
            ratio, dividend = float(self.split[row, symbol]), float(self.dividend[row, symbol])
            # A split multiplies units and divides prices. Fractions of a lot that it leaves are paid out in cash.
            if ratio != 1.0:
                self.mark[symbol] /= ratio
                for lot in lots:
                    lot.quantity, lot.price = lot.quantity * ratio, lot.price / ratio
                units = abs(self.held[symbol]) * ratio
                whole = whole_lots(units, self.market.lot)
                yield from self._close(symbol, row, units - whole, float(self.mark[symbol]), 0.0, "paid out")
                self.held[symbol] = float(np.copysign(whole, self.held[symbol])) if whole else 0.0
            # A price falls by its dividend. A short position pays the dividend, and interest on what was borrowed.
            paid = dividend
            self.mark[symbol] = max(0.0, self.mark[symbol] - dividend)
            if self.held[symbol] < 0.0:
                paid += float(self.mark[symbol]) * self.market.borrow_rate
            for lot in lots:
                lot.carry += float(np.copysign(lot.quantity * paid, self.held[symbol]))

    def _fill(self, events: Sequence[Event]) -> Iterator[RoundTrip]:
        """Apply fills: each closes what is held on the other side, and opens a lot with the rest."""
        for event in events:
            symbol, held = event.symbol, self.held[event.symbol]
            closing = min(event.quantity, abs(held)) if held * event.side < 0.0 else 0.0
            fee = event.fee * closing / event.quantity
            yield from self._close(symbol, event.bar, closing, event.price, fee, "closed")
            self.held[symbol] = after = settled(held, event.side * event.quantity, self.market.lot)
            if after == 0.0:
                self.lots[symbol].clear()
            elif after * event.side > 0.0:
                self.lots[symbol].append(_Lot(event.bar, event.quantity - closing, event.price, event.fee - fee))

    def _close(
        self, symbol: int, row: int, quantity: float, price: float, fees: float, status: Status
    ) -> Iterator[RoundTrip]:
        """Take a quantity from the lots that were opened first, at this price of a unit and for these fees in all."""
        lots, left = self.lots[symbol], quantity
        while left > 0.0 and lots:
            # A remainder that is due to rounding alone is taken with the lot.
            whole = lots[0].quantity <= left * (1.0 + 1e-12)
            lot = lots.popleft() if whole else lots[0].take(left)
            yield self._trade(symbol, lot, row, price, fees * min(lot.quantity / quantity, 1.0), status)
            left -= lot.quantity

    def _trade(self, symbol: int, lot: _Lot, row: int, price: float, fees: float, status: Status) -> RoundTrip:
        """The round trip that ends for a lot, at the price of a unit and for these fees of the exit."""
        side = 1.0 if self.held[symbol] > 0.0 else -1.0
        fees += lot.fees
        return RoundTrip(
            episode=self.number,
            symbol=self.trace.symbols[symbol],
            side="long" if side > 0.0 else "short",
            status=status,
            quantity=lot.quantity,
            entry_time=self.times[lot.row],
            entry_price=lot.price,
            exit_time=self.times[row],
            exit_price=price,
            bars=row - lot.row,
            fees=fees,
            carry=lot.carry,
            pnl=side * (price - lot.price) * lot.quantity - fees + lot.carry,
        )
