"""How the stand-in answers from pages alone: it opens the first that a search gives, and believes what it reads there.

So it is misled as a hurried reader is: by a page that is out of date, by another unit, by adjusted prices, by what
somebody heard from a friend.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from openfingym.models.testing.conversation import Call
from openfingym_suites.stand_in.finance.figures import Plan
from openfingym_suites.stand_in.finance.reading import ReadQuestion, holds, month_end
from openfingym_suites.stand_in.finance.reports import UNITS, item_of, series_of, year_of

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
"""Most days that a page may be old which is searched for the latest price."""


def read_pages(question: ReadQuestion) -> Plan:
    """Search, open the first page, and take from it what looks like the answer."""
    item = item_of(question) if year_of(question) or holds(question.text, "reported", "balance sheet", "披露") else ""
    if holds(question.text, "percentage of", "year over year", "同比", "占营业收入") or len(question.months) > 1:
        return None  # more than one figure: it gives up
    look = _report if item else _price if question.symbols else _statistic
    wanted = {"limit": 8, **look(question)}
    seen = yield Call("search", wanted)
    results = seen.get("results", [])
    if not results and "after" in wanted:
        seen = yield Call("search", {"query": wanted["query"], "limit": 8})
        results = seen.get("results", [])
    if not results:
        return None
    page = yield Call("open_page", {"url": _first(question, results, report=bool(item))["url"]})
    text = str(page.get("text", ""))
    if item:
        return _from_report(question, item, text)
    return _from_price(question, text) if question.symbols else _from_statistic(question, text)


def _first(question: ReadQuestion, results: list[Mapping[str, Any]], *, report: bool) -> Mapping[str, Any]:
    """The first result that is about the matter by its title and snippet; the first of all where none is."""
    for result in results:
        said = f"{result.get('title')} {result.get('snippet')}"
        named = not question.symbols or question.symbols[0] in said
        if named and (not report or _REPORT.search(str(result.get("title")))):
            return result
    return results[0]


def _report(question: ReadQuestion) -> dict[str, object]:
    """Arguments of a search for a company's report."""
    year, symbol = year_of(question), next(iter(question.symbols), "")
    words = f"annual results FY of fiscal year {year} 年度报告 {year}财年" if year else "quarterly results interim 报告"
    when = {"after": f"{year}-03-01", "before": f"{year + 1}-12-31"} if year else {"after": question.before(150)}
    if year and when["before"] > str(question.today):
        del when["before"]
    return {"query": f"{symbol} {words} {item_of(question)}", **when}


def _price(question: ReadQuestion) -> dict[str, object]:
    """Arguments of a search for a page about a price."""
    words = f"{question.symbols[0]} close 收报"
    if question.days or question.months:
        day = question.days[0] if question.days else month_end(question.months[0])
        before = min(day + timedelta(days=4), question.today)
        return {"query": f"{words} {day}", "after": str(day), "before": str(before)}
    return {"query": words, "after": question.before(RECENT_DAYS)}


def _statistic(question: ReadQuestion) -> dict[str, object]:
    """Arguments of a search for a page about a statistic."""
    name = series_of(question)[1]
    month = question.months[0] if question.months else None
    words = f"{name} {month:%B %Y}" if month else name
    after = month if month else date.fromisoformat(question.before(45))
    return {"query": (words or question.text)[:400], "after": str(min(after, question.today))}


def _from_report(question: ReadQuestion, item: str, text: str) -> str | None:
    row = next((line for line in text.splitlines() if line.casefold().startswith(f"{item} |".casefold())), None)
    if row is None:
        return None
    match, header = re.search(_NUMBER, row.partition("|")[2]), _HEADER.search(text)
    if match is None:
        return None
    scale = _SCALES.get(header[1] or header[2], 1.0) if header else 1.0
    unit = next((size for word, size in UNITS if word in question.text), 1.0)
    return question.shown(_number(match[1]) * scale / unit * (-1 if match[0].startswith("(") else 1))


def _from_price(question: ReadQuestion, text: str) -> str | None:
    symbol = question.symbols[0]
    if holds(question.text, "percent", "change", "涨跌幅") and (match := _MOVED.search(text)):
        down = "below" in match.groups() or "下跌" in match.groups()
        return question.shown((-1 if down else 1) * _number(match[1] or match[4]))
    match = re.search(_IN_TABLE.format(symbol=re.escape(symbol)), text)
    match = match or (re.search(_PRICE[question.field], text) if symbol in text else None)
    return question.shown(_number(match[1])) if match else None


def _from_statistic(question: ReadQuestion, text: str) -> str | None:
    match = _STATED.search(text)
    return question.shown(_number(match[1])) if match else None


def _number(text: str) -> float:
    return float(text.replace(",", ""))
