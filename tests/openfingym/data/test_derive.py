"""The derivation script on small originals made here, in the originals' own formats."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from openfingym.data.csvfile import read_csv_panel

SCRIPT = Path(__file__).parents[3] / "scripts" / "derive_datasets.py"
TENORS = "1month,3month,6month,1year,2year,3year,5year,7year,10year,20year,30year"
CURRENCIES = (
    "AUD",
    "USD",
    "JPY",
    "GBP",
    "SEK",
    "CHF",
    "NOK",
    "TRY",
    "CAD",
    "CNY",
    "HKD",
    "INR",
    "KRW",
    "MXN",
    "NZD",
    "SGD",
    "ZAR",
)


# Apple's price halves with each split; its adjusted close does not.
STOCKS = """Ticker,Date,Open,High,Low,Close,Volume,Adj Close
AAPL,2000-06-20,100.0,104.0,96.0,100.0,1000,25.5
AAPL,2000-06-21,50.0,52.0,48.0,50.0,2000,25.5
AAPL,2005-02-28,25.0,26.0,24.0,25.0,4000,25.5
MSFT,2000-06-20,80.0,81.0,79.0,80.0,500,30.5
MSFT,2000-06-21,80.0,81.0,79.0,80.0,500,30.5
MSFT,2005-02-28,40.0,41.0,39.0,40.0,900,30.5
IBM,2000-06-20,90.0,91.0,89.0,90.0,10,70.5
IBM,2000-06-21,90.0,91.0,89.0,90.0,20,70.5
IBM,2005-02-28,90.0,91.0,89.0,90.0,30,70.5
GOOG,2004-08-19,100.01,104.06,95.96,100.335,44659000,50.16
GOOG,2004-08-20,101.01,109.08,100.5,108.31,22834300,54.15
"""


@pytest.fixture
def originals(tmp_path):
    folder = tmp_path / "originals"
    for name in ("ust_curve_daily", "ecb_fx_daily", "skfolio", "bokeh_stocks_wiki"):
        (folder / name).mkdir(parents=True)
    (folder / "ust_curve_daily/treasury_curves_sdist.csv").write_text(
        f"Time Period,{TENORS}\n"
        "1993-09-30 00:00:00+00:00,,0.0298,0.0311,0.0335,0.0384,0.0418,0.0472,0.0503,0.0534,,0.0598\n"
        "1993-10-01 00:00:00+00:00,,0.0298,0.0311,0.0335,0.0384,0.0418,"
        "0.0472,0.050300000000000004,0.0534,0.0612,0.0598\n"
        "2002-02-15 00:00:00+00:00,0.0172,0.0174,0.0184,0.022,0.0297,0.035,0.0427,0.0466,0.0486,0.0558,0.0537\n"
        "2006-02-08 00:00:00+00:00,0.0428,0.0449,0.0467,0.0466,0.0466,0.0462,0.0455,0.0455,0.0456,0.0475,\n"
        "2006-02-09 00:00:00+00:00,0.0,0.07830000000000001,0.0467,0.0466,0.0466,"
        "0.0462,0.0455,0.0455,0.0454,0.0472,0.0451\n"
    )
    with zipfile.ZipFile(folder / "ecb_fx_daily/eurofxref-hist.zip", "w") as archive:
        rates = ["2", "1.25", "150", "0.8", *["2.5"] * (len(CURRENCIES) - 4)]
        head = f"Date,{','.join(CURRENCIES)},BGN,\n"
        lines = [f"{day},{','.join(rates)},N/A,\n" for day in ("2009-01-05", "2009-01-02", "2008-12-31")]
        archive.writestr("eurofxref-hist.csv", head + "".join(lines))
    (folder / "skfolio/sp500_dataset.csv.gz").write_bytes(
        gzip.compress(b"Date,AAPL,XOM\n1990-01-02,0.264,4.068\n1990-01-03,0.266,4.027\n")
    )
    (folder / "bokeh_stocks_wiki/stocks.csv.gz").write_bytes(gzip.compress(STOCKS.encode()))
    return folder


def run(*arguments):
    path = {"PYTHONPATH": str(SCRIPT.parents[1])}
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], env=path, capture_output=True, text=True, check=False, timeout=120
    )


def read(path, measure):
    return read_csv_panel(path, measure=measure, kind="real", source="s", licence="l", name="own")


def test_small_originals_give_the_series_by_hand(originals, tmp_path):
    out = tmp_path / "out"
    done = run("--from", originals, "--to", out)
    assert done.returncode == 1  # these are not the recorded originals, and the script says so
    assert done.stdout.count("SHA-256 of the original is") == 7
    assert "rows is 1, recorded is 3391" in done.stdout

    treasury = read(out / "ust-par-yields.csv.gz", "yield")
    assert treasury.channels == ("1m", "3m", "6m", "1y", "2y", "3y", "5y", "7y", "10y", "20y", "30y")
    assert treasury.values.tolist() == [[0.0, 7.83, 4.67, 4.66, 4.66, 4.62, 4.55, 4.55, 4.54, 4.72, 4.51]]

    early = read(out / "ust-par-yields-1993.csv.gz", "yield")
    assert early.channels == treasury.channels[1:]
    assert early.values.tolist() == [
        [2.98, 3.11, 3.35, 3.84, 4.18, 4.72, 5.03, 5.34, 6.12, 5.98],
        [1.74, 1.84, 2.2, 2.97, 3.5, 4.27, 4.66, 4.86, 5.58, 5.37],
    ]

    eight = read(out / "ecb-fx-8.csv.gz", "price")
    assert eight.channels == ("aud_usd", "gbp_usd", "usd_cad", "usd_chf", "usd_cny", "usd_jpy", "nzd_usd", "usd_sgd")
    assert len(eight.times) == 3
    assert eight.values[0].tolist() == [0.625, 1.5625, 2.0, 2.0, 2.0, 120.0, 0.5, 2.0]

    exchange = read(out / "ecb-fx.csv.gz", "price")
    assert [str(time)[:10] for time in exchange.times] == ["2009-01-02", "2009-01-05"]
    rate = dict(zip(exchange.channels, exchange.values[0].tolist(), strict=True))
    assert (rate["eur_usd"], rate["gbp_usd"], rate["usd_jpy"], rate["nzd_usd"], rate["usd_sek"]) == (
        1.25,
        1.5625,
        120.0,
        0.5,
        2.0,
    )
    assert len(rate) == 16

    equities = read(out / "us-large-caps.csv.gz", "price")
    assert equities.channels == ("aapl", "xom")
    assert equities.values.tolist() == [[0.264, 4.068], [0.266, 4.027]]


def test_the_same_originals_give_the_same_files(originals, tmp_path):
    for out in ("one", "two"):
        run("--from", originals, "--to", tmp_path / out)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == [
        "ecb-fx-8.csv.gz", "ecb-fx.csv.gz", "goog-ohlcv.csv.gz", "us-large-caps.csv.gz", "us-stocks-ohlcv.csv.gz",
        "ust-par-yields-1993.csv.gz", "ust-par-yields.csv.gz",
    ]  # fmt: skip
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_without_a_destination_nothing_is_written(originals):
    before = sorted(originals.rglob("*"))
    assert run("--from", originals).returncode == 1
    assert sorted(originals.rglob("*")) == before


@pytest.mark.parametrize(("old", "new", "words"), [("0.0467,", "0.04671,", "not a multiple"), ("0.0472", "", "")])
def test_a_source_that_changed_is_refused(originals, tmp_path, old, new, words):
    path = originals / "ust_curve_daily/treasury_curves_sdist.csv"
    head, tail = path.read_text().split("2006-02-09")
    path.write_text(head + "2006-02-09" + tail.replace(old, new, 1))
    done = run("--from", originals, "--to", tmp_path / "out")
    assert done.returncode != 0
    assert words in done.stderr
    assert not (tmp_path / "out" / "ust-par-yields.csv.gz").exists()


def test_bars_are_put_into_shares_of_the_last_row(originals, tmp_path):
    run("--from", originals, "--to", tmp_path)
    stocks = read(tmp_path / "us-stocks-ohlcv.csv.gz", "mixed")
    column = dict(zip(stocks.channels, stocks.values.T.tolist(), strict=True))
    assert column["aapl_close"] == [25.0, 25.0, 25.0]
    assert column["aapl_high"] == [26.0, 26.0, 26.0]
    assert column["aapl_volume"] == [4000.0, 4000.0, 4000.0]
    assert column["aapl_adj_close"] == [25.5, 25.5, 25.5]
    assert column["ibm_volume"] == [10.0, 20.0, 30.0]
    assert column["msft_low"] == [39.5, 39.5, 39.0]
    google = read(tmp_path / "goog-ohlcv.csv.gz", "mixed")
    assert google.channels == ("open", "high", "low", "close", "adj_close", "volume")
    assert google.values[0].tolist() == [100.01, 104.06, 95.96, 100.335, 50.16, 44659000.0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "MSFT,2005-02-28,40.0,41.0,39.0,40.0,900,30.5",
            "MSFT,2005-02-28,80.0,81.0,79.0,80.0,900,30.5",
            "MSFT 2005-02-28: the adjusted closes show splits",
        ),
        ("IBM,2000-06-21,90.0", "IBM,2000-06-21,92.0", "IBM 2000-06-21: not a bar"),
        ("IBM,2000-06-21,90.0,91.0,89.0,90.0,20", "IBM,2000-06-21,90.0,91.0,89.0,90.0,0", "IBM 2000-06-21: not a bar"),
        ("IBM,2000-06-21", "IBM,2000-06-22", "not quoted on the same days"),
    ],
)
def test_stocks_that_are_not_what_they_were_are_refused(originals, tmp_path, old, new, words):
    assert old in STOCKS
    (originals / "bokeh_stocks_wiki/stocks.csv.gz").write_bytes(gzip.compress(STOCKS.replace(old, new).encode()))
    done = run("--from", originals, "--to", tmp_path / "out")
    assert done.returncode != 0
    assert words in done.stderr
    assert not (tmp_path / "out" / "us-stocks-ohlcv.csv.gz").exists()
