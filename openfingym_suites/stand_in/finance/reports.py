"""How the stand-in answers questions about statistics and about companies' reports, with the financial tools."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

from openfingym.models.testing.conversation import Call
from openfingym_suites.stand_in.finance.figures import Plan, Rows, rows_of
from openfingym_suites.stand_in.finance.reading import ReadQuestion, holds, month_end

_COMPANIES = {
    "Apple": "AAPL", "Microsoft": "MSFT", "NVIDIA": "NVDA", "Alphabet": "GOOGL", "Amazon": "AMZN", "Snowflake": "SNOW",
    "Marvell": "MRVL",
}  # fmt: skip
_YEAR = re.compile(r"fiscal year (\d{4})|(\d{4})财年")
_ITEM = re.compile(
    r"(?:'s|company's|reported|their|its) ([a-z][\w ,()&'-]*?)"
    r"(?: for| in| of| as of| at the| \((?:US|in )|,| change|\?|$)"
    r"|财年(?:末|披露)?的?([^\d（），]{2,24}?)(?:是|为|同比|占|（)|的([^\d（），的]{2,24}?)(?:是|为)多少|披露的([^\d（），的]{2,20}?)为"
)
_SERIES = re.compile(
    r"(?:figure for|reading of|What was|published for|is the latest) (?:the )?(.+?)"
    r"(?: for [A-Z]| in (?:million|billion|percent|thousand|[A-Z])|,? rounded|\?|, in )"
    r"|(?:公布的|，|请问)?([^\d，（）。的]{3,24}?)(?:（[^）]*）)?(?:的最新|是多少|最新)"
)
UNITS = (("亿", 1e8), ("百万", 1e6), ("万股", 1e4), ("billion", 1e9), ("million", 1e6), ("thousand", 1e3))
_SCALES = {"thousand": 1e3, "million": 1e6}
IDS = {
    "retail sales": "RSAFS", "construction spending": "TTLCONS", "nonfarm payroll": "PAYEMS",
    "durable goods": "DGORDER",
    "wholesale inventories": "WHLSLRIMSA", "disposable personal income": "DSPIC96",
    "personal consumption": "PCEC96", "business inventories": "BUSINV", "housing starts": "HOUST",
    "PCE price index": "PCEPI", "industrial production": "INDPRO", "unemployment rate": "UNRATE",
    "housing market index": "US_HMI", "German business climate": "DE_IFO", "CPI of Russia": "RU_CPI",
    "UK consumer prices": "GB_CPI_YOY", "overnight SHIBOR": "CN_SHIBOR_ON", "中国十年期国债": "CN_CGB10Y",
    "ten-year Chinese government": "CN_CGB10Y", "中国进口": "CN_IMPORTS", "中国出口": "CN_EXPORTS",
    "Hong Kong's unemployment": "HK_UNEMP", "香港失业率": "HK_UNEMP",
}  # fmt: skip
"""Identifiers of series that the stand-in knows by heart, by words of questions; of others, it takes the first that the
tool finds."""


def series_of(question: ReadQuestion) -> tuple[str, str]:
    """Identifier of the series that is asked about, empty where it is not known by heart, and its name in the text."""
    known = sorted((words for words in IDS if holds(question.text, words)), key=len)
    match = _SERIES.search(question.text)
    name = next(filter(None, match.groups()), "") if match else ""
    return (IDS[known[-1]], name or known[-1]) if known else ("", name)


def statistic(question: ReadQuestion) -> Plan:
    """The plan for a figure of a series: the latest, of a month, as first published or as known on a day."""
    text = question.text
    name = next(filter(None, series_of(question)), "")
    if not name or len(question.months) > 1:
        return None
    dated = "all" if question.days and question.months else "latest"
    vintage = "first" if holds(text, "first publi", "首次公布") else dated
    wanted: dict[str, object] = {"id": name[:120], "vintage": vintage}
    if question.months:
        wanted |= {"start": str(question.months[0]), "end": str(month_end(question.months[0]))}
    elif question.days:
        wanted |= {"start": str(question.days[0]), "end": str(question.days[0])}
    seen = yield Call("series", wanted)
    # The name fits several series, of which the tool lists candidates.
    if seen.get("candidates"):
        seen = yield Call("series", {**wanted, "id": seen["candidates"][0]["series"]})
    rows = rows_of(seen)
    if vintage == "all":
        rows = [row for row in rows if row["known_from"][:10] <= str(question.days[-1])]
    if not rows or holds(text, "been revised", "was revised", "revision", "growth", "change of", "percentage change"):
        return (yield from _growth(question, rows))
    value = rows[-1]["value"] / (1e3 if holds(text, "billion") and "Millions" in str(seen.get("units")) else 1.0)
    if holds(text, "which is the latest month"):
        return json.dumps({"month": rows[-1]["reference_date"][:7], "value": float(question.shown(value))})
    return question.shown(value)


def _growth(question: ReadQuestion, rows: Rows) -> Plan:
    """The growth over a year of a monthly series; None for any other."""
    yield from ()  # a plan is a generator, also where it makes no call
    if len(rows) > 12 and holds(question.text, "same month of the year before"):
        return question.shown((rows[-1]["value"] / rows[-13]["value"] - 1) * 100)
    return None


def item_of(question: ReadQuestion) -> str:
    """Name of the item of a report that is asked for; empty where there is none."""
    text = question.text
    match = _ITEM.search(text)
    item = next(filter(None, match.groups()), "") if match else ""
    if "reported " in text and "most recently reported" in text:
        item = text.partition("most recently reported ")[2].partition(" (")[0]
    if "what are its " in text:
        item = text.partition("what are its ")[2].partition(" in ")[0]
    if "was its " in text:
        item = text.partition("was its ")[2].partition(" (")[0]
    return re.sub(r"\s*\(.*?\)|^net sales$", "", item).strip().removesuffix(" of")


def statement(question: ReadQuestion) -> Plan:
    """The plan for a figure of a company's reports, its growth, or its share of revenue."""
    text = question.text
    company = next(iter(question.symbols), "")
    real = next((ticker for name, ticker in _COMPANIES.items() if name in text or f"({ticker})" in text), "")
    company = real or company
    item = item_of(question)
    if not company or not item or holds(text, "Rank", "average rate", "compound", "market cap"):
        return None
    rows = yield from _reported(question, company, item, real=bool(real))
    chosen = _period(question, rows, real=bool(real))
    if not chosen:
        return None
    value = _whole(chosen[-1])
    if holds(text, "percentage of", "占营业收入", "'s revenue was"):
        revenues = yield from _reported(question, company, "Revenue", real=bool(real))
        revenue = _period(question, revenues, real=bool(real))
        return question.shown(100 * value / _whole(revenue[-1])) if revenue else None
    # The same question about the year before gives the base of the growth.
    if holds(text, "year over year", "同比", "by how many percent"):
        year = year_of(question)
        before = (
            _period(ReadQuestion(text.replace(str(year), str(year - 1)), question.as_of), rows, real=bool(real))
            if year
            else []
        )
        return question.shown((value / _whole(before[-1]) - 1) * 100) if before else None
    unit = next((scale for word, scale in UNITS if word in text), 1.0)
    return question.shown(value / unit)


