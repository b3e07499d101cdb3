"""Balances of a simulated exchange's accounts: what orders lock, what fills move, and what fees take.

Money is neither made nor lost: for each asset, accounts, fees and the crowd together have what was deposited. The crowd
has no limit, so that its balance may be negative.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from openfingym.errors import VenueError
from openfingym.market.sim.events import (
    Balance,
    Event,
    ExchangeExecution,
    ExchangeOrder,
    ExecutionKind,
    ListedPair,
    Reason,
)


class Holding(NamedTuple):
    """What an account has of an asset, in atoms."""

    free: int
    """Atoms that it may spend."""
    locked: int
    """Atoms that open orders may spend."""


class Accounts:
    """All accounts of an exchange. One that is opened with ``margin`` locks nothing and may owe: its venue decides what
    it may do.

    Args:
        events: the exchange's events, to which reports and balances are added.
    """

    def __init__(self, events: list[Event]) -> None:
        self.deposited: dict[str, int] = defaultdict(int)
        """Atoms that were deposited, less those taken away, by asset."""
        self.fees: dict[str, int] = defaultdict(int)
        """Atoms that fees have taken, by asset."""
        self.crowd: dict[str, int] = defaultdict(int)
        """Atoms that the crowd has got from the accounts, by asset; negative where it gave more."""
        self._events = events
        self._holdings: dict[str, dict[str, Holding]] = {}  # by account and asset
        self._margin: set[str] = set()
        self._changed: dict[tuple[str, str], None] = {}  # accounts and assets whose owners are to be told
        self._reports = 0

    def open(self, account: str, *, margin: bool = False) -> None:
        """Open an account without any balance.

        Raises:
            VenueError: there is an account of this name already.
        """
        if account in self._holdings:
            raise VenueError(f"there is an account {account!r} already: expected a new name")
        self._holdings[account] = {}
        if margin:
            self._margin.add(account)

    def margin(self, account: str) -> bool:
        """Whether an account locks nothing and may owe."""
        return account in self._margin

    @property
    def names(self) -> list[str]:
        """All accounts, in the order in which they were opened."""
        return list(self._holdings)

    def require(self, account: str) -> None:
        """Check that an account exists.

        Raises:
            VenueError: it does not exist.
        """
        if account not in self._holdings:
            raise VenueError(f"no account {account!r} is open: open it with Exchange.accounts.open")

    def holdings(self, account: str) -> dict[str, Holding]:
        """What an account has, by asset."""
        self.require(account)
        return dict(self._holdings[account])

    def holding(self, account: str, asset: str) -> Holding:
        """What an account has of an asset."""
        return self._holdings[account].get(asset, Holding(0, 0))

    def total(self, asset: str) -> int:
        """All atoms of an asset, wherever they are."""
        held = (self.holding(account, asset) for account in self._holdings)
        return sum(sum(holding) for holding in held) + self.fees[asset] + self.crowd[asset]

    def deposit(self, time: int, account: str, asset: str, atoms: int) -> None:
        """Add to an account's balance; a negative amount takes away.

        Raises:
            VenueError: the account does not exist, or has not so much to take away.
        """
        self.require(account)
        if self.holding(account, asset).free + atoms < 0 and account not in self._margin:
            raise VenueError(f"{account!r} has less than {-atoms} atoms of {asset} that are free: take away less")
        self._move(account, asset, atoms, 0)
        self.deposited[asset] += atoms
        self.publish(time)

    def covers(self, listing: ListedPair, order: ExchangeOrder, cost: int | None) -> bool:
        """Whether the free balance suffices for an order.

        Args:
            listing: the terms of the symbol.
            order: the order to be covered.
            cost: lots times ticks that a market order costs at the levels of the book; None for an order with a price.
        """
        if order.account in self._margin:
            return True
        if order.side < 0:
            need = order.left * listing.unit
        elif cost is not None:
            need = cost * listing.value
            need += self._fee(listing, need, False) if listing.fee_in_quote else 0
        else:
            need = order.left * self._hold(listing, order)
        return need <= self.holding(order.account, self._spends(listing, order)).free

    def lock(self, listing: ListedPair, order: ExchangeOrder) -> None:
        """Lock what an order may spend. A market order locks nothing, as it never rests."""
        if order.account in self._margin or order.kind == "market":
            return
        order.hold = self._hold(listing, order)
        locked = order.hold * order.left
        self._move(order.account, self._spends(listing, order), -locked, locked)

    def release(self, listing: ListedPair, order: ExchangeOrder, lots: int) -> None:
        """Unlock what an order has locked for some of its lots."""
        if order.hold:
            self._move(order.account, self._spends(listing, order), order.hold * lots, -order.hold * lots)

    def execute(self, listing: ListedPair, order: ExchangeOrder, price: int, lots: int, maker: bool) -> tuple[int, str]:
        """Move the assets of a fill between cash, units and fees.

        Args:
            listing: the terms of the symbol.
            order: the order that was filled.
            price: price of the fill in ticks.
            lots: quantity of the fill in lots.
            maker: whether the order was resting.

        Returns:
            The fee in atoms, and its asset.
        """
        cost, units, held = price * lots * listing.value, lots * listing.unit, order.hold * lots
        # What was locked for these lots is spent or given back: a fill may be cheaper than the order's limit.
        if order.side > 0:
            spent, got, asset = cost, units, listing.quote if listing.fee_in_quote else listing.base
            fee = self._fee(listing, cost if listing.fee_in_quote else units, maker)
            if listing.fee_in_quote:
                spent += fee
            else:
                got -= fee
            self._move(order.account, listing.quote, held - spent, -held)
            self._move(order.account, listing.base, got, 0)
        else:
            asset, fee = listing.quote, self._fee(listing, cost, maker)
            self._move(order.account, listing.base, held - units, -held)
            self._move(order.account, listing.quote, cost - fee, 0)
        self.fees[asset] += fee
        return fee, asset

    def against_crowd(self, listing: ListedPair, side: int, price: int, lots: int) -> None:
        """Move the crowd's part of an account's fill, so that no money is made or lost."""
        self.crowd[listing.base] -= side * lots * listing.unit
        self.crowd[listing.quote] += side * price * lots * listing.value

    def report(
        self, time: int, kind: ExecutionKind, order: ExchangeOrder, *, price: int = 0, quantity: int = 0,
        trade: int = -1, fee: int = 0, fee_asset: str = "", maker: bool = False,
    ) -> None:  # fmt: skip
        """Tell an order's owner what happened to it."""
        self._reports += 1
        reason: Reason = order.reason
        self._events.append(
            ExchangeExecution(
                order.symbol, time, self._reports, kind, order.account, order, order.status, order.filled, order.cost,
                price, quantity, trade, fee, fee_asset, maker, reason,
            )
        )  # fmt: skip

    def publish(self, time: int) -> None:
        """Tell the owners of the balances that have changed since the last time."""
        for account, asset in self._changed:
            holding = self.holding(account, asset)
            self._events.append(Balance(time, account, asset, holding.free, holding.locked))
        self._changed.clear()

    @staticmethod
    def _spends(listing: ListedPair, order: ExchangeOrder) -> str:
        return listing.quote if order.side > 0 else listing.base

    @staticmethod
    def _fee(listing: ListedPair, received: int, maker: bool) -> int:
        return received * (listing.maker_ppm if maker else listing.taker_ppm) // 1_000_000

    @staticmethod
    def _hold(listing: ListedPair, order: ExchangeOrder) -> int:
        """Atoms that each lot may cost at most. A stop order without a limit is taken to cost its stop price."""
        if order.side < 0:
            return listing.unit
        cost = (order.price or order.stop or 0) * listing.value
        if not listing.fee_in_quote:
            return cost
        return cost - (-cost * max(listing.maker_ppm, listing.taker_ppm) // 1_000_000)  # rounded up

    def _move(self, account: str, asset: str, free: int, locked: int) -> None:
        before = self.holding(account, asset)
        self._holdings[account][asset] = Holding(before.free + free, before.locked + locked)
        self._changed[account, asset] = None
