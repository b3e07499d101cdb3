"""The bundled vault: what its rows are, from whom, and that no known time is earlier than it was."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from openfingym.vault import Between, Vault
from openfingym.vault.bundled import DIGEST, FILES

NEW_YORK = ZoneInfo("America/New_York")


def after_quarter(month: str) -> date:
    """The day after the quarter that begins with a month."""
    begin = np.datetime64(month[:7], "M") + np.timedelta64(3, "M")
    return begin.astype("M8[D]").astype(date)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def vault() -> Vault:
    return Vault.open("bundled")


def end_of(day: date, zone: str = "America/New_York") -> datetime:
    return datetime.combine(day + timedelta(days=1), datetime.min.time(), ZoneInfo(zone))


def test_it_is_what_it_says(vault: Vault) -> None:
    assert vault.digest == DIGEST
    assert vault.verify() == []
    assert {entry.name: entry.rows for entry in vault.manifest.tables} == {
        "macro": 9889,
        "gdp": 48_835,
        "company_facts": 97_347,
        "filings": 40,
        "filing_calendar": 13_052,
        "filing_feed": 7511,
        "fomc_statements": 59,
        "market": 235_313,
    }
    assert all(source.licence and source.note for source in vault.manifest.sources)
    assert all(entry.known_basis for entry in vault.manifest.tables)
    for name in ("nyfed_vintages", "gdp_vintages", "sec_companyfacts", "sec_filings", "sec_events"):
        assert list(FILES.glob(f"{name}.LICENSE-*.txt"))
        assert (FILES / f"{name}.SOURCE.txt").is_file()


def test_a_payroll_figure_is_revised_twice(vault: Vault) -> None:
    # May 2016, in thousands: as released on 3 June, and as revised on 8 July and 5 August.
    may = {"series": "PAYEMS", "reference_date": "2016-05-01"}
    assert vault.as_of("2016-06-29T23:59:00-04:00").latest("macro", **may) is None
    wanted = {
        "2016-07-08T23:59:00-04:00": 143_894,
        "2016-07-09T00:00:00-04:00": 143_888,
        "2017-01-01T00:00:00Z": 143_901,
    }
    for time, figure in wanted.items():
        row = vault.as_of(time).latest("macro", **may)
        assert row is not None
        assert row["value"] == figure


def test_the_first_macro_vintage_is_whole(vault: Vault) -> None:
    # The counts are those that the source states of its vintages.
    for day, count in ((date(2016, 6, 29), 8653), (date(2016, 7, 5), 8654), (date(2016, 7, 6), 8656)):
        assert len(vault.as_of(end_of(day)).current("macro", columns=["series"])) == count


def test_nothing_is_known_before_its_time(vault: Vault) -> None:
    view = vault.hindsight("2030-01-01T00:00:00Z")
    for row in view.rows("company_facts", {"cik": 1997711}, columns=["filed", "known_at"]):
        assert row["known_at"] == end_of(row["filed"])  # type: ignore[arg-type]
    for table in ("filings", "filing_calendar", "filing_feed"):
        for row in view.rows(table, columns=["filed", "accepted_at", "known_at"], limit=3000):
            midnight = datetime.combine(row["filed"], datetime.min.time(), NEW_YORK)  # type: ignore[arg-type]
            opened = midnight + timedelta(hours=6)
            assert row["known_at"] >= opened  # type: ignore[operator]
            if row["accepted_at"] is None:
                assert row["known_at"] == end_of(row["filed"])  # type: ignore[arg-type]
            else:
                shown = row["accepted_at"] + timedelta(minutes=10)  # type: ignore[operator]
                assert row["known_at"] == max(opened, shown)
    for row in view.rows("gdp", {"series": "JP"}, columns=["reference_date", "known_at", "date_basis", "vintage"]):
        assert row["known_at"].date() > after_quarter(str(row["reference_date"]))  # type: ignore[attr-defined]
        if row["date_basis"] == "quarter_end":
            year, quarter = str(row["vintage"]).split("q")
            vintage_end = after_quarter(f"{year}-{3 * int(quarter) - 2:02}")
            assert row["known_at"].date() >= vintage_end + timedelta(days=30)  # type: ignore[attr-defined]
    for row in view.rows("fomc_statements", columns=["date", "known_at"]):
        assert row["known_at"] == end_of(row["date"])  # type: ignore[arg-type]


def test_a_close_is_known_after_the_close(vault: Vault) -> None:
    aapl = {"dataset": "us-stocks-ohlcv", "channel": "aapl_close", "date": "2000-09-29"}
    assert vault.as_of("2000-09-29T16:00:00-04:00").latest("market", **aapl) is None
    crash = vault.as_of("2000-09-29T20:00:00-04:00").latest("market", **aapl)
    # As traded: after the split of June 2000, and before that of 2005.
    assert crash is not None
    assert crash["value"] == 25.75
    rate = {"dataset": "ecb-fx", "channel": "eur_usd", "date": "2009-01-02"}
    assert vault.as_of("2009-01-02T16:59:59+01:00").latest("market", **rate) is None
    assert vault.as_of("2009-01-02T17:00:00+01:00").latest("market", **rate)["value"] == 1.3866  # type: ignore[index]


def test_nothing_that_was_adjusted_or_public_later_is_in_it(vault: Vault) -> None:
    view = vault.hindsight("2030-01-01T00:00:00Z")
    channels = view.counts("market", "channel")
    assert "aapl_close" in channels
    assert not [name for name in channels if "adj" in str(name)]
    assert "us-large-caps" not in view.counts("market", "dataset")
    for table in ("filing_calendar", "filing_feed"):
        assert not {"UPLOAD", "CORRESP", "DRS", "DRS/A", "DRSLTR", "SEC STAFF LETTER"} & set(view.counts(table, "form"))
    assert "frame" not in vault.table("company_facts").spec.columns
    assert not {"company", "ticker"} & set(vault.table("filing_calendar").spec.columns)


def test_filings_and_statements_are_found_by_their_words(vault: Vault) -> None:
    before = vault.as_of("2020-03-15T12:00:00Z").search("fomc_statements", "coronavirus", limit=50)
    after = vault.as_of("2020-03-20T12:00:00Z").search("fomc_statements", "coronavirus", limit=50)
    # Of 3 March; then those of 15 March too.
    assert {hit.row["date"] for hit in before} == {date(2020, 3, 3)}
    assert {hit.row["date"] for hit in after} == {date(2020, 3, 3), date(2020, 3, 15)}
    (best, *_) = vault.as_of("2025-06-01T00:00:00Z").search("filings", "GPU data center accelerated computing CUDA")
    assert (best.row["ticker"], best.row["form"]) == ("NVDA", "10-K")


def test_a_restated_fact_is_a_vintage_of_its_own(vault: Vault) -> None:
    # Apple's revenue of fiscal 2009 as filed, and as restated in January 2010 for new rules on iPhone sales.
    key = {
        "cik": 320193, "taxonomy": "us-gaap", "concept": "SalesRevenueNet", "unit": "USD",
        "period_start": "2008-09-28", "period_end": "2009-09-26", "dimensions": None,
    }  # fmt: skip
    values = [row["value"] for row in vault.as_of("2011-01-01T00:00:00Z").vintages("company_facts", **key)]
    assert values[0] == 36_537e6
    assert values[-1] == 42_905e6
    october = vault.as_of("2009-12-01T00:00:00Z").latest("company_facts", **key)
    assert october is not None
    assert october["value"] == 36_537e6
    assert vault.as_of("2009-12-01T00:00:00Z").count("company_facts", {"filed": Between("2009-12-02", None)}) == 0
