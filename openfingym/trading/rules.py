"""The arithmetic of matching: at what price an order fills on a bar, and what that costs.

Functions of plain numbers, without state. The readable simulator calls them as they are; the
compiled core compiles these same functions, so that the two cannot differ by a bit. Terms are added in
the order in which they are written: an expression that is equal on paper may differ in the last bit.

An order decided after bar t lives from bar t + 1 on. With d = +1 for a buy and -1 for a sell, a
sell is a buy on negated prices: ``best`` is the extreme of the bar that suits the order (low for a
buy), ``worst`` the other one. docs/trading.md has the rules as a table.
"""

from __future__ import annotations

import math

MARKET, LIMIT, STOP, STOP_LIMIT = 0, 1, 2, 3
CERTAIN, OPEN_HIGH_LOW_CLOSE, OPEN_LOW_HIGH_CLOSE, ADAPTIVE = 0, 1, 2, 3
NO_FILL = -1.0
"""Returned in place of a price, which is never negative."""
ROUNDING = 1e-12
"""Relative distance of two quantities that is taken for rounding."""
WEIGHT_TOLERANCE = 1e-6
"""How far target weights may exceed their largest sum, as those of a softmax in single precision do."""
DUST = 1e-9
"""A rebalancing trade smaller than this share of equity is left out."""
BPS = 1e-4
"""A basis point."""
_EXACT = 2.0**53
"""Above it every float64 is a whole number."""


def open_price(kind: int, d: float, limit: float, stop: float, triggered: bool, opening: float) -> tuple[float, bool]:
    """Price at which an order fills at the open, or NO_FILL; and whether its stop has triggered.

    Market orders fill at the open; a limit order if the open is at the limit or better; a stop order if
    the open is at the stop or beyond, which is where gaps are paid for. Once triggered, what is left of a
    stop order is a market order, and of a stop-limit order a limit order.
    """
    if kind == MARKET:
        return opening, True
    # Multiplied by d, prices of a sell are negated, so that "higher" is worse for either side.
    if kind == STOP:
        return (opening, True) if triggered or d * opening >= d * stop else (NO_FILL, False)
    if kind == STOP_LIMIT and not triggered:
        if d * opening < d * stop:
            return NO_FILL, False
        triggered = True
    # A limit order, or a stop-limit order that has become one.
    return (opening, triggered) if d * opening <= d * limit else (NO_FILL, triggered)


def inside_price(
    kind: int, d: float, limit: float, stop: float, triggered: bool, o: float, h: float, low: float, c: float, path: int
) -> tuple[float, float, bool]:
    """Price at which an order fills after the open, or NO_FILL; when, from 0 to 1; and whether its stop has triggered.

    Only for orders that did not fill at the open. A limit order fills at its limit if the bar reaches
    it, a stop order at its stop. A stop-limit order triggered inside the bar fills at its stop if the limit allows
    that, and otherwise at its limit if the price was there after the trigger: on the path ``CERTAIN`` if the close
    is at the limit or better, which proves it.
    """
    # Sell orders are mirrored: with all prices negated they are buys, and one set of comparisons serves both sides.
    b, level = (low if d > 0.0 else -h), d * limit
    resting = kind == LIMIT or (kind == STOP_LIMIT and triggered)
    if resting and b > level:
        return NO_FILL, 0.0, triggered
    w, start, end = (h if d > 0.0 else -low), d * o, d * c
    if resting:
        return limit, when(level, start, b, w, end, worst_first(d, o, h, low, path)), triggered
    at_stop = d * stop
    if w < at_stop:
        return NO_FILL, 0.0, False
    # The stop triggers inside the bar. Which extreme came first is not known, unless a path is assumed.
    order = worst_first(d, o, h, low, path)
    reached = when(at_stop, start, b, w, end, order)
    if kind == STOP or level >= at_stop:
        return stop, reached, True
    # A stop-limit whose limit is better than its stop: it fills only if the price comes back after the trigger.
    if order == 1:
        # Worst extreme first: the way from there to the best extreme passes the limit, if that extreme reaches it.
        if b > level:
            return NO_FILL, 0.0, True
        return limit, (2.0 * w - start - level) / length(start, b, w, end, order), True
    # Best extreme first, or no path: the best price may have been before the trigger, and the close alone is after it.
    if end > level:
        return NO_FILL, 0.0, True
    if order == 0:
        return limit, (start - b + 2.0 * w - b - level) / length(start, b, w, end, order), True
    return limit, 0.0, True


