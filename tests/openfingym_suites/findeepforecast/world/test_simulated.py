"""The simulated world: its books add up, its calendars are those of its places, and nothing later is ever shown."""

import os
import random
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import exchange_calendars
import numpy as np
import pandas as pd
import pytest

from openfingym.errors import UsageError
from openfingym.vault import Vault
from openfingym.vault.truncated import Truncations
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.building import findeepforecast_vault
from openfingym_suites.findeepforecast.world.roster import listed
from openfingym_suites.findeepforecast.world.simulated import SimulatedWorld
from openfingym_suites.findeepforecast.world.size import BY_CODE, WorldSize

END = datetime(2026, 5, 29, 23, tzinfo=UTC)
SEASON = datetime(2025, 11, 13, tzinfo=UTC)
CALLS = 250


@pytest.fixture(scope="module")
def vault():
    return findeepforecast_vault(WorldSize.small())


@pytest.fixture(scope="module")
def reported(vault):
    """First prints: a row a company and quarter, a column an item."""
    rows = vault.as_of(END).sql(
        "SELECT symbol, period_end, item, arg_min(value, known_at) AS value FROM reported GROUP BY ALL"
    )
    return pd.DataFrame(rows).pivot_table(index=["symbol", "period_end"], columns="item", values="value")


def test_the_default_world_has_the_members_of_nine_indices():
    firms = listed(WorldSize(), 0)
    assert len(firms) == len({firm.symbol for firm in firms}) == len({firm.name for firm in firms}) == 1314
    members = {}
    for firm in firms:
        for index in firm.indices:
            members[index] = members.get(index, 0) + 1
    assert members == {"S&P 500": 500, "NASDAQ 100": 100, "CSI 300": 300, "HSI": 85, "Nikkei 225": 225,
                       "FTSE 100": 100, "DAX 40": 40, "CAC 40": 40, "STI": 30}  # fmt: skip


def test_statements_add_up(reported):
    some = reported.fillna(0.0)
    banks = reported["Total Loans"].notna()

    def same(left, right, where=slice(None)):
        np.testing.assert_allclose(left[where], right[where], atol=0.06)

    same(some["Total Assets"], some["Total Liabilities"] + some["Total Equity"])
    paid_in = some["Common Stock"] + some["Preferred Stock"] + some["Minority Interest"] - some["Treasury Stock"]
    same(some["Total Equity"], paid_in + some["Retained Earnings"])
    same(some["Gross Profit"], some["Revenue"] - some["Cost of Revenue"])
    same(some["Operating Income"], some["Revenue"] - some["Operating Expense"])
    same(some["EBITDA"], some["EBIT"] + some["Depreciation & Amort."])
    interest = some["Interest Income"] - some["Interest Expense"]
    same(some["Pre-Tax Income"], some["EBIT"] + interest, ~banks)
    same(some["Pre-Tax Income"], some["EBIT"], banks)
    odd = some["Extraordinary Items"] + some["Discontinued Operations"]
    same(some["Net Income"], some["Pre-Tax Income"] - some["Income Tax Expense"] + odd)
    flows = some["Cash From Operations"] + some["Cash from Investing"] + some["Cash from Financing"]
    same(some["Net Change in Cash"], flows)
    same(some["Free Cash Flow"], some["Cash From Operations"] - some["Capital Expenditure"])
    current = some["Accounts Payable"] + some["Accrued Expenses"] + some["Deferred Revenue"] + some["Short Term Debt"]
    same(some["Total Current Liabilities"], current, ~banks)
    assert (some["Cash and Equivalents"] > 0).all()
    assert (some["Total Equity"] > 0).all()


def test_balances_follow_from_flows_and_earnings_per_share_from_shares(reported):
    for _, own in reported.groupby("symbol"):
        cash = own["Cash and Equivalents"].to_numpy()
        np.testing.assert_allclose(np.diff(cash), own["Net Change in Cash"].to_numpy()[1:], atol=0.06)
        shares = own["Shares Outstanding"].to_numpy()
        each = own["Net Income"].to_numpy()[1:] / ((shares[1:] + shares[:-1]) / 2)
        np.testing.assert_allclose(own["EPS (Basic)"].to_numpy()[1:], each, atol=0.0051)


