"""Whether a venue can be used from here: its keys, its market data, its clock, the account and the account's events."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from openfingym.errors import ConnectionClosedError, FeedError, UsageError, VenueError
from openfingym.market.brokers import alpaca, binance
from openfingym.market.brokers.broker import Broker, BrokerAnswer
from openfingym.market.commands import Instant
from openfingym.market.feed import Address, Feed, Frame, Request
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.keys import NAMES, Keys
from openfingym.market.redaction import SHORTEST, Mask
from openfingym.market.rest import RestClient
from openfingym.market.ticks import Refused
from openfingym.market.transport import AiohttpTransport

TIMEOUT_S = 10.0
"""Seconds for each connection and each answer."""
MOST_OFF_MS = 1000.0
"""Milliseconds by which clocks may differ: venues refuse requests from further in the future."""
VENUES = ("alpaca", "binance", "simulated")


class VenueCheck(NamedTuple):
    """What was found."""

    check: str
    ok: bool
    detail: str
    measured: Mapping[str, float] = {}
    """Milliseconds by name."""


@dataclass(frozen=True)
class CheckedVenue:
    """What is checked."""

    name: str
    feed: Callable[[Keys | None], Feed | None]
    """Makes its market data; None where they need keys."""
    broker: Callable[[Keys], Broker]
    keys: Callable[[], Keys] = field(repr=False)
    """Finds the account's keys.

    Raises:
        UsageError: they are not set.
    """
    account: str
    """What account it is, in words."""


def venue_named(name: str, *, real_money: bool = False) -> CheckedVenue:
    """Alpaca or Binance: the paper or demo account, or the one that trades with real money."""
    account = "real money" if real_money else f"a {'paper' if name == 'alpaca' else 'demo'} account"
    if name == "alpaca":
        rest, stream = (alpaca.REAL, alpaca.REAL_STREAM) if real_money else (alpaca.PAPER, alpaca.PAPER_STREAM)
        return CheckedVenue(
            name,
            lambda keys: None if keys is None else AlpacaFeed(["BTC/USD"], keys, feed="us"),
            lambda keys: alpaca.Alpaca([], keys, rest=rest, stream=stream),
            lambda: Keys.of(name),
            account,
        )
    rest, stream = (binance.REAL, binance.REAL_STREAM) if real_money else (binance.DEMO, binance.DEMO_STREAM)
    return CheckedVenue(
        name,
        lambda keys: BinanceFeed(["BTCUSDT"]),  # noqa: ARG005
        lambda keys: binance.Binance([], keys, rest=rest, stream=stream),
        lambda: Keys.of(name),
        account,
    )


@contextlib.asynccontextmanager
async def simulated_venue() -> AsyncIterator[CheckedVenue]:
    """A local Binance venue with one symbol and an account, for as long as the context lasts."""
    from openfingym.market.sim.binance import BinanceVenue
    from openfingym.market.sim.events import ATOMS, ListedPair
    from openfingym.market.sim.exchange import Exchange
    from openfingym.market.sim.flow import Crowd

    pair = ListedPair("BTCUSDT", "BTC", "USDT")
    crowd = Crowd(value=6e6, rate=40, size=2000)
    exchange = Exchange([pair], {pair.symbol: crowd}, start=time.time_ns())
    exchange.accounts.open("checkup")
    exchange.deposit("checkup", pair.quote, 100_000 * ATOMS)
    local = BinanceVenue(exchange)
    keys = Keys(secrets.token_hex(16), secrets.token_hex(32))
    local.add_key(keys.key, "checkup", secret=keys.secret)
    await local.start()
    running = asyncio.create_task(local.run())
    try:
        yield CheckedVenue(
            "simulated",
            lambda _: BinanceFeed([pair.symbol], stream_url=local.stream_url, rest_url=local.rest_url, simulated=True),
            lambda found: binance.Binance([], found, rest=local.rest_url, stream=local.socket_api_url),
            lambda: keys,
            "a simulated account",
        )
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await local.stop()


async def checkup(name: str, *, real_money: bool = False) -> list[VenueCheck]:
    """Check one of :data:`VENUES` by its name.

    Args:
        name: one of them; ``simulated`` starts a local venue.
        real_money: check the account that trades with real money, in place of the paper or demo one.

    Raises:
        UsageError: there is no such venue, or the simulated one is to trade with real money.
    """
    if name not in VENUES or (name == "simulated" and real_money):
        raise UsageError(f"no venue {name!r}{' with real money' * real_money}; known: {', '.join(VENUES)}")
    if name != "simulated":
        return await check_venue(venue_named(name, real_money=real_money), real_money=real_money)
    async with simulated_venue() as venue:
        return await check_venue(venue)


async def check_venue(
    venue: CheckedVenue, *, real_money: bool = False, timeout_s: float = TIMEOUT_S
) -> list[VenueCheck]:
    """Check a venue; nothing is ordered. What cannot be reached is a finding and no error, after ``timeout_s`` seconds
    each for market data, clock, account and events at the most.

    Args:
        venue: what to check.
        real_money: whether the account may be one that trades with real money.
        timeout_s: seconds for each connection and each answer.
    """
    try:
        keys: Keys | None = venue.keys()
        found = [VenueCheck("keys", True, f"set for {venue.name}")]
    except UsageError as error:
        entry = f"keyring set openfingym-{venue.name} {NAMES[venue.name][0]}"
        keys, found = (
            None,
            [VenueCheck("keys", False, f"{error}: export them, or `{entry}` and so on with the package keyring")],
        )
    feed = venue.feed(keys)
    if keys is None and feed is not None:
        text = f"{found[0].detail}. Market data of {venue.name} need no keys, orders do"
        found = [found[0]._replace(detail=text)]
    if feed is None:
        found.append(VenueCheck("market data", False, f"not tried: {venue.name} gives its market data only with keys"))
    else:
        found.append(await _market_data(feed, timeout_s))
    if keys is not None:
        broker = venue.broker(keys)
        mask = Mask(secret for secret in broker.secrets if len(secret) >= SHORTEST)
        found += await _account(venue, broker, real_money, timeout_s)
        found = [one._replace(detail=mask(one.detail.encode(errors="replace")).decode()) for one in found]
    elif feed is not None and (request := feed.ask_time()) is not None:
        found.append(await _clock(feed.rest(), request, feed.read_time, timeout_s))
    return found


async def _account(venue: CheckedVenue, broker: Broker, real_money: bool, timeout_s: float) -> list[VenueCheck]:
    """The broker's clock, what the account may do, and its events."""
    if broker.real and not real_money:
        text = f"{broker.rest().url} trades with real money, and that was not asked for: nothing was sent there"
        return [VenueCheck("account", False, f"{text}; use a paper or demo account, or pass --real-money")]
    clock = await _clock(broker.rest(), broker.ask_clock(), broker.read_clock, timeout_s)
    found = [clock]
    if clock.ok:
        found.append(await _standing(venue, broker, timeout_s))
        if found[-1].ok:
            found.append(await _events(broker, timeout_s))
    return found


