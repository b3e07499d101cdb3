"""The real past as a world: values against the raw files, times, expectations, and equality with truncated vaults."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from openfingym.errors import UsageError
from openfingym.questions.question import moment_ns
from openfingym.vault import Vault
from openfingym.vault.truncated import Truncations
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.truth.first_print import RecordedTruth
from openfingym_suites.findeepforecast.world.recorded import RecordedWorld
from openfingym_suites.findeepforecast.world.recorded_rows import rows_of
from openfingym_suites.findeepforecast.world.recorded_tables import issuers, metric_concepts, series_lines
from tests.sweeps import ALL

AAPL, GOOGL, NVDA = 320193, 1652044, 1045810
END_OF_2016 = date(2016, 9, 24)
CALLS = 100 if ALL else 10
TIMES = 12 if ALL else 2


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def later(vault: Vault) -> RecordedWorld:
    return RecordedWorld(vault, at("2017-03-15"))


def value(world: RecordedWorld, subject: str, measure: str, period: date) -> float | None:
    found = world.first_print(Figure(subject, measure, period))
    return None if found is None else found.value


# What the companies printed in these reports, in millions of dollars but for what is per share.
PRINTED = [
    ("AAPL", "Revenue", date(2016, 9, 24), 46_852.0),
    ("AAPL", "Net Income", date(2016, 9, 24), 9_014.0),
    ("AAPL", "EPS (Diluted)", date(2016, 9, 24), 1.67),
    ("AAPL", "Cash From Operations", date(2016, 9, 24), 16_126.0),  # 65,824 of the year less 49,698 of nine months
    ("AAPL", "Total Assets", date(2016, 9, 24), 321_686.0),
    ("AAPL", "Gross Margin", date(2016, 9, 24), 100 * 17_813 / 46_852),
    ("AAPL", "Free Cash Flow", date(2016, 9, 24), 16_126.0 - 3_977.0),
    ("AAPL", "Revenue", date(2016, 12, 31), 78_351.0),  # a quarter of 14 weeks
    ("GOOGL", "Revenue", date(2016, 9, 30), 22_451.0),
    ("GOOGL", "Net Income", date(2016, 9, 30), 5_061.0),
    ("NVDA", "Revenue", date(2016, 10, 30), 2_004.0),
    ("NVDA", "EPS (Diluted)", date(2016, 10, 30), 0.83),
]


@pytest.mark.parametrize(("symbol", "metric", "period", "printed"), PRINTED)
def test_a_quarter_is_what_the_company_printed(
    later: RecordedWorld, symbol: str, metric: str, period: date, printed: float
) -> None:
    assert value(later, symbol, metric, period) == pytest.approx(printed, rel=1e-9)


def test_first_prints_are_those_that_pandas_finds_in_the_raw_facts(later: RecordedWorld, facts: pd.DataFrame) -> None:
    """Every metric of one concept, of the reports since 2016: a quarter by its days, or two years to date."""
    compared = differenced = 0
    for symbol, cik in (("AAPL", AAPL), ("GOOGL", GOOGL), ("NVDA", NVDA)):
        own = facts[(facts.cik == cik) & (facts.filed < "2017-03-15") & (facts.taxonomy == "us-gaap")]
        ends = own[own.concept == "Assets"].groupby("accession").period_end.max()
        first = ends.reset_index().merge(own[["accession", "filed"]].drop_duplicates()).sort_values("filed")
        first = first.drop_duplicates("period_end").set_index("period_end").accession.sort_index()
        first = first[first.index >= "2016-01-01"]
        own = own[own.accession.isin(first)]
        for metric, mapped in metric_concepts().items():
            if len(mapped.alternatives) > 1 or len(mapped.alternatives[0]) > 1:
                continue
            rows = own[(own.concept == mapped.alternatives[0][0]) & (own.unit == mapped.unit)].copy()
            rows["days"] = (rows.period_end - rows.period_start).dt.days
            for place, (end, accession) in enumerate(first.items()):
                if not place:
                    continue  # what is before it may be cut off here
                mine = rows[(rows.accession == accession) & (rows.period_end == end)]
                if mapped.kind == "instant":
                    wanted = mine[mine.period_start.isna()].value
                else:
                    wanted = mine[mine.days.between(76, 104)].value
                    if wanted.empty and place and mapped.unit != "USD/shares":
                        before = rows[
                            (rows.accession == first.iloc[place - 1]) & (rows.period_end == first.index[place - 1])
                        ]
                        both = mine.merge(before, on="period_start", suffixes=("", "_before"))
                        both = both[(both.period_end - both.period_end_before).dt.days.between(76, 104)]
                        wanted = both.value - both.value_before
                        differenced += len(wanted)
                expected = None if wanted.empty else wanted.iloc[0] / mapped.scale
                if expected is None and read_taxonomy().metric(metric).formula is not None:
                    continue  # computed from others then
                assert value(later, symbol, metric, end.date()) == pytest.approx(expected), (symbol, metric, end)
                compared += expected is not None
    assert compared > 150
    assert differenced > 10


def test_a_first_print_stays_when_a_later_report_restates_it(vault: Vault) -> None:
    """NVIDIA's ten-for-one split of 2024 changed the earnings per share of the quarters before it."""
    figure = Figure("NVDA", "EPS (Diluted)", date(2023, 10, 29))
    before, after = RecordedWorld(vault, at("2024-01-15")), RecordedWorld(vault, at("2025-01-15"))

    first, last = after.first_print(figure), after.latest_print(figure)
    assert first == before.first_print(figure)
    assert first is not None
    assert last is not None
    assert (first.value, last.value) == (3.71, 0.37)


