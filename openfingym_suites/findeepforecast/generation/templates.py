"""The wordings of recurrent problems. Which one is taken follows from the problem's key, never from an outcome."""

from __future__ import annotations

from openfingym_suites.findeepforecast.generation.sampling import lot
from openfingym_suites.findeepforecast.world.known import Company, MacroSeries, Scheduled

CORPORATE = (
    "Using available financial data, estimate {subject}'s {metric} for {period}.",
    "Based on available financial data, what will {subject} report as its {metric} for {period}?",
    "Estimate, from available financial data, the {metric} of {subject} for {period}.",
    "What is {subject}'s {metric} for {period}? Estimate it from available financial data.",
)
"""Wordings of questions about a company's metric; the first is the paper's (table 19)."""
MACRO = (
    "Using available economic data, estimate {title} for {period}.",
    "Based on available economic data, what will be {title} for {period}?",
    "Estimate, from available economic data, {title} for {period}.",
    "What is {title} for {period}? Estimate it from available economic data.",
)
"""Wordings of questions about a macro series; the first is the paper's."""
UNIT = " Give it {unit}, as it is published first."
"""The sentence that leaves a question one truth."""
_WORDED = {"ratio": "as a ratio", "index": "as an index"}
"""Units before which there is no *in*, as they are worded."""


def corporate_text(key: str, company: Company, metric: str, report: Scheduled, unit: str) -> str:
    """The question about a metric of a company's report.

    Args:
        key: key of the problem, which decides the wording.
        company: the company that reports.
        metric: name of the metric in the taxonomy.
        report: the report of the quarter, as the calendar has it.
        unit: the unit that is asked for.
    """
    subject = f"{company.name} ({company.symbol})"
    wording = CORPORATE[lot("wording", key) % len(CORPORATE)]
    return wording.format(subject=subject, metric=metric, period=report.label) + _in_unit(unit)


def macro_text(key: str, series: MacroSeries, release: Scheduled) -> str:
    """The question about the figure of a macro series.

    Args:
        key: key of the problem, which decides the wording.
        series: the macro series that is asked about.
        release: the release that is asked about, as the calendar has it.
    """
    wording = MACRO[lot("wording", key) % len(MACRO)]
    return wording.format(title=series.title, period=release.label) + _in_unit(series.unit)


def _in_unit(unit: str) -> str:
    return UNIT.format(unit=_WORDED.get(unit, f"in {unit}"))


def corporate_details(company: Company, metric: str, report: Scheduled, unit: str) -> dict[str, str]:
    """What is stated beside a question about a metric, by name.

    Args:
        company: the company that reports.
        metric: name of the metric in the taxonomy.
        report: the report of the quarter, as the calendar has it.
        unit: the unit that is asked for.
    """
    stated = {
        "Company": company.name,
        "Ticker": company.symbol,
        "Index": ", ".join(company.indices),
        "Metric": metric,
        "Period": f"{report.label}, which ends on {report.period}",
        "Unit": unit,
        "Scheduled": f"{report.at:%Y-%m-%d} UTC",
    }
    return {name: value for name, value in stated.items() if value}


def macro_details(series: MacroSeries, release: Scheduled) -> dict[str, str]:
    """What is stated beside a question about a macro series, by name.

    Args:
        series: the macro series that is asked about.
        release: the release that is asked about, as the calendar has it.
    """
    return {
        "Economy": "global" if series.economy == "GLOBAL" else series.economy,
        "Indicator": series.indicator,
        "Series": series.id,
        "Period": release.label,
        "Unit": series.unit,
        "Scheduled": f"{release.at:%Y-%m-%d} UTC",
    }
