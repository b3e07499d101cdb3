"""A made-up world of a dozen companies and a dozen series, written as a vault of the simulated world's tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd

from openfingym.vault import Source, Vault, VaultWriter
from openfingym_suites.findeepforecast.world import specs

Frames = dict[str, pd.DataFrame]
FIRST, LAST = date(2024, 7, 1), date(2026, 2, 28)
QUARTERS = [date(year, month, 31 if month in {3, 12} else 30) for year in (2023, 2024, 2025) for month in (3, 6, 9, 12)]
LATEST = date(2025, 9, 30)
"""The quarter that is reported in the season."""
ZONES = {"US": ("America/New_York", time(8, 30)), "JP": ("Asia/Tokyo", time(8, 50)), "UK": ("Europe/London", time(7))}
ITEMS = (
    "Revenue", "Cost of Revenue", "Gross Profit", "Net Income", "Operating Income", "Total Assets", "Total Liabilities",
    "Total Equity", "Total Current Assets", "Total Current Liabilities", "Cash and Equivalents", "Cash From Operations",
    "Capital Expenditure", "Interest Expense", "EBIT", "EPS (Basic)",
)  # fmt: skip
COMPANIES = {"US": 8, "JP": 4, "UK": 2}


def frames() -> Frames:
    """The rows of the tables."""
    companies, reports, reported = _companies()
    series, releases, macro = _macro()
    news = {"id": ["n1"], "published_at": [_utc(2025, 10, 1)], "source": ["Desk"], "official": [False]}
    news |= {"subject": ["US"], "story": ["s1"], "title": ["Nothing"], "body": ["Nothing happened."]}
    rulings = {"story": ["s1"], "happened_on": [date(2025, 10, 2)], "amount": [1.0], "source": ["made up"]}
    return {
        "companies": companies,
        "report_calendar": reports,
        "reported": reported,
        "macro_series": series,
        "release_calendar": releases,
        "macro": macro,
        "news": pd.DataFrame(news | {"known_at": [_utc(2025, 10, 1)]}),
        "rulings": pd.DataFrame(rulings | {"known_at": [_utc(2025, 10, 3)]}),
    }


def write(folder: Path | None = None, edit: Callable[[Frames], None] = lambda tables: None) -> Vault:
    """Write the vault, with its rows changed first; to the store if there is no folder."""
    tables = frames()
    edit(tables)
    source = Source(name="a test", licence="none")
    with VaultWriter(folder, name="findeepforecast", title="A test", sources=[source], simulated=True) as writer:
        for spec in specs.TABLES:
            writer.add(spec, tables[spec.name])
        return writer.finish()


def move(tables: Frames, subject: str, period: date, days: float, announced: datetime) -> None:
    """Move a release or a report, with the figure itself: the calendar says so from ``announced`` on."""
    macro = subject in set(tables["macro_series"]["id"])
    calendar, name = ("release_calendar", "id") if macro else ("report_calendar", "symbol")
    rows = tables[calendar]
    row = rows[(rows[name] == subject) & (rows["period_end"] == period)].copy()
    row["scheduled_at"] += timedelta(days=days)
    row["known_at"] = pd.Timestamp(announced)
    tables[calendar] = pd.concat([rows, row], ignore_index=True)
    values = tables["macro" if macro else "reported"]
    about = (values["id" if macro else "symbol"] == subject) & (values["period_end"] == period)
    values.loc[about, "known_at"] += timedelta(days=days)


def restate(tables: Frames, subject: str, period: date, at: datetime, factor: float) -> None:
    """Let a figure be published again, as a vintage."""
    macro = subject in set(tables["macro_series"]["id"])
    name = "macro" if macro else "reported"
    values = tables[name]
    rows = values[(values["id" if macro else "symbol"] == subject) & (values["period_end"] == period)].copy()
    rows["value"] *= factor
    rows["known_at"] = pd.Timestamp(at)
    tables[name] = pd.concat([values, rows], ignore_index=True)


def forget(tables: Frames, subject: str, period: date) -> None:
    """Let a figure never be published."""
    macro = subject in set(tables["macro_series"]["id"])
    values = tables["macro" if macro else "reported"]
    about = (values["id" if macro else "symbol"] == subject) & (values["period_end"] == period)
    tables["macro" if macro else "reported"] = values[~about].reset_index(drop=True)


def _companies() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    companies, reports, reported = [], [], []
    for economy, count in COMPANIES.items():
        zone, hour = ZONES[economy]
        for number in range(count):
            symbol = f"{economy}{number}"
            currency = {"US": "USD", "JP": "JPY", "UK": "GBP"}[economy]
            companies.append(
                {
                    "symbol": symbol,
                    "name": f"Company {symbol}",
                    "economy": economy,
                    "indices": [{"US": "S&P 500", "JP": "Nikkei 225", "UK": "FTSE 100"}[economy]],
                    "sector": ("Software", "Retail", "Utilities")[number % 3],
                    "currency": currency,
                    "zone": zone,
                    "financial": False,
                    "fiscal_year_end": 12,
                    "known_at": _utc(2023, 1, 1),
                }
            )
            for quarter, end in enumerate(QUARTERS):
                label = f"{end.year} Q{end.month // 3}"
                # Spread over five weeks from the first deadline on, on business days.
                day = end + timedelta(days=34 + 7 * (number % 5))
                day += timedelta(days=(7 - day.weekday()) % 7 if day.weekday() > 4 else 0)
                at = pd.Timestamp(datetime.combine(day, hour, ZoneInfo(zone))).tz_convert("UTC")
                known = at - pd.Timedelta(days=80)
                reports.append(
                    {"symbol": symbol, "period_end": end, "label": label, "scheduled_at": at, "known_at": known}
                )
                for place, item in enumerate(ITEMS):
                    value = round(
                        1000.0 * (place + 1) * (1 + 0.03 * quarter) * (1 + 0.1 * math.sin(number + quarter)), 2
                    )
                    unit = f"{currency} per share" if "EPS" in item else f"million {currency}"
                    reported.append(
                        {"symbol": symbol, "item": item, "period_end": end, "label": label}
                        | {"value": value, "unit": unit, "known_at": at}
                    )
    return pd.DataFrame(companies), pd.DataFrame(reports), pd.DataFrame(reported)


def _macro() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    series, releases, macro = [], [], []
    wanted = [("GLOBAL:CBOE_VIX", "CBOE VIX", "GLOBAL", "day")]
    for economy in ZONES:
        wanted += [
            (f"{economy}:STOCK_INDEX", "Stock Index", economy, "day"),
            (f"{economy}:INTEREST_RATE_3M", "Interest Rate (3m)", economy, "day"),
            (f"{economy}:CPI", "CPI", economy, "month"),
            (f"{economy}:GDP", "GDP", economy, "quarter"),
        ]
    for number, (name, indicator, economy, frequency) in enumerate(wanted):
        series.append(
            {"id": name, "indicator": indicator, "economy": economy, "title": f"{economy}'s {indicator}"}
            | {"unit": "points", "frequency": frequency, "authority": "An office", "known_at": _utc(2020, 1, 1)}
        )
        zone, hour = ZONES.get(economy, ZONES["US"])
        for step, (end, label, day) in enumerate(_periods(frequency)):
            clock = time(16, 30) if frequency == "day" else hour
            at = pd.Timestamp(datetime.combine(day, clock, ZoneInfo(zone))).tz_convert("UTC")
            known = at - pd.Timedelta(days=200)
            releases.append({"id": name, "period_end": end, "label": label, "scheduled_at": at, "known_at": known})
            value = round(100 * (1 + number) * (1 + 0.001 * step) * (1 + 0.02 * math.sin(step)), 4)
            macro.append({"id": name, "period_end": end, "value": value, "known_at": at})
    return pd.DataFrame(series), pd.DataFrame(releases), pd.DataFrame(macro)


def _periods(frequency: str) -> list[tuple[date, str, date]]:
    """Last day, label and day of publication of each period."""
    days = [FIRST + timedelta(days=number) for number in range((LAST - FIRST).days + 1)]
    if frequency == "day":
        return [(day, f"{day:%B} {day.day}, {day.year}", day) for day in days if day.weekday() < 5]
    ends = [day for day in days if (day + timedelta(days=1)).day == 1]
    if frequency == "month":
        return [(end, f"{end:%B %Y}", end + timedelta(days=14)) for end in ends]
    return [(end, f"{end.year} Q{end.month // 3}", end + timedelta(days=45)) for end in ends if end.month % 3 == 0]


def _utc(year: int, month: int, day: int) -> pd.Timestamp:
    return pd.Timestamp(datetime(year, month, day, tzinfo=UTC))
