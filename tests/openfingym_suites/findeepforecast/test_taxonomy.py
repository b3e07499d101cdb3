"""What is asked about: complete, with units and tolerances; formulas compute what a person computes by hand."""

from collections import Counter
from datetime import date, timedelta

import msgspec
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.questions.question import TOLERANCES
from openfingym_suites.findeepforecast.problem import ECONOMIES
from openfingym_suites.findeepforecast.taxonomy import Clause, Grounding, read_groundings, read_taxonomy
from openfingym_suites.findeepforecast.taxonomy.formulas import read_formula

PAPER = date(2025, 10, 27)


def test_it_has_what_the_paper_counts():
    found = read_taxonomy()
    assert len(found.indicators) == 14
    assert len(found.series) == 96
    assert Counter(one.economy for one in found.series.values())["GLOBAL"] == 2
    assert "SG:INTEREST_RATE_1YR" not in found.series
    assert "US:FX_RATE" not in found.series
    assert Counter(one.category for one in found.metrics.values()) == {
        "Balance Sheet": 25, "Income Statement": 22, "Cash Flow": 15, "Profitability Ratios": 15,
        "Liquidity Ratios": 8, "Leverage Ratios": 12, "Efficiency Ratios": 12, "Coverage Ratios": 6,
        "Valuation & Market Metrics": 6,
    }  # fmt: skip
    assert [one.number for one in found.metrics.values()] == list(range(1, 122))
    per_category = Counter(one.category_code for one in found.macro_events.values())
    assert [per_category[code] for code in "ABCDEFGHI"] == [3, 2, 3, 3, 4, 3, 3, 2, 3]
    assert sorted(found.corporate_events) == list(range(1, 71))


def test_every_metric_has_a_unit_a_tolerance_and_where_no_report_says_it_a_formula():
    found = read_taxonomy()
    for metric in found.metrics.values():
        assert metric.tolerance == TOLERANCES[metric.measure]
        assert "EUR" in metric.unit("EUR") or metric.unit_class in {"percent", "ratio", "days"}
        assert metric.assumed == (metric.unit_class in {"per_share", "days"})
        assert metric.formula is not None or not metric.derived
    assert sum(metric.derived for metric in found.metrics.values()) == 59
    assert Counter(metric.assumed for metric in found.metrics.values())[True] == 12
    for indicator in found.indicators.values():
        assert indicator.tolerance == TOLERANCES[indicator.measure]


# A quarter, the one before (back 1), and the one a year before (back 4), of a company that a person can compute.
REPORT = {
    ("Revenue", 0): 1200.0, ("Revenue", 4): 1000.0, ("Cost of Revenue", 0): 720.0, ("Net Income", 0): 90.0,
    ("Net Income", 4): -60.0, ("Operating Income", 0): 150.0, ("Operating Expense", 0): 1050.0, ("EBIT", 0): 160.0,
    ("Depreciation & Amort.", 0): 40.0, ("Interest Expense", 0): 20.0, ("Income Tax Expense", 0): 30.0,
    ("Pre-Tax Income", 0): 120.0, ("Total Assets", 0): 3000.0, ("Total Assets", 1): 2800.0,
    ("Total Equity", 0): 1500.0, ("Total Equity", 1): 1400.0, ("Long Term Debt", 0): 600.0,
    ("Short Term Debt", 0): 200.0, ("Cash and Equivalents", 0): 300.0, ("Total Current Assets", 0): 900.0,
    ("Total Current Liabilities", 0): 500.0, ("Inventory", 0): 200.0, ("Inventory", 1): 160.0,
    ("Accounts Receivable", 0): 260.0, ("Accounts Receivable", 1): 220.0, ("Accounts Payable", 0): 150.0,
    ("Accounts Payable", 1): 138.0, ("Intangible Assets", 0): 400.0, ("Debt Repayment", 0): 55.0,
    ("Cash From Operations", 0): 200.0, ("Capital Expenditure", 0): 80.0, ("Lease Expense", 0): 20.0,
    ("Shares Outstanding", 0): 50.0, ("Share Price", 0): 44.0, ("Total Deposits", 0): 0.0, ("Total Deposits", 4): 0.0,
}  # fmt: skip
BY_HAND = {
    "Revenue Growth (YoY)": 20.0,
    "Net Income Growth (YoY)": 250.0,  # from a loss of 60 to a profit of 90: 150 over 60
    "Gross Margin": 40.0,
    "EBITDA": 200.0,
    "Return on Assets (ROA)": 3.0,
    "Return on Invested Capital": 100 * 150 * 0.75 / 2300,
    "Profit Margin": 100 * 110 / 1200,
    "Quick Ratio": 1.4,
    "Working Capital Ratio": 400 / 3000,
    "Net Debt to EBITDA": 2.5,
    "Financial Leverage": 2.0,
    "Inventory Turnover": 4.0,
    "Days Inventory Outstanding": 91.25 / 4,
    "Days Sales Outstanding": 91.25 / 5,
    "Days Payables Outstanding": 91.25 / 5,
    "Cash Conversion Cycle": 91.25 / 4,
    "Defensive Interval Ratio": 560 / (1050 / 91.25),
    "Debt Service Coverage": 2.0,
    "Fixed Charge Coverage": 4.5,
    "Free Cash Flow": 120.0,
    "Tangible Book Value/Share": 22.0,
    "Market Capitalization": 2200.0,
    "Enterprise Value": 2700.0,
    "Deposits Growth (YoY)": None,  # over nothing
    "NPL Ratio": None,  # no bank
    "Efficiency Ratio": None,
}


