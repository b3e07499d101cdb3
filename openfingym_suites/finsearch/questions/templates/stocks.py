"""Questions on real shares as traded, to March 2013: Apple, IBM, Microsoft and Google."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    AskedValue,
    Draft,
    Draw,
    SkipError,
    month_end,
    percent,
    recent,
    shifted,
    template,
)
from openfingym_suites.finsearch.questions.programs import market

STOCKS = "equities"
SHARES = {"AAPL": "Apple", "IBM": "IBM", "MSFT": "Microsoft", "GOOG": "Google"}
NAMES = tuple(name for pair in SHARES.items() for name in pair)
TRADED = "A closing auction gives one price, as traded and never adjusted: rounding alone may differ."
COMPUTED = "Computed from prices with two decimals: half a unit of the last asked place more than rounding."
SOURCE = ("market: daily bars of US shares",)
SPLIT_DAYS = ("2000-06-21", "2003-02-18", "2005-02-28")
"""First days in new shares after the splits that are within the prices."""
FIELDS = {
    "open": ("opening price", "USD", 2, 1.0),
    "high": ("intraday high", "USD", 2, 1.0),
    "low": ("intraday low", "USD", 2, 1.0),
    "close": ("closing price", "USD", 2, 1.0),
    "volume": ("trading volume in million shares", "million", 2, 1e6),
}
"""Figures of a bar: in words, unit, decimals asked for, and what one of the unit is in the table's unit."""


def _draft(text: str, as_of: str, program: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
           alternatives: dict[str, Any], *, table: bool = False, why: str = TRADED) -> Draft:  # fmt: skip
    """A draft of a question on real shares."""
    return Draft(text, as_of, program, params, asks, alternatives, NAMES, SOURCE, why, table)


def _share(d: Draw) -> tuple[str, str]:
    """One of the shares: its symbol, and what the text calls it."""
    symbol = d.one(list(SHARES))
    return symbol, d.one([f"{SHARES[symbol]} ({symbol})", f"{symbol}", f"{SHARES[symbol]}"])


def _days(d: Draw, symbol: str) -> list[str]:
    return [day for day, _ in d.world.closes(symbol)]


def _clear(days: list[str]) -> list[str]:
    """The days of a span in which no share was split: across a split, unadjusted prices cannot be compared.

    Raises:
        SkipError: there was a split.
    """
    if any(days[0] <= day <= days[-1] for day in SPLIT_DAYS):
        raise SkipError("a split is within")
    return days


def _span(d: Draw, symbol: str, low: int, high: int, most: int = 1500) -> tuple[str, list[str]]:
    """A time, and consecutive days with a price that end before it.

    Args:
        d: what the question is drawn with.
        symbol: symbol of the share.
        low: least number of days.
        high: one more than the largest number of days.
        most: days after the last of them by which the question is asked.

    Raises:
        SkipError: the series is too short, or a split is within the span.
    """
    days, count = _days(d, symbol), d.rng.randrange(low, high)
    if len(days) <= count:
        raise SkipError("the span is longer than the series")
    place = d.rng.randrange(len(days) - count)
    chosen = _clear(days[place : place + count])
    return d.asked_after(chosen[-1], most), chosen


def _bar(field: str) -> tuple[str, AskedValue, dict[str, Any]]:
    """How a figure of a bar is asked for: in words, as an asked value, and as parameters."""
    words, unit, decimals, scale = FIELDS[field]
    return words, AskedValue(field, unit=unit, decimals=decimals), {"field": field, "scale": scale}


def _precision(d: Draw, ask: AskedValue) -> str:
    """The unit and the precision that a text asks for; of a percentage or a volume the unit is in its name already."""
    return f"in USD, {d.digits(ask.decimals or 0)}" if ask.unit == "USD" else d.digits(ask.decimals or 0)


@template("T1", STOCKS)
def share_latest(d: Draw) -> Draft:
    (symbol, name), field = _share(d), d.one(list(FIELDS))
    as_of = d.asked_around(_days(d, symbol))
    words, ask, more = _bar(field)
    params = {"symbol": symbol, "first": recent(as_of, 30), **more}
    text = d.one(
        [
            "Latest {words} of {name}? ({digits})",
            "What is the latest {words} of {name}, {digits}?",
            "The most recent {words} of {name}, as traded, {digits}, please.",
        ]
    ).format(words=words, name=name, digits=_precision(d, ask))
    other = "close" if field != "close" else "open"
    return _draft(text, as_of, market.latest_bar, params, (ask,), {
        "the session before": (market.latest_bar, {**params, "back": 1}),
        f"{other} for {field}": (market.latest_bar, {**params, "field": other, "scale": 1.0}),
    })  # fmt: skip


