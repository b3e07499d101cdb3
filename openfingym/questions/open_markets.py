"""Markets of Polymarket that are open now and end within a time, with what they show, from Gamma's list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, UsageError
from openfingym.questions.payouts import listed
from openfingym.questions.providers.polymarket import GAMMA
from openfingym.questions.question import DAY_NS, moment_ns, utc_text
from openfingym.questions.web import Web, base_url

if TYPE_CHECKING:
    from openfingym.questions.web import WebReply

PAGE, MOST_PAGES = 100, 20
"""Number of markets on a page of the list, and the most pages that are asked for."""
SOONEST_NS = 2 * 10**9
"""How much later than the deadline for answers a market must end, nanoseconds."""


@dataclass(frozen=True)
class OpenMarket:
    """A market of two outcomes that takes orders."""

    market: str
    """Gamma's number of the market."""
    outcome: str
    """The outcome that is asked about, the first that the market names."""
    text: str
    """The question in words."""
    rules: str
    """How the market is resolved, in its own words."""
    ends_ns: int
    """When the market ends, nanoseconds since the epoch."""
    known: Mapping[str, float]
    """What the market shows: ``price``, ``bid`` and ``ask`` of that outcome, ``change_1d`` and ``change_1w`` of its
    price, ``volume_24h`` in dollars, and ``days`` to its end."""


def open_markets(count: int, now_ns: int, after_ns: int, before_ns: int) -> list[OpenMarket]:
    """The markets with the largest volume among those that end within a time.

    Args:
        count: number of markets wanted.
        now_ns: the time of asking, in nanoseconds since the epoch.
        after_ns: time until which answers are taken, after which the markets must end.
        before_ns: latest time at which they may end.

    Raises:
        DataError: there are fewer, or the answer is no list of markets.
        VenueError: Polymarket cannot be asked.
    """
    # By their numbers, since a market may move to the next page while the pages are read.
    markets: dict[str, OpenMarket] = {}
    with closing(Web(base_url("POLYMARKET", GAMMA))) as web:
        for page in range(MOST_PAGES):
            query: dict[str, str | int] = {
                "closed": "false",
                "active": "true",
                "end_date_min": utc_text(after_ns // 10**9 * 10**9),
                "end_date_max": utc_text(before_ns // 10**9 * 10**9),
                "order": "volume24hr",
                "ascending": "false",
                "limit": PAGE,
                "offset": page * PAGE,
            }
            rows = _rows(web.get("/markets", query))
            for market in _usable(rows, now_ns, after_ns + SOONEST_NS, before_ns):
                markets.setdefault(market.market, market)
            if len(markets) >= count or len(rows) < PAGE:
                break
    if len(markets) < count:
        raise DataError(
            f"Polymarket shows {len(markets)} open markets of two outcomes with a price that end between "
            f"{utc_text(after_ns)} and {utc_text(before_ns)}, expected {count}; try again later"
        )
    return list(markets.values())[:count]


def _rows(reply: WebReply) -> list[dict[str, Any]]:
    rows = reply.json()
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{reply.url}: the answer is no list of markets")
    return rows


def _usable(rows: list[dict[str, Any]], now_ns: int, after_ns: int, before_ns: int) -> Iterator[OpenMarket]:
    """The markets of a list that can be asked about."""
    for row in rows:
        # Strangers make the markets, so a row may hold anything; one that cannot be read is none to ask about.
        try:
            market = _market(row, now_ns)
        except (DataError, UsageError, TypeError, ValueError, KeyError):
            continue
        if market is not None and after_ns < market.ends_ns <= before_ns:
            yield market


def _market(row: Mapping[str, Any], now_ns: int) -> OpenMarket | None:
    """A row of the list as a market; None where it takes no orders, shows no price, or has other than two outcomes."""
    labels = listed(row.get("outcomes"), "outcomes")
    if row.get("closed") is not False or row.get("acceptingOrders") is False or len(labels) != 2:
        return None
    if not str(row.get("conditionId") or "").startswith("0x") or not str(row["id"]).isdecimal():
        return None
    bid, ask = float(row["bestBid"]), float(row["bestAsk"])
    if not 0.0 < bid <= ask < 1.0:
        return None
    ends_ns = moment_ns(str(row["endDate"]))
    known = {
        "price": (bid + ask) / 2.0,
        "bid": bid,
        "ask": ask,
        "change_1d": float(row.get("oneDayPriceChange") or 0.0),
        "change_1w": float(row.get("oneWeekPriceChange") or 0.0),
        "volume_24h": float(row.get("volume24hr") or 0.0),
        "days": (ends_ns - now_ns) / DAY_NS,
    }
    if not all(map(math.isfinite, known.values())):
        return None
    if not str(row["question"]).strip():
        return None
    text = f"{row['question']} (the probability of {labels[0]!r})"
    return OpenMarket(str(row["id"]), str(labels[0]), text, str(row.get("description") or ""), ends_ns, known)