def test_banks_have_loans_and_no_inventory(reported):
    banks = reported["Total Loans"].notna()
    assert 0 < banks.sum() < len(banks)
    for item in ("Inventory", "Total Current Assets", "R&D Expense"):
        assert reported.loc[banks, item].isna().all()
    assert reported.loc[banks, ["Total Deposits", "Saving Deposits", "Earning Assets"]].notna().all().all()
    assert reported.loc[~banks, "Total Deposits"].isna().all()


def test_a_season_has_two_years_of_reports_and_three_of_statistics_behind_it(vault):
    world = SimulatedWorld(vault, datetime(2025, 10, 30, tzinfo=UTC))
    for company in world.companies():
        assert len(world.history(company.symbol, "Revenue")) >= 9
        assert len(world.history(company.symbol, "Revenue Growth (YoY)")) >= 8
    least = {"day": 480, "month": 36, "quarter": 12}
    for series in world.series():
        assert len(world.history(series.id, "level")) >= least[series.frequency]


def test_every_metric_is_of_some_company(vault):
    world = SimulatedWorld(vault, SEASON)
    found = {metric for company in world.companies() for metric in world.metrics(company.symbol)}
    # Few companies have discontinued a business, or preferred stock.
    assert set(read_taxonomy().metrics) - found <= {"Discontinued Operations", "Preferred Stock", "Extraordinary Items"}


def test_offices_publish_at_their_own_hour_whatever_clocks_do(vault):
    rows = vault.as_of(END).sql(
        "SELECT c.id, s.economy, c.scheduled_at FROM release_calendar c JOIN macro_series s ON s.id = c.id "
        "WHERE s.frequency <> 'day' AND s.authority NOT LIKE 'Central Bank%'"
    )
    hours = {}
    for row in rows:
        zone = ZoneInfo(BY_CODE[row["economy"]].zone)
        hours.setdefault(row["economy"], set()).add(f"{row['scheduled_at'].replace(tzinfo=UTC).astimezone(zone):%H:%M}")
    assert hours == {"US": {"08:30"}, "CN": {"09:30"}, "HK": {"16:30"}, "JP": {"08:30"}, "UK": {"07:00"},
                     "DE": {"08:00"}, "FR": {"08:45"}, "SG": {"13:00"}}  # fmt: skip
    in_utc = {}
    for row in rows:
        in_utc.setdefault(row["economy"], set()).add(f"{row['scheduled_at']:%H:%M}")
    # Summer time in some places, and none in others.
    assert in_utc["US"] == {"12:30", "13:30"}
    assert in_utc["DE"] == {"06:00", "07:00"}
    assert in_utc["CN"] == {"01:30"}
    assert in_utc["JP"] == {"23:30"}


@pytest.mark.parametrize(("economy", "calendar"), [("US", "XNYS"), ("JP", "XTKS")])
def test_daily_values_are_known_when_their_exchange_has_closed(vault, economy, calendar):
    known = vault.as_of(END).sql(
        "SELECT period_end, known_at FROM macro WHERE id = ? AND period_end >= '2025-01-01' ORDER BY period_end",
        [f"{economy}:STOCK_INDEX"],
    )
    real = exchange_calendars.get_calendar(calendar, start="2025-01-01", end="2026-05-29")
    assert [row["period_end"] for row in known] == [day.date() for day in real.sessions]
    assert [row["known_at"].replace(tzinfo=UTC) for row in known] == [time.to_pydatetime() for time in real.closes]


