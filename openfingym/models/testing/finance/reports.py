"""Plans of the stand-in for statistics and for reports of companies."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

from openfingym.models.testing.conversation import Call
from openfingym.models.testing.finance.figures import Plan, Rows, rows_of
from openfingym.models.testing.finance.reading import ReadQuestion, holds, month_end

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
"""Series that it knows by heart, by words of questions; of others, the first that the tool finds."""


def series_of(asked: ReadQuestion) -> tuple[str, str]:
    """Id of the series that is asked about, empty where it is not known by heart, and its name in the question."""
    known = sorted((words for words in IDS if holds(asked.text, words)), key=len)
    found = _SERIES.search(asked.text)
    name = next(filter(None, found.groups()), "") if found else ""
    return (IDS[known[-1]], name or known[-1]) if known else ("", name)


def statistic(asked: ReadQuestion) -> Plan:
    """A figure of a series: the latest, of a month, as first published or as known on a day."""
    text = asked.text
    name = next(filter(None, series_of(asked)), "")
    if not name or len(asked.months) > 1:
        return None
    vintage = "first" if holds(text, "first publi", "首次公布") else "all" if asked.days and asked.months else "latest"
    wanted: dict[str, object] = {"id": name[:120], "vintage": vintage}
    if asked.months:
        wanted |= {"start": str(asked.months[0]), "end": str(month_end(asked.months[0]))}
    elif asked.days:
        wanted |= {"start": str(asked.days[0]), "end": str(asked.days[0])}
    seen = yield Call("series", wanted)
    if seen.get("candidates"):
        seen = yield Call("series", {**wanted, "id": seen["candidates"][0]["series"]})
    rows = rows_of(seen)
    if vintage == "all":
        rows = [row for row in rows if row["known_from"][:10] <= str(asked.days[-1])]
    if not rows or holds(text, "been revised", "was revised", "revision", "growth", "change of", "percentage change"):
        return (yield from _growth(asked, rows))
    value = rows[-1]["value"] / (1e3 if holds(text, "billion") and "Millions" in str(seen.get("units")) else 1.0)
    if holds(text, "which is the latest month"):
        return json.dumps({"month": rows[-1]["reference_date"][:7], "value": float(asked.shown(value))})
    return asked.shown(value)


def _growth(asked: ReadQuestion, rows: Rows) -> Plan:
    yield from ()
    if len(rows) > 12 and holds(asked.text, "same month of the year before"):
        return asked.shown((rows[-1]["value"] / rows[-13]["value"] - 1) * 100)
    return None


def item_of(asked: ReadQuestion) -> str:
    """The item of a report that is asked for; empty where there is none."""
    text = asked.text
    found = _ITEM.search(text)
    item = next(filter(None, found.groups()), "") if found else ""
    if "reported " in text and "most recently reported" in text:
        item = text.partition("most recently reported ")[2].partition(" (")[0]
    if "what are its " in text:
        item = text.partition("what are its ")[2].partition(" in ")[0]
    if "was its " in text:
        item = text.partition("was its ")[2].partition(" (")[0]
    return re.sub(r"\s*\(.*?\)|^net sales$", "", item).strip().removesuffix(" of")


def statement(asked: ReadQuestion) -> Plan:
    """A figure of a company's reports, its growth, or its share of revenue."""
    text = asked.text
    company = next(iter(asked.symbols), "")
    real = next((ticker for name, ticker in _COMPANIES.items() if name in text or f"({ticker})" in text), "")
    company = real or company
    item = item_of(asked)
    if not company or not item or holds(text, "Rank", "average rate", "compound", "market cap"):
        return None
    rows = yield from _reported(asked, company, item, real=bool(real))
    chosen = _period(asked, rows, real=bool(real))
    if not chosen:
        return None
    value = _whole(chosen[-1])
    if holds(text, "percentage of", "占营业收入", "'s revenue was"):
        revenue = _period(asked, (yield from _reported(asked, company, "Revenue", real=bool(real))), real=bool(real))
        return asked.shown(100 * value / _whole(revenue[-1])) if revenue else None
    if holds(text, "year over year", "同比", "by how many percent"):
        year = year_of(asked)
        before = (
            _period(ReadQuestion(text.replace(str(year), str(year - 1)), asked.as_of), rows, real=bool(real))
            if year
            else []
        )
        return asked.shown((value / _whole(before[-1]) - 1) * 100) if before else None
    unit = next((scale for word, scale in UNITS if word in text), 1.0)
    return asked.shown(value / unit)


def _reported(asked: ReadQuestion, company: str, item: str, *, real: bool) -> Any:
    wanted: dict[str, object] = {"company": company, "item": item}
    if real:
        year = year_of(asked)
        span = {"start": f"{year - 2}-06-01", "end": f"{year + 1}-02-15"} if year else {"start": asked.before(500)}
        wanted |= span
    wanted["vintage"] = "first" if holds(asked.text, "first", "首次", "originally", "fiscal year", "财年") else "latest"
    if not real and (year := year_of(asked)):
        wanted |= {"start": f"{year - 2}-01-01", "end": f"{year + 1}-12-31"}
    seen = yield Call("statement", wanted)
    return rows_of(seen)


def _period(asked: ReadQuestion, rows: Rows, *, real: bool) -> Rows:
    """The rows of the period that is asked about, the latest last."""
    year, text = year_of(asked), asked.text
    if rows:
        rows = [row for row in rows if row["item"] == rows[0]["item"]]
    if asked.days and holds(text, "months to", "止"):
        months = {"three": 3, "six": 6, "nine": 9, "三": 3, "六": 6, "九": 9}
        count = next((number for word, number in months.items() if holds(text, f"{word} months", f"{word}个月")), 0)
        return [row for row in rows if row["period_end"] == str(asked.days[0]) and abs(_days(row) - 30.4 * count) < 12]
    if not year:
        return sorted(rows, key=lambda row: row["period_end"])
    if not real:
        return [row for row in rows if row.get("fiscal_year") == year and row.get("fiscal_period") == "FY"]
    ends = [row for row in rows if _days(row) == 0 or _days(row) > 340]
    return [row for row in ends if row["period_end"][:4] == str(year)]


def _whole(row: Any) -> float:
    """A value in whole units of its currency."""
    return float(row["value"]) * _SCALES.get(str(row.get("unit")).split(" ")[0], 1.0)


def _days(row: Any) -> int:
    start = row.get("period_start")
    return (date.fromisoformat(row["period_end"]) - date.fromisoformat(start)).days + 1 if start else 0


def year_of(asked: ReadQuestion) -> int:
    """The fiscal year that is asked about; 0 for none."""
    found = _YEAR.search(asked.text)
    return int(found[1] or found[2]) if found else 0
