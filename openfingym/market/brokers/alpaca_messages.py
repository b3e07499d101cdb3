"""Alpaca's messages turned into reports: orders, events of the stream, fills, refusals and assets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from openfingym.headers import retry_after_s
from openfingym.market.brokers.broker import BrokerAnswer, BrokerRefusal, plain
from openfingym.market.brokers.reports import (
    ZERO,
    BrokerExecution,
    Bust,
    Instrument,
    OrderReport,
    OrderState,
    Report,
    ReportSource,
)
from openfingym.market.brokers.wire import protocol
from openfingym.market.commands import Instant
from openfingym.market.ticks import SECOND
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

_STATES = {
    "pending_new": OrderState.PENDING,
    "pending_review": OrderState.PENDING,
    "held": OrderState.PENDING,
    "accepted_for_bidding": OrderState.PENDING,
    "filled": OrderState.FILLED,
    "canceled": OrderState.CANCELLED,
    "expired": OrderState.EXPIRED,
    "rejected": OrderState.REJECTED,
    "replaced": OrderState.REPLACED,
}
"""States by the venue's names; any other one is open: ``done_for_day`` may trade again tomorrow."""
TYPES = {
    "market": OrderType.MARKET,
    "limit": OrderType.LIMIT,
    "stop": OrderType.STOP,
    "stop_limit": OrderType.STOP_LIMIT,
}
"""Types of orders by the venue's names."""
# The venue gives reasons in words alone; the first pattern that is found in them counts.
_REASONS = (
    (r"buying power|insufficient balance|insufficient cash", Reason.INSUFFICIENT_CASH),
    (r"insufficient qty|short", Reason.SHORT_CAP),
    (r"increment|sub-penny|decimal", Reason.OFF_TICK),
    (r"price", Reason.BAD_PRICE),
    (r"qty|quantity|notional|fractional", Reason.BAD_QUANTITY),
    (r"symbol|asset", Reason.UNKNOWN_SYMBOL),
)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


def order_report(order: dict[str, Any], symbol: Callable[[str], str]) -> OrderReport:
    """The report in an order as answers and the stream state it.

    Args:
        order: the order, as JSON has it.
        symbol: gives our name of a symbol.
    """
    with protocol("alpaca"):
        filled = Decimal(order["filled_qty"])
        average = _decimal(order.get("filled_avg_price"))
        state = _STATES.get(order["status"], OrderState.OPEN)
        return OrderReport(
            order["id"],
            order["client_order_id"] or "",
            symbol(order["symbol"]),
            Side.BUY if order["side"] == "buy" else Side.SELL,
            _decimal(order["qty"]) or ZERO,
            filled,
            filled * average if average is not None else None,
            state,
            TYPES.get(order["type"], OrderType.MARKET),
            TimeInForce.IOC if order["time_in_force"] in {"ioc", "fok"} else TimeInForce.GTC,
            _decimal(order.get("limit_price")),
            _decimal(order.get("stop_price")),
            Reason.VENUE_REFUSED if state is OrderState.REJECTED else Reason.NONE,
        )


def update(data: dict[str, Any], symbol: Callable[[str], str]) -> list[Report]:
    """The reports in a message of ``trade_updates``, a fill before its order."""
    order = order_report(data["order"], symbol)
    event = data["event"]
    reports: list[Report] = [order]
    if event in {"fill", "partial_fill", "trade_correct"}:
        quantity = Decimal(data["qty"])
        execution = BrokerExecution(
            order.order_id,
            data["execution_id"],
            order.symbol,
            order.side,
            quantity,
            Decimal(data["price"]),
            nanoseconds(data["timestamp"]),
            ReportSource.STREAM,
            slot=_slot(order.filled, quantity),
            client_id=order.client_id,
            position=_decimal(data.get("position_qty")),
            corrects=data.get("previous_execution_id") or "" if event == "trade_correct" else "",
        )
        # First the fill, then the order that includes it: so the price of the fill does not have to be estimated.
        reports.insert(0, execution)
    elif event == "trade_bust":
        reports.insert(
            0, Bust(order.order_id, data.get("previous_execution_id") or data["execution_id"], ReportSource.STREAM)
        )
    return reports