def test_dates_move_reports_stay_away_and_a_storm_closes_markets(vault):
    view = vault.as_of(END)
    for table, key in (("report_calendar", "symbol"), ("release_calendar", "id")):
        (moved,) = view.sql(
            f"SELECT count(*) AS n FROM (SELECT {key} FROM {table} GROUP BY {key}, period_end "
            "HAVING count(DISTINCT scheduled_at) > 1)"
        )
        assert moved["n"] > 5
    never = view.sql(
        "SELECT symbol FROM report_calendar c WHERE label = '2025 Q3' AND NOT EXISTS "
        "(SELECT 1 FROM reported r WHERE r.symbol = c.symbol AND r.period_end = c.period_end)"
    )
    assert {row["symbol"] for row in never}
    closed = view.sql(
        "SELECT DISTINCT period_end FROM release_calendar c WHERE id LIKE 'HK:%' AND scheduled_at < '2026-01-01' "
        "AND NOT EXISTS (SELECT 1 FROM macro m WHERE m.id = c.id AND m.period_end = c.period_end)"
    )
    assert len(closed) == 1
    told = SimulatedWorld(vault, END).document(f"closed-HK-{closed[0]['period_end']}")
    assert told is not None
    assert told.official


def test_restatements_are_later_vintages_and_what_follows_from_a_report_stays_as_it_was(vault):
    view = vault.as_of(END)
    restated = view.sql(
        "SELECT symbol, period_end, min(known_at) AS first, max(known_at) AS last FROM reported WHERE item = 'Revenue' "
        "GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL"
    )
    assert restated
    row = restated[0]
    margin = Figure(str(row["symbol"]), "Gross Margin", row["period_end"])
    where = {"symbol": margin.subject, "period_end": margin.period}

    def by_hand(place):
        values = [view.vintages("reported", item=item, **where)[place]["value"] for item in ("Gross Profit", "Revenue")]
        return 100 * values[0] / values[1]

    world = SimulatedWorld(vault, END)
    assert world.first_print(margin).value == pytest.approx(by_hand(0))
    assert world.latest_print(margin).value == pytest.approx(by_hand(-1))
    assert by_hand(0) != by_hand(-1)
    before = SimulatedWorld(vault, row["last"].replace(tzinfo=UTC) - timedelta(seconds=1))
    assert before.latest_print(margin) == before.first_print(margin) == world.first_print(margin)
    # Growth a year later is over what stood then.
    later = Figure(
        margin.subject, "Revenue Growth (YoY)", date(margin.period.year + 1, *margin.period.timetuple()[1:3])
    )
    grown = world.first_print(later)
    if grown is not None and grown.at > row["last"].replace(tzinfo=UTC):
        base = view.vintages("reported", item="Revenue", **where)[-1]["value"]
        revenue = world.first_print(Figure(later.subject, "Revenue", later.period)).value
        assert grown.value == pytest.approx(100 * (revenue / base - 1))


def test_the_record_rules_on_events(vault):
    view = vault.as_of(END)
    world = SimulatedWorld(vault, END)
    happened = view.sql("SELECT * FROM rulings WHERE happened_on IS NOT NULL ORDER BY story LIMIT 1")[0]
    story, day, known = happened["story"], happened["happened_on"], happened["known_at"].replace(tzinfo=UTC)
    event = ForecastEvent("US", "A1", str(story), "happens", 0.0, day)
    assert world.ruling(event).happened
    assert not world.ruling(ForecastEvent("US", "A1", str(story), "happens", 0.0, day - timedelta(days=1))).happened
    assert SimulatedWorld(vault, known - timedelta(seconds=1)).ruling(event) is None
    assert world.ruling(ForecastEvent("US", "A1", "", "happens", 0.0, day)) is None


def test_a_metric_that_is_none_is_refused(vault):
    world = SimulatedWorld(vault, SEASON)
    symbol = world.companies()[0].symbol
    with pytest.raises(UsageError, match="no metric of the taxonomy"):
        world.first_print(Figure(symbol, "Revenu", date(2025, 6, 30)))
    with pytest.raises(UsageError, match="0 or more"):
        world.history(symbol, "Revenue", -1)
    assert world.history("NONE.US", "Revenue") == []
    assert world.first_print(Figure("US:NONE", "level", date(2025, 6, 30))) is None
    assert world.metrics("NONE.US") == []


