"""The JSON shapes of Alpaca's orders, fills and order events."""

from __future__ import annotations

from typing import Any

from openfingym.market.sim.alpaca import wire
from openfingym.market.sim.alpaca.ledger import AlpacaLedger, order_id
from openfingym.market.sim.alpaca.wire import is_crypto, stamp, text, unique_id
from openfingym.market.sim.events import ExchangeExecution, ExchangeOrder, ListedPair


def asset_id(symbol: str) -> str:
    """The id of an asset."""
    return unique_id("asset", symbol)


def asset_class(symbol: str) -> str:
    """``crypto`` or ``us_equity``."""
    return "crypto" if is_crypto(symbol) else "us_equity"


def price_text(listing: ListedPair, ticks: int | None) -> str | None:
    """A price; None where there is none."""
    return None if ticks is None else text(wire.price_atoms(listing, ticks))


def status(ledger: AlpacaLedger, order: ExchangeOrder, at: str) -> str:
    """Alpaca's name of an order's status.

    Args:
        ledger: the records of the venue.
        order: the order whose status it is.
        at: its status by the exchange's name, at the time that is shown.
    """
    if at == "canceled" and ledger.terms_of(order).replaced_by is not None:
        return "replaced"
    if at == "expired" and order.time_in_force != "GTC":
        return "canceled"  # the rest of an order that must fill at once
    return at


def order_row(
    ledger: AlpacaLedger, order: ExchangeOrder, event: ExchangeExecution | None = None, *, waiting: bool = False
) -> dict[str, Any]:
    """An order as it stood at an event, or as it stands now.

    Args:
        ledger: the records of the venue.
        order: the order to show.
        event: the event whose state is shown; None for the present state.
        waiting: whether it waits for its market to open, so that it is accepted, and not new yet.
    """
    listing, terms = ledger.exchange.listings[order.symbol], ledger.terms_of(order)
    at, filled, cost, time = (
        (order.status, order.filled, order.cost, order.updated)
        if event is None
        else (event.status, event.filled, event.cost, event.time)
    )
    shown = "accepted" if waiting and at == "new" else status(ledger, order, at)
    ended = {name: stamp(time) if shown == name else None for name in ("filled", "canceled", "expired", "replaced")}
    kind = order.kind if order.kind in {"market", "limit", "stop", "stop_limit"} else "limit"
    return {
        "id": order_id(order),
        "client_order_id": order.client_id,
        "created_at": stamp(order.time),
        "updated_at": stamp(time),
        "submitted_at": stamp(order.time),
        "filled_at": ended["filled"],
        "expired_at": ended["expired"],
        "cancel_requested_at": None,
        "canceled_at": ended["canceled"],
        "failed_at": stamp(time) if shown == "rejected" else None,
        "replaced_at": ended["replaced"],
        "replaced_by": terms.replaced_by if shown == "replaced" else None,
        "replaces": terms.replaces,
        "asset_id": asset_id(order.symbol),
        "symbol": order.symbol,
        "asset_class": asset_class(order.symbol),
        "notional": None if terms.notional is None else text(terms.notional),
        "qty": text(order.quantity * listing.unit) if terms.notional is None else None,
        "filled_qty": text(filled * listing.unit),
        "filled_avg_price": wire.ratio(cost, filled * listing.unit) if filled else None,
        "order_class": "",
        "order_type": kind,
        "type": kind,
        "side": "buy" if order.side > 0 else "sell",
        "time_in_force": terms.time_in_force,
        "limit_price": price_text(listing, order.price),
        "stop_price": price_text(listing, order.stop),
        "status": shown,
        "extended_hours": terms.extended,
        "legs": None,
        "trail_percent": None,
        "trail_price": None,
        "hwm": None,
        "subtag": None,
        "source": None,
    }


def fill_row(ledger: AlpacaLedger, fill: ExchangeExecution) -> dict[str, Any]:
    """A row of ``/v2/account/activities/FILL``."""
    listing, order = ledger.exchange.listings[fill.symbol], fill.order
    return {
        "activity_type": "FILL",
        "id": activity_id(fill),
        "account_id": unique_id("account", fill.account),
        "type": "fill" if fill.status == "filled" else "partial_fill",
        "symbol": fill.symbol,
        "side": "buy" if order.side > 0 else "sell",
        "qty": text(fill.quantity * listing.unit),
        "price": text(wire.price_atoms(listing, fill.price)),
        "cum_qty": text(fill.filled * listing.unit),
        "leaves_qty": text((order.quantity - fill.filled) * listing.unit),
        "order_id": order_id(order),
        "order_status": fill.status,
        "transaction_time": stamp(fill.time),
    }


def activity_id(fill: ExchangeExecution) -> str:
    """The id of a fill among the account's activities: its time, and an id other than the stream's, since nothing
    promises that they are the same at the real venue.
    """
    digits = "".join(letter for letter in stamp(fill.time - fill.time % 10**6) if letter.isdigit())
    return f"{digits.ljust(17, '0')}::{unique_id('activity', fill.id)}"


def update(ledger: AlpacaLedger, event: ExchangeExecution, *, waiting: bool) -> dict[str, Any] | None:
    """A message of ``trade_updates``; None for an event that Alpaca does not report.

    Args:
        ledger: the records of the venue.
        event: the event to report.
        waiting: whether the order waits for its market to open.
    """
    listing, order = ledger.exchange.listings[event.symbol], event.order
    row = order_row(ledger, order, event, waiting=waiting)
    data: dict[str, Any] = {
        "event": row["status"],
        "execution_id": unique_id("execution", event.id),
        "order": row,
        "timestamp": stamp(event.time),
    }
    if event.kind == "trade":
        data |= {
            "event": "fill" if event.status == "filled" else "partial_fill",
            "price": text(wire.price_atoms(listing, event.price)),
            "qty": text(event.quantity * listing.unit),
            "position_qty": text(ledger.after[event.id]),
        }
    elif event.kind not in {"new", "canceled", "expired", "rejected"}:
        return None
    return {"stream": "trade_updates", "data": data}
