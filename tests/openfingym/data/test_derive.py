"""The derivation script on small originals made here, in the originals' own formats."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from openfingym.data import read_csv_panel

SCRIPT = Path(__file__).parents[3] / "scripts" / "derive_datasets.py"
TENORS = "1month,3month,6month,1year,2year,3year,5year,7year,10year,20year,30year"
CURRENCIES = ("USD", "JPY", "GBP", "SEK", "CHF", "NOK", "TRY", "CAD", "CNY", "HKD", "INR", "KRW", "MXN", "NZD", "SGD", "ZAR")


@pytest.fixture
def originals(tmp_path):
    folder = tmp_path / "originals"
    for name in ("ust_curve_daily", "ecb_fx_daily", "skfolio"):
        (folder / name).mkdir(parents=True)
    (folder / "ust_curve_daily/treasury_curves_sdist.csv").write_text(
        f"Time Period,{TENORS}\n"
        "2006-02-08 00:00:00+00:00,0.0428,0.0449,0.0467,0.0466,0.0466,0.0462,0.0455,0.0455,0.0456,0.0475,\n"
        "2006-02-09 00:00:00+00:00,0.0,0.07830000000000001,0.0467,0.0466,0.0466,0.0462,0.0455,0.0455,0.0454,0.0472,0.0451\n"
    )
    with zipfile.ZipFile(folder / "ecb_fx_daily/eurofxref-hist.zip", "w") as archive:
        rates = ["1.25", "150", "0.8", *["2.5"] * (len(CURRENCIES) - 3)]
        head = f"Date,{','.join(CURRENCIES)},BGN,\n"
        lines = [f"{day},{','.join(rates)},N/A,\n" for day in ("2009-01-05", "2009-01-02", "2008-12-31")]
        archive.writestr("eurofxref-hist.csv", head + "".join(lines))
    (folder / "skfolio/sp500_dataset.csv.gz").write_bytes(gzip.compress(b"Date,AAPL,XOM\n1990-01-02,0.264,4.068\n1990-01-03,0.266,4.027\n"))
    return folder


def run(*arguments):
    path = {"PYTHONPATH": str(SCRIPT.parents[1])}
    return subprocess.run([sys.executable, SCRIPT, *arguments], env=path, capture_output=True, text=True, check=False, timeout=120)


def read(path, measure):
    return read_csv_panel(path, measure=measure, kind="real", source="s", licence="l", name="own")


def test_small_originals_give_the_series_by_hand(originals, tmp_path):
    out = tmp_path / "out"
    done = run("--from", originals, "--to", out)
    assert done.returncode == 1  # these are not the recorded originals, and the script says so
    assert done.stdout.count("SHA-256 of the original is") == 3
    assert "rows is 1, recorded is 3391" in done.stdout

    treasury = read(out / "ust-par-yields.csv.gz", "yield")
    assert treasury.channels == ("1m", "3m", "6m", "1y", "2y", "3y", "5y", "7y", "10y", "20y", "30y")
    assert treasury.values.tolist() == [[0.0, 7.83, 4.67, 4.66, 4.66, 4.62, 4.55, 4.55, 4.54, 4.72, 4.51]]

    exchange = read(out / "ecb-fx.csv.gz", "price")
    assert [str(time)[:10] for time in exchange.times] == ["2009-01-02", "2009-01-05"]
    rate = dict(zip(exchange.channels, exchange.values[0].tolist(), strict=True))
    assert (rate["eur_usd"], rate["gbp_usd"], rate["usd_jpy"], rate["nzd_usd"], rate["usd_sek"]) == (1.25, 1.5625, 120.0, 0.5, 2.0)
    assert len(rate) == 16

    equities = read(out / "us-large-caps.csv.gz", "price")
    assert equities.channels == ("aapl", "xom")
    assert equities.values.tolist() == [[0.264, 4.068], [0.266, 4.027]]


def test_the_same_originals_give_the_same_files(originals, tmp_path):
    for out in ("one", "two"):
        run("--from", originals, "--to", tmp_path / out)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["ecb-fx.csv.gz", "us-large-caps.csv.gz", "ust-par-yields.csv.gz"]
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
