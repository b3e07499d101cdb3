"""The decisions of an agent in one step, and their form as JSON.

::

    null                                         hold
    {"weights": [0.5, 0.5, 0.0]}                 target shares of equity, traded at the next open
    {"orders": [{"symbol": "aapl", "side": "buy", "quantity": 10, "type": "stop-limit", "limit_price": 51.0,
                 "stop_price": 50.5, "time_in_force": "gtc", "client_id": "a1", "oco": "exit"}],
     "cancels": [3], "replaces": [{"order": 4, "quantity": 5}]}

Cancels come first, then replacements, then orders. ``symbol`` is a name or a position; ``type`` is
``market`` and ``time_in_force`` ``gtc`` where left out. Two orders of an action with the same ``oco``, a name, are a
pair, of which one cancels the other (:mod:`openfingym.trading.pairs`). What has another form is refused; what a
market would refuse, such as an unknown symbol or a quantity of zero, is a rejection in the next
observation. Null in the place of an order stands for one without the form of an order, such as a row
of a table with a type that does not exist: the market rejects it as malformed, and it alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from openfingym.errors import SubmissionError
from openfingym.trading.executor import Executor
from openfingym.trading.orders import (
    MOST,
    Order,
    OrderType,
    Side,
    TimeInForce,
    malformed_order,
    number,
    order_number,
    well_formed,
)
from openfingym.trading.rules import WEIGHT_TOLERANCE

ORDER_KEYS = ("symbol", "side", "quantity", "type", "limit_price", "stop_price", "time_in_force", "client_id", "oco")
"""Keys that an order may have in an action."""
MAX_CLIENT_ID = 64
"""Longest client id, and longest name of a pair, in characters."""
UNKNOWN = -1
"""Position that stands for a symbol which is none of the episode's."""

E = TypeVar("E", Side, OrderType, TimeInForce)


@dataclass(frozen=True)
class Replacement:
    """A change of an open order; what is None stays."""

    order_id: int
    quantity: float | None = None
    """Units that shall remain to be filled."""
    limit_price: float | None = None
    stop_price: float | None = None


@dataclass(frozen=True)
class Decision:
    """Everything decided in one step. Weights and orders may come together: weights are traded first."""

    weights: tuple[float, ...] | None = None
    """Target share of each symbol in equity, negative for short; None for no target."""
    orders: tuple[Order, ...] = ()
    """New orders."""
    cancels: tuple[int, ...] = ()
    """Ids of open orders to cancel."""
    replaces: tuple[Replacement, ...] = ()
    """Changes of open orders."""


HOLD = Decision()
"""The decision to do nothing: positions and open orders stay."""


def carry_out(decision: Decision, executor: Executor) -> list[int]:
    """Hand a decision's cancels, replacements and orders to an executor; returns the ids of the orders."""
    # Cancels first: what they set free may be used by what follows.
    for order_id in decision.cancels:
        executor.cancel(order_id)
    for change in decision.replaces:
        executor.replace(
            change.order_id, quantity=change.quantity, limit_price=change.limit_price, stop_price=change.stop_price
        )
    return executor.submit(decision.orders) if decision.orders else []


def admissible(weights: Sequence[float], width: int, max_short: float) -> bool:
    """Whether target weights can be traded to without leverage: one a symbol, the long ones adding up to at most 1 and
    the short ones to at most ``max_short``. A NaN or an infinity never is.
    """
    longs = shorts = 0.0
    for weight in weights:
        if weight > 0.0:
            longs += weight
        else:
            shorts -= weight
    # A NaN fails every comparison.
    return len(weights) == width and longs <= 1.0 + WEIGHT_TOLERANCE and shorts <= max_short + WEIGHT_TOLERANCE


def parse_decision(action: object, symbols: Sequence[str]) -> Decision:
    """Read a decision from an action, as decoded from JSON.

    Args:
        action: the agent's action: any value that JSON has.
        symbols: names of the episode's symbols, by position.

    Raises:
        SubmissionError: the action does not have the form of one; the problem is ``malformed-action``, and the message
            names the place in the action.
    """
    if action is None:
        return HOLD
    if not isinstance(action, Mapping):
        _refuse("an action", "null or an object with 'weights', or with 'orders', 'cancels' and 'replaces'", action)
    _only(action, ("weights", "orders", "cancels", "replaces"), "the action")
    weights = None
    if action.get("weights") is not None:
        listed = _list(action["weights"], "weights")
        if len(listed) != len(symbols):
            _refuse("weights", f"{len(symbols)} numbers, one for each of {', '.join(symbols)}", f"{len(listed)} values")
        weights = tuple(_number(value, f"weights[{i}]") for i, value in enumerate(listed))
    orders = tuple(
        _order(item, symbols, f"orders[{i}]") for i, item in enumerate(_list(action.get("orders", ()), "orders"))
    )
    cancels = tuple(
        _integer(item, f"cancels[{i}]") for i, item in enumerate(_list(action.get("cancels", ()), "cancels"))
    )
    replaces = tuple(
        _replacement(item, f"replaces[{i}]") for i, item in enumerate(_list(action.get("replaces", ()), "replaces"))
    )
    return Decision(weights, orders, cancels, replaces)


