"""Sessions in simulated time on local venues at which all sorts of things go wrong."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from openfingym.market.clock import SimulatedClock
from openfingym.market.session.account import Agent, Mark
from openfingym.market.session.machine import TradingIngest
from openfingym.market.session.simulated import simulated_session
from openfingym.market.session.terms import SessionTerms
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.sim.exchange import Exchange
from openfingym.market.sim.faults import FaultKind, Faults, VenueFault
from openfingym.market.sim.local import crowded_exchange
from openfingym.market.sim.peers import ConnectionTerms
from openfingym.trading.market import MarketRules

SECOND = 10**9
HOUR = 3600 * SECOND
INTERVAL_S = 300
START = 1_763_800_200 * SECOND
"""A left edge of a bar."""
SYMBOLS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
LOOKBACK = 12
CASH = 5_000.0
"""As much as one order of the crowd: more would pay for walking through its thin book."""
RULES = MarketRules(fee_bps=10.0, lot=0.0, tick=0.01, bars_per_year=365 * 288.0)
RATE = 0.03
"""Steps of a crowd a second: nearly two thousand trades a day."""
PASS_S = 10.0


def faults(hours: float, seed: int) -> Faults:
    """Each half day: cut cables, mute and closed connections, lost, doubled, swapped and late trades, a REST interface
    that is slow, limits, or is away just when it is needed.
    """
    found = []
    for half in range(int(hours / 12) + 1):

        def add(hour: float, minutes: float, kind: FaultKind, half: int = half, **more: object) -> None:
            begin = START + int((12 * half + hour) * HOUR) + 123_456_789
            found.append(VenueFault(kind, begin, begin + int(minutes * 60 * SECOND), **more))  # type: ignore[arg-type]

        add(1.0, 4, "abort")
        add(1.6, 30, "abort")
        add(2.5, 30, "gap", channel="trade", probability=0.4)
        add(3.2, 30, "duplicate", probability=0.5)
        add(4.0, 30, "reorder", probability=0.5)
        add(5.0, 12, "mute")
        add(5.6, 12, "frozen")
        add(6.0, 30, "limited", path="/api", seconds=5.0, status=429)
        add(6.2, 3, "abort")
        add(7.0, 30, "latency", seconds=20.0, probability=0.5)
        add(8.0, 20, "gap")
        add(8.5, 20, "slow", seconds=20.0)
        add(9.0, 8, "close")
        add(9.5, 4, "ignored")
        add(9.6, 1, "abort")
        add(10.0, 40, "limited", path="/api/v3/historicalTrades", status=500)
        add(10.2, 15, "gap", channel="trade", probability=0.7)
    return Faults(found, seed=seed)


@dataclass
class SimulatedSession:
    """A session that is over."""

    machine: TradingIngest
    exchange: Exchange
    tape: Path
    marks: list[Mark] = field(default_factory=list)
    actions: list[object] = field(default_factory=list)


def rebalancer(seed: int) -> Agent:
    """Weights by chance, at every mark."""
    source = random.Random(seed)
    return lambda _: {"weights": [source.uniform(-0.5, 1.0)]}


def session(number: int, hours: float, tape: Path, agent: Agent | None = None) -> SimulatedSession:
    """A session of so many hours at venue ``number``; half way the wall clock is set back by an hour."""
    symbol = SYMBOLS[number]
    steps = int(hours * 3600 / INTERVAL_S)
    terms = SessionTerms((symbol[:3].lower(),), (symbol,), INTERVAL_S, steps, LOOKBACK, CASH, RULES)
    before = (LOOKBACK + 2.0) * INTERVAL_S
    exchange = crowded_exchange([symbol], seed=number, now=START, before_s=before, rate=RATE, far=0)
    venue = BinanceVenue(exchange, faults(hours, number), terms=ConnectionTerms(ping_s=180.0, pong_s=600.0))
    clock = SimulatedClock(START)
    decide = agent or rebalancer(number)
    marks: list[Mark] = []
    actions: list[object] = []

    def watched(mark: Mark) -> object:
        if mark.number == steps // 2:
            clock.set_wall(clock.wall() - HOUR)
        marks.append(mark)
        actions.append(decide(mark))
        return actions[-1]

    machine = simulated_session(venue, terms, tape, watched, clock=clock, seed=number, pass_s=PASS_S)
    assert machine.shown is not None
    return SimulatedSession(machine, exchange, tape, [*marks, machine.shown], actions)