@template("T1", STOCKS)
def share_latest_change(d: Draw) -> Draft:
    symbol, name = _share(d)
    field = d.one(["change", "intraday", "gap", "range", "move"])
    as_of = d.asked_around(_days(d, symbol))
    params = {"symbol": symbol, "first": recent(as_of, 30), "field": field}
    words = {
        "change": (
            f"What is the latest percentage change of {name}, from the previous close to the latest closing price"
        ),
        "intraday": (
            f"How far was the latest close of {name} above or below the opening price of the same session, in percent"
        ),
        "gap": f"At its latest open, by how many percent did {name} gap up or down from the close before",
        "range": f"How wide, as a percentage of the low, was the high-low range of {name} in its latest session",
        "move": f"By how many US dollars did {name} close up or down in its latest session",
    }[field]
    ask = AskedValue("change", unit="USD", decimals=2) if field == "move" else percent()
    other = "intraday" if field in ("change", "gap") else "change"
    return _draft(f"{words}? {d.digits(2).capitalize()}.", as_of, market.latest_bar, params, (ask,), {
        "the session before": (market.latest_bar, {**params, "back": 1}),
        f"{other} for {field}": (market.latest_bar, {**params, "field": other}),
    }, why=TRADED if field == "move" else COMPUTED)  # fmt: skip


@template("T1", STOCKS)
def share_latest_since(d: Draw) -> Draft:
    (symbol, name), since = _share(d), d.one(["month", "year"])
    # Only from the last 700 days, in which no share was split.
    as_of = d.asked_around(_clear(_days(d, symbol)[-700:]))
    params = {"legs": [[symbol, 1]], "first": recent(as_of), "since": since, "percent": True}
    text = (
        f"{since.capitalize()} to date, what is the price return of {name} on unadjusted closing prices "
        f"(latest close against the last close of the previous {since}), in percent, {d.digits(2)}?"
    )
    return _draft(text, as_of, market.latest_since, params, (percent(),), {
        "since the other": (market.latest_since, {**params, "since": "month" if since == "year" else "year"}),
        "of the latest session": (market.latest_change, {**params, "days": 1}),
    }, why=COMPUTED)  # fmt: skip


@template("T1", STOCKS, most=5)
def share_latest_extreme(d: Draw) -> Draft:
    (symbol, name), which, count = _share(d), d.one(["highest", "lowest", "mean"]), d.one([5, 10, 20, 60])
    as_of = d.asked_around(_clear(_days(d, symbol)[-700:]))
    params = {"legs": [[symbol, 1]], "first": recent(as_of), "days": count, "which": which}
    words = {"highest": "the highest", "lowest": "the lowest", "mean": "the average"}[which]
    text = f"Over the last {count} sessions, what is {words} closing price of {name} in USD, {d.digits(2)}?"
    return _draft(text, as_of, market.latest_of_days, params, (AskedValue("price", unit="USD", decimals=2),), {
        "the latest alone": (market.latest_level, {"legs": [[symbol, 1]], "first": recent(as_of)}),
        "over twice as many": (market.latest_of_days, {**params, "days": 2 * count}),
    })  # fmt: skip


@template("T2", STOCKS)
def share_on_day(d: Draw) -> Draft:
    (symbol, name), field = _share(d), d.one([*FIELDS, "change", "gap"])
    as_of, days = _span(d, symbol, 2, 3)
    if field in FIELDS:
        words, ask, more = _bar(field)
    else:
        words = {
            "change": "percentage change from close to close",
            "gap": "opening gap in percent of the close before",
        }[field]
        ask, more = percent(), {"field": field}
    params = {"symbol": symbol, "first": shifted(days[0], -8), "day": days[1], **more}
    text = d.one(
        [
            "What was the {words} of {name} on {day}, as traded (not adjusted), {digits}?",
            "{name} on {day}: {words}, unadjusted, {digits}?",
        ]
    ).format(words=words, name=name, day=d.day(days[1]), digits=_precision(d, ask))
    other = "close" if field != "close" else "open"
    return _draft(text, as_of, market.bar_on, params, (ask,), {
        "the session before": (market.bar_on, {**params, "day": days[0]}),
        f"{other} for {field}": (market.bar_on, {**params, "field": other, "scale": 1.0}),
    }, why=TRADED if field in FIELDS else COMPUTED)  # fmt: skip


