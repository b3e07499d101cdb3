"""Accounts, positions, fills, assets and the clock of a local Alpaca venue."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from openfingym.market.sim.alpaca.calls import AlpacaCall, AlpacaRoute
from openfingym.market.sim.alpaca.funds import Funds, Position, funds, selling
from openfingym.market.sim.alpaca.hours import NEW_YORK, day_of, midnight
from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.alpaca.order_wire import activity_id, asset_class, asset_id, fill_row
from openfingym.market.sim.alpaca.orders import cancel_all, closing, listing_of, now_row
from openfingym.market.sim.alpaca.wire import is_crypto, missing, ratio, stamp, text, unique_id, unprocessable
from openfingym.market.sim.events import ATOMS, ListedPair
from openfingym.market.sim.server import StatusAnswer

LONGEST_CALENDAR = timedelta(days=3 * 366)
"""The longest span of days that one question may ask for."""


def _funds(ledger: AlpacaLedger, call: AlpacaCall) -> Funds:
    return funds(ledger, call.account, ledger.shown())


def _account(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    has = _funds(ledger, call)
    equity, zero = text(has.equity), "0"
    return {
        "id": unique_id("account", call.account),
        "account_number": f"SIM{unique_id('number', call.account)[:8].upper()}",
        "status": "ACTIVE",
        "crypto_status": "ACTIVE",
        "currency": "USD",
        "cash": text(has.cash),
        "equity": equity,
        "last_equity": equity,
        "portfolio_value": equity,
        "buying_power": text(has.buying_power),
        "regt_buying_power": text(has.buying_power),
        "non_marginable_buying_power": text(has.own),
        "options_buying_power": zero,
        "long_market_value": text(has.long),
        "short_market_value": text(has.short),
        "initial_margin": text((has.long - has.short) // has.multiplier),
        "maintenance_margin": text((has.long - has.short) * 3 // 10),
        "last_maintenance_margin": zero,
        "multiplier": str(has.multiplier),
        "sma": zero,
        "shorting_enabled": has.margin,
        "trading_blocked": False,
        "transfers_blocked": False,
        "account_blocked": False,
        "trade_suspended_by_user": False,
        "accrued_fees": zero,
        "balance_asof": day_of(ledger.exchange.now).isoformat(),
        "created_at": stamp(0),
    }


def _position_row(ledger: AlpacaLedger, call: AlpacaCall, position: Position) -> dict[str, Any]:
    listing = position.listing
    # Units that open orders to sell hold cannot be sold by another one.
    free = position.quantity - selling(ledger, call.account, listing) if position.quantity > 0 else position.quantity
    gain = position.value - position.basis
    return {
        "asset_id": asset_id(listing.symbol),
        "symbol": listing.symbol.replace("/", ""),
        "exchange": "CRYPTO" if is_crypto(listing.symbol) else "NASDAQ",
        "asset_class": asset_class(listing.symbol),
        "asset_marginable": not is_crypto(listing.symbol),
        "avg_entry_price": ratio(position.basis, position.quantity),
        "qty": text(position.quantity),
        "qty_available": text(free),
        "side": "long" if position.quantity > 0 else "short",
        "market_value": text(position.value),
        "cost_basis": text(position.basis),
        "unrealized_pl": text(gain),
        "unrealized_plpc": ratio(gain, abs(position.basis)),
        "unrealized_intraday_pl": text(gain),
        "unrealized_intraday_plpc": ratio(gain, abs(position.basis)),
        "current_price": text(position.price),
        "lastday_price": text(position.price),
        "change_today": "0",
    }


def _positions(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    return [_position_row(ledger, call, position) for position in _funds(ledger, call).positions.values()]


def _listed(ledger: AlpacaLedger, call: AlpacaCall, what: str) -> ListedPair:
    listing = listing_of(ledger, call.args["symbol"])
    if listing is None:
        raise missing(f"{what} {call.args['symbol'][:40]}")
    return listing


def _position(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    position = _funds(ledger, call).positions.get(_listed(ledger, call, "asset").symbol)
    if position is None:
        raise missing("position")
    return _position_row(ledger, call, position)


def _close(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    listing = _listed(ledger, call, "asset")
    position = funds(ledger, call.account, ledger.exchange.now).positions.get(listing.symbol)
    if position is None:
        raise missing("position")
    try:
        share = Decimal(call.params.get("percentage") or 100) / 100
        wanted = Decimal(call.params["qty"]) * ATOMS if call.params.get("qty") else abs(position.quantity) * share
    except InvalidOperation:
        raise unprocessable("qty or percentage is no number") from None
    if not wanted.is_finite() or not 0 < wanted <= abs(position.quantity):
        raise unprocessable("qty or percentage is not within the position")
    return now_row(ledger, _closing(ledger, call, position, int(wanted)))


def _closing(ledger: AlpacaLedger, call: AlpacaCall, position: Position, atoms: int) -> Any:
    lots = atoms // position.listing.unit  # fees may have left a part of a lot, which cannot be sold
    if not lots:
        raise unprocessable(f"qty is below the increment {position.listing.lot}")
    return closing(ledger, call.account, position.listing, lots, -1 if position.quantity > 0 else 1)


def _close_all(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    if call.params.get("cancel_orders") == "true":
        cancel_all(ledger, call.account)
    rows = []
    for position in funds(ledger, call.account, ledger.exchange.now).positions.values():
        if abs(position.quantity) >= position.listing.unit:
            body = now_row(ledger, _closing(ledger, call, position, abs(position.quantity)))
            rows.append({"symbol": position.listing.symbol.replace("/", ""), "status": 200, "body": body})
    return StatusAnswer(207, rows)


def _activities(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    kind = call.args.get("kind") or call.params.get("activity_types") or "FILL"
    if "FILL" not in kind.split(","):
        return []
    # Neither end is included: a day begins after the last nanosecond of the one before.
    after, until = call.time("after", -1), call.time("until", 2**62)
    if call.params.get("date"):
        day = call.day("date", date.min)
        after, until = midnight(day) - 1, midnight(day + timedelta(days=1))
    fills = [fill for fill in ledger.fills[call.account] if after < fill.time < until]
    if call.choice("direction", "desc", "asc") == "desc":
        fills.reverse()
    token = call.params.get("page_token")
    if token:
        place = next((number for number, fill in enumerate(fills, 1) if activity_id(fill) == token), None)
        if place is None:
            raise unprocessable("invalid page_token: expected the id of an activity")
        fills = fills[place:]
    return [fill_row(ledger, fill) for fill in fills[: call.integer("page_size", 100, 100)]]


def _asset_row(listing: ListedPair) -> dict[str, Any]:
    crypto = is_crypto(listing.symbol)
    row: dict[str, Any] = {
        "id": asset_id(listing.symbol),
        "class": asset_class(listing.symbol),
        "exchange": "CRYPTO" if crypto else "NASDAQ",
        "symbol": listing.symbol,
        "name": f"{listing.base}, simulated",
        "status": "active",
        "tradable": True,
        "marginable": not crypto,
        "maintenance_margin_requirement": 100 if crypto else 30,
        "shortable": not crypto,
        "easy_to_borrow": not crypto,
        "fractionable": listing.unit < ATOMS,
        "attributes": [],
    }
    if crypto:
        lot = text(listing.unit)
        row |= {"min_order_size": lot, "min_trade_increment": lot, "price_increment": f"{listing.tick.normalize():f}"}
    return row


def _assets(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    wanted = call.params.get("asset_class")
    rows = [_asset_row(listing) for listing in ledger.exchange.listings.values()]
    return [
        row for row in rows if wanted in {None, "", row["class"]} and call.params.get("status") in {None, "", "active"}
    ]


def _asset(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    return _asset_row(_listed(ledger, call, "asset"))


def _calendar(ledger: AlpacaLedger, call: AlpacaCall) -> Any:
    today = datetime.fromtimestamp(ledger.exchange.now // 10**9, NEW_YORK).date()
    first = call.day("start", today)
    last = call.day("end", first + timedelta(days=30))
    if last - first > LONGEST_CALENDAR:
        raise unprocessable("invalid end: expected at most three years after start")
    return ledger.hours.calendar(first, last)


ACCOUNT_ROUTES = (
    AlpacaRoute("GET", "/v2/account", _account),
    AlpacaRoute("GET", "/v2/account/activities", _activities),
    AlpacaRoute("GET", "/v2/account/activities/{kind}", _activities),
    AlpacaRoute("GET", "/v2/positions", _positions),
    AlpacaRoute("DELETE", "/v2/positions", _close_all, placing=True),
    AlpacaRoute("GET", "/v2/positions/{symbol:.+}", _position),
    AlpacaRoute("DELETE", "/v2/positions/{symbol:.+}", _close, placing=True),
    AlpacaRoute("GET", "/v2/assets", _assets),
    AlpacaRoute("GET", "/v2/assets/{symbol:.+}", _asset),
    AlpacaRoute("GET", "/v2/clock", lambda ledger, _: ledger.hours.clock(ledger.now)),
    AlpacaRoute("GET", "/v2/calendar", _calendar),
)
