"""Sessions on a local venue in simulated time: a day passes in seconds, and goes the same way each time.

Nothing is replaced by a stand-in: the venue's servers, the feed, the runner and the tape are those of a session in real
time. They run in one event loop, connected by pipes, and time passes whenever all of them wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import numpy as np

from openfingym.errors import UsageError, VenueError
from openfingym.market.clock import SimulatedClock
from openfingym.market.commands import Instant
from openfingym.market.feeds.binance import LEVELS, BinanceFeed
from openfingym.market.live import Live
from openfingym.market.rest import RestClient
from openfingym.market.session.account import Agent
from openfingym.market.session.machine import TradingIngest, decision_payload
from openfingym.market.session.terms import SessionTerms
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.tape import RecordKind, TapeHeader
from openfingym.market.tape_writer import TapeWriter
from openfingym.market.transport import AiohttpTransport
from openfingym.trading.actions import parse_decision

PATH = "venue"
"""Path of the pipes to the venue, within the event loop."""
LATE_S = 600.0
"""Seconds of simulated time after its own at which a mark that has not come shows that the session is broken."""
PING_S = 60.0
"""Seconds between our pings: in simulated time, more of them would cost more than what happens between them."""
FLUSH_S = 60.0
"""Seconds of simulated time between two blocks of the tape."""
CHECKPOINT_S = 3600.0
"""Seconds of simulated time between two digests of the state on the tape."""


def simulated_session(
    venue: BinanceVenue,
    terms: SessionTerms,
    tape: Path,
    agent: Agent,
    *,
    clock: SimulatedClock | None = None,
    task: tuple[str, str] = ("", ""),
    seed: int = 0,
    pass_s: float = 1.0,
    levels: int = LEVELS,
) -> TradingIngest:
    """Trade on a local venue for a while, in simulated time.

    Decisions take no time: an agent that is to be slow can decide at a later mark.

    Args:
        venue: the local venue, not started; nothing else may use it or its exchange.
        terms: the terms of the session.
        tape: path of the tape, which must not exist.
        agent: the agent, which is shown each mark but the last.
        clock: the clock of the session; default: one that begins at the time of the venue's exchange. One whose wall
            clock shows another time is a wrong clock, as a machine may have it.
        task: name and digest of the task, for the tape.
        seed: the seed of the jitter of waits.
        pass_s: seconds between two looks of the machine at the time; marks are late by up to this.
        levels: how many levels of each side the feed asks for with a whole book.

    Returns:
        The session's machine, after the last mark.

    Raises:
        UsageError: ``pass_s`` is not above zero, or the venue has no books of so many levels.
        SubmissionError: an action is malformed.
        VenueError: the feed has ended for good, or a mark does not come.
    """
    if not pass_s > 0:
        raise UsageError(f"the machine cannot look at the time each {pass_s} s: expected seconds above 0")
    clock = clock or SimulatedClock(venue.exchange.now)
    return clock.run(_session(venue, terms, tape, agent, clock, task, seed, pass_s, levels))


async def _session(
    venue: BinanceVenue,
    terms: SessionTerms,
    tape: Path,
    agent: Agent,
    clock: SimulatedClock,
    task: tuple[str, str],
    seed: int,
    pass_s: float,
    levels: int,
) -> TradingIngest:
    await venue.start_at(PATH)
    clock.carry(venue, venue.exchange.now)
    urls = {"stream_url": venue.stream_url, "rest_url": venue.rest_url}
    feed = BinanceFeed(terms.instruments, **urls, levels=levels, simulated=True)
    marked = asyncio.Event()
    machine = TradingIngest(feed, terms, np.random.default_rng(seed), marked=lambda _: marked.set())
    header = TapeHeader(
        feed.venue, feed.arguments(), True, task[1], {"waits": seed}, session=terms.to_dict() | {"task": task[0]}
    )
    try:
        with TapeWriter(tape, header, Instant(clock.monotonic(), clock.wall()), flush_s=FLUSH_S) as writer:
            live = Live(
                machine,
                transport=lambda: AiohttpTransport(PATH, ping_s=PING_S),
                rest=lambda address: RestClient(address, path=PATH),
                recorder=writer,
                clock=clock,
                digest=machine.digest,
                pass_s=pass_s,
                checkpoint_s=CHECKPOINT_S,
            )
            running = asyncio.create_task(live.run())
            try:
                await _decide(live, machine, agent, marked, running)
            finally:
                live.end()
                with contextlib.suppress(BaseExceptionGroup):  # _decide has raised what is in it
                    await running
    finally:
        await venue.stop()
    return machine


async def _decide(
    live: Live, machine: TradingIngest, agent: Agent, marked: asyncio.Event, running: asyncio.Task[None]
) -> None:
    """Show the agent each mark and enter its decisions, until the session is over."""
    terms = machine.terms
    while not machine.over:
        waiting = asyncio.create_task(marked.wait())
        patience = terms.interval_s * (2 if machine.shown is None else 1) + LATE_S
        await asyncio.wait({waiting, running}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if running.done():
            running.result()
        live.check()
        if not marked.is_set():
            raise VenueError(f"no mark came within {patience:g} s of simulated time: see what is on the tape")
        marked.clear()
        mark = machine.shown
        assert mark is not None, "the event is set after a mark is made"
        action = None if mark.done else agent(mark)
        if action is not None:
            parse_decision(action, terms.symbols)
            live.enter(RecordKind.DECIDED, decision_payload(mark.number, action))
