"""The tool ``quote``: bars of days, weeks or months, as traded, with the splits and dividends between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date

from openfingym.suites.calls import BadCallError
from openfingym.suites.lookups import like, near, none_such, plain, table
from openfingym.vault.conditions import Between, Where
from openfingym.vault.search import words
from openfingym.vault.view import Row
from openfingym_suites.finsearch.lookup.world import MOST_ROWS, SearchedView
from openfingym_suites.finsearch.world.quoting import thirty_seconds

_PRICES = ("open", "high", "low", "close")
_WITH_VOLUME = (*_PRICES, "volume")
_SYMBOL = re.compile(r"[A-Z0-9]+[.=-][A-Z0-9.-]+|[A-Z]{1,5}|[0-9]{3,7}", re.ASCII)
"""What looks like a symbol, and not like words."""


def quote(world: SearchedView, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``quote``."""
    world.need("instruments", "quotes")
    symbol, start, end, interval = (arguments[name] for name in ("symbol", "start", "end", "interval"))
    assert isinstance(symbol, str)
    row = instrument(world, symbol)
    if isinstance(row, list):
        return {"candidates": row, "note": "several instruments are called so; ask again with one of these symbols"}
    assert start is None or isinstance(start, date)
    assert end is None or isinstance(end, date)
    if start and end and start > end:
        raise BadCallError(f"start must be on or before end; received {start} and {end}.")
    bars = _bars(world, row, start, end)
    answer = _about(row)
    # Without a first day, the last session alone is asked for.
    if start is None:
        bars = bars[-1:]
        if bars and bars[0]["close_at"] is not None:
            answer["last_session"] = {name: plain(bars[0][name]) for name in ("open_at", "close_at")}
    if not bars:
        before = _bars(world, row, None, end)
        answer["note"] = f"no session from {start} to {end or 'today'}" + (
            f"; the last one before is of {before[-1]['date']}" if before else ", and none before"
        )
    if interval != "day":
        bars = _longer(bars, weekly=interval == "week")
    return {**answer, "interval": interval, **_listed(world, row, bars, interval != "day")}


def instrument(world: SearchedView, asked: str) -> Row | list[dict[str, object]]:
    """The row of the instrument with a symbol, an alias or a name, or the instruments that may be meant.

    Args:
        world: the view that is searched.
        asked: what the agent calls it.

    Raises:
        BadCallError: nothing is called so.
    """
    folded = asked.casefold()
    # An exact symbol first: it may also be an alias of another instrument.
    for row in world.instruments:
        if str(row["symbol"]).casefold() == folded:
            return row
    named = [row for row in world.instruments if folded in _names(row)]
    if len(named) == 1:
        return named[0]
    names = {str(row["symbol"]): f"{row['name']} {row['name_zh'] or ''}".strip() for row in world.instruments}
    # A symbol that does not exist is not searched for as words: only symbols that are written alike help.
    if not named and _SYMBOL.fullmatch(asked):
        raise none_such("instrument", asked, {symbol: names[symbol] for symbol in near(asked, names)})
    symbols = [str(row["symbol"]) for row in named] or like(asked, names)
    if not symbols:
        raise none_such("instrument", asked, names)
    by_symbol = {str(row["symbol"]): row for row in world.instruments}
    # One candidate that has all the words is meant; one that has some of them is a guess, which is for the agent.
    if len(symbols) == 1 and set(words(asked)) <= set(words(names[symbols[0]])):
        return by_symbol[symbols[0]]
    return [
        {name: by_symbol[symbol][name] for name in ("symbol", "name", "name_zh", "exchange", "currency", "kind")}
        for symbol in symbols
    ]


def _names(row: Row) -> set[str]:
    """What an instrument is called, in lower case; names of simulated ones with and without the mark that says so."""
    aliases = row["aliases"]
    assert isinstance(aliases, list)
    names = [*aliases, row["name"], row["name_zh"]]
    plainly = [str(name).replace(" (simulated)", "").replace("(模拟)", "") for name in names if name]
    return {name.casefold() for name in (*map(str, filter(None, names)), *plainly)}


def _about(row: Row) -> dict[str, object]:
    """What an answer says of an instrument beside its bars."""
    names = ("symbol", "name", "name_zh", "exchange", "currency", "quote_unit", "timezone", "kind", "share_class",
             "industry", "listed", "delisted", "expires", "simulated")  # fmt: skip
    return {name: plain(row[name]) for name in names if row[name] not in (None, "")}


