"""Prices of coins from Binance: the close of the bar in which a moment falls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.sources.binance_rest import BinanceRest, read_page
from openfingym.data.sources.klines import COLUMNS, STEP_S, block
from openfingym.errors import DataError, UsageError
from openfingym.market.feeds import binance as feed
from openfingym.questions.payouts import exact
from openfingym.questions.prices.live import Watched
from openfingym.questions.prices.venue import FinalPrice, NotYet, PriceHistory, interval_of, latest
from openfingym.questions.web import Web, base_url, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question

_SYMBOL = re.compile(r"[A-Z0-9]{2,30}")
LATE = 3
"""How many bars old the newest complete one may be before prices are too old to ask about."""
_BARS = 60
"""How many bars are looked at for the first in which something was traded."""


class BinancePrices:
    """The spot market of Binance, or a venue that speaks its protocol.

    Args:
        web: REST interface of the market; None for the public one.
        stream_url: address of the market's stream, for symbols that are asked for often; None for the public one.
    """

    def __init__(self, web: Web | None = None, stream_url: str | None = None) -> None:
        self.keys: Mapping[str, type] = {"interval": str}
        self._web = web or Web(base_url("BINANCE", BinanceRest.base_url), per_second=20.0)
        # The public address for market data lacks the requests with which a feed fills gaps.
        rest = self._web.url if self._web.url != BinanceRest.base_url else feed.REST
        stream = stream_url or base_url("BINANCE_STREAM", feed.STREAM)
        self._watched = Watched(
            lambda symbol: feed.BinanceFeed(
                [symbol], channels=("trade", "bookTicker"), stream_url=stream, rest_url=rest
            )
        )

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.prices.venue.PriceVenue`."""
        if not _SYMBOL.fullmatch(str(question.query["symbol"])):
            raise UsageError(
                f"question {question.id}: symbol of its query is {str(question.query['symbol'])[:40]!r}; expected base "
                "and quote in capital letters, such as BTCUSDT"
            )
        interval_of(question.query, "1m", STEP_S)

    def at(self, query: Mapping[str, str | float], moment_ns: int, now_ns: int) -> FinalPrice | NotYet:
        """The close of the first complete bar with trades, from the bar in which the moment falls.

        A bar without trades only repeats the price before it.
        """
        symbol, (interval, step) = str(query["symbol"]), interval_of(query, "1m", STEP_S)
        # Bars begin at whole multiples of their length since the epoch.
        opens = moment_ns // step * step
        parameters: dict[str, str | int] = {
            "symbol": symbol,
            "interval": interval,
            "startTime": opens // 10**6,
            "limit": _BARS,
        }
        reply = self._web.get("/api/v3/klines", parameters)
        rows = read_page(reply.body, symbol)
        if not len(rows):
            return NotYet("there is no bar of that time yet", reply.url)
        times, _, values = block(rows, f"binance {symbol}")
        starts = times.astype("int64").tolist()
        if starts[0] < opens:
            raise DataError(f"{reply.url}: the answer begins {(opens - starts[0]) / 1e9:.0f} s too early")
        for place, begins in enumerate(starts):
            if begins + step > min(reply.at_ns, now_ns):
                return NotYet("the bar of that time is not complete", reply.url)
            bar = dict(zip(COLUMNS, values[place].tolist(), strict=True))
            if bar["count"] > 0:
                kept = {name: bar[name] for name in ("open", "high", "low", "close", "volume", "count")}
                rule = "close of the first bar that ends later and in which anything was traded"
                shown = {"symbol": symbol, "interval": interval, "rule": rule, "opens_ns": begins, **kept}
                return FinalPrice(bar["close"], begins, begins + step, reply.url, shown)
        return NotYet("nothing was traded since", reply.url)

    def now(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        """The last trade's price: from the live buffer where the symbol is followed, else asked for."""
        symbol = str(query["symbol"])
        live = self._watched.price(symbol)
        if live is not None:
            price, at_ns = live
            return {"price": price, "at_ns": at_ns, "source": "live buffer of binance"}
        reply = self._web.get("/api/v3/ticker/price", {"symbol": symbol})
        ticker = reply.object()
        require_same(ticker.get("symbol"), symbol, reply.url)
        price = float(exact(ticker.get("price"), "the price", 0, None))
        return {"price": price, "at_ns": reply.at_ns, "source": reply.url} if price > 0 else None

    def history(self, query: Mapping[str, str | float], bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The closes of the latest bars, and the last price.

        The symbol is followed from here on, since forecasts of the questions about it will each need its price.
        """
        symbol = str(query["symbol"])
        self._watched.expect(symbol)
        names = {seconds: name for name, seconds in STEP_S.items()}
        if bar_s not in names:
            raise UsageError(f"binance has no bars of {bar_s} s; expected one of {', '.join(map(str, names))}")
        # Bars that began since are none of those wanted, however late the answer comes.
        parameters = {"endTime": now_ns // 10**6, "limit": count + LATE}
        reply = self._web.get("/api/v3/klines", {"symbol": symbol, "interval": names[bar_s], **parameters})
        rows = read_page(reply.body, symbol)
        times, _, values = block(rows, f"binance {symbol}") if len(rows) else (np.empty(0, "datetime64[ns]"), (), rows)
        ends = times.astype(np.int64) + bar_s * 10**9
        now_ns = min(reply.at_ns, now_ns)
        if not len(ends) or now_ns - int(ends[ends <= now_ns].max(initial=0)) > LATE * bar_s * 10**9:
            raise DataError(f"{reply.url}: it shows no complete bar of the last {LATE * bar_s} s")
        closes = values[ends <= now_ns, COLUMNS.index("close")].tolist()
        shown = self.now(query)
        if shown is None:
            raise DataError(f"{self._web.url}: it shows no price of {symbol}")
        return PriceHistory(latest(closes, count, reply.url), shown)

    def hours(self, query: Mapping[str, str | float]) -> str | None:  # noqa: ARG002
        """None: coins are traded always."""
        return None

    def close(self) -> None:
        """Close the connections, and follow no symbol any more."""
        self._watched.close()
        self._web.close()
