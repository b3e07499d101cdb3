"""Pages of reports: results with tables, in the languages of a company's markets, and restatements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime

from openfingym_suites.finsearch.world.pages.facts import Facts, FigureKey, InstrumentPrices, KnownFigures
from openfingym_suites.finsearch.world.pages.page import SITES, WebPage, address
from openfingym_suites.finsearch.world.roster import SimulatedCompany
from openfingym_suites.finsearch.world.statements import StatementRow

_SHORT = {
    "Revenue", "Gross profit", "Operating income", "Net income", "Net income attributable to shareholders",
    "Total assets", "Total equity", "Net cash provided by operating activities", "Basic earnings per share",
    "Adjusted net income",
}  # fmt: skip
"""Items that a report states which is not of a whole year."""
_FORMS = {
    "annual report": ("annual results", "年度报告"),
    "interim report": ("interim results", "半年度报告"),
    "quarterly report": ("quarterly results", "季度报告"),
    "restatement": ("restated figures", "更正公告"),
}
"""What forms of reports are called in titles, in English and Chinese."""
_PERIODS_TITLE = {"Q1": "第一", "9M": "第三"}
"""The quarter that comes before the name of a quarterly report in Chinese."""
_YEARS = (365, 366, 364, 371)
"""Days that a fiscal year may have: twelve months, or 52 or 53 weeks."""
_PERIODS_ZH = {"FY": "年度", "H1": "上半年", "Q1": "第一季度", "9M": "前三季度", "Q2": "第二季度", "Q3": "第三季度"}


def report_pages(facts: Facts) -> Iterator[WebPage]:
    """A page for each report of each company, in each of its languages."""
    by_company: dict[str, list[InstrumentPrices]] = {}
    for history in facts.prices.values():
        if history.company:
            by_company.setdefault(history.company.id, []).append(history)
    for name, rows in facts.reported.items():
        if name not in by_company:
            continue
        company, lines = facts.companies[name], by_company[name]
        known_figures = KnownFigures(rows)
        before: dict[FigureKey, StatementRow] = {}
        for report, own in _reports(rows):
            known = own[0].known_at
            symbols = [line.symbol for line in lines if line.known_at <= known]
            # A shares alone: in Chinese; US: in English; all others: in both.
            languages = [*(["en"] if company.home != "cn" or len(company.lines) > 1 else []),
                         *(["zh"] if company.home != "us" else [])]  # fmt: skip
            for language in languages:
                yield _page(company, symbols, report, own, before, language)
            before = dict(known_figures.at(known))


def _reports(rows: Sequence[StatementRow]) -> Iterator[tuple[str, list[StatementRow]]]:
    """The id of each report with its rows, in the order of known times."""
    groups: dict[tuple[datetime, str], list[StatementRow]] = {}
    for row in rows:
        groups.setdefault((row.known_at, row.report), []).append(row)
    for (_, report), own in groups.items():
        yield report, own


def _page(
    company: SimulatedCompany,
    symbols: list[str],
    report: str,
    rows: list[StatementRow],
    before: dict[FigureKey, StatementRow],
    language: str,
) -> WebPage:
    """The page of a report.

    Args:
        company: the company that reports.
        symbols: symbols of its shares that are known.
        report: id of the report.
        rows: rows of the report.
        before: figures as they were known before it.
        language: language of the page, ``en`` or ``zh``.
    """
    # A report may also restate the year before: its own period is the last one.
    main = max(rows, key=lambda row: row.period_end)
    form, form_zh = _FORMS[main.form]
    period = main.fiscal_period
    if language == "zh":
        name = company.name_zh
        title = f"{name}({'、'.join(symbols)}){main.fiscal_year}财年{_PERIODS_TITLE.get(period, '')}{form_zh}"
    else:
        name = company.name
        title = f"{name} ({', '.join(symbols)}): {form}, {period} of fiscal year {main.fiscal_year}"
    text = "\n".join(_lines(company, name, main, rows, before, language))
    return WebPage(
        address("reports", main.filed, report, language),
        title,
        SITES["reports"],
        language,
        "report",
        symbols,
        main.known_at,
        text,
    )


def _lines(
    company: SimulatedCompany,
    name: str,
    main: StatementRow,
    rows: list[StatementRow],
    before: dict[FigureKey, StatementRow],
    language: str,
) -> Iterator[str]:
    """The lines of a report's page: an introduction, a table for each standard and period, and notes."""
    chinese = language == "zh"
    if chinese:
        yield f"{name}公布截至{main.period_end:%Y年%m月%d日}的财务数据。"
        yield f"金额单位:{_unit_zh(company.unit)};另有注明者除外。"
    else:
        yield (
            f"{name} reports figures for the period ended {main.period_end:%d %B %Y}. Amounts are in {company.unit} "
            "unless said otherwise; brackets are negative."
        )
    if main.form == "restatement":
        yield "前期差错更正:下列数据取代原报告。" if chinese else "These figures replace those of the original report."
    whole = main.form in {"annual report", "restatement"}
    groups: dict[tuple[str, date | None, date], list[StatementRow]] = {}
    for row in rows:
        if whole or row.item in _SHORT or row.segment:
            groups.setdefault((row.standard, row.period_start, row.period_end), []).append(row)
    for (standard, start, end), own in groups.items():
        yield ""
        span = f"{end}" if start is None else f"{start} - {end}"
        yield f"[{standard}] {_PERIODS_ZH[own[0].fiscal_period] if chinese else own[0].fiscal_period} {span}"
        for row in own:
            yield _figure(row, before, chinese=chinese)
    if not chinese and any(row.statement == "non-GAAP" for row in rows):
        yield ""
        yield "Adjusted figures leave out share-based pay and are not in accordance with accounting standards."
    yield ""
    yield "模拟公司,并不存在。" if chinese else "A simulated company: it does not exist."