@template("T2", STOCKS)
def share_of_month(d: Draw) -> Draft:
    symbol, name = _share(d)
    which = d.one(["mean", "highest", "lowest", "volume"])
    as_of, days = _span(d, symbol, 60, 61)
    month = days[30][:7]
    params = {"legs": [[symbol, 1]], "first": f"{month}-01", "last": month_end(month), "which": which}
    if which == "volume":
        volume = {"symbol": symbol, "first": f"{month}-01", "last": month_end(month), "scale": 1e6}
        text = f"How many million shares of {name} were traded in {d.day(month)} in all, {d.digits(1)}?"
        ask = AskedValue("volume", unit="million", decimals=1)
        return _draft(text, as_of, market.volume_of_month, volume, (ask,), {
            "in thousands": (market.volume_of_month, {**volume, "scale": 1e3}),
            "of the month without its last week": (market.volume_of_month, {**volume, "last": f"{month}-24"}),
        }, why="Volumes are whole shares: rounding alone may differ.")  # fmt: skip
    words = {"mean": "average", "highest": "highest", "lowest": "lowest"}[which]
    text = f"What was the {words} daily closing price of {name} in {d.day(month)}, as traded, in USD, {d.digits(2)}?"
    return _draft(text, as_of, market.period_statistic, params, (AskedValue("price", unit="USD", decimals=2),), {
        "the last of the month": (market.period_statistic, {**params, "which": "last"}),
    })  # fmt: skip