async def _clock(address: Address, request: Request, read: Callable[[bytes], int], timeout_s: float) -> VenueCheck:
    """How long an answer takes, and how far this machine's clock is from the venue's."""
    client = RestClient(address, timeout_s=timeout_s)
    try:
        answer = await client.ask(request)  # opens the connection, which would be measured else
        began, wall = time.monotonic_ns(), time.time_ns()
        if answer.status:
            answer = await client.ask(request)
        took = time.monotonic_ns() - began
    finally:
        await client.close()
    if not BrokerAnswer.of(answer).good:
        return VenueCheck("clock", False, _unanswered(address, answer.status, answer.body))
    try:
        ahead = (read(answer.body) - (wall + took // 2)) / 1e6
    except FeedError as error:
        return VenueCheck("clock", False, f"{address.url}: {error}; expected the venue's time: see what answers there")
    latency = took / 1e6
    text = (
        f"an answer takes {latency:.0f} ms; the venue's clock is {ahead:+.0f} ms from here, within {latency / 2:.0f} ms"
    )
    ok = abs(ahead) - latency / 2 <= MOST_OFF_MS
    if not ok:
        text += f"; expected at most {MOST_OFF_MS:.0f} ms: set this machine's clock, as by NTP"
    return VenueCheck("clock", ok, text, {"latency": round(latency, 3), "difference": round(ahead, 3)})


async def _standing(venue: CheckedVenue, broker: Broker, timeout_s: float) -> VenueCheck:
    """Whether the keys are those of an account that may trade."""
    client = RestClient(broker.rest(), timeout_s=timeout_s)
    try:
        answer = await client.ask(broker.ask_standing(_now()))
    finally:
        await client.close()
    refusal = broker.refusal(BrokerAnswer.of(answer), _now())
    if refusal is not None:
        text = _unanswered(broker.rest(), answer.status, (refusal.text or "").encode() or answer.body)
        if 400 <= answer.status < 500 and answer.status not in {418, 429}:
            names = " and ".join(NAMES.get(broker.venue, ("the keys",)))
            text += f"; expected the keys of {venue.account}, which has its own: set {names} to them"
            text += "" if broker.real else ", or pass --real-money where they are those of a real account"
        return VenueCheck("account", False, text)
    try:
        standing = broker.read_standing(answer.body)
    except FeedError as error:
        return VenueCheck(
            "account", False, f"{broker.rest().url}: {error}; expected an account: see what answers there"
        )
    may = "may trade" if standing.trades else f"may not trade: {standing.text}"
    return VenueCheck("account", standing.trades, f"{venue.account}, which {may}")


async def _market_data(feed: Feed, timeout_s: float) -> VenueCheck:
    """Whether market data come."""
    session, kind = feed.session(), "simulated market data" if feed.simulated else "market data"

    def heard(frame: Frame) -> bool:
        for message in session.received(frame):
            if isinstance(message, Refused):
                raise VenueError(message.reason)
        return session.ready

    return await _stream("market data", kind, feed.stream(), session.opened, session.replies, heard, timeout_s)


async def _events(broker: Broker, timeout_s: float) -> VenueCheck:
    """Whether the account's events come."""
    session = broker.session()

    def heard(frame: Frame) -> bool:
        session.received(frame)
        if session.refusal is not None:
            raise VenueError(session.refusal.text)
        return session.ready

    return await _stream(
        "events",
        "the account's events",
        broker.stream(),
        lambda: session.opened(_now()),
        session.replies,
        heard,
        timeout_s,
    )


async def _stream(
    check: str,
    what: str,
    address: Address,
    opened: Callable[[], None],
    replies: list[Frame],
    heard: Callable[[Frame], bool],
    timeout_s: float,
) -> VenueCheck:
    """Open a connection and wait until what it is for is subscribed."""
    transport, began = AiohttpTransport(), time.monotonic_ns()
    try:
        async with asyncio.timeout(timeout_s):
            connection = await transport.connect(address)
            try:
                opened()
                ready = False
                while not ready:
                    while replies:
                        await connection.send(replies.pop(0))
                    ready = heard(await connection.receive())
            finally:
                await connection.close()
        took = (time.monotonic_ns() - began) / 1e6
        return VenueCheck(
            check, True, f"{what} of {address.url} are subscribed in {took:.0f} ms", {"subscribed": round(took, 3)}
        )
    except ConnectionClosedError as error:
        text = str(error)
    except TimeoutError:
        text = f"{address.url} did not confirm {what} within {timeout_s:g} s."
    except (VenueError, FeedError) as error:
        text = f"{address.url} refuses {what}: {str(error).rstrip('.')}."
    finally:
        await transport.close()
    return VenueCheck(
        check, False, f"{text} See whether this machine may reach it: the network, a proxy, the venue's status."
    )


def _unanswered(address: Address, status: int, body: bytes) -> str:
    said = body[:200].decode(errors="replace").strip()
    if status == 0:
        return f"{address.url} does not answer ({said}); see whether this machine may reach it: the network, a proxy"
    return f"{address.url} answers {status}: {said or 'nothing'}"


def _now() -> Instant:
    return Instant(time.monotonic_ns(), time.time_ns())