def _figure(row: StatementRow, before: dict[FigureKey, StatementRow], *, chinese: bool) -> str:
    """A line of a table: a figure beside that of the year before or, if it is restated, as it was reported before."""
    label = row.item_zh if chinese else row.item
    if row.segment:
        label = f"{label} - {row.segment}"
    unit = "" if row.statement not in {"per share", "shares"} else f" {row.unit}"
    text = f"{label} | {amount(row.value, row)}{unit}"
    old = before.get((row.item, row.segment, row.standard, row.period_start, row.period_end))
    if old is not None and old.value != row.value:
        label = "原报告为" if chinese else "as reported before:"
        return f"{text} | {label} {amount(old.value, old)}"
    earlier = _year_before(row, before)
    return text if earlier is None else f"{text} | {amount(earlier.value, earlier)}"


def _year_before(row: StatementRow, before: dict[FigureKey, StatementRow]) -> StatementRow | None:
    """The figure of the same period of the year before, as it was known; None if there is none."""
    if row.period_start is None:
        return None
    # A year may have a week or a leap day more, and so may the period itself: all that may be are tried.
    for days in _YEARS:
        start = date.fromordinal(row.period_start.toordinal() - days)
        for more in (0, 1, -1, 7, -7):
            end = date.fromordinal(row.period_end.toordinal() - days + more)
            if earlier := before.get((row.item, row.segment, row.standard, start, end)):
                return earlier
    return None


def amount(value: float, row: StatementRow) -> str:
    """A figure as a report prints it: with separators, and in brackets if it is negative."""
    decimals = 2 if row.statement == "per share" or (row.scale == 1.0 and row.statement != "shares") else 0
    text = f"{abs(value):,.{decimals}f}"
    return f"({text})" if value < 0 else text


def _unit_zh(unit: str) -> str:
    """A unit of reports in Chinese."""
    names = {"CNY": "人民币元", "thousand CNY": "人民币千元", "million CNY": "人民币百万元", "thousand HKD": "千港元"}
    return names.get(unit, unit)
