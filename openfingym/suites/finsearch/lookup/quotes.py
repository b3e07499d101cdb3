"""Prices: bars of a day, a week or a month, as traded, with the splits and dividends between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date

from openfingym.suites.calls import BadCallError
from openfingym.suites.finsearch.lookup.world import MOST_ROWS, Searched
from openfingym.suites.lookups import like, near, none_such, plain, table
from openfingym.vault.conditions import Between, Where
from openfingym.vault.search import words
from openfingym.vault.view import Row

_PRICES = ("open", "high", "low", "close")
_WITH_VOLUME = (*_PRICES, "volume")
_SYMBOL = re.compile(r"[A-Z0-9]+[.=-][A-Z0-9.-]+|[A-Z]{1,5}|[0-9]{3,7}", re.ASCII)
"""What looks like a symbol, and not like words."""
HALVES = 64
"""Halves of a 32nd in a point."""


def quote(world: Searched, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``quote``."""
    world.need("instruments", "quotes")
    symbol, start, end, interval = (arguments[name] for name in ("symbol", "start", "end", "interval"))
    assert isinstance(symbol, str)
    found = instrument(world, symbol)
    if isinstance(found, list):
        return {"candidates": found, "note": "several instruments are called so; ask again with one of these symbols"}
    assert start is None or isinstance(start, date)
    assert end is None or isinstance(end, date)
    if start and end and start > end:
        raise BadCallError(f"start must be on or before end; received {start} and {end}.")
    bars = _bars(world, found, start, end)
    answer = _about(found)
    if start is None:
        bars = bars[-1:]
        if bars and bars[0]["close_at"] is not None:
            answer["last_session"] = {name: plain(bars[0][name]) for name in ("open_at", "close_at")}
    if not bars:
        before = _bars(world, found, None, end)
        answer["note"] = f"no session from {start} to {end or 'today'}" + (
            f"; the last one before is of {before[-1]['date']}" if before else ", and none before"
        )
    if interval != "day":
        bars = _longer(bars, weekly=interval == "week")
    return {**answer, "interval": interval, **_listed(world, found, bars, interval != "day")}


def instrument(world: Searched, asked: str) -> Row | list[dict[str, object]]:
    """The instrument of a symbol, an alias or a name, or those that it may be.

    Raises:
        BadCallError: nothing is called so.
    """
    folded = asked.casefold()
    for one in world.instruments:
        if str(one["symbol"]).casefold() == folded:
            return one
    named = [one for one in world.instruments if folded in _names(one)]
    if len(named) == 1:
        return named[0]
    names = {str(one["symbol"]): f"{one['name']} {one['name_zh'] or ''}".strip() for one in world.instruments}
    if not named and _SYMBOL.fullmatch(asked):
        raise none_such("instrument", asked, {symbol: names[symbol] for symbol in near(asked, names)})
    symbols = [str(one["symbol"]) for one in named] or like(asked, names)
    if not symbols:
        raise none_such("instrument", asked, names)
    by_symbol = {str(one["symbol"]): one for one in world.instruments}
    if len(symbols) == 1 and set(words(asked)) <= set(words(names[symbols[0]])):
        return by_symbol[symbols[0]]
    return [
        {name: by_symbol[symbol][name] for name in ("symbol", "name", "name_zh", "exchange", "currency", "kind")}
        for symbol in symbols
    ]


def _names(one: Row) -> set[str]:
    aliases = one["aliases"]
    assert isinstance(aliases, list)
    names = [*aliases, one["name"], one["name_zh"]]
    plainly = [str(name).replace(" (simulated)", "").replace("(模拟)", "") for name in names if name]
    return {name.casefold() for name in (*map(str, filter(None, names)), *plainly)}


def _about(one: Row) -> dict[str, object]:
    names = ("symbol", "name", "name_zh", "exchange", "currency", "quote_unit", "timezone", "kind", "share_class",
             "industry", "listed", "delisted", "expires", "simulated")  # fmt: skip
    return {name: plain(one[name]) for name in names if one[name] not in (None, "")}