def activity(fill: dict[str, Any], symbol: Callable[[str], str]) -> BrokerExecution:
    """The report of a fill as the account's activities state it."""
    return BrokerExecution(
        fill["order_id"],
        fill["id"].rpartition("::")[2],
        symbol(fill["symbol"]),
        Side.BUY if fill["side"] == "buy" else Side.SELL,
        Decimal(fill["qty"]),
        Decimal(fill["price"]),
        nanoseconds(fill["transaction_time"]),
        ReportSource.ACTIVITY,
        slot=_slot(Decimal(fill["cum_qty"]), Decimal(fill["qty"])),
    )


def refusal(answer: BrokerAnswer, at: Instant) -> BrokerRefusal | None:
    """The meaning of an answer that refuses a request; None for one that does not."""
    if answer.good:
        return None
    text = _message(answer)
    status = answer.status
    if status == 401:
        return BrokerRefusal(text, Reason.VENUE_REFUSED, fatal=True)
    if status == 404:
        return BrokerRefusal(text, Reason.UNKNOWN_ORDER, missing=True)
    if status == 429:
        return BrokerRefusal(text, Reason.VENUE_AWAY, wait_s=_wait(answer, at))
    # Without a clear answer the request may have had its effect. So may one whose id is taken: it may be our own that
    # came twice.
    if status == 0 or status >= 500 or status in {408, 409}:
        return BrokerRefusal(text or "no answer", Reason.VENUE_AWAY, certain=False)
    if "client_order_id must be unique" in text:
        return BrokerRefusal(text, Reason.DUPLICATE_ID, certain=False)
    reason = next((reason for words, reason in _REASONS if re.search(words, text, re.I)), Reason.VENUE_REFUSED)
    return BrokerRefusal(text, reason)


def instrument(asset: dict[str, Any]) -> Instrument:
    """An instrument from an answer of ``/v2/assets/{symbol}``. A share that is not fractionable trades in whole ones.

    Raises:
        FeedError: the answer is not of the venue's protocol.
    """
    with protocol("alpaca"):
        symbol = asset["symbol"]
        if asset.get("class", asset.get("asset_class")) == "crypto":
            return Instrument(
                symbol,
                symbol.replace("/", ""),
                "USD",
                _decimal(asset.get("price_increment")) or ZERO,
                _decimal(asset.get("min_trade_increment")) or ZERO,
                _decimal(asset.get("min_order_size")) or ZERO,
            )
        step = Decimal("1e-9") if asset.get("fractionable") else Decimal(1)
        return Instrument(symbol, symbol, "USD", Decimal("0.01"), step)


def nanoseconds(stamp: str) -> int:
    """Nanoseconds since the epoch of a time as RFC 3339 writes it, with up to nine decimals.

    Raises:
        ValueError: the text is no such time.
    """
    match = _STAMP.fullmatch(stamp)
    if match is None:
        raise ValueError(f"{stamp!r} is no time")
    whole = datetime.fromisoformat(match[1] + match[3])
    return int(whole.timestamp()) * SECOND + int((match[2] or "0").ljust(9, "0"))


def _slot(cumulative: Decimal, quantity: Decimal) -> str:
    """A name of a fill that is the same in every source, since the stream and the activities may give it other ids: the
    quantity of the order that is filled after it, and its own.
    """
    return f"{plain(cumulative)}/{plain(quantity)}"


def _decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _wait(answer: BrokerAnswer, at: Instant) -> float:
    """Seconds to wait, by whichever header states it. A time of the day is compared with our wall clock, which may be
    wrong: so it counts for a minute at most.
    """
    stated = retry_after_s(answer.headers)
    if stated is not None:
        return stated
    reset = answer.headers.get("x-ratelimit-reset", "")
    return min(max(int(reset) - at.wall / SECOND, 1.0), 60.0) if reset.isdecimal() else 5.0


def _message(answer: BrokerAnswer) -> str:
    try:
        return str(json.loads(answer.body)["message"])[:300]
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status}" if answer.status else ""
