"""Plans of the stand-in that have pages alone: it opens what is found first, and believes what it reads there.

So it is misled as a hurried reader is: by a page that is out of date, by another unit, by adjusted prices, by what
somebody heard from a friend.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from openfingym.models.testing.conversation import Call
from openfingym.models.testing.finance.figures import Plan
from openfingym.models.testing.finance.reading import ReadQuestion, holds, month_end
from openfingym.models.testing.finance.reports import UNITS, item_of, series_of, year_of

_NUMBER = r"\(?(-?\d[\d,]*(?:\.\d+)?)\)?"
_PRICE = {
    "open": rf"(?:opened at |开盘){_NUMBER}",
    "high": rf"(?:and |最高){_NUMBER}",
    "low": rf"(?:between |最低){_NUMBER}",
    "volume": rf"(?:; |成交量){_NUMBER}",
    "close": rf"(?:closed at |收报|Last close \([\d-]+\): |最新收盘价\([\d-]+\):| will close at |收盘好像是){_NUMBER}",
}
_MOVED = re.compile(rf"{_NUMBER}% (above|below) the previous|(上涨|下跌){_NUMBER}%")
_IN_TABLE = r"\({symbol}\)[^\n]*?(?:\d{{4}}-\d\d-\d\d:\s*|(?:at|收报)\s*)" + _NUMBER
_STATED = re.compile(r"[:：]\s*" + _NUMBER + r"\s*\(")
_REPORT = re.compile(r"results|报告")
_HEADER = re.compile(r"Amounts are in (\w+)|金额单位:(百万|千|亿)")
_SCALES = {"million": 1e6, "thousand": 1e3, "billion": 1e9, "百万": 1e6, "千": 1e3, "亿": 1e8}
RECENT_DAYS = 10
"""How old a page may be that is to tell the latest price."""


def read_pages(asked: ReadQuestion) -> Plan:
    """Search, open the first page, and take from it what looks like the answer."""
    item = item_of(asked) if year_of(asked) or holds(asked.text, "reported", "balance sheet", "披露") else ""
    if holds(asked.text, "percentage of", "year over year", "同比", "占营业收入") or len(asked.months) > 1:
        return None  # more than one figure: it gives up
    look = _report if item else _price if asked.symbols else _statistic
    wanted = {"limit": 8, **look(asked)}
    seen = yield Call("search", wanted)
    results = seen.get("results", [])
    if not results and "after" in wanted:
        seen = yield Call("search", {"query": wanted["query"], "limit": 8})
        results = seen.get("results", [])
    if not results:
        return None
    page = yield Call("open_page", {"url": _first(asked, results, report=bool(item))["url"]})
    text = str(page.get("text", ""))
    if item:
        return _from_report(asked, item, text)
    return _from_price(asked, text) if asked.symbols else _from_statistic(asked, text)


def _first(asked: ReadQuestion, results: list[Mapping[str, Any]], *, report: bool) -> Mapping[str, Any]:
    """The first result that is about the matter by its title and snippet; the first of all where none is."""
    for one in results:
        said = f"{one.get('title')} {one.get('snippet')}"
        named = not asked.symbols or asked.symbols[0] in said
        if named and (not report or _REPORT.search(str(one.get("title")))):
            return one
    return results[0]


def _report(asked: ReadQuestion) -> dict[str, object]:
    year, symbol = year_of(asked), next(iter(asked.symbols), "")
    words = f"annual results FY of fiscal year {year} 年度报告 {year}财年" if year else "quarterly results interim 报告"
    when = {"after": f"{year}-03-01", "before": f"{year + 1}-12-31"} if year else {"after": asked.before(150)}
    if year and when["before"] > str(asked.today):
        del when["before"]
    return {"query": f"{symbol} {words} {item_of(asked)}", **when}


def _price(asked: ReadQuestion) -> dict[str, object]:
    words = f"{asked.symbols[0]} close 收报"
    if asked.days or asked.months:
        day = asked.days[0] if asked.days else month_end(asked.months[0])
        return {"query": f"{words} {day}", "after": str(day), "before": str(min(day + timedelta(days=4), asked.today))}
    return {"query": words, "after": asked.before(RECENT_DAYS)}


def _statistic(asked: ReadQuestion) -> dict[str, object]:
    name = series_of(asked)[1]
    month = asked.months[0] if asked.months else None
    words = f"{name} {month:%B %Y}" if month else name
    after = month if month else date.fromisoformat(asked.before(45))
    return {"query": (words or asked.text)[:400], "after": str(min(after, asked.today))}


def _from_report(asked: ReadQuestion, item: str, text: str) -> str | None:
    row = next((line for line in text.splitlines() if line.casefold().startswith(f"{item} |".casefold())), None)
    if row is None:
        return None
    found, header = re.search(_NUMBER, row.partition("|")[2]), _HEADER.search(text)
    if found is None:
        return None
    scale = _SCALES.get(header[1] or header[2], 1.0) if header else 1.0
    unit = next((size for word, size in UNITS if word in asked.text), 1.0)
    return asked.shown(_number(found[1]) * scale / unit * (-1 if found[0].startswith("(") else 1))


def _from_price(asked: ReadQuestion, text: str) -> str | None:
    symbol = asked.symbols[0]
    if holds(asked.text, "percent", "change", "涨跌幅") and (found := _MOVED.search(text)):
        down = "below" in found.groups() or "下跌" in found.groups()
        return asked.shown((-1 if down else 1) * _number(found[1] or found[4]))
    found = re.search(_IN_TABLE.format(symbol=re.escape(symbol)), text)
    found = found or (re.search(_PRICE[asked.field], text) if symbol in text else None)
    return asked.shown(_number(found[1])) if found else None


def _from_statistic(asked: ReadQuestion, text: str) -> str | None:
    found = _STATED.search(text)
    return asked.shown(_number(found[1])) if found else None


def _number(text: str) -> float:
    return float(text.replace(",", ""))