@pytest.mark.parametrize("metric", BY_HAND)
def test_formulas_compute_what_a_person_does(metric):
    found = read_taxonomy().computed(metric, lambda item, back: REPORT.get((item, back)))
    assert found == (BY_HAND[metric] if BY_HAND[metric] is None else pytest.approx(BY_HAND[metric]))


def test_a_report_counts_before_a_formula():
    stated = {**REPORT, ("EBITDA", 0): 210.0}
    assert read_taxonomy().computed("EBITDA Margin", lambda item, back: stated.get((item, back))) == pytest.approx(17.5)


@pytest.mark.parametrize("text", ["[Revenue", "[A] +", "[A] [B]", "(1 + [A]", "average(3)", "sum([A])", "[A] ** 2", ""])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(DataError, match="formula"):
        read_formula(text)


def test_seven_economies_are_grounded_and_hong_kong_is_stated_as_missing():
    found = read_taxonomy()
    for economy in ECONOMIES:
        grounded = [found.grounding(economy, code, PAPER) for code in found.macro_events]
        assert all(grounded) if economy != "HK" else not any(grounded)
    assert "prints no table" in found.about.missing["HK"]
    assert sum(not one.checkable for one in found.groundings) == 59
    assert found.grounding("US", "A1", PAPER - timedelta(days=1)) is None
    with pytest.raises(UsageError, match="no code of level 1"):
        found.grounding("US", "A9")


def grounding(**changed):
    stated = {"economy": "IN", "code": "A1", "authority": ("Reserve Bank",), "trigger": "Repo rate changes.",
              "clauses": (Clause("Repo rate changes", "qualitative"),), "valid_from": date(2026, 1, 1)}  # fmt: skip
    return Grounding(**(stated | changed))


def test_economies_and_events_are_added_and_triggers_recalibrated_without_touching_level_1():
    old = read_taxonomy()
    new = old.extended(
        [grounding(), grounding(economy="US"), grounding(economy="US", code="G2", event="Digital currency")]
    )
    assert new.macro_events is old.macro_events
    assert new.grounding("IN", "A1").trigger == "Repo rate changes."
    assert "25 bps" in new.grounding("US", "A1", date(2025, 12, 31)).trigger
    assert new.grounding("US", "A1", date(2026, 1, 1)).trigger == "Repo rate changes."
    assert new.grounding("US", "G2", event="Digital currency") is not None
    assert old.grounding("IN", "A1") is None
    with pytest.raises(DataError, match="level 1 has no"):
        old.extended([grounding(code="Z1")])
    with pytest.raises(DataError, match="another one is valid"):
        new.extended([grounding(valid_from=date(2025, 1, 1))])
    with pytest.raises(DataError, match="comes first"):
        grounding(valid_to=date(2025, 1, 1))


def test_groundings_of_somebodys_own_are_read_from_a_file(tmp_path):
    (tmp_path / "mine.json").write_bytes(msgspec.json.encode([grounding()]))
    assert read_groundings(tmp_path / "mine.json") == (grounding(),)
    (tmp_path / "mine.json").write_text('[{"economy": "IN"}]')
    with pytest.raises(DataError, match="expected a list of groundings"):
        read_groundings(tmp_path / "mine.json")