def call(world, draw, subjects, stories):
    """A random call, as its answer."""
    series, symbols = subjects
    day = date(2025, 6, 1) + timedelta(days=draw.randrange(260))
    begin = world.as_of + timedelta(days=draw.randrange(-40, 40))
    end = begin + timedelta(days=draw.randrange(1, 20))
    symbol, metric = draw.choice(symbols), draw.choice([*read_taxonomy().metrics])
    figure = draw.choice(
        [
            Figure(draw.choice(series), "level", day),
            Figure(symbol, metric, draw.choice([date(2025, 9, 30), date(2025, 6, 30), date(2025, 10, 31)])),
        ]
    )
    calls = {
        "companies": world.companies,
        "metrics": lambda: world.metrics(symbol),
        "releases": lambda: world.releases(begin, end),
        "reports": lambda: world.reports(begin, end),
        "scheduled": lambda: world.scheduled(figure),
        "history": lambda: world.history(figure.subject, figure.measure, draw.choice([None, 3])),
        "first": lambda: world.first_print(figure),
        "latest": lambda: world.latest_print(figure),
        "news": lambda: world.news(begin, begin + timedelta(days=3)),
        "search": lambda: world.search(draw.choice(["rate cut", symbol, "typhoon", "revenue"]), 5),
        "document": lambda: world.document(f"report-{symbol}-2025Q3"),
        "ruling": lambda: world.ruling(ForecastEvent("US", "A1", draw.choice(stories), "happens", 0.0, day)),
    }
    name = draw.choice([*calls])
    return name, calls[name]()


def test_answers_are_those_of_a_vault_without_the_future(vault, tmp_path):
    series = [*read_taxonomy().series]
    symbols = [str(row["symbol"]) for row in vault.as_of(END).rows("companies")]
    stories = [str(row["story"]) for row in vault.as_of(END).rows("rulings")]
    cut = datetime(2025, 11, 20, 12, tzinfo=UTC)
    without = vault.truncated(cut, tmp_path / "cut")
    draws = random.Random(5)
    answered = set()
    for _ in range(CALLS):
        number = draws.randrange(2**32)
        as_of = cut - timedelta(minutes=random.Random(number).choice([0, 1, 60, 1440, 20_000]))
        whole, short = (
            call(SimulatedWorld(each, as_of), random.Random(number), (series, symbols), stories)
            for each in (vault, without)
        )
        assert whole == short
        if whole[1]:
            answered.add(whole[0])
    assert len(answered) > 9
    assert SimulatedWorld.from_view(vault.as_of(cut)).companies() == SimulatedWorld(without, cut).companies()


def test_another_process_makes_the_same_world(vault, tmp_path):
    program = (
        "from openfingym_suites.findeepforecast.world.building import write_findeepforecast, WorldSize;"
        f"print(write_findeepforecast({str(tmp_path / 'again')!r}, WorldSize.small()).digest)"
    )
    again = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Pacific/Auckland"},
        capture_output=True,
        text=True,
        check=True,
    )
    # With other rows, the simulator has another version, and records that rest on the default world are measured again.
    assert again.stdout.strip() == vault.digest == "e8105b7ec731c36cbc5cf18ece97ec524ee0bf26404088e412fbf172dec8558a"
    assert Vault.open(tmp_path / "again").verify() == []


def test_copies_of_one_digest_are_different_vaults(vault, tmp_path):
    # A certificate makes such copies, one for each time: none may answer for another.
    with Truncations(vault, tmp_path / "work") as copies:
        times = [SEASON, SEASON + timedelta(days=60)]
        cuts = [copies.at(time, tmp_path / f"copy{number}") for number, time in enumerate(times)]
        assert cuts[0].digest == cuts[1].digest
        lengths = []
        for cut, time in zip(cuts, times, strict=True):
            # Asked as of the end, a copy knows what was known when it was cut, and no more.
            known = list(SimulatedWorld(cut, END).history("US:CPI", "level"))
            assert known == list(SimulatedWorld(vault, time).history("US:CPI", "level"))
            assert not SimulatedWorld(cut, END).news(time + timedelta(microseconds=1), END)
            lengths.append(len(known))
        assert lengths[0] < lengths[1]
