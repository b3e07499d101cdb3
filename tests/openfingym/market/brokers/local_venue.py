"""A local Binance venue in a thread of its own and in real time, and what a test compares an account here with."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Self, TypeVar

from openfingym.market.brokers.binance import Binance
from openfingym.market.brokers.live import LiveBroker
from openfingym.market.brokers.reports import Instrument
from openfingym.market.clock import SystemClock
from openfingym.market.commands import Tell
from openfingym.market.keys import Keys
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.sim.events import ATOMS, ExchangeOrder, ListedPair
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import Faults

T = TypeVar("T")
SYMBOL = "BTCUSDT"
KEYS = Keys("key-of-ann-0123456789", "secret-of-ann-that-nobody-may-see")
ITEM = Instrument(SYMBOL, "BTC", "USDT", Decimal("0.01"), Decimal("0.00001"), Decimal("0.00001"), Decimal(5))


class LocalVenue:
    """A venue whose only traders are ann, who is tested, and bob, who is the market at 100 USDT."""

    def __init__(self, start: int | None = None) -> None:
        self.exchange = Exchange([ListedPair(SYMBOL, "BTC", "USDT")], start=start or time.time_ns())
        for account in ("ann", "bob"):
            self.exchange.accounts.open(account)
            self.exchange.deposit(account, "USDT", 100_000 * ATOMS)
            self.exchange.deposit(account, "BTC", 100 * ATOMS)
        for side in (-1, 1):
            self.exchange.place("bob", SYMBOL, side, "limit", 1000, price=10_000)
        self.venue = BinanceVenue(self.exchange, Faults(seed=5))
        self.venue.add_key(KEYS.key, "ann", secret=KEYS.secret)
        self.faults = self.venue.faults.faults
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._running.cancel)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.venue.start())
        self._running = self.loop.create_task(self.venue.run())
        self._ready.set()
        try:
            self.loop.run_until_complete(self._running)
        except asyncio.CancelledError:
            pass
        finally:
            self.loop.run_until_complete(self.venue.stop())
            self.loop.close()

    def do(self, work: Callable[[], T]) -> T:
        """Do something in the venue's thread."""

        async def done() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(20)

    def bob(self, side: int, quantity: float, price: float) -> ExchangeOrder:
        """Bob's limit order."""
        lots, ticks = round(quantity * 100_000), round(price * 100)
        return self.do(lambda: self.exchange.place("bob", SYMBOL, side, "limit", lots, price=ticks))

    def orders(self) -> list[ExchangeOrder]:
        """Ann's orders that the venue has taken."""
        return self.do(lambda: [one for one in self.exchange.orders.values() if one.account == "ann"])

    def abort(self) -> None:
        """Cut ann's stream."""

        def cut() -> None:
            for peer in tuple(self.venue.peers.values()):
                peer.abort()

        self.do(cut)

    def broker(self, keys: Keys = KEYS) -> Binance:
        return Binance([ITEM], keys, rest=self.venue.rest_url, stream=self.venue.socket_api_url)

    def differences(self, live: LiveBroker) -> list[object]:
        """Where the mirror is not what the venue has."""
        mirror, found = live.machine.executor.mirror, list[object]()

        def compare() -> None:
            for asset, holding in self.exchange.accounts.holdings("ann").items():
                held = Decimal(holding.free + holding.locked) / ATOMS
                if mirror.holding(asset) != held:
                    found.append((asset, mirror.holding(asset), held))
            orders = {f"{one.symbol}/{one.id}": one for one in self.exchange.orders.values() if one.account == "ann"}
            live_ids = {order.order_id for order in mirror.live.values()}
            open_ids = {name for name, order in orders.items() if order.open}
            if live_ids != open_ids:
                found.append((live_ids, open_ids))
            for order in mirror:
                if order.order_id and order.executed != Decimal(orders[order.order_id].filled) / 100_000:
                    found.append((order.order_id, order.executed, orders[order.order_id].filled))

        self.do(compare)
        return found


class JumpingClock(SystemClock):
    """The machine's clock, whose monotonic reading a test may put forward."""

    def __init__(self) -> None:
        self.ahead = 0

    def monotonic(self) -> int:
        return super().monotonic() + self.ahead

    def jump(self, seconds: float) -> None:
        self.ahead += int(seconds * 10**9)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


class Account:
    """An account that runs at a venue, and what a test does with it."""

    def __init__(self, venue: LocalVenue, **options: object) -> None:
        self.venue, self.clock, self.told = venue, JumpingClock(), list[Tell]()
        keys = options.pop("keys", KEYS)
        options = {"price": lambda symbol: 100.0, "clock": self.clock, "tell": self.told.append, **options}
        self.live = LiveBroker(venue.broker(keys), [SYMBOL], **options)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        self.live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.__exit__(*error)  # type: ignore[arg-type]

    def heard(self, kind: str) -> int:
        return sum(tell.kind == kind for tell in self.told)

    def until(self, holds: Callable[[], bool], *, jump: float = 0.0) -> None:
        """Wait for something, while the clock is put forward by so many seconds at each look."""
        for _ in range(1500):
            if holds():
                return
            self.clock.jump(jump)
            time.sleep(0.02)
        raise AssertionError(f"it did not come; told: {self.told}")

    def settled(self) -> None:
        """Wait until the mirror is what the venue has."""
        self.until(lambda: self.live.machine.executor.ready and not self.venue.differences(self.live), jump=1.0)