def _reported(question: ReadQuestion, company: str, item: str, *, real: bool) -> Any:
    """A plan for the rows of an item; a real company's fiscal year ends in another month, so the span is wider."""
    wanted: dict[str, object] = {"company": company, "item": item}
    if real:
        year = year_of(question)
        span = {"start": f"{year - 2}-06-01", "end": f"{year + 1}-02-15"} if year else {"start": question.before(500)}
        wanted |= span
    first = holds(question.text, "first", "首次", "originally", "fiscal year", "财年")
    wanted["vintage"] = "first" if first else "latest"
    if not real and (year := year_of(question)):
        wanted |= {"start": f"{year - 2}-01-01", "end": f"{year + 1}-12-31"}
    seen = yield Call("statement", wanted)
    return rows_of(seen)


def _period(question: ReadQuestion, rows: Rows, *, real: bool) -> Rows:
    """The rows of the period that is asked about, the latest last."""
    year, text = year_of(question), question.text
    if rows:
        rows = [row for row in rows if row["item"] == rows[0]["item"]]
    if question.days and holds(text, "months to", "止"):
        months = {"three": 3, "six": 6, "nine": 9, "三": 3, "六": 6, "九": 9}
        count = next((number for word, number in months.items() if holds(text, f"{word} months", f"{word}个月")), 0)
        end = str(question.days[0])
        # A month has 30.4 days on average; 12 more or fewer tell three months from six, whatever the calendar.
        return [row for row in rows if row["period_end"] == end and abs(_days(row) - 30.4 * count) < 12]
    if not year:
        return sorted(rows, key=lambda row: row["period_end"])
    if not real:
        return [row for row in rows if row.get("fiscal_year") == year and row.get("fiscal_period") == "FY"]
    # Whole years, and balance sheets, which have no first day; quarters end on the same days.
    ends = [row for row in rows if _days(row) == 0 or _days(row) > 340]
    return [row for row in ends if row["period_end"][:4] == str(year)]


def _whole(row: Any) -> float:
    """A value in whole units of its currency."""
    return float(row["value"]) * _SCALES.get(str(row.get("unit")).split(" ")[0], 1.0)


def _days(row: Any) -> int:
    """Days of a row's period; 0 of a balance sheet, which is of one day."""
    start = row.get("period_start")
    return (date.fromisoformat(row["period_end"]) - date.fromisoformat(start)).days + 1 if start else 0


def year_of(question: ReadQuestion) -> int:
    """The fiscal year that is asked about; 0 where there is none."""
    match = _YEAR.search(question.text)
    return int(match[1] or match[2]) if match else 0
