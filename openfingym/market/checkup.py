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
"""Milliseconds by which the two clocks may differ: venues refuse requests from further in the future."""
VENUES = ("alpaca", "binance", "simulated")


class VenueCheck(NamedTuple):
    """The result of one check."""

    check: str
    """Name of what was checked, such as ``clock``."""
    ok: bool
    """Whether the check was passed."""
    detail: str
    """The finding in words; of a failed check also what was expected, and what to do."""
    measured: Mapping[str, float] = {}
    """Durations that were measured, in milliseconds, by name."""


@dataclass(frozen=True)
class CheckedVenue:
    """A venue with an account there, as :func:`check_venue` checks them."""

    name: str
    """Name of the venue, such as ``binance``."""
    feed: Callable[[Keys | None], Feed | None]
    """Makes the feed of its market data; None where that needs keys and none are given."""
    broker: Callable[[Keys], Broker]
    """Makes the broker of the account."""
    keys: Callable[[], Keys] = field(repr=False)
    """Looks up the account's keys.

    Raises:
        UsageError: they are not set.
    """
    account: str
    """The sort of account in words, such as ``a paper account``."""


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
            lambda own_keys: binance.Binance([], own_keys, rest=local.rest_url, stream=local.socket_api_url),
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
        name: one of :data:`VENUES`; ``simulated`` starts a local venue.
        real_money: whether to check the account that trades with real money, in place of the paper or demo one.

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
    """Check a venue; no order is sent. What cannot be reached is a finding and no error, after at most ``timeout_s``
    seconds each for market data, clock, account and events.

    Args:
        venue: the venue and the account there.
        real_money: whether the account may be one that trades with real money.
        timeout_s: seconds for each connection and each answer.
    """
    try:
        keys: Keys | None = venue.keys()
        checks = [VenueCheck("keys", True, f"set for {venue.name}")]
    except UsageError as error:
        entry = f"keyring set openfingym-{venue.name} {NAMES[venue.name][0]}"
        keys, checks = (
            None,
            [VenueCheck("keys", False, f"{error}: export them, or `{entry}` and so on with the package keyring")],
        )
    feed = venue.feed(keys)
    if keys is None and feed is not None:
        text = f"{checks[0].detail}. Market data of {venue.name} need no keys, orders do"
        checks = [checks[0]._replace(detail=text)]
    if feed is None:
        checks.append(VenueCheck("market data", False, f"not tried: {venue.name} gives its market data only with keys"))
    else:
        checks.append(await _market_data(feed, timeout_s))
    if keys is not None:
        broker = venue.broker(keys)
        checks += await _account(venue, broker, real_money, timeout_s)
        # Details quote what the venue answered, which may repeat a key that it was sent.
        mask = Mask(secret for secret in broker.secrets if len(secret) >= SHORTEST)
        checks = [check._replace(detail=mask(check.detail.encode(errors="replace")).decode()) for check in checks]
    elif feed is not None and (request := feed.ask_time()) is not None:
        checks.append(await _clock(feed.rest(), request, feed.read_time, timeout_s))
    return checks


async def _account(venue: CheckedVenue, broker: Broker, real_money: bool, timeout_s: float) -> list[VenueCheck]:
    """The broker's clock, what the account may do, and its events."""
    if broker.real and not real_money:
        text = f"{broker.rest().url} trades with real money, and that was not asked for: nothing was sent there"
        return [VenueCheck("account", False, f"{text}; use a paper or demo account, or pass --real-money")]
    clock = await _clock(broker.rest(), broker.ask_clock(), broker.read_clock, timeout_s)
    checks = [clock]
    if clock.ok:
        checks.append(await _standing(venue, broker, timeout_s))
        if checks[-1].ok:
            checks.append(await _events(broker, timeout_s))
    return checks


async def _clock(address: Address, request: Request, read: Callable[[bytes], int], timeout_s: float) -> VenueCheck:
    """How long an answer takes, and how far this machine's clock is from the venue's."""
    client = RestClient(address, timeout_s=timeout_s)
    try:
        answer = await client.ask(request)  # not measured: it opens the connection, which takes longer than an answer
        began, wall = time.monotonic_ns(), time.time_ns()
        if answer.status:
            answer = await client.ask(request)
        took = time.monotonic_ns() - began
    finally:
        await client.close()
    if not BrokerAnswer.of(answer).good:
        return VenueCheck("clock", False, _unanswered(address, answer.status, answer.body))
    try:
        # The venue read its clock somewhere between question and answer: halfway, give or take half the time taken.
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
    """Whether the keys belong to an account that may trade."""
    client = RestClient(broker.rest(), timeout_s=timeout_s)
    try:
        answer = await client.ask(broker.ask_standing(_now()))
    finally:
        await client.close()
    refusal = broker.refusal(BrokerAnswer.of(answer), _now())
    if refusal is not None:
        text = _unanswered(broker.rest(), answer.status, (refusal.text or "").encode() or answer.body)
        # 418 and 429 are of too many requests, and say nothing about the keys.
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
    """Whether the feed's market data can be subscribed."""
    session, kind = feed.session(), "simulated market data" if feed.simulated else "market data"

    def heard(frame: Frame) -> bool:
        for message in session.received(frame):
            if isinstance(message, Refused):
                raise VenueError(message.reason)
        return session.ready

    return await _stream("market data", kind, feed.stream(), session.opened, session.replies, heard, timeout_s)


async def _events(broker: Broker, timeout_s: float) -> VenueCheck:
    """Whether the account's events can be subscribed."""
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
    """Open a connection and wait until its session is subscribed.

    Args:
        check: name of the check.
        what: what is subscribed, in words.
        address: where the stream is.
        opened: tells the session that the connection is open.
        replies: frames that the session wants sent; it adds to them.
        heard: gives the session a frame, and returns whether it is subscribed.
        timeout_s: seconds for the connection and all answers together.
    """
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
