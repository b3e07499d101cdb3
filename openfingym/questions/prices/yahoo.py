"""Closing prices from Yahoo: of the first session that closes at or after a moment, as they were paid."""

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
from openfingym.data.sources.wire import NotPublishedError
from openfingym.data.sources.yahoo import Yahoo, read_chart
from openfingym.errors import DataError, UsageError
from openfingym.questions.payouts import exact, instant_ns
from openfingym.questions.prices.venue import SETTLES_NS, FinalPrice, NotYet, calendar_of, require_calendar
from openfingym.questions.trading_days import next_to_close
from openfingym.questions.web import Web, WebReply, base_url, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question

_SYMBOL = re.compile(r"[A-Z0-9^][A-Z0-9.=^-]{0,19}")
HELD_S = 20.0
"""How long an answer serves further questions."""
AROUND = timedelta(days=60)
"""How much of the time before a day is asked for with it."""


class YahooPrices:
    """Yahoo's chart interface.

    Args:
        web: where it is; None for the public one.
    """

    def __init__(self, web: Web | None = None) -> None:
        self.keys: Mapping[str, type] = {"calendar": str}
        self._web = web or Web(base_url("YAHOO", Yahoo.base_url), per_second=2.0)
        self._held: dict[str, tuple[float, date, WebReply]] = {}

    def check(self, question: Question) -> None:
        """See :class:`~openfingym.questions.prices.venue.PriceVenue`."""
        if not _SYMBOL.fullmatch(str(question.query["symbol"])):
            raise UsageError(
                f"question {question.id}: symbol of its query is {str(question.query['symbol'])[:40]!r}; expected one "
                "as Yahoo writes it, such as AAPL or ^GSPC"
            )
        require_calendar(question)

    def at(self, query: Mapping[str, str | float], moment_ns: int, now_ns: int) -> FinalPrice | NotYet:
        """The close of the session, with later splits undone."""
        symbol, session = str(query["symbol"]), next_to_close(calendar_of(query), moment_ns)
        reply, meta = self._history(symbol, session.day)
        if min(reply.at_ns, now_ns) < session.closes_ns + SETTLES_NS:
            return NotYet(f"the session of {session.day} has not closed, or its close has not settled", reply.url)
        try:
            chart = read_chart(reply.body, symbol, "1d", start=session.day, end=session.day)
        except NotPublishedError as error:
            return NotYet(str(error), reply.url)
        times, columns, values = chart.block
        close = float(values[0, columns.index("close")])
        if math.isnan(close):
            return NotYet(f"there is no close of {session.day}", reply.url)
        factor = float(split_factors(np.asarray(times), chart.actions)[0])
        shown = {
            "symbol": symbol,
            "rule": "close of the first session that ends then or later",
            "session": session.day.isoformat(),
            "close": close,
            "later_splits": factor,
            "currency": chart.currency,
            "adjustment": "as paid on the day: splits since are undone, dividends are not added",
            "exchange": str(meta.get("exchangeName"))[:40],
        }
        return FinalPrice(close * factor, session.opens_ns, session.closes_ns, reply.url, shown)

    def now(self, query: Mapping[str, str | float]) -> Mapping[str, Any] | None:
        """The last price of the regular market, with its time."""
        symbol = str(query["symbol"])
        reply, meta = self._chart(symbol, {"range": "1d"})
        at_ns = instant_ns(meta.get("regularMarketTime"))
        if meta.get("regularMarketPrice") is None or at_ns is None:
            return None
        return {
            "price": float(exact(meta["regularMarketPrice"], "regularMarketPrice", 0, None)),
            "at_ns": at_ns,
            "source": reply.url,
        }

    def close(self) -> None:
        """Let go of connections."""
        self._web.close()

    def _history(self, symbol: str, day: date) -> tuple[WebReply, Mapping[str, Any]]:
        """The days around one, until now: what is served is divided by every split that came after. One answer serves
        the questions of a while about other days.
        """
        asked_at, since, reply = self._held.get(symbol, (0.0, day, None))
        if reply is not None and since <= day and time.monotonic() - asked_at < HELD_S:
            return reply, _meta(reply, symbol)
        since = day - AROUND
        until = max(datetime.now(UTC).date(), day) + timedelta(days=1)
        first, last = (int(datetime(one.year, one.month, one.day, tzinfo=UTC).timestamp()) for one in (since, until))
        reply, meta = self._chart(symbol, {"period1": first, "period2": last, "events": "div,splits"})
        self._held[symbol] = time.monotonic(), since + timedelta(days=1), reply
        return reply, meta

    def _chart(self, symbol: str, period: Mapping[str, str | int]) -> tuple[WebReply, Mapping[str, Any]]:
        path = f"/v8/finance/chart/{quote(symbol, safe='')}"
        reply = self._web.get(path, {**period, "interval": "1d", "includePrePost": "false"})
        return reply, _meta(reply, symbol)


def _meta(reply: WebReply, symbol: str) -> Mapping[str, Any]:
    try:
        meta: Mapping[str, Any] = reply.object()["chart"]["result"][0]["meta"]
        require_same(meta.get("symbol"), symbol, reply.url)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise DataError(f"{reply.url}: the answer has no chart of {symbol}") from None
    return meta