def _bars(world: SearchedView, row: Row, start: date | None, end: date | None) -> list[Row]:
    """Bars of an instrument between two days, both included, oldest first."""
    days = Between(start, end)
    if row["held_in"] == "bars":
        where: Where = {"symbol": str(row["symbol"]), "date": days}
        names = ["date", *_WITH_VOLUME, "open_at", "close_at"]
        return world.view.current("bars", where, columns=names, order=["date"])
    if "market" not in world.tables:
        raise BadCallError(f"There are no prices of {row['symbol']} in this world.")
    return _of_market(world, row, days)


def _of_market(world: SearchedView, row: Row, days: Between) -> list[Row]:
    """Bars from the real table ``market``, which has a row for each price of a day."""
    channel, datasets = str(row["channel"]), str(row["dataset"]).split(",")
    # A share has a channel for each price, which begin alike; a reference rate has one channel, its close.
    stock = row["kind"] != "fx reference"
    channels = [f"{channel}{name}" for name in _WITH_VOLUME] if stock else [channel]
    bars: dict[date, Row] = {}
    # The first dataset has precedence where several have a day.
    for dataset in reversed(datasets):
        where: Where = {"dataset": dataset, "channel": channels, "date": days}
        for price in world.view.current("market", where, columns=["date", "channel", "value"], order=["date"]):
            day = price["date"]
            assert isinstance(day, date)
            bar = bars.setdefault(day, dict.fromkeys((*_WITH_VOLUME, "open_at", "close_at")) | {"date": day})
            bar[str(price["channel"]).removeprefix(channel) if stock else "close"] = price["value"]
    return [bars[day] for day in sorted(bars)]


def _longer(bars: Iterable[Row], *, weekly: bool) -> list[Row]:
    """Bars of weeks or months from those of days: the first open, the highest high, the lowest low, the last close."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for bar in bars:
        day = bar["date"]
        assert isinstance(day, date)
        # Weeks by their ISO year, since a week may be of two calendar years.
        groups.setdefault(day.isocalendar()[:2] if weekly else (day.year, day.month), []).append(bar)
    longer = []
    for group in groups.values():
        last = dict(group[-1])
        last |= {"open": group[0]["open"], "first_date": group[0]["date"], "sessions": len(group)}
        for name, choose in (("high", max), ("low", min), ("volume", sum)):
            values = [value for bar in group if isinstance(value := bar[name], float)]
            last[name] = choose(values) if values else None
        longer.append(last)
    return longer


def _listed(world: SearchedView, row: Row, bars: list[Row], longer: bool) -> dict[str, object]:
    """Bars as a table, with splits and dividends of their days, and where the rest begins if there are too many.

    Args:
        world: the view that is searched.
        row: row of the instrument.
        bars: its bars, oldest first.
        longer: whether they are of weeks or months.
    """
    shown_bars = bars[:MOST_ROWS]
    columns = ["date", *_WITH_VOLUME]
    columns = [name for name in columns if name == "date" or any(bar[name] is not None for bar in shown_bars)]
    if longer:
        columns = ["first_date", *columns, "sessions"]
    if "32nds" in str(row["quote_unit"]):
        columns.append("close_in_32nds")
        for bar in shown_bars:
            close = bar["close"]
            bar["close_in_32nds"] = thirty_seconds(close) if isinstance(close, float) else None
    answer = table(shown_bars, columns)
    if len(bars) > MOST_ROWS:
        following = bars[MOST_ROWS]
        answer["more_from"] = plain(following.get("first_date") or following["date"])
    if shown_bars and "actions" in world.tables:
        first = shown_bars[0].get("first_date") or shown_bars[0]["date"]
        actions = _actions(world, str(row["symbol"]), first, shown_bars[-1]["date"])
        if actions:
            answer["actions"] = actions
    return answer


def _actions(world: SearchedView, symbol: str, first: object, last: object) -> list[dict[str, object]]:
    """Splits and dividends with an ex-date between two days, oldest first; prices before them are not adjusted."""
    assert isinstance(first, date)
    assert isinstance(last, date)
    where: Where = {"symbol": symbol, "ex_date": Between(first, last)}
    rows = world.view.current("actions", where, order=["ex_date"])
    names = ("kind", "announced", "ex_date", "pay_date", "new_shares", "old_shares", "amount", "currency")
    return [{name: plain(row[name]) for name in names if row[name] is not None} for row in rows]