def test_macro_first_prints_are_the_first_vintages(later: RecordedWorld, macro: pd.DataFrame) -> None:
    recorded = 0
    for series in (one for one in series_lines().values() if one.table == "macro"):
        rows = macro[(macro.series == series.key) & (macro.reference_date >= "2015-01-01")]
        for reference, vintages in rows.groupby("reference_date"):
            period = (reference + pd.offsets.MonthEnd(0)).date()
            ordered = vintages.sort_values("vintage_date")
            first = later.first_print(Figure(series.id, "level", period))
            last = later.latest_print(Figure(series.id, "level", period))
            assert first is not None
            assert last is not None
            assert (first.value, last.value) == (ordered.value.iloc[0], ordered.value.iloc[-1])
            # Public after the panel before, and no later than the day of its own.
            day = ordered.vintage_date.iloc[0]
            assert first.at <= (day + pd.Timedelta(days=1, hours=5)).tz_localize("UTC")
            recorded += 1
    assert recorded > 500


def test_a_figure_in_new_prices_is_no_first_print_of_the_old_ones(vault: Vault) -> None:
    """The United States rebased their accounts in September 2023; the euro area did not."""
    world = RecordedWorld(vault, at("2024-02-01"))
    assert value(world, "US:GDP_VOLUME", "level", date(2023, 9, 30)) is None
    assert value(world, "EA:GDP", "level", date(2023, 9, 30)) is not None
    assert value(world, "US:GDP_VOLUME", "level", date(2023, 6, 30)) is not None


def test_results_are_public_when_they_are_announced_and_in_the_record_when_filed(vault: Vault) -> None:
    figure = Figure("AAPL", "Revenue", END_OF_2016)
    announced = RecordedWorld(vault, at("2016-10-26T02:00:00"))  # by an 8-K, half an hour after the close of the 25th
    filed = RecordedWorld(vault, at("2016-10-27T04:30:00"))

    assert announced.first_print(figure) is None
    assert not [one for one in announced.reports(at("2016-10-01"), at("2017-01-01")) if one.subject == "AAPL"]
    first = filed.first_print(figure)
    assert first is not None
    assert first.at == at("2016-10-25T20:32:39")
    # A question that closed between the two is void: its figure had come before the deadline.
    for deadline, status in ((first.at - timedelta(hours=1), "resolved"), (first.at + timedelta(hours=1), "void")):
        assert RecordedTruth().extract(filed, figure, moment_ns(deadline)).status == status


