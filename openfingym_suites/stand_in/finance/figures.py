"""How the stand-in looks up exchange rates, yields, policy rates and prices with the financial tools.

A plan is a generator that asks for one call after the other, is sent what each was answered and nothing else, and
returns the answer, or None where it came to nothing.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Generator, Mapping
from datetime import date
from typing import Any

from openfingym.models.testing.conversation import Call
from openfingym_suites.stand_in.finance.measures import Points, measured, span_of
from openfingym_suites.stand_in.finance.reading import CURRENCIES, ReadQuestion, holds

Plan = Generator[Call, Mapping[str, Any], str | None]
Rows = list[dict[str, Any]]
"""Rows of a table, by the names of its columns."""
PAGES = 12
"""Most calls for one table."""
_DIRECT = ("EUR", "GBP", "AUD", "NZD")
"""Currencies that the market quotes in US dollars, and not the other way round."""
_BY_MONTH = ("in which month", "which month", "哪个月")
_WORTH = re.compile(
    r"How many ([A-Z]{3}) are ([\d,.]+) ([A-Z]{3}) worth|([\d,.]+)(\D{2,5}?)目前可折合多少(\D{2,5}?)[？?]"
)
_INVOICE = re.compile(
    r"of ([\d.,]+) million ([A-Z]{3}).*How many million ([A-Z]{3})|([\d.,]+)百万(\D{2,5}?)的.*合多少百万(\D{2,5}?)[？?]"
)


def rows_of(seen: Mapping[str, Any]) -> Rows:
    """The rows of a table that a tool answered."""
    names = seen.get("columns", [])
    return [dict(zip(names, row, strict=False)) for row in seen.get("rows", [])]


def table(tool: str, wanted: Mapping[str, object], dated: str, start: str, end: str) -> Generator[Call, Any, Rows]:
    """A plan for all rows of a span of days, by as many calls as that takes.

    Args:
        tool: name of the tool.
        wanted: arguments beside the days.
        dated: name of the column with the day by which a table is cut into parts.
        start: first day (ISO 8601).
        end: last day (ISO 8601), included.
    """
    rows: Rows = []
    for _ in range(PAGES):
        seen = yield Call(tool, {**wanted, "start": start, "end": end})
        # The last row of one part may be the first of the next, so what is at or behind its start is taken anew.
        rows = [row for row in rows if row[dated] < start] + rows_of(seen)
        following = seen.get("more_from")
        if not isinstance(following, str) or following <= start:
            break
        start = following
    return rows


def closes(
    symbol: str, start: str, end: str, field: str = "close", *, ends: bool = False
) -> Generator[Call, Any, Points]:
    """A plan for prices of days, or of the ends of months where ``ends`` and the span is long."""
    long = ends and (date.fromisoformat(end) - date.fromisoformat(start)).days > 400
    wanted = {"symbol": symbol, **({"interval": "month"} if long else {})}
    rows = yield from table("quote", wanted, "first_date" if long else "date", start, end)
    return [(row["date"], row[field]) for row in rows if row.get(field) is not None]


def exchange_rate(question: ReadQuestion) -> Plan:
    """The plan for reference rates of the ECB, with crosses through the US dollar."""
    amount, pair = 1.0, question.pairs[0] if question.pairs else None
    for pattern in (_WORTH, _INVOICE):
        if found := pattern.search(question.text):
            parts = [part for part in found.groups() if part]
            to_first = pattern is _WORTH and found[1] is not None
            target, number, base = parts if to_first else (parts[2], parts[0], parts[1])
            amount = float(number.replace(",", ""))
            pair = (CURRENCIES.get(base, base), CURRENCIES.get(target, target))
    if pair is None or holds(question.text, "unison", "gained most", "lost most", "run of"):
        return None
    # The price of each currency in US dollars on each day; of the dollar itself there are no days, and it is 1.
    start, end = span_of(question)
    legs: list[dict[str, float]] = []
    for currency in pair:
        if currency == "USD":
            legs.append({})
            continue
        symbol = f"{currency}USD" if currency in _DIRECT else f"USD{currency}"
        seen = yield from closes(symbol, start, end, ends=holds(question.text, *_BY_MONTH))
        legs.append({day: value if currency in _DIRECT else 1 / value for day, value in seen})
    days = sorted(set(legs[0] or legs[1]) & set(legs[1] or legs[0]))
    hundred = 100.0 if "100" in question.text and pair[0] == "JPY" else 1.0
    points = [(day, amount * hundred * legs[0].get(day, 1.0) / legs[1].get(day, 1.0)) for day in days]
    return measured(question, points)


def yields(question: ReadQuestion) -> Plan:
    """The plan for par yields of the US Treasury, and spreads between two of them."""
    start, end = span_of(question)
    found: list[dict[str, float]] = []
    for tenor in question.tenors[:2]:
        wanted = {"id": f"UST{tenor}"}
        rows = yield from table("series", wanted, "reference_date", start, end)
        found.append({row["reference_date"]: row["value"] for row in rows})
    if not found or holds(question.text, "consecutive", "FOMC", "List all", "negative, and"):
        return None
    if len(found) == 1:
        return measured(question, sorted(found[0].items()), bp=True)
    days = sorted(set(found[0]) & set(found[1]))
    return measured(question, [(day, 100 * (found[0][day] - found[1][day])) for day in days])


def policy_rate(question: ReadQuestion) -> Plan:
    """The plan for the target range of the Federal Reserve."""
    end = str(max(question.days)) if question.days else str(question.today)
    bounds = []
    for name in ("LOWER", "UPPER"):
        wanted = {"id": f"FED_TARGET_{name}"}
        # From some eleven years back: the range may not have changed for years.
        rows = yield from table("series", wanted, "reference_date", question.before(4_000), end)
        bounds.append([(row["reference_date"], row["value"]) for row in rows])
    lower, upper = bounds
    if not upper or holds(question.text, "Tabulate", "List"):
        return None
    if holds(question.text, "in total"):
        first = str(min(question.days))
        moves = [(day, b - a) for (_, a), (day, b) in itertools.pairwise(upper) if day > first and b != a]
        return json.dumps({"total": round(100 * sum(move for _, move in moves)), "statements": len(moves)})
    if holds(question.text, "latest change"):
        changes = [(day, b - a) for (_, a), (day, b) in itertools.pairwise(upper) if b != a]
        return json.dumps({"date": changes[-1][0], "change": round(100 * changes[-1][1])}) if changes else None
    return json.dumps({"lower": lower[-1][1], "upper": upper[-1][1]})


def instrument(question: ReadQuestion) -> Plan:
    """The plan for prices of shares, indices, commodities, futures and traded exchange rates."""
    text, symbols = question.text, question.symbols
    start, end = span_of(question)
    if len(symbols) == 2 and holds(text, "premium", "溢价率", "pips", "基点") and not question.months:
        return (yield from _between(question, symbols))
    if len(symbols) != 1:
        return None
    if question.months or holds(text, "to date", "以来", "month-to-date", "last close of the previous year"):
        field = "close" if len(question.months) > 1 or not question.months else question.field
        points = yield from closes(symbols[0], start, end, field, ends=holds(text, *_BY_MONTH))
        if field == "volume" and holds(text, "in all"):
            return question.shown(sum(value for _, value in points) / 1e6)
        return measured(question, points)
    rows = yield from table("quote", {"symbol": symbols[0]}, "date", start, end)
    if question.days:
        rows = [row for row in rows if row["date"] <= str(question.days[0])]
        if not rows or rows[-1]["date"] != str(question.days[0]):
            return None
    if len(rows) < 2:
        return None
    within = _within_a_day(text, rows[-2], rows[-1])
    if within is not None:
        return question.shown(within)
    field = question.field
    unit = 1e4 if "万股" in text else 1e6 if "million shares" in text else 1.0
    # Asked as of the day that it names, and without it: the rows end there, so that the latest is that day's.
    return measured(
        ReadQuestion(re.sub(r"\bon [A-Z]\w+ \d+, \d{4}|\d{4}年\d+月\d+日", "", text), rows[-1]["date"]),
        [(row["date"], row[field] / (unit if field == "volume" else 1.0)) for row in rows if row.get(field)],
    )


def _within_a_day(text: str, before: Mapping[str, float], last: Mapping[str, float]) -> float | None:
    """A move in percent between the prices of the last bar, or from the bar before it; None where none is asked for."""
    if holds(text, "from the open to the close", "开盘到收盘", "收盘价相对开盘价"):
        return (last["close"] / last["open"] - 1) * 100
    if holds(text, "gap", "to the open", "开盘价相对前", "跳空"):
        return (last["open"] / before["close"] - 1) * 100
    if holds(text, "between the low and the high", "high-low range", "之差占最低价", "振幅"):
        return (last["high"] / last["low"] - 1) * 100
    return None


def _between(question: ReadQuestion, symbols: tuple[str, ...]) -> Plan:
    """The plan for a difference: of two exchange rates in pips, or of a company's shares in Hong Kong and at home."""
    start, end = span_of(question)
    first = dict((yield from closes(symbols[0], start, end)))
    second = dict((yield from closes(symbols[1], start, end)))
    common = sorted(set(first) & set(second))
    if not common:
        return None
    if not symbols[1].endswith(".HK"):
        return question.shown(10_000 * (first[common[-1]] - second[common[-1]]))
    parity = yield from closes("HKDCNY-FIXING", start, end)
    return question.shown((first[max(first)] / (second[max(second)] * parity[-1][1]) - 1) * 100) if parity else None
