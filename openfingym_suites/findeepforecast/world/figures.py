"""Rows of the table ``reported``: the figures of each report, and those that are restated later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.reports import QuarterlyReport

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_suites.findeepforecast.world.books import Floats

TAKEN_BACK = 0.03
"""The share of a quarter's revenue that a restatement takes back."""


def reported_frame(reports: Sequence[QuarterlyReport], figures: Mapping[str, Floats]) -> pd.DataFrame:
    """Rows of the table ``reported``, in the order in which they became known.

    Args:
        reports: the reports of all quarters and companies.
        figures: figures of the books by item, each float64[companies, quarters].
    """
    import pandas as pd

    published = [report for report in reports if report.published is not None]
    parts = [_rows(published, figures, [report.published for report in published])]
    restated = [report for report in published if report.restated is not None]
    if restated:
        parts.append(_rows(restated, _restated(restated, figures), [report.restated for report in restated]))
    rows = pd.concat(parts, ignore_index=True)
    return rows.sort_values(["known_at", "symbol", "item"], kind="stable", ignore_index=True)


def _rows(
    reports: Sequence[QuarterlyReport], figures: Mapping[str, Floats], known: Sequence[datetime | None]
) -> pd.DataFrame:
    """One row for each item of each report.

    Args:
        reports: the reports.
        figures: figures by item, each float64[companies, quarters]; what is NaN is not reported.
        known: the time at which each report's figures became known.
    """
    import pandas as pd

    firms = np.array([report.firm.number for report in reports])
    quarter = np.array([report.quarter for report in reports])
    columns = {
        "symbol": np.array([report.firm.symbol for report in reports], object),
        "period_end": np.array([report.period_end for report in reports], "datetime64[s]"),
        "label": np.array([report.label for report in reports], object),
        "currency": np.array([report.firm.economy.currency for report in reports], object),
    }
    times = pd.DatetimeIndex(list(known))
    parts = []
    for item, values in sorted(figures.items()):
        own = values[firms, quarter]
        places = np.flatnonzero(~np.isnan(own))
        part = pd.DataFrame({name: column[places] for name, column in columns.items()})
        part["item"], part["value"], part["known_at"] = item, own[places], times[places]
        part["unit"] = part.pop("currency").map(read_taxonomy().metric(item).unit)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _restated(reports: Sequence[QuarterlyReport], figures: Mapping[str, Floats]) -> dict[str, Floats]:
    """The figures that a restatement changes: a part of revenue is taken back, since customers never owed it.

    Returns:
        The new figures by item, NaN but for the quarters of the given reports.
    """
    changed: dict[str, Floats] = {}
    firms = np.array([report.firm.number for report in reports])
    quarter = np.array([report.quarter for report in reports])
    scale = np.array([report.firm.units_per_million for report in reports])
    taken = np.round(TAKEN_BACK * figures["Revenue"][firms, quarter] * scale) / scale
    # A fifth of it had been set aside for tax. Assets fall by `taken`, debts by `tax` and equity by `net`, so that the
    # balance sheet still adds up; cash is what it was, as lower receivables make up for lower income.
    tax = np.minimum(np.round(0.2 * taken * scale) / scale, figures["Income Tax Expense"][firms, quarter])
    net = taken - tax
    changes = {
        **dict.fromkeys(("Revenue", "Gross Profit", "Operating Income", "EBIT", "EBITDA", "Pre-Tax Income"), -taken),
        **dict.fromkeys(("Accounts Receivable", "Total Current Assets", "Total Assets"), -taken),
        **dict.fromkeys(("Income Tax Expense", "Accrued Expenses", "Total Current Liabilities"), -tax),
        **dict.fromkeys(("Net Income", "Retained Earnings", "Total Equity"), -net),
        "Total Liabilities": -tax,
        "Working Capital Changes": net,
    }
    for item, change in changes.items():
        changed[item] = np.full_like(figures[item], np.nan)
        changed[item][firms, quarter] = np.round((figures[item][firms, quarter] + change) * scale) / scale
    shares = figures["Shares Outstanding"]
    mean = (shares[firms, quarter] + shares[firms, quarter - 1]) / 2
    lower = net / mean
    for item in ("EPS (Basic)", "EPS (Diluted)"):
        changed[item] = np.full_like(shares, np.nan)
        changed[item][firms, quarter] = np.round(figures[item][firms, quarter] - lower, 2)
    return changed