@template("T3", STOCKS)
def share_largest_month(d: Draw) -> Draft:
    (symbol, name), which = _share(d), d.one(["rise", "fall"])
    as_of, days = _span(d, symbol, 500, 1900)
    first, last = days[0][:7], days[-1][:7]
    start = next(day for day in days if day[:7] > first)
    params = {"legs": [[symbol, 1]], "first": f"{first}-01", "last": month_end(last), "which": which, "percent": True}
    if any(f"{first}-01" <= day <= month_end(last) for day in SPLIT_DAYS):
        raise SkipError("a split is within")
    text = (
        f"In which month from {d.day(start[:7])} to {d.day(last)} did {name} {'gain' if which == 'rise' else 'lose'} "
        f"most, from month-end close to month-end close (unadjusted), and by how many percent, {d.digits(2)}?"
    )
    return _draft(text, as_of, market.largest_month, params, (AskedValue("month", "date"), percent()), {
        "the runner-up": (market.largest_month, {**params, "rank": 1}),
        "the other direction": (market.largest_month, {**params, "which": "rise" if which == "fall" else "fall"}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", STOCKS)
def share_large_days(d: Draw) -> Draft:
    (symbol, name), which = _share(d), d.one(["rise", "fall"])
    as_of, days = _span(d, symbol, 200, 1200)
    params = {"legs": [[symbol, 1]], "first": days[0], "last": days[-1], "which": which, "percent": True, "size": 0.0}
    moves = sorted((abs(move) for _, move in market.large_days(d.world, params)), reverse=True)
    count = d.rng.randrange(3, 9)
    # The threshold lies between two changes, so far from both that rounding cannot move a day across it.
    if moves[count - 1] - moves[count] < 0.06:
        raise SkipError("no threshold lies between two changes")
    params["size"] = round((moves[count - 1] + moves[count]) / 2, 2)
    text = (
        f"What were the specific dates after {d.day(days[0])} and up to {d.day(days[-1])} when {name} "
        f"closed more than {params['size']}% {'above' if which == 'rise' else 'below'} its previous close? "
        "Please list the dates and the changes in percent "
        f"({d.digits(2)}) in a table sorted by date in ascending order."
    )
    return _draft(text, as_of, market.large_days, params, (AskedValue("date", "date"), percent()), {
        "the other direction": (market.large_days, {**params, "which": "rise" if which == "fall" else "fall"}),
        "a lower threshold": (market.large_days, {**params, "size": moves[count] - 1e-6}),
    }, table=True, why=COMPUTED)  # fmt: skip


@template("T3", STOCKS)
def shares_compared(d: Draw) -> Draft:
    symbols = d.some(list(SHARES), 3) if d.rng.random() < 0.5 else list(SHARES)
    as_of, days = _span(d, "GOOG", 120, 1700)
    rose = d.one(["rose", "fell"])
    _clear(days)
    named = [[symbol, [[symbol, 1]]] for symbol in symbols]
    params = {"named": named, "to": days[-1], "which": rose, "from": days[0]}
    accept = {symbol: (SHARES[symbol],) for symbol in symbols}
    ask = AskedValue("share", "text", accept=accept, choices=tuple(SHARES))
    listed = ", ".join(f"{SHARES[symbol]} ({symbol})" for symbol in symbols)
    if d.rng.random() < 0.5:
        text = (
            f"Rank {listed} by price return (unadjusted closes) between {d.day(days[0])} and {d.day(days[-1])}: "
            f"a table of tickers and percent, {d.digits(2)}, the best first."
        )
        return _draft(text, as_of, market.changes_of_several, params, (ask, percent()), {
            "a day later": (market.changes_of_several, {**params, "from": days[1]}),
        }, table=True, why=COMPUTED)  # fmt: skip
    text = (
        f"Which of {listed} {'gained' if rose == 'rose' else 'lost'} most "
        f"(or {'lost' if rose == 'rose' else 'gained'} least) on unadjusted closing prices from "
        f"{d.day(days[0])} to {d.day(days[-1])}, and what was its change in percent, {d.digits(2)}?"
    )
    return _draft(text, as_of, market.most_changed, params, (ask, percent()), {
        "the runner-up": (market.most_changed, {**params, "rank": 1}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", STOCKS)
def share_drawdown(d: Draw) -> Draft:
    symbol, name = _share(d)
    as_of, days = _span(d, symbol, 250, 1900)
    params = {"legs": [[symbol, 1]], "first": days[0], "last": days[-1]}
    text = (
        f"Maximum drawdown of {name} on unadjusted daily closes from {d.day(days[0])} to {d.day(days[-1])}: "
        f"the date of the peak, the date of the trough, and the loss in percent (negative, {d.digits(2)})?"
    )
    asks = (AskedValue("peak", "date"), AskedValue("trough", "date"), percent("loss"))
    return _draft(text, as_of, market.drawdown, params, asks, {
        "the highest to the lowest of the span": (_high_to_low, params),
        "without the last third": (market.drawdown, {**params, "last": days[2 * len(days) // 3]}),
        "without the first half": (market.drawdown, {**params, "first": days[len(days) // 2]}),
    }, why=COMPUTED)  # fmt: skip


def _high_to_low(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """From the highest close of a span to its lowest, whichever came first."""
    high, low = (market.extreme_day(w, {**p, "which": which}) for which in ("highest", "lowest"))
    return (high[0], low[0], 100.0 * (low[1] / high[1] - 1.0))


@template("T3", STOCKS, most=5)
def share_over_split(d: Draw) -> Draft:
    symbol, day = d.one([("AAPL", "2000-06-21"), ("MSFT", "2003-02-18"), ("AAPL", "2005-02-28")])
    if not d.world.actions(symbol):
        raise SkipError("no splits are known")
    days = _days(d, symbol)
    place = next(i for i, each in enumerate(days) if each >= day)
    low = max(0, place - d.rng.randrange(5, 230))
    high = place + d.rng.randrange(3, 1200)
    between = [split for split in SPLIT_DAYS if symbol == "AAPL" and days[low] < split <= days[high]]
    as_of = d.asked_after(days[high], 3500)
    params = {"symbol": symbol, "to": days[high], "from": days[low]}
    text = (
        f"An investor bought {SHARES[symbol]} "
        f"({symbol}) at the close of {d.day(days[low])} and sold at the close of {d.day(days[high])}. "
        f"Taking stock splits into account but no dividends, what was the price return in percent, {d.digits(2)}? "
        "(Prices are quoted as traded.)"
    )
    if symbol == "AAPL" and len(between) > 1:
        raise SkipError("two splits")
    return _draft(text, as_of, market.split_adjusted_return, params, (percent("return"),), {
        "without the split": (market.split_adjusted_return, {**params, "adjusted": False}),
    }, why=COMPUTED)  # fmt: skip
