"""Prices of stocks and coins from Alpaca: the close of a minute, or of a session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, UsageError
from openfingym.market.feeds.reading import rfc3339
from openfingym.market.keys import Keys
from openfingym.questions.payouts import exact
from openfingym.questions.prices.shared_answers import SharedAnswers
from openfingym.questions.prices.venue import (
    MINUTE_NS,
    SETTLES_NS,
    FinalPrice,
    NotYet,
    PriceHistory,
    calendar_of,
    interval_of,
    latest,
    require_calendar,
)
from openfingym.questions.question import utc_text
from openfingym.questions.trading_days import next_to_close
from openfingym.questions.web import Web, base_url

if TYPE_CHECKING:
    from openfingym.questions.question import Question

DATA = "https://data.alpaca.markets"
STEPS = {"1m": 60, "1d": 86400}
"""Lengths of bars that a query may name, in seconds."""
FRAMES = {60: "1Min", 3600: "1Hour", 86_400: "1Day"}
"""Alpaca's names of bars by their length in seconds."""
LATE = 3
"""How many bars more than needed are asked for, since the newest are not complete."""
SHOWN_S = 5.0
"""How long the newest price serves further questions, seconds."""
_NAMES = {"1m": "1Min", "1d": "1Day"}
"""Alpaca's names of bars by the names that a query uses."""
_RULES = {
    "1m": "close of the first minute of regular hours that ends later and has trades",
    "1d": "close of the first session that ends then or later",
}
_SYMBOL = re.compile(r"[A-Z0-9.]{1,12}(/[A-Z0-9]{2,8})?")
_LATE_NS = 16 * MINUTE_NS
"""How long after a minute its bar may still change: after 15 minutes every account sees it, with late trades."""


