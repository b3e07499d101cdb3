"""Distinguishing a channel that is silent because it is broken from one on which nothing happens.

A connection may be open and answer pings while no data comes. No limit on silence alone would do: nobody trades a thin
symbol for minutes, and nobody trades a stock at night. So silence only makes us ask the venue's REST interface, all
silent symbols in one batch, and less and less often while the answers agree with the last message of the stream. A
channel is mute once an answer differs from that and the stream, :data:`GRACE_S` later, still has brought nothing. A
book's changes cannot be asked for; they are mute if they stay away while the symbol's quotes go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from openfingym.market.ticks import SECOND, Depth, Quote, Tick, Trade

FIRST_S = 10.0
"""Seconds of silence, or without a first message, until the venue is asked."""
SELDOM_S = 320.0
"""Seconds between two questions at most, which doubling reaches after five."""
GRACE_S = 2.0
"""Seconds by which a stream may be later than an answer."""

Channel = tuple[type[Tick], str]
"""(kind of tick, symbol): what is subscribed, and silent, by itself."""


@dataclass(slots=True)
class _Silence:
    """The silence of one channel; times are nanoseconds of the monotonic clock."""

    since: int
    """When the channel last brought something, or was subscribed."""
    has_spoken: bool = False
    """Whether it has brought anything."""
    wait_s: float = FIRST_S
    """Seconds of silence after which the venue is asked."""
    asked: int = 0
    """When the venue was last asked."""
    contradicted: int = 0
    """When the question was put whose answer differs; 0 where none does."""
    due: int = 0
    """When the channel counts as mute if it has brought nothing until then."""


class Silences:
    """How long each channel of a feed has been silent.

    Args:
        symbols: the symbols of the feed.
        kinds: the kinds of ticks that the stream brings of each symbol.
    """

    def __init__(self, symbols: tuple[str, ...], kinds: frozenset[type[Tick]]) -> None:
        self._symbols = symbols
        self._kinds = kinds
        self.heard: dict[type[Tick], dict[str, int]] = {Trade: {}, Quote: {}, Depth: {}}
        """When each channel last brought something, in nanoseconds of our monotonic clock, by kind and symbol; whoever
        reads the stream writes it here.
        """
        self._of: dict[Channel, _Silence] = {}
        self._known: dict[Channel, Trade | Quote] = {}  # the newest answers that the stream had not brought

    def begin(self, symbols: tuple[str, ...], now: int) -> None:
        """These are subscribed from now on."""
        for kind in self._kinds:
            for symbol in symbols:
                self._of[kind, symbol] = _Silence(now)

    def end(self) -> None:
        """Nothing is subscribed any more."""
        self._of.clear()

    def questionable(self, now: int) -> list[str]:
        """Symbols to ask for now, in one batch: as soon as one is due, those that will be due soon go with it."""
        due, soon = [], []
        for (kind, symbol), silence in self._of.items():
            self._hear(kind, symbol, silence)
            waited = now - max(silence.since, silence.asked)
            if kind is Depth or silence.contradicted:
                continue
            if waited > silence.wait_s * SECOND:
                due.append(symbol)
            elif waited > silence.wait_s * SECOND / 2:
                soon.append(symbol)
        return list(dict.fromkeys(due + soon)) if due else []

    def asked(self, symbols: list[str], now: int) -> None:
        """These symbols are being asked for; the next question may wait longer."""
        for kind in (Trade, Quote):
            for symbol in symbols:
                silence = self._of.get((kind, symbol))
                if silence is not None:
                    silence.asked = now
                    silence.wait_s = min(SELDOM_S, 2 * silence.wait_s)

    def compare(self, tick: Trade | Quote, spoken: Trade | Quote | None, asked: int, now: int) -> bool:
        """Compare an answer with the stream's last message; return whether it is news that readers should have.

        Args:
            tick: the trade or quote that the venue answered.
            spoken: the last one of its kind and symbol that the stream brought; None if it has brought none.
            asked: when the question was put, in monotonic nanoseconds.
            now: when the answer came, in monotonic nanoseconds.
        """
        channel = (type(tick), tick.symbol)
        heard = self.heard[type(tick)].get(tick.symbol)
        if heard is not None and (heard >= asked or (not tick.time and asked - heard < GRACE_S * SECOND)):
            return False  # the stream spoke meanwhile; and an answer without a time may be as old as what it said
        before = self._known.get(channel)
        if spoken is not None and not _newer(tick, spoken):
            return False
        self._known[channel] = tick
        silence, reference = self._of.get(channel), before or spoken
        if silence is not None:
            silence.wait_s = FIRST_S  # the market moves, so the next answer is to come soon
        # An answer right after the stream's last message proves nothing: the next message may be on its way.
        doubtful = silence is not None and not silence.contradicted and asked - silence.since >= FIRST_S * SECOND / 2
        if silence is not None and doubtful and reference is not None and _newer(tick, reference):
            silence.contradicted, silence.due = asked, now + int(GRACE_S * SECOND)
        return True

    def mute(self, now: int) -> dict[str, int]:
        """Symbols of which a channel is mute, each with the time since which that is known."""
        muted = {}
        for (kind, symbol), silence in self._of.items():
            self._hear(kind, symbol, silence)
            if kind is Depth:
                quoted = self.heard[Quote].get(symbol, 0)
                if quoted - silence.since > FIRST_S * SECOND and now - quoted < FIRST_S * SECOND:
                    muted[symbol] = silence.since
            elif silence.contradicted and now >= silence.due:
                muted[symbol] = silence.contradicted
        return muted

    def _hear(self, kind: type[Tick], symbol: str, silence: _Silence) -> None:
        """Take over when the channel last brought something: its silence begins anew."""
        heard = self.heard[kind].get(symbol, -1)
        if heard > silence.since or (heard == silence.since and not silence.has_spoken):
            silence.since, silence.has_spoken, silence.wait_s = heard, True, FIRST_S
            if heard >= silence.contradicted:
                silence.contradicted = 0
            self._known.pop((kind, symbol), None)


def _newer(tick: Trade | Quote, other: Trade | Quote) -> bool:
    """Whether a tick says something that another did not: by time if both state one, by their prices otherwise."""
    if tick.time and other.time:
        return tick.time > other.time
    if isinstance(tick, Trade) and isinstance(other, Trade):
        return tick.price != other.price
    return tick[1:5] != other[1:5]