def test_where_no_announcement_is_recorded_results_may_be_public_three_weeks_before(later: RecordedWorld) -> None:
    first = later.first_print(
        Figure("NVDA", "Revenue", date(2016, 10, 30))
    )  # filed on 22 November, told on 10 November
    assert first is not None
    assert first.at == at("2016-11-01T04:00:00")


def test_reports_are_expected_with_the_delay_of_the_year_before(vault: Vault) -> None:
    world = RecordedWorld(vault, at("2016-10-06"))
    (report,) = [one for one in world.reports(at("2016-10-09"), at("2016-11-09")) if one.subject == "AAPL"]
    # The 10-K about 26 September 2015 came 32 days after it, on 28 October.
    assert report.period == END_OF_2016
    assert report.at == at("2016-10-27T04:00:00")
    assert report.label == "the quarter ending about September 24, 2016"
    assert world.scheduled(Figure("AAPL", "Revenue", END_OF_2016)) == report


def test_prices_are_expected_on_days_on_which_their_market_is_open(vault: Vault) -> None:
    world = RecordedWorld(vault, at("2016-12-01"))
    found = {
        series: [one.period for one in world.releases(at("2016-12-22"), at("2017-01-04")) if one.subject == series]
        for series in ("JP:FX_RATE", "US:INTEREST_RATE_1YR")
    }
    european = [date(2016, 12, day) for day in (22, 23, 27, 28, 29, 30)]
    assert found["JP:FX_RATE"] == [*european, date(2017, 1, 2), date(2017, 1, 3)]
    american = [date(2016, 12, day) for day in (21, 22, 23, 27, 28, 29, 30)]  # known after midnight in UTC
    assert found["US:INTEREST_RATE_1YR"] == [*american, date(2017, 1, 3)][: len(found["US:INTEREST_RATE_1YR"])]
    for series, days in found.items():
        have = {one.period for one in RecordedWorld(vault, at("2017-02-01")).history(series, "level")}
        assert set(days) <= have


def test_expected_dates_do_not_follow_the_realised_ones(vault: Vault, tmp_path: Path) -> None:
    """Figures that were still to come are deleted, and nothing that is expected changes."""
    time = at("2016-10-20")
    whole = RecordedWorld(vault, time)
    with Truncations(vault, tmp_path / "work") as copies:
        cut = RecordedWorld(copies.at(time, tmp_path / "copy"), time)
        assert cut.releases(time, time + timedelta(days=120)) == whole.releases(time, time + timedelta(days=120))
        assert cut.reports(time, time + timedelta(days=120)) == whole.reports(time, time + timedelta(days=120))


def test_answers_equal_those_on_a_vault_without_what_came_later(vault: Vault, tmp_path: Path) -> None:
    draw = random.Random(7)
    times = sorted(at("2012-01-01") + timedelta(hours=draw.randrange(24 * 365 * 12)) for _ in range(TIMES))
    (tmp_path / "work").mkdir()
    known = 0
    with Truncations(vault, tmp_path / "work") as copies:
        for number, time in enumerate(times):
            whole = RecordedWorld(vault, time)
            cut = RecordedWorld(copies.at(time, tmp_path / str(number)), time)
            for call in calls(draw, time):
                found = call(whole)
                assert call(cut) == found
                known += bool(found)
    assert known > TIMES * CALLS / 4