class AlpacaPrices:
    """Alpaca's market data; a symbol with a slash is a coin, any other a stock.

    Args:
        web: service to ask, with keys in its headers; None for the public one, with the keys of the environment.
    """

    def __init__(self, web: Web | None = None) -> None:
        self.keys: Mapping[str, type] = {"interval": str, "calendar": str, "feed": str}
        self._given = web
        self._own: Web | None = None
        self._shown: SharedAnswers[Mapping[str, Any] | None] = SharedAnswers()

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.prices.venue.PriceVenue`."""
        query, where = question.query, f"question {question.id}"
        symbol = str(query["symbol"])
        if not _SYMBOL.fullmatch(symbol):
            raise UsageError(f"{where}: symbol of its query is {symbol[:40]!r}; expected one such as AAPL or BTC/USD")
        interval, _ = interval_of(query, "1m", STEPS)
        if _is_coin(symbol) and (interval != "1m" or "calendar" in query or "feed" in query):
            raise UsageError(f"{where}: a coin trades always; expected no calendar, no feed, and the interval 1m")
        if not _is_coin(symbol):
            require_calendar(question)

    def at(self, query: Mapping[str, str | float], moment_ns: int, now_ns: int) -> FinalPrice | NotYet:
        """The close of the first minute with trades, from the minute in which the moment falls.

        For a stock, only minutes of regular hours count. With the interval ``1d``, it is the close of the first session
        that closes at or after the moment.
        """
        symbol, (interval, step) = str(query["symbol"]), interval_of(query, "1m", STEPS)
        begins, ends, late = moment_ns // MINUTE_NS * MINUTE_NS, 0, _LATE_NS
        if not _is_coin(symbol):
            session = next_to_close(calendar_of(query), moment_ns, after=interval == "1m")
            begins, ends = max(begins, session.opens_ns), session.closes_ns
            if interval == "1d":
                # A day's bar is stamped with its midnight in New York.
                begins, late = session.opens_ns - 12 * 60 * MINUTE_NS, SETTLES_NS
        parameters: dict[str, str | int] = {
            "symbols": symbol,
            "timeframe": _NAMES[interval],
            "start": utc_text(begins),
            "limit": 500,
            "sort": "asc",
        }
        if not _is_coin(symbol):
            # IEX is the feed that free accounts have.
            parameters |= {"adjustment": "raw", "feed": str(query.get("feed", "iex"))}
            parameters |= {"end": utc_text(ends)}
        reply = self._web().get(f"{_path(symbol)}/bars", parameters)
        for bar in _part_about(reply.object().get("bars"), symbol, reply.url, list):
            opens = rfc3339(str(bar["t"]))
            if opens < begins:
                raise DataError(f"{reply.url}: a bar of {bar['t']} is older than what was asked for")
            # A coin's bar without trades is made of quotes; the bar at the close is not of regular hours.
            if not bar.get("n") or (interval == "1m" and ends and opens >= ends):
                continue
            final = ends if interval == "1d" else opens + step
            if final + late > min(reply.at_ns, now_ns):
                return NotYet("the bar of that time may still change", reply.url)
            shown = {
                "symbol": symbol,
                "interval": interval,
                "rule": _RULES[interval],
                "adjustment": "raw",
                **{key: bar.get(key) for key in "tohlcvn"},
            }
            value = float(exact(bar.get("c"), "a close", 0, None))
            return FinalPrice(value, max(opens, begins), final, reply.url, shown)
        return NotYet("there is no bar with trades of that time yet", reply.url)

    def now(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        """The last trade's price, with its time."""
        return self._shown.get(tuple(sorted(query.items())), SHOWN_S, lambda: self._last_trade(query))

    def _last_trade(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        symbol = str(query["symbol"])
        parameters = {"symbols": symbol}
        if not _is_coin(symbol):
            parameters["feed"] = str(query.get("feed", "iex"))
        latest = "/latest/trades" if _is_coin(symbol) else "/trades/latest"
        reply = self._web().get(f"{_path(symbol)}{latest}", parameters)
        trade = _part_about(reply.object().get("trades"), symbol, reply.url, dict)
        if not trade:
            return None
        price = float(exact(trade.get("p"), "the price", 0, None))
        return {"price": price, "at_ns": rfc3339(str(trade["t"])), "source": reply.url}

    def history(self, query: Mapping[str, str | float], bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The closes of the latest bars, and the last trade's price."""
        symbol, coin = str(query["symbol"]), _is_coin(str(query["symbol"]))
        if bar_s not in FRAMES:
            raise UsageError(f"alpaca has bars of {', '.join(map(str, FRAMES))} s here; found {bar_s}")
        # Days back that surely hold so many bars, whatever weekends, holidays and closed hours there are.
        days = 10 + 4 * count * bar_s // 86_400 + (0 if coin else count * bar_s // 10_000)
        parameters: dict[str, str | int] = {
            "symbols": symbol,
            "timeframe": FRAMES[bar_s],
            "start": utc_text((now_ns // 10**9 - days * 86_400) * 10**9),
            "limit": count + LATE,
            "sort": "desc",
        }
        if not coin:
            parameters |= {"adjustment": "split", "feed": str(query.get("feed", "iex"))}
        reply = self._web().get(f"{_path(symbol)}/bars", parameters)
        now_ns, closes = min(reply.at_ns, now_ns), []
        # The newest first was asked for, so that the limit cuts off the oldest.
        for bar in reversed(_part_about(reply.object().get("bars"), symbol, reply.url, list)):
            opens = rfc3339(str(bar["t"]))
            ends = opens + bar_s * 10**9
            if not coin and bar_s == 86_400:
                ends = next_to_close(calendar_of(query), opens).closes_ns + SETTLES_NS
            if bar.get("n") and ends <= now_ns:
                closes.append(float(exact(bar.get("c"), "a close", 0, None)))
        shown = self.now(query)
        if shown is None:
            raise DataError(f"{reply.url}: it shows no price of {symbol}")
        return PriceHistory(latest(closes, count, reply.url), shown)

    def hours(self, query: Mapping[str, str | float]) -> str | None:
        """Code of the stock's exchange; None for a coin, which is traded always."""
        return None if _is_coin(str(query["symbol"])) else calendar_of(query)

    def close(self) -> None:
        """Close the connections."""
        for web in (self._given, self._own):
            if web is not None:
                web.close()

    def _web(self) -> Web:
        """The service, whose keys are looked up when it is first asked: checking a question needs none."""
        if self._given is not None:
            return self._given
        if self._own is None:
            keys = Keys.of("alpaca")
            headers = {"APCA-API-KEY-ID": keys.key, "APCA-API-SECRET-KEY": keys.secret}
            self._own = Web(base_url("ALPACA", DATA), per_second=3.0, headers=headers)
        return self._own


def _is_coin(symbol: str) -> bool:
    return "/" in symbol


def _path(symbol: str) -> str:
    return "/v1beta3/crypto/us" if _is_coin(symbol) else "/v2/stocks"


def _part_about(by_symbol: Any, symbol: str, url: str, kind: type) -> Any:
    """The part of an answer that is about a symbol; an empty one where the answer leaves it out.

    Args:
        by_symbol: the answer's object of parts by symbol.
        symbol: the symbol that was asked for.
        url: address that was asked, for messages.
        kind: type of the part, list or dict.

    Raises:
        DataError: the answer is about another symbol, or is not of this form.
    """
    if by_symbol is None:
        return kind()
    part = by_symbol.get(symbol, kind()) if isinstance(by_symbol, dict) else None
    if not isinstance(part, kind) or not set(by_symbol) <= {symbol}:
        raise DataError(f"{url}: the answer is not about {symbol} alone")
    return part