def worst_first(d: float, o: float, h: float, low: float, path: int) -> int:
    """1 if the path reaches the worst extreme first, 0 if the best, -1 if nothing is assumed."""
    if path == CERTAIN:
        return -1
    high_first = path == OPEN_HIGH_LOW_CLOSE or (path == ADAPTIVE and h - o <= o - low)
    return 1 if high_first == (d > 0.0) else 0


def when(level: float, start: float, b: float, w: float, end: float, order: int) -> float:
    """Share of the path travelled when ``level`` is first reached; 0 where nothing is assumed."""
    if order == -1:
        return 0.0
    total = length(start, b, w, end, order)
    # A bar with a single price.
    if total <= 0.0:
        return 0.0
    # A level on the way to the first extreme, or else on the way back from it.
    if order == 1:
        return (level - start if level >= start else 2.0 * w - start - level) / total
    return (start - level if level <= start else start - 2.0 * b + level) / total


def length(start: float, b: float, w: float, end: float, order: int) -> float:
    """Length of the path from the open through both extremes to the close, in units of price."""
    return (w - start) + (w - b) + (end - b) if order == 1 else (start - b) + (w - b) + (w - end)


def slip(price: float, d: float, quantity: float, volume: float, slip_rate: float, impact: float) -> float:
    """A price after slippage: worse for the order by a fixed rate and by the square of its share of the bar's volume.

    Not clipped to the bar, since slippage is a model of cost; never below zero.
    """
    rate = slip_rate
    if impact > 0.0 and volume > 0.0:
        share = quantity / volume
        rate += impact * share * share
    slipped = price * (1.0 + d * rate)
    # Impact has no bound, so that a large sale could otherwise have a negative price.
    return slipped if slipped > 0.0 else 0.0


def fee(notional: float, fee_rate: float, fee_per_trade: float) -> float:
    """Fee of one fill, in cash: a share of its value and a fixed part."""
    return notional * fee_rate + fee_per_trade


def worst_price(kind: int, d: float, limit: float, stop: float, mark: float) -> float:
    """The highest price, before slippage, at which an order is expected to fill; a bound where its type gives one.

    Buys with a limit pay no more than it; a stop order to sell trades at its stop or below. Elsewhere the market,
    last seen at ``mark``, has no bound.
    """
    if kind == MARKET:
        return mark
    if kind == LIMIT:
        return limit if d > 0.0 else max(limit, mark)
    if kind == STOP:
        return max(stop, mark) if d > 0.0 else stop
    return limit if d > 0.0 else max(limit, stop)


def multiple(count: float, step: float) -> float:
    """``count`` steps, as one would write it: three steps of 0.1 are 0.3, which 3 x 0.1 is not in binary."""
    if 1e-12 <= step < 1.0:
        # count * 0.1 is not the nearest float to that many tenths, while count / 10 is.
        per_unit = math.floor(1.0 / step + 0.5)
        if per_unit * step == 1.0:
            return count / per_unit
    return count * step


def nearest_multiple(value: float, step: float) -> float:
    """The multiple of ``step`` that ``value`` is meant to be, or 0 if it is none: a millionth of a step is forgiven."""
    # The usual case of whole units, without a division.
    if step >= 1.0 and value % step == 0.0:
        return value
    steps = value / step
    # Beyond 2^53 every float is a whole number of steps already.
    if steps >= _EXACT:
        return value
    whole = math.floor(steps + 0.5)
    # The second term is for the quotient's own rounding, which grows with it.
    return multiple(whole, step) if abs(whole - steps) <= 1e-6 + 1e-15 * steps else 0.0


def whole_lots(quantity: float, lot: float) -> float:
    """The largest multiple of the lot that is not above ``quantity``, but for rounding; any quantity for a lot of 0."""
    if lot <= 0.0:
        return quantity
    lots = quantity / lot
    return quantity if lots >= _EXACT else multiple(math.floor(lots + _slack(lots)), lot)


