"""The server of a local venue, whatever protocol it speaks: time, connections, answers, and the faults of all three."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aiohttp import web

from openfingym.errors import VenueError
from openfingym.market.clock import Clock, SystemClock
from openfingym.market.sim.driver import drive
from openfingym.market.sim.events import Event
from openfingym.market.sim.faults import FOREVER, Alarms
from openfingym.market.sim.ledger import VenueLedger
from openfingym.market.sim.peers import Peer
from openfingym.market.ticks import SECOND

STEP = SECOND // 10
"""The shortest time between two books of a stream, in nanoseconds."""
SIMULATED = "X-OpenFinGym-Simulated"
"""The header field by which every answer says that this is no market."""


def compact(payload: object) -> str:
    """JSON as venues write it: without blanks, and with other scripts as they are."""
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False)


class RefusalError(VenueError):
    """The venue refuses a request; the error holds what it answers."""

    status: int
    """Status of HTTP."""
    headers: Mapping[str, str] = {}
    """Header fields of the answer."""

    def json(self) -> dict[str, Any]:
        """The body of the answer."""
        raise NotImplementedError


class StatusAnswer(NamedTuple):
    """A result with a status other than 200."""

    status: int
    """Status of HTTP."""
    body: object
    """Body of the answer, to be written as JSON."""


class LocalVenue(ABC):
    """A server on one port of this machine.

    The venue's time is the exchange's: :meth:`advance` lets it pass by hand, and :meth:`run` by a clock. Pings, limits,
    the lives of connections and all faults follow it.

    Args:
        ledger: the records of the venue, with its exchange and its faults.
    """

    simulated = True

    def __init__(self, ledger: VenueLedger) -> None:
        self.exchange = ledger.exchange
        self.faults = ledger.faults
        self.peers: dict[int, Peer] = {}
        """The open connections, by their numbers."""
        self._venue_ledger = ledger
        self._alarms = Alarms()
        self._connections = 0
        self._runner: web.AppRunner | None = None
        self._address = ""

    @property
    def rest_url(self) -> str:
        """The address of the REST interface, without a path."""
        return f"http://{self._address}"

    @property
    def stream_url(self) -> str:
        """The address of the market streams, without a path."""
        return f"ws://{self._address}"

    @abstractmethod
    def routes(self) -> list[web.RouteDef]:
        """The paths that the venue serves, and their handlers."""

    @abstractmethod
    def tell(self, events: Sequence[Event]) -> None:
        """Send events to the connections that are subscribed to them."""

    @abstractmethod
    def flush(self, now: int) -> None:
        """Send the books, bars and the like that are due at this boundary of :data:`STEP`."""

    @abstractmethod
    def admit(self, peer: Peer, request: web.Request) -> None:
        """Refuse a connection that may not be opened.

        Raises:
            RefusalError: the connection may not be opened.
        """

    @abstractmethod
    def fail(self, path: str) -> None:
        """Refuse a request where a fault ``limited`` or ``refused`` says so.

        Raises:
            RefusalError: a fault says so.
        """

    @abstractmethod
    def lost(self, path: str) -> RefusalError | None:
        """What is answered in the place of a result, although the request was carried out; None where no fault
        ``lost-answer`` hits.
        """

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        runner = await self._serving()
        await web.TCPSite(runner, host, port).start()
        address = runner.addresses[0]
        self._address = f"{address[0]}:{address[1]}"

    async def start_at(self, path: str) -> None:
        """Listen at a path: a Unix socket's, or within a loop in simulated time a pipe's."""
        self._address = "localhost"
        await web.UnixSite(await self._serving(), path).start()

    async def _serving(self) -> web.AppRunner:
        app = web.Application()
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        return self._runner

    async def stop(self) -> None:
        """Cut all connections and stop listening."""
        for peer in tuple(self.peers.values()):
            peer.abort()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def run(self, clock: Clock | None = None, *, speed: float = 1.0) -> None:
        """Let time pass by a clock until this is cancelled."""
        await drive(self.advance, self.exchange.now, clock or SystemClock(), speed=speed)

    def advance(self, to: int) -> None:
        """Let time pass until ``to``, in nanoseconds, and send what happens.

        No frame leaves before the caller gives the event loop its turn: after a long step, connections have many
        waiting, and those that have more than :data:`~openfingym.market.sim.peers.MOST_WAITING` are cut.
        """
        self.publish()
        ledger = self._venue_ledger
        while (now := self.exchange.now) < to:
            # No further than to the next boundary at which anything is due, so that a step of a week sends the same
            # frames as many short ones.
            until = min(self.due(), to)
            events = self.exchange.advance(until)
            ledger.note(events)
            ledger.pending += events
            self.publish()
            if until % STEP == 0:
                self.flush(until)
            self._alarms.advance(self.exchange.now)
            self._disturb(now, self.exchange.now)
            for peer in tuple(self.peers.values()):
                peer.tick(self.exchange.now)

    def due(self) -> int:
        """The first boundary of :data:`STEP` at which something may happen by itself."""
        now, acts = self.exchange.now, self.exchange.due()
        first = min(FOREVER if acts is None else acts, self.flush_due(now), self._alarms.next, self.faults.next(now))
        for peer in self.peers.values():
            first = min(first, peer.due())
        return max(-(-first // STEP), now // STEP + 1) * STEP

    def flush_due(self, now: int) -> int:
        """The next boundary at which :meth:`flush` has something to send, even if nothing happens by then."""
        return (now // STEP + 1) * STEP

    def publish(self) -> None:
        """Send what has happened and is not sent yet."""
        ledger = self._venue_ledger
        ledger.collect()
        events, ledger.pending = ledger.pending, []
        if events:
            self.tell(events)

    async def wait(self, seconds: float) -> None:
        """Wait for so many seconds of the exchange's time."""
        done = asyncio.Event()
        self._alarms.at(self.exchange.now + int(seconds * SECOND), done.set)
        await done.wait()

    async def delayed(self, path: str, placing: bool) -> None:
        """Hold an answer back where a fault says so.

        Args:
            path: path of the request, as faults name it.
            placing: whether it placed an order.
        """
        hang = self.faults.hit("hang", self.exchange.now, path=path)
        early = self.faults.hit("early-execution", self.exchange.now, path=path) if placing else None
        if hang is not None or early is not None:
            self.publish()  # what the request has brought about, before its answer
            await self.wait(max(fault.seconds for fault in (hang, early) if fault is not None))

    async def answer(
        self, path: str, work: Callable[[], object], headers: Callable[[], Mapping[str, str]], *, placing: bool = False
    ) -> web.Response:
        """The answer to a request, with the faults that hit it.

        Args:
            path: path of the request, as faults name it.
            work: carries it out and gives the body, None for an empty one; raises :class:`RefusalError`.
            headers: gives the header fields that every answer has.
            placing: whether it places an order.
        """
        slow = self.faults.hit("slow", self.exchange.now, path=path)
        if slow is not None:
            await self.wait(slow.seconds)
        body: object
        refused: Mapping[str, str] = {}
        try:
            self.fail(path)
            done = work()
            status, body = done if isinstance(done, StatusAnswer) else (200, done)
            lost = self.lost(path)
            if lost is not None:
                raise lost
        except RefusalError as error:
            status, body, refused = error.status, error.json(), error.headers
        fields = {**headers(), **refused}
        await self.delayed(path, placing)
        # Executions follow the answer to their order, as at real venues: once this coroutine has given it.
        asyncio.get_running_loop().call_soon(self.publish)
        return self.response(body, status, fields)

    async def serve(self, request: web.Request, peer: Peer) -> web.StreamResponse:
        """Carry a connection until it ends."""
        self._connections += 1
        try:
            self.admit(peer, request)
        except RefusalError as error:
            return self.response(error.json(), error.status, error.headers)
        aborted = self.faults.hit("abort", self.exchange.now, connection=peer.number)
        if aborted is not None:
            peer.abort()
        if aborted is not None or self.faults.hit("close", self.exchange.now, connection=peer.number):
            return self.response({}, 503, {})
        self.peers[peer.number] = peer
        try:
            return await peer.serve()
        finally:
            del self.peers[peer.number]

    @property
    def next_number(self) -> int:
        """The number of the next connection."""
        return self._connections

    @staticmethod
    def response(body: object, status: int, headers: Mapping[str, str]) -> web.Response:
        """An answer of JSON that says it is simulated; one without a body for None."""
        fields = {SIMULATED: "1", **headers}
        if body is None:
            return web.Response(status=204, headers=fields)
        return web.Response(text=compact(body), status=status, headers=fields, content_type="application/json")

    def _disturb(self, before: int, now: int) -> None:
        """Let the faults that began after ``before``, and not after ``now``, happen to the connections."""
        for kind in ("shutdown", "close", "abort"):
            for fault in self.faults.begun(kind, before, now):
                for number, peer in tuple(self.peers.items()):
                    if fault.connection not in {None, number}:
                        continue
                    if kind == "close":
                        peer.close()
                    elif kind == "abort":
                        peer.abort()
                    elif (notice := peer.shutdown(self._venue_ledger.now)) is not None:
                        peer.send(notice)
