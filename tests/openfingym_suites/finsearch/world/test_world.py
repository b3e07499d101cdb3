"""The simulated market: prices, reports, statistics and pages hold together, and nothing is known before its time."""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from openfingym.errors import UsageError
from openfingym_suites.finsearch.world import MarketSize, finsearch_vault
from openfingym_suites.finsearch.world.building import DIGEST
from openfingym_suites.finsearch.world.calendars import HONG_KONG, NEW_YORK, SHANGHAI, sessions
from openfingym_suites.finsearch.world.macro import STATISTICS
from openfingym_suites.finsearch.world.pages.facts import facts_of
from openfingym_suites.finsearch.world.pages.writing import simulated_pages
from openfingym_suites.finsearch.world.quoting import thirty_seconds
from openfingym_suites.finsearch.world.simulate import simulate

END = "2100-01-01T00:00:00Z"


def test_pages_follow_from_what_was_known(small):
    whole = {page.url: page for page in simulated_pages(small.facts)}
    for moment in (datetime(2020, 3, 13, 21, 30, tzinfo=UTC), datetime(2021, 6, 18, 7, tzinfo=UTC)):
        known = small.facts.until(moment)
        assert len(known.points["CN_RETAIL"]) < len(small.facts.points["CN_RETAIL"])
        written = {page.url: page for page in simulated_pages(known) if page.published <= moment}
        assert written == {url: page for url, page in whole.items() if page.published <= moment}
        assert len(written) > 500
    flaws = {page.flaw for page in whole.values()}
    assert flaws >= {"", "stale", "wrong unit", "adjusted", "other definition", "rumour", "instructs"}
    assert {page.language for page in whole.values()} == {"en", "zh"}


def test_a_seed_makes_one_world(small):
    again = facts_of(simulate(small.world.size))
    assert again.reported == small.facts.reported
    assert again.points == small.facts.points
    other = facts_of(simulate(small.world.size, seed=1))
    assert other.points != small.facts.points
    for symbol, one in small.facts.prices.items():
        np.testing.assert_array_equal(again.prices[symbol].values, one.values)


def test_sessions_are_those_of_the_exchange():
    from exchange_calendars import get_calendar

    first, last = pd.Timestamp("2023-01-01"), pd.Timestamp("2024-12-31")
    calendar = get_calendar("XSHG", start=first, end=last)
    ours = sessions(SHANGHAI, first.date(), last.date())
    assert list(ours.days) == list(calendar.sessions)
    assert list(ours.close_at) == list(calendar.closes)
    assert list(ours.open_at) == list(calendar.opens)
    days = [day.date() for day in sessions(NEW_YORK, first.date(), last.date()).days]
    assert date(2024, 7, 4) not in days
    half = {NEW_YORK: "2024-12-24T18:00Z", HONG_KONG: "2024-12-24T04:00Z"}
    for hours, closed in half.items():
        times = sessions(hours, first.date(), last.date())
        assert times.close_at[times.days == "2024-12-24"] == [pd.Timestamp(closed)]


def test_bars_are_prices(small):
    view = small.vault.as_of(END)
    rows = pd.DataFrame(view.rows("bars"))
    prices = rows[["open", "high", "low", "close"]]
    assert (prices > 0).all().all()
    assert (rows["high"] >= prices.max(axis=1)).all()
    assert (rows["low"] <= prices.min(axis=1)).all()
    assert (rows["known_at"] == rows["close_at"]).all()
    assert not rows.duplicated(["symbol", "date"]).any()
    notes = rows[rows["symbol"].str.startswith("TN")]["close"] * 64
    assert (notes == notes.round()).all()
    assert thirty_seconds(113.265625) == "113'08'5"


def test_statements_add_up(small):
    found = defaultdict(dict)
    for row in small.world.reported:
        if row.form != "restatement" and not row.segment:
            key = (row.report, row.standard, row.period_start, row.period_end)
            found[key][row.item] = row.value
    balances = 0
    for items in found.values():
        if "Revenue" in items and "Cost of revenue" in items:
            assert items["Revenue"] - items["Cost of revenue"] == pytest.approx(items["Gross profit"], abs=0.011)
            assert items["Income before income taxes"] - items["Income tax expense"] == pytest.approx(
                items["Net income"], abs=0.011
            )
        if "Total assets" in items:
            balances += 1
            assert items["Total liabilities"] + items["Total equity"] == pytest.approx(items["Total assets"], abs=0.011)
    assert balances > 80
    whole = {(row.report, row.standard, row.period_start): row.value for row in small.world.reported
             if row.item == "Revenue" and not row.segment and row.form != "restatement"}  # fmt: skip
    parts = defaultdict(float)
    for row in small.world.reported:
        if row.item == "Revenue" and row.segment in {"United States", "Europe", "Greater China", "Rest of the world"}:
            parts[row.report, row.standard, row.period_start] += row.value
    assert parts
    assert all(value == pytest.approx(whole[key], abs=0.011) for key, value in parts.items())


def test_no_report_is_known_before_its_period_is_over(small):
    for row in small.world.reported:
        assert row.known_at.date() > row.period_end
    assert {row.fiscal_period for row in small.world.reported} <= {"Q1", "Q2", "Q3", "H1", "9M", "FY"}


def test_changes_of_statistics_follow_from_levels_as_then_known(small):
    levels = small.facts.points["CN_RETAIL"]
    for point in small.facts.points["CN_RETAIL_YOY"]:
        known = {each.reference_date: each.value for each in levels if each.known_at <= point.known_at}
        base = known[point.reference_date.replace(year=point.reference_date.year - 1)]
        assert point.value == pytest.approx((known[point.reference_date] / base - 1) * 100, abs=0.051)
    exports, imports = small.facts.points["CN_EXPORTS"], small.facts.points["CN_IMPORTS"]
    for point in small.facts.points["CN_TRADE_BALANCE"]:
        sold, bought = (
            [each.value for each in side
             if each.reference_date == point.reference_date and each.known_at <= point.known_at][-1]
            for side in (exports, imports)
        )  # fmt: skip
        assert point.value == pytest.approx(sold - bought, abs=0.051)
    assert len(STATISTICS) > 20


def test_exchange_rates_show_no_reference_rate_before_it_was_known(small):
    """The onshore rate of a day is near the ECB's rate of the day before, which was known."""
    view = small.vault.as_of(END)
    ecb = {row["date"]: row["value"] for row in view.rows("market", {"channel": "usd_cny", "dataset": "ecb-fx"})}
    days = sorted(ecb)
    off = []
    for row in view.rows("bars", {"symbol": "USDCNY-ONSHORE"}):
        before = [day for day in days if day < row["date"]][-1]
        off.append(abs(np.log(row["close"] / ecb[before])))
        assert row["close_at"] > datetime.combine(before, datetime.min.time(), UTC) + timedelta(hours=16)
    assert max(off) < 0.004


def test_calendars_are_in_the_package():
    folder = resources.files("openfingym_suites.finsearch.world")
    assert folder.joinpath("calendars.tsv").is_file()
    assert folder.joinpath("statistics.tsv").is_file()


def test_the_default_world_has_its_digest():
    vault = finsearch_vault()
    assert vault.digest == DIGEST
    assert finsearch_vault().folder == vault.folder
    assert vault.manifest.simulated


def test_a_size_out_of_range_is_refused():
    with pytest.raises(UsageError, match="400 days"):
        MarketSize(last_day=MarketSize.first_day)
    with pytest.raises(UsageError, match="US companies"):
        MarketSize(us=1000)
