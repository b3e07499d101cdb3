"""Closing prices from Yahoo: of the first session that closes at or after a moment, as they were paid then."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from openfingym.data.sources.adjust import split_factors
from openfingym.data.sources.consistency import require_consistent
from openfingym.data.sources.wire import NotPublishedError
from openfingym.data.sources.yahoo import Yahoo, read_chart
from openfingym.errors import DataError, UsageError
from openfingym.questions.payouts import exact, instant_ns
from openfingym.questions.prices.shared_answers import SharedAnswers
from openfingym.questions.prices.venue import (
    SETTLES_NS,
    FinalPrice,
    NotYet,
    PriceHistory,
    calendar_of,
    latest,
    require_calendar,
)
from openfingym.questions.trading_days import last_to_close, next_to_close
from openfingym.questions.web import Web, WebReply, base_url, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question

_SYMBOL = re.compile(r"[A-Z0-9^][A-Z0-9.=^-]{0,19}")
HELD_S = 20.0
"""How long an answer about the past serves further questions, seconds."""
SHOWN_S = 5.0
"""How long the newest price does: many questions about a symbol come at once, and Yahoo allows few requests."""
DAY_S = 86_400
"""Seconds in a day."""
AROUND = timedelta(days=60)
"""How much of the time before a day is asked for with it, which serves questions about other days."""


class YahooPrices:
    """Yahoo's chart interface.

    Args:
        web: service to ask; None for the public one.
    """

    def __init__(self, web: Web | None = None) -> None:
        self.keys: Mapping[str, type] = {"calendar": str, "split_basis": str}
        self._web = web or Web(base_url("YAHOO", Yahoo.base_url), per_second=2.0)
        self._shown: SharedAnswers[Mapping[str, Any] | None] = SharedAnswers()
        self._held: dict[str, tuple[float, date, WebReply]] = {}

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.prices.venue.PriceVenue`."""
        if not _SYMBOL.fullmatch(str(question.query["symbol"])):
            raise UsageError(
                f"question {question.id}: symbol of its query is {str(question.query['symbol'])[:40]!r}; expected one "
                "as Yahoo writes it, such as AAPL or ^GSPC"
            )
        require_calendar(question)
        _split_basis(question.query, f"question {question.id}")

    def at(self, query: Mapping[str, str | float], moment_ns: int, now_ns: int) -> FinalPrice | NotYet:
        """The close of the session as it was paid: Yahoo's figure with the splits since undone.

        With ``split_basis``, an earlier day, splits since that day are undone, so that the price is in its shares.
        """
        symbol, session = str(query["symbol"]), next_to_close(calendar_of(query), moment_ns)
        # From the earlier of the two days on, so that the answer has every split that is to be undone.
        basis = _split_basis(query, symbol) or session.day
        reply, meta = self._history(symbol, min(session.day, basis))
        if min(reply.at_ns, now_ns) < session.closes_ns + SETTLES_NS:
            return NotYet(f"the session of {session.day} has not closed, or its close has not settled", reply.url)
        try:
            chart = read_chart(reply.body, symbol, "1d")
        except NotPublishedError as error:
            return NotYet(str(error), reply.url)
        times, columns, values = chart.block
        closes = values[:, columns.index("close")]
        # A split that Yahoo lists and has not applied would be undone all the same.
        require_consistent(symbol, closes, np.asarray(times), chart.actions, frequency="daily")
        of_day = closes[np.asarray(times).astype("datetime64[D]") == np.datetime64(session.day, "D")]
        close = float(of_day[0]) if of_day.size else math.nan
        if math.isnan(close):
            return NotYet(f"there is no close of {session.day}", reply.url)
        days = np.array([min(session.day, basis)], dtype="datetime64[D]")
        factor = float(split_factors(days, chart.actions)[0])
        shown = {
            "symbol": symbol,
            "rule": "close of the first session that ends then or later",
            "session": session.day.isoformat(),
            "close": close,
            "later_splits": factor,
            "split_basis": min(session.day, basis).isoformat(),
            "currency": chart.currency,
            "adjustment": "as paid for a share of that day: splits since are undone, dividends are not added",
            "exchange": str(meta.get("exchangeName"))[:40],
        }
        return FinalPrice(close * factor, session.opens_ns, session.closes_ns, reply.url, shown)

    def now(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        """The last price of the regular market, with its time."""
        symbol = str(query["symbol"])

        def ask() -> Mapping[str, Any] | None:
            return _newest(*self._chart(symbol, {"range": "1d"}))

        return self._shown.get(symbol, SHOWN_S, ask)

    def history(self, query: Mapping[str, str | float], bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The closes of the latest sessions that have settled, and the last price, from one answer."""
        symbol, calendar = str(query["symbol"]), calendar_of(query)
        if bar_s != DAY_S:
            raise UsageError(f"yahoo has closes of sessions here; expected bar_s = {DAY_S}, found {bar_s}")
        # Twice as many days as sessions are more than weekends and holidays take.
        since = datetime.fromtimestamp(now_ns // 10**9, UTC) - timedelta(days=2 * count) - AROUND
        until = now_ns // 10**9 + DAY_S
        period: dict[str, str | int] = {"period1": int(since.timestamp()), "period2": until, "events": "div,splits"}
        reply, meta = self._chart(symbol, period)
        last = last_to_close(calendar, min(reply.at_ns, now_ns) - SETTLES_NS).day
        chart = read_chart(reply.body, symbol, "1d", end=last)
        times, columns, values = chart.block
        if np.asarray(times)[-1].astype("datetime64[D]") != np.datetime64(last, "D"):
            raise DataError(f"{reply.url}: it shows no close of {last} yet; try again later")
        closes = values[:, columns.index("close")]
        shown = _newest(reply, meta)
        if shown is None:
            raise DataError(f"{reply.url}: it shows no price of {symbol}")
        # The price came along with the history, and serves the questions that follow.
        self._shown.get(symbol, SHOWN_S, lambda: shown)
        return PriceHistory(latest(closes[~np.isnan(closes)].tolist(), count, reply.url), shown, chart.currency)

    def hours(self, query: Mapping[str, str | float]) -> str | None:
        """Code of the exchange."""
        return calendar_of(query)

    def close(self) -> None:
        """Close the connections."""
        self._web.close()

    def _history(self, symbol: str, day: date) -> tuple[WebReply, Mapping[str, Any]]:
        """Yahoo's chart from some time before a day until now, and its metadata.

        Until now, since the prices served are divided by every split until today. One answer serves the questions about
        other days that come soon after.
        """
        asked_at, since, reply = self._held.get(symbol, (0.0, day, None))
        if reply is not None and since <= day and time.monotonic() - asked_at < HELD_S:
            return reply, _meta(reply, symbol)
        since = day - AROUND
        until = max(datetime.now(UTC).date(), day) + timedelta(days=1)
        first, last = (
            int(datetime(bound.year, bound.month, bound.day, tzinfo=UTC).timestamp()) for bound in (since, until)
        )
        reply, meta = self._chart(symbol, {"period1": first, "period2": last, "events": "div,splits"})
        # A day later than asked for: exchanges' days begin at other hours than those of UTC.
        self._held[symbol] = time.monotonic(), since + timedelta(days=1), reply
        return reply, meta

    def _chart(self, symbol: str, period: Mapping[str, str | int]) -> tuple[WebReply, Mapping[str, Any]]:
        path = f"/v8/finance/chart/{quote(symbol, safe='')}"
        reply = self._web.get(path, {**period, "interval": "1d", "includePrePost": "false"})
        return reply, _meta(reply, symbol)


def _newest(reply: WebReply, meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The newest price of a chart, as a reference; None where it shows none."""
    at_ns = instant_ns(meta.get("regularMarketTime"))
    if meta.get("regularMarketPrice") is None or at_ns is None:
        return None
    price = float(exact(meta["regularMarketPrice"], "regularMarketPrice", 0, None))
    return {"price": price, "at_ns": at_ns, "source": reply.url}


def _split_basis(query: Mapping[str, str | float], where: str) -> date | None:
    """The day in whose shares a price is wanted; None where the query names none."""
    stated = query.get("split_basis")
    if stated is None:
        return None
    try:
        return date.fromisoformat(str(stated))
    except ValueError:
        raise UsageError(f"{where}: split_basis is {str(stated)[:40]!r}; expected a day such as 2026-11-20") from None


def _meta(reply: WebReply, symbol: str) -> Mapping[str, Any]:
    """The metadata of a chart, which must be about the symbol."""
    try:
        meta: Mapping[str, Any] = reply.object()["chart"]["result"][0]["meta"]
        require_same(meta.get("symbol"), symbol, reply.url)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise DataError(f"{reply.url}: the answer has no chart of {symbol}") from None
    return meta
