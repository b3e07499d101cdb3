"""Telling a channel that is silent because it is broken from one in which nothing happens.

A connection may be open and answer pings while no data comes. No limit on silence alone would do: nobody trades a thin
symbol for minutes, and nobody trades a stock at night. So silence only makes us ask the venue's REST interface, all
silent symbols in one batch, and ever more seldom while the answers agree with what the stream said last. A channel is
mute once an answer differs from that and the stream, :data:`GRACE_S` later, still has not spoken. A book's changes
cannot be asked for; they are mute if they stay away while the symbol's quotes go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from openfingym.market.ticks import Depth, Quote, Tick, Trade

SECOND = 1_000_000_000
FIRST_S = 10.0
"""Seconds of silence, or without a first message, until the venue is asked."""
SELDOM_S = 320.0
"""Seconds between questions in the end."""
GRACE_S = 2.0

Channel = tuple[type[Tick], str]


@dataclass(slots=True)
class _Silence:
    since: int
    """When it spoke last, or ought to have begun."""
    spoke: bool = False
    wait_s: float = FIRST_S
    asked: int = 0
    """When the venue was asked last."""
    accused: int = 0
    """When the question was put whose answer differs; 0 where none does."""
    due: int = 0
    """When the verdict falls."""


class Silences:
    """How long each channel has been silent.

    Args:
        symbols: those of the feed.
        kinds: what the stream brings of each.
    """

    def __init__(self, symbols: tuple[str, ...], kinds: frozenset[type[Tick]]) -> None:
        self._symbols = symbols
        self._kinds = kinds
        self.heard: dict[type[Tick], dict[str, int]] = {Trade: {}, Quote: {}, Depth: {}}
        """When each channel spoke last, by our monotonic clock; whoever reads the stream writes it."""
        self._of: dict[Channel, _Silence] = {}
        self._known: dict[Channel, Trade | Quote] = {}

    def begin(self, symbols: tuple[str, ...], now: int) -> None:
        """These are subscribed from now on."""
        for kind in self._kinds:
            for symbol in symbols:
                self._of[kind, symbol] = _Silence(now)

    def end(self) -> None:
        """Nothing is subscribed any more."""
        self._of.clear()

    def questionable(self, now: int) -> list[str]:
        """Symbols to ask for now, all at once: where one is due, those are asked with it that will be soon."""
        due, soon = [], []
        for (kind, symbol), silence in self._of.items():
            self._hear(kind, symbol, silence)
            waited = now - max(silence.since, silence.asked)
            if kind is Depth or silence.accused:
                continue
            if waited > silence.wait_s * SECOND:
                due.append(symbol)
            elif waited > silence.wait_s * SECOND / 2:
                soon.append(symbol)
        return list(dict.fromkeys(due + soon)) if due else []

    def asked(self, symbols: list[str], now: int) -> None:
        """They are being asked for; the next question may wait longer."""
        for kind in (Trade, Quote):
            for symbol in symbols:
                silence = self._of.get((kind, symbol))
                if silence is not None:
                    silence.asked = now
                    silence.wait_s = min(SELDOM_S, 2 * silence.wait_s)

    def compare(self, tick: Trade | Quote, spoken: Trade | Quote | None, asked: int, now: int) -> bool:
        """Compare an answer with what the stream said last; return whether it is news that readers should have.

        Args:
            tick: what the venue answered.
            spoken: what the stream said last of this; None if nothing.
            asked: when the question was put.
            now: when the answer came.
        """
        channel = (type(tick), tick.symbol)
        heard = self.heard[type(tick)].get(tick.symbol)
        if heard is not None and (heard >= asked or (not tick.time and asked - heard < GRACE_S * SECOND)):
            return False  # the stream spoke meanwhile; and an answer without a time may be as old as that
        before = self._known.get(channel)
        if spoken is not None and not _newer(tick, spoken):
            return False
        self._known[channel] = tick
        silence, reference = self._of.get(channel), before or spoken
        if silence is not None:
            silence.wait_s = FIRST_S  # the venue is not at rest, so the next answer is to come soon
        doubtful = silence is not None and not silence.accused and asked - silence.since >= FIRST_S * SECOND / 2
        if silence is not None and doubtful and reference is not None and _newer(tick, reference):
            silence.accused, silence.due = asked, now + int(GRACE_S * SECOND)
        return True

    def mute(self, now: int) -> dict[str, int]:
        """Symbols of which a channel is mute, with the time since which that is known."""
        found = {}
        for (kind, symbol), silence in self._of.items():
            self._hear(kind, symbol, silence)
            if kind is Depth:
                quoted = self.heard[Quote].get(symbol, 0)
                if quoted - silence.since > FIRST_S * SECOND and now - quoted < FIRST_S * SECOND:
                    found[symbol] = silence.since
            elif silence.accused and now >= silence.due:
                found[symbol] = silence.accused
        return found

    def _hear(self, kind: type[Tick], symbol: str, silence: _Silence) -> None:
        heard = self.heard[kind].get(symbol, -1)
        if heard > silence.since or (heard == silence.since and not silence.spoke):
            silence.since, silence.spoke, silence.wait_s = heard, True, FIRST_S
            if heard >= silence.accused:
                silence.accused = 0
            self._known.pop((kind, symbol), None)


def _newer(tick: Trade | Quote, other: Trade | Quote) -> bool:
    """Whether a tick says something that another did not: by time if both state one, by their prices otherwise."""
    if tick.time and other.time:
        return tick.time > other.time
    if isinstance(tick, Trade) and isinstance(other, Trade):
        return tick.price != other.price
    return tick[1:5] != other[1:5]