def _slack(steps: float) -> float:
    """By how many steps a quotient may miss a whole number because of rounding."""
    # In proportion to the quotient, as rounding is, but never more than a hundredth of a step.
    return min(1e-14 * steps, 0.01)


def settled(before: float, change: float, lot: float) -> float:
    """A quantity after a change, free of the dust that sums of decimal fractions leave behind."""
    after = before + change
    if lot > 0.0:
        # The usual case of whole units, without a division.
        if lot >= 1.0 and after % lot == 0.0:
            return after
        lots = after / lot
        return multiple(math.floor(lots + 0.5), lot) if -_EXACT < lots < _EXACT else after
    # Without lots, a remainder that is tiny beside what was traded is a position that was closed.
    return 0.0 if abs(after) <= ROUNDING * abs(change) else after


def on_tick(price: float, tick: float, up: bool) -> float:
    """The tick at a price or, if there is none, the next one up or down; NaN stays."""
    if tick <= 0.0 or math.isnan(price):
        return price
    if not up:
        return whole_lots(price, tick)
    ticks = price / tick
    return price if ticks >= _EXACT else multiple(math.ceil(ticks - _slack(ticks)), tick)


def affordable(cash: float, price: float, fee_rate: float, fee_per_trade: float, lot: float) -> float:
    """The largest quantity that ``cash`` buys at ``price``, fees included; 0 at a price of 0."""
    unit = price * (1.0 + fee_rate)
    if unit <= 0.0 or cash <= fee_per_trade:
        return 0.0
    quantity, shrink = whole_lots((cash - fee_per_trade) / unit, lot), 1e-15
    # Rounding in the last bits must not make cash negative: the purchase is booked as it is here, and if it costs more
    # than there is, it is made smaller by a lot or, without lots, by some last bits, four times as many each time.
    for _ in range(8):
        if cash - quantity * price - fee(quantity * price, fee_rate, fee_per_trade) >= 0.0:
            return quantity
        quantity = max(0.0, whole_lots(quantity - lot, lot) if lot > 0.0 else quantity * (1.0 - shrink))
        shrink *= 4.0
    return 0.0


def shortable(
    equity: float,
    shorts: float,
    held: float,
    base: float,
    price: float,
    max_short: float,
    fee_rate: float,
    fee_per_trade: float,
    lot: float,
) -> float:
    """The largest quantity that one sale may sell short beyond the units held, by the short cap.

    Positions are valued at the price before slippage, so that slippage is a loss and not a smaller short.

    Args:
        equity: equity of the account before the sale, its position in this symbol valued at ``base``.
        shorts: market value of all short positions before the sale, valued in the same way, positive.
        held: units sold by the same sale that close a long position.
        base: price of the sale before slippage.
        price: price of the sale after slippage.
        max_short: multiple of equity that all shorts may be worth.
        fee_rate: fee as a share of the traded value.
        fee_per_trade: fee of every trade, in units of currency.
        lot: size of a lot, of which quantities are multiples; 0 for any quantity.

    Returns:
        Units beyond ``held``, in whole lots.
    """
    # The cap, solved for the quantity q: shorts + q base <= max_short (equity - (held + q) loss - fee_per_trade).
    loss = base - price + price * fee_rate
    unit = base + max_short * loss
    room = max_short * (equity - held * loss - fee_per_trade) - shorts
    if unit <= 0.0 or room <= 0.0:
        return 0.0
    quantity, shrink = whole_lots(room / unit, lot), 1e-15
    # As in ``affordable``: tested as it will be booked, and made smaller where rounding has exceeded the cap.
    for _ in range(8):
        sold = held + quantity
        after = equity - sold * (base - price) - fee(sold * price, fee_rate, fee_per_trade)
        if shorts + quantity * base <= max_short * after:
            return quantity
        quantity = max(0.0, whole_lots(quantity - lot, lot) if lot > 0.0 else quantity * (1.0 - shrink))
        shrink *= 4.0
    return 0.0