def _bars(world: Searched, one: Row, start: date | None, end: date | None) -> list[Row]:
    """Bars of some days; without a start, at least the last one."""
    days = Between(start, end)
    if one["held_in"] == "bars":
        where: Where = {"symbol": str(one["symbol"]), "date": days}
        names = ["date", *_WITH_VOLUME, "open_at", "close_at"]
        return world.view.current("bars", where, columns=names, order=["date"])
    if "market" not in world.tables:
        raise BadCallError(f"There are no prices of {one['symbol']} in this world.")
    return _of_market(world, one, days)


def _of_market(world: Searched, one: Row, days: Between) -> list[Row]:
    channel, datasets = str(one["channel"]), str(one["dataset"]).split(",")
    stock = one["kind"] != "fx reference"
    channels = [f"{channel}{name}" for name in _WITH_VOLUME] if stock else [channel]
    found: dict[date, Row] = {}
    # The first dataset has precedence where several have a day.
    for dataset in reversed(datasets):
        where: Where = {"dataset": dataset, "channel": channels, "date": days}
        for row in world.view.current("market", where, columns=["date", "channel", "value"], order=["date"]):
            day = row["date"]
            assert isinstance(day, date)
            bar = found.setdefault(day, dict.fromkeys((*_WITH_VOLUME, "open_at", "close_at")) | {"date": day})
            bar[str(row["channel"]).removeprefix(channel) if stock else "close"] = row["value"]
    return [found[day] for day in sorted(found)]


def _longer(bars: Iterable[Row], *, weekly: bool) -> list[Row]:
    """Bars of weeks or months from those of days: the first open, the highest, the lowest, the last close."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for bar in bars:
        day = bar["date"]
        assert isinstance(day, date)
        groups.setdefault(day.isocalendar()[:2] if weekly else (day.year, day.month), []).append(bar)
    found = []
    for group in groups.values():
        last = dict(group[-1])
        last |= {"open": group[0]["open"], "first_date": group[0]["date"], "sessions": len(group)}
        for name, choose in (("high", max), ("low", min), ("volume", sum)):
            values = [value for bar in group if isinstance(value := bar[name], float)]
            last[name] = choose(values) if values else None
        found.append(last)
    return found


def _listed(world: Searched, one: Row, bars: list[Row], longer: bool) -> dict[str, object]:
    shown_bars = bars[:MOST_ROWS]
    columns = ["date", *_WITH_VOLUME]
    columns = [name for name in columns if name == "date" or any(bar[name] is not None for bar in shown_bars)]
    if longer:
        columns = ["first_date", *columns, "sessions"]
    if "32nds" in str(one["quote_unit"]):
        columns.append("close_in_32nds")
        for bar in shown_bars:
            bar["close_in_32nds"] = thirty_seconds(bar["close"])
    answer = table(shown_bars, columns)
    if len(bars) > MOST_ROWS:
        following = bars[MOST_ROWS]
        answer["more_from"] = plain(following.get("first_date") or following["date"])
    if shown_bars and "actions" in world.tables:
        first = shown_bars[0].get("first_date") or shown_bars[0]["date"]
        acted = _actions(world, str(one["symbol"]), first, shown_bars[-1]["date"])
        if acted:
            answer["actions"] = acted
    return answer


def _actions(world: Searched, symbol: str, first: object, last: object) -> list[dict[str, object]]:
    """Splits and dividends with an ex-date within some days; prices before them are not adjusted."""
    assert isinstance(first, date)
    assert isinstance(last, date)
    where: Where = {"symbol": symbol, "ex_date": Between(first, last)}
    rows = world.view.current("actions", where, order=["ex_date"])
    names = ("kind", "announced", "ex_date", "pay_date", "new_shares", "old_shares", "amount", "currency")
    return [{name: plain(row[name]) for name in names if row[name] is not None} for row in rows]


def thirty_seconds(price: object) -> str | None:
    """A price in points as quoted: whole points, 32nds, and tenths of a 32nd."""
    if not isinstance(price, float):
        return None
    halves = round(price * HALVES)
    return f"{halves // HALVES}'{halves % HALVES // 2:02d}'{5 if halves % 2 else 0}"
