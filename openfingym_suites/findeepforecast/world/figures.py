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
    from numpy.typing import NDArray

    from openfingym_suites.findeepforecast.world.books import Floats

TAKEN_BACK = 0.03
"""The share of a quarter's revenue that a restatement takes back."""


def reported_frame(reports: Sequence[QuarterlyReport], figures: Mapping[str, Floats]) -> pd.DataFrame:
    """Rows of the table ``reported``, in the order in which they became known.

    Args:
        reports: the reports of all quarters and companies.
        figures: figures of the books by item, each float64[companies, quarters].
    """
    published = [report for report in reports if report.published is not None]
    parts = [(published, figures, [report.published for report in published])]
    restated = [report for report in published if report.restated is not None]
    if restated:
        parts.append((restated, _restated(restated, figures), [report.restated for report in restated]))
    return _rows(parts)


def _rows(
    parts: Sequence[tuple[Sequence[QuarterlyReport], Mapping[str, Floats], Sequence[datetime | None]]],
) -> pd.DataFrame:
    """One row for each item of each report.

    Args:
        parts: reports; figures by item, each float64[companies, quarters], of which those that are NaN are not
            reported; and the time at which each report's figures became known.
    """
    import pandas as pd

    items = sorted({item for _, figures, _ in parts for item in figures})
    places, codes, values = [], [], []
    first = 0
    for reports, figures, _ in parts:
        firms = np.array([report.firm.number for report in reports])
        quarter = np.array([report.quarter for report in reports])
        for code, item in enumerate(items):
            if item in figures:
                own = figures[item][firms, quarter]
                found = np.flatnonzero(~np.isnan(own))
                places.append(found + first)
                codes.append(np.full(len(found), code))
                values.append(own[found])
        first += len(reports)
    every = [report for reports, _, _ in parts for report in reports]
    known = pd.DatetimeIndex([time for _, _, times in parts for time in times])
    symbols = _numbered([report.firm.symbol for report in every])
    labels = _numbered([report.label for report in every])
    currencies = _numbered([report.firm.economy.currency for report in every])
    units = [read_taxonomy().metric(item).unit(currency) for item in items for currency in currencies[1]]
    # Categories, which are numbers with their texts beside them: a million texts take seconds.
    place, entry = np.concatenate(places), np.concatenate(codes)
    order = np.lexsort((entry, symbols[0][place], known.asi8[place]))
    place, entry = place[order], entry[order]
    unit_of, unit_names = _numbered(units)
    ends = np.array([report.period_end for report in every], "datetime64[s]")
    return pd.DataFrame(
        {
            "symbol": pd.Categorical.from_codes(symbols[0][place], pd.Index(symbols[1])),
            "period_end": ends[place],
            "label": pd.Categorical.from_codes(labels[0][place], pd.Index(labels[1])),
            "item": pd.Categorical.from_codes(entry, pd.Index(items)),
            "value": np.concatenate(values)[order],
            "known_at": known[place],
            "unit": pd.Categorical.from_codes(
                unit_of[entry * len(currencies[1]) + currencies[0][place]], pd.Index(unit_names)
            ),
        }
    )


def _numbered(texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """The number of each text among the different ones, and these in order."""
    names = sorted(set(texts))
    number = {name: place for place, name in enumerate(names)}
    return np.array([number[text] for text in texts], np.int64), names


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