def decision_json(decision: Decision, symbols: Sequence[str]) -> dict[str, object]:
    """A decision as an action, which JSON has a form for whatever an agent asks for.

    :func:`parse_decision` reads it back; what a market refuses becomes something that it refuses for the same reason.
    """
    action: dict[str, object] = {}
    if decision.weights is not None:
        action["weights"] = list(decision.weights)
    if decision.orders:
        action["orders"] = [order_json(order, symbols) for order in decision.orders]
    if decision.cancels:
        action["cancels"] = [order_number(order_id) for order_id in decision.cancels]
    if decision.replaces:
        names = ("quantity", "limit_price", "stop_price")
        changes = [
            {name: _changed_json(getattr(change, name)) for name in names if getattr(change, name) is not None}
            for change in decision.replaces
        ]
        action["replaces"] = [
            {"order": order_number(change.order_id), **values}
            for change, values in zip(decision.replaces, changes, strict=True)
        ]
    return action


def order_json(order: Order, symbols: Sequence[str]) -> dict[str, object] | None:
    """An order as an action holds it; None for one that does not have the form of an order."""
    plain = well_formed(order)
    if plain is None:
        return None
    place = plain.symbol
    document: dict[str, object] = {
        "symbol": symbols[place] if 0 <= place < len(symbols) else place if abs(place) < MOST else UNKNOWN,
        "side": _word(plain.side),
        # JSON has no NaN and no infinity; null is read as NaN, which is as bad a quantity.
        "quantity": plain.quantity if math.isfinite(plain.quantity) else None,
        "type": _word(plain.type),
        "time_in_force": _word(plain.time_in_force),
    }
    for name in ("limit_price", "stop_price"):
        price = getattr(plain, name)
        if not math.isnan(price):
            # Not null for an infinite price: it is refused of an order that has no such price, too.
            document[name] = price if math.isfinite(price) else 0.0
    for name in ("client_id", "oco"):
        if getattr(plain, name) is not None:
            document[name] = getattr(plain, name)
    return document


def _changed_json(value: object) -> float:
    """A quantity or price of a replacement as JSON has it."""
    wanted = number(value)
    # Not null for what is not finite, since null changes nothing: a number that is refused for the same reason.
    return wanted if math.isfinite(wanted) else -1.0


def _order(item: object, symbols: Sequence[str], where: str) -> Order:
    if item is None:
        return malformed_order()
    if not isinstance(item, Mapping):
        _refuse(where, f"an object with {', '.join(ORDER_KEYS)}", item)
    _only(item, ORDER_KEYS, where)
    if missing := [key for key in ("symbol", "side", "quantity") if key not in item]:
        _refuse(where, f"the keys symbol, side and quantity; missing: {', '.join(missing)}", sorted(map(str, item)))
    for key in ("client_id", "oco"):
        name = item.get(key)
        if name is not None and not (isinstance(name, str) and 0 < len(name) <= MAX_CLIENT_ID):
            _refuse(f"{where}.{key}", f"a text of 1 to {MAX_CLIENT_ID} characters", name)
    return Order(
        symbol=_symbol(item["symbol"], symbols, f"{where}.symbol"),
        side=_member(Side, item["side"], f"{where}.side"),
        quantity=_number(item["quantity"], f"{where}.quantity"),
        type=_member(OrderType, item.get("type", "market"), f"{where}.type"),
        limit_price=_number(item.get("limit_price"), f"{where}.limit_price"),
        stop_price=_number(item.get("stop_price"), f"{where}.stop_price"),
        time_in_force=_member(TimeInForce, item.get("time_in_force", "gtc"), f"{where}.time_in_force"),
        client_id=item.get("client_id"),
        oco=item.get("oco"),
    )


def _replacement(item: object, where: str) -> Replacement:
    if not isinstance(item, Mapping):
        _refuse(where, "an object with order, and quantity, limit_price or stop_price", item)
    _only(item, ("order", "quantity", "limit_price", "stop_price"), where)
    if "order" not in item:
        _refuse(where, "the key order, the id of an open order", sorted(map(str, item)))
    changed = {
        name: _number(item[name], f"{where}.{name}")
        for name in ("quantity", "limit_price", "stop_price")
        if item.get(name) is not None
    }
    return Replacement(_integer(item["order"], f"{where}.order"), **changed)


def _symbol(value: object, symbols: Sequence[str], where: str) -> int:
    if isinstance(value, str):
        return symbols.index(value) if value in symbols else UNKNOWN
    return _integer(value, where)


def _member(kind: type[E], value: object, where: str) -> E:
    known = [_word(member) for member in kind]
    if not isinstance(value, str) or value not in known:
        _refuse(where, f"one of {', '.join(known)}", value)
    return kind[value.upper().replace("-", "_")]


def _word(member: Side | OrderType | TimeInForce) -> str:
    return member.name.lower().replace("_", "-")


def _number(value: object, where: str) -> float:
    """A number; null is NaN, which no market takes."""
    if value is None:
        return math.nan
    # Python counts a bool among the integers.
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(where, "a number", value)
    try:
        return float(value)
    except OverflowError:
        # JSON has whole numbers of any length.
        return math.inf


def _integer(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(where, "a whole number", value)
    return value


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        _refuse(where, "a list", value)
    return value


def _only(item: Mapping[object, object], known: Sequence[str], where: str) -> None:
    # Cut before they are quoted, since an agent's keys may be of any number and length.
    unknown = [str(key)[:40] for key in item if key not in known]
    if unknown:
        _refuse(where, f"no keys but {', '.join(known)}", ", ".join(unknown[:5]))


def _refuse(where: str, expected: str, found: object) -> NoReturn:
    raise SubmissionError(f"{where}: expected {expected}, found {str(found)[:80]}", problem="malformed-action")
