"""A buffer over a live feed: what it reads, and that reading something stale asks the venue."""

from __future__ import annotations

import time

import pytest

from openfingym.errors import VenueError
from openfingym.market.buffer import Budgets
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.following import follow
from openfingym.market.sim.faults import Faults, VenueFault
from openfingym.market.sim.local import local_binance
from openfingym.market.tape import NoRecorder, RecordKind

SYMBOLS = ("BTCUSDT", "SOLUSDT")


class Inputs(NoRecorder):
    """Counts the kinds of inputs."""

    def __init__(self) -> None:
        self.kinds: list[RecordKind] = []

    def record(self, kind: RecordKind, at: Instant, connection: int = 0, payload: Frame = b"") -> None:
        self.kinds.append(kind)


def test_a_stale_value_is_asked_for_and_a_reader_may_wait_for_it() -> None:
    since = time.time_ns() + 2 * 10**9
    mute = Faults([VenueFault("mute", since, 1 << 62)])  # from then on connections bring nothing, and only answers do
    inputs = Inputs()
    with local_binance(SYMBOLS, seed=1, before_s=5.0, faults=mute) as venue:
        feed = BinanceFeed(SYMBOLS, stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True)
        with follow(feed, budgets=Budgets(price_s=0.05), recorder=inputs) as market:
            while time.time_ns() < since + 10**8:
                time.sleep(0.05)
            inputs.kinds.clear()
            found = market.price("BTCUSDT", fresh=True, wait_s=10.0)
            assert found.value == pytest.approx(60_000.0, rel=0.05)
            assert not found.stale
            assert RecordKind.REFRESHED in inputs.kinds
            every = market.prices(SYMBOLS, fresh=True, wait_s=10.0)
            assert set(every) == set(SYMBOLS)
        assert RecordKind.FRAME not in inputs.kinds


def test_a_venue_that_is_not_there_is_named() -> None:
    feed = BinanceFeed(["BTCUSDT"], stream_url="ws://127.0.0.1:1", rest_url="http://127.0.0.1:1", simulated=True)
    with pytest.raises(VenueError, match=r"told no price of BTCUSDT in 0\.2 s"), follow(feed, wait_s=0.2):
        pass