def calls(draw: random.Random, time: datetime) -> Iterator[Callable[[RecordedWorld], object]]:
    """Random calls of everything that a world answers, about what was known and what was not."""
    symbols, series = sorted({one.symbol for one in issuers()}), sorted(series_lines())
    metrics = [
        name for name in read_taxonomy().metrics if name in metric_concepts() or read_taxonomy().metrics[name].formula
    ]
    yield lambda world: (world.companies(), world.series())
    for _ in range(CALLS):
        symbol, line, metric = draw.choice(symbols), draw.choice(series), draw.choice(metrics)
        day = (time + timedelta(days=draw.randrange(-900, 200))).date()
        begin = time + timedelta(days=draw.randrange(-400, 100))
        end = begin + timedelta(days=draw.randrange(1, 8))
        corporate, macro = Figure(symbol, metric, day), Figure(line, "level", _month_end(day))
        rule = draw.choice(
            [f"8-K:{draw.choice(['1.01', '5.02', '8.01'])}", "form:10-Q", "target:any", "week:JP:FX_RATE"]
        )
        event = ForecastEvent(symbol, "3", f"since {day - timedelta(days=30)}", rule, draw.choice([1.0, 2.0]), day)
        yield from (
            lambda world, symbol=symbol: world.metrics(symbol),  # type: ignore[misc]
            lambda world, begin=begin, end=end: (  # type: ignore[misc]
                world.releases(begin, end),
                world.reports(begin, end),
            ),
            lambda world, one=corporate: _figure(world, one),  # type: ignore[misc]
            lambda world, one=macro: _figure(world, one),  # type: ignore[misc]
            lambda world, symbol=symbol, metric=metric: world.history(symbol, metric, 5),  # type: ignore[misc]
            lambda world, line=line: world.history(line, "level", 5),  # type: ignore[misc]
            lambda world, event=event: (world.ruling(event), world.rules.base_rate(event)),  # type: ignore[misc]
            lambda world, begin=begin, end=end: world.news(begin, end),  # type: ignore[misc]
            lambda world, metric=metric: world.search(metric, 3),  # type: ignore[misc]
        )


def _figure(world: RecordedWorld, one: Figure) -> tuple[object, ...]:
    return world.first_print(one), world.latest_print(one), world.scheduled(one)


def _month_end(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1) - timedelta(days=1)


def test_every_concept_of_the_table_is_filed_by_somebody(facts: pd.DataFrame) -> None:
    filed = set(facts.concept)
    assert {part for one in metric_concepts().values() for parts in one.alternatives for part in parts} <= filed
    assert set(metric_concepts()) <= {*read_taxonomy().metrics, *read_taxonomy().inputs}


def test_companies_are_called_as_on_the_day(vault: Vault) -> None:
    names = {
        year: {one.symbol: one.name for one in RecordedWorld(vault, at(f"{year}-10-01")).companies()}
        for year in (2016, 2023)
    }
    assert names[2016]["TSLA"] == "Tesla Motors, Inc."
    assert names[2023]["TSLA"] == "Tesla, Inc."
    assert {"CREE", "CLSN"} <= names[2016].keys()
    assert {"WOLF", "IMNN"} <= names[2023].keys()
    assert "CRR" not in names[2023]
    assert rows_of(vault) is rows_of(vault)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (ForecastEvent("EXPE", "3", "since 2016-10-10", "fire:5.02", 1.0, date(2016, 11, 30)), "names no rule"),
        (ForecastEvent("EXPE", "3", "a storm", "8-K:5.02", 1.0, date(2016, 11, 30)), "since"),
        (ForecastEvent("US", "C2", "since 2016-10-10", "week:JP:NONE", 1.0, date(2016, 11, 30)), "names no rule"),
        (ForecastEvent("US", "E3", "since 2016-10-10", "rise:US:NONE:2016-09-30", 1.0, date(2016, 11, 30)), "no rule"),
        (ForecastEvent("US", "E3", "since 2016-10-10", "fall:US:HOUST:soon", 1.0, date(2016, 11, 30)), "names no rule"),
    ],
)
def test_an_event_that_no_rule_decides_is_refused(later: RecordedWorld, event: ForecastEvent, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        later.ruling(event)
    with pytest.raises(UsageError, match=says):
        later.rules.base_rate(event)
