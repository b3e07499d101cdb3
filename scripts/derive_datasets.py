"""Derive the bundled series from the original files, and check them against what is recorded.

    python scripts/derive_datasets.py --from DIRECTORY [--to DIRECTORY]

DIRECTORY holds the originals, in one folder a source::

    ust_curve_daily/treasury_curves_sdist.csv
    ecb_fx_daily/eurofxref-hist.zip
    skfolio/sp500_dataset.csv.gz
    bokeh_stocks_wiki/stocks.csv.gz

Each output is compared with its provenance file (openfingym/data/series/NAME.toml); the exit
status is 1 where an original or a result is not the recorded one. Without ``--to`` nothing is
written, which makes it a check.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import itertools
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np

from openfingym.data import dataset_info
from openfingym.data.csvfile import canonical_csv

# The days between which the Treasury published a 30-year, and before them a 20-year, yield.
UST_SPANS = {"ust-par-yields-1993": ("1993-10-01", "2002-02-15"), "ust-par-yields": ("2006-02-09", "9999")}
FX_DIGITS = 7
TENORS = {
    "1month": "1m",
    "3month": "3m",
    "6month": "6m",
    "1year": "1y",
    "2year": "2y",
    "3year": "3y",
    "5year": "5y",
    "7year": "7y",
    "10year": "10y",
    "20year": "20y",
    "30year": "30y",
}
FX_FIRST, FX8_FIRST = "2009-01-02", "2005-04-01"
FX_PAIRS = (
    "eur_usd", "gbp_usd", "nzd_usd", "usd_jpy", "usd_chf", "usd_cad", "usd_hkd", "usd_sgd",
    "usd_inr", "usd_mxn", "usd_krw", "usd_zar", "usd_try", "usd_cny", "usd_nok", "usd_sek",
)  # fmt: skip
FX8_PAIRS = ("aud_usd", "gbp_usd", "usd_cad", "usd_chf", "usd_cny", "usd_jpy", "nzd_usd", "usd_sgd")

OHLCV = ("open", "high", "low", "close", "volume")
STOCKS = ("AAPL", "IBM", "MSFT")
SPLITS = {"AAPL": ("2000-06-21", "2005-02-28"), "MSFT": ("2003-02-18",)}
"""First day in new shares of each split among the rows; all are two for one."""

Table = tuple[list[str], list[str], list[list[float]]]
"""(dates, channels, rows)."""


@dataclass(frozen=True)
class Recipe:
    """How one bundled series is made from one original file."""

    name: str
    original: str
    derive: Callable[[str], Table]
    """From the original's text to the table."""


def treasury(text: str, first: str, last: str) -> Table:
    """Par yields of 3 months to 30 years, and 1 month where it is quoted throughout; decimal fractions become percent.

    The original's binary noise (0.07830000000000001) goes with the two decimals in which the
    Treasury publishes; a value that is not a multiple of 0.01 percent would be a change of source.
    """
    records = [r for r in csv.DictReader(io.StringIO(text)) if first <= r["Time Period"][:10] <= last]
    tenors = [tenor for tenor in TENORS if tenor != "1month" or all(record[tenor] for record in records)]
    dates, rows = [], []
    for record in records:
        date = record["Time Period"][:10]
        percent = [100 * Decimal(record[tenor]) for tenor in tenors]
        rounded = [value.quantize(Decimal("0.01")) for value in percent]
        if any(abs(a - b) > Decimal("1e-9") for a, b in zip(percent, rounded, strict=True)):
            raise SystemExit(f"{date}: a yield is not a multiple of 0.01 percent")
        if not any(rounded):
            raise SystemExit(f"{date}: all yields are zero")
        dates.append(date)
        rows.append([float(value) for value in rounded])
    return dates, [TENORS[tenor] for tenor in tenors], rows


def foreign_exchange(text: str, first: str, pairs: tuple[str, ...]) -> Table:
    """Dollar pairs as crosses of the euro reference rates, to seven significant digits."""
    records = sorted((r for r in csv.DictReader(io.StringIO(text)) if r["Date"] >= first), key=lambda r: r["Date"])
    rows = []
    for record in records:
        per_euro = {code: Decimal(record[code.upper()]) for pair in pairs for code in pair.split("_") if code != "eur"}
        per_euro["eur"] = Decimal(1)
        # base_quote is units of quote for one base.
        crosses = [per_euro[quote] / per_euro[base] for base, quote in (pair.split("_") for pair in pairs)]
        rows.append([float(f"{cross:.{FX_DIGITS}g}") for cross in crosses])
    return [record["Date"] for record in records], list(pairs), rows


def equities(text: str) -> Table:
    """Adjusted closes as they are, tickers in lower case."""
    reader = csv.reader(io.StringIO(text))
    header = next(reader)
    body = list(reader)
    return (
        [row[0] for row in body],
        [name.lower() for name in header[1:]],
        [[float(cell) for cell in row[1:]] for row in body],
    )


def stocks(text: str) -> Table:
    """Bars of three stocks, adjusted for the splits among the rows and for nothing else; adjusted closes as
    published.
    """
    bars = {ticker: _bars(text, ticker) for ticker in STOCKS}
    dates = list(bars[STOCKS[0]])
    if any(list(bars[ticker]) != dates for ticker in STOCKS):
        raise SystemExit("the stocks are not quoted on the same days")
    for ticker in STOCKS:
        _check_splits(bars[ticker], ticker)
    rows = [[value for ticker in STOCKS for value in _unsplit(bars[ticker][date], date, ticker)] for date in dates]
    return dates, [f"{ticker.lower()}_{name}" for ticker in STOCKS for name in (*OHLCV, "adj_close")], rows


def google(text: str) -> Table:
    """Bars of GOOG as they are; it had no split among the rows."""
    bars = _bars(text, "GOOG")
    _check_splits(bars, "GOOG")
    channels = ["open", "high", "low", "close", "adj_close", "volume"]
    return list(bars), channels, [[bar[name] for name in channels] for bar in bars.values()]


def _bars(text: str, ticker: str) -> dict[str, dict[str, float]]:
    """One stock's bars by date."""
    names = {
        "Open": "open",
        "High": "high",
        "Low": "low",
        "Close": "close",
        "Volume": "volume",
        "Adj Close": "adj_close",
    }
    bars: dict[str, dict[str, float]] = {}
    for record in csv.DictReader(io.StringIO(text)):
        if record["Ticker"] == ticker:
            bar = bars[record["Date"]] = {name: float(record[column]) for column, name in names.items()}
            if (
                not bar["low"] <= min(bar["open"], bar["close"]) <= max(bar["open"], bar["close"]) <= bar["high"]
                or bar["volume"] <= 0.0
            ):
                raise SystemExit(f"{ticker} {record['Date']}: not a bar ({bar})")
    return bars


def _check_splits(bars: dict[str, dict[str, float]], ticker: str) -> None:
    """The published adjusted close doubles against the close over every split, and nowhere else."""
    ratio = {date: bar["adj_close"] / bar["close"] for date, bar in bars.items()}
    for before, date in itertools.pairwise(bars):
        splits = sum(before < day <= date for day in SPLITS.get(ticker, ()))
        if not 2.0**splits / 1.5 < ratio[date] / ratio[before] < 2.0**splits * 1.5:
            raise SystemExit(
                f"{ticker} {date}: the adjusted closes show splits other than the {splits} since {before} that are "
                "stated"
            )


def _unsplit(bar: dict[str, float], date: str, ticker: str) -> list[float]:
    """A bar in shares of the last row. Halving and doubling are exact in binary."""
    shares = 2.0 ** sum(date < day for day in SPLITS.get(ticker, ()))
    return [*(bar[name] / shares for name in OHLCV[:4]), bar["volume"] * shares, bar["adj_close"]]


UST, ECB, WIKI = (
    "ust_curve_daily/treasury_curves_sdist.csv",
    "ecb_fx_daily/eurofxref-hist.zip",
    "bokeh_stocks_wiki/stocks.csv.gz",
)
RECIPES = (
    *(Recipe(name, UST, partial(treasury, first=first, last=last)) for name, (first, last) in UST_SPANS.items()),
    Recipe("ecb-fx", ECB, partial(foreign_exchange, first=FX_FIRST, pairs=FX_PAIRS)),
    Recipe("ecb-fx-8", ECB, partial(foreign_exchange, first=FX8_FIRST, pairs=FX8_PAIRS)),
    Recipe("us-large-caps", "skfolio/sp500_dataset.csv.gz", equities),
    Recipe("us-stocks-ohlcv", WIKI, stocks),
    Recipe("goog-ohlcv", WIKI, google),
)


def read_original(path: Path) -> str:
    """The text of a plain, gzipped or singly zipped CSV."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(archive.namelist()[0]).decode()
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()


def derive(recipe: Recipe, originals: Path, out: Path | None) -> list[str]:
    """Derive one series, write it where ``out`` is given, and return how it differs from its record."""
    path = originals / recipe.original
    dates, channels, rows = recipe.derive(read_original(path))
    content = canonical_csv(np.array(dates, dtype="datetime64[ns]"), channels, np.array(rows, dtype=np.float64))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        # mtime 0 and no file name: the same rows give the same file.
        (out / f"{recipe.name}.csv.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    info = dataset_info(recipe.name)
    compared = {
        "SHA-256 of the original": (hashlib.sha256(path.read_bytes()).hexdigest(), dict(info.originals).get(path.name)),
        "SHA-256": (hashlib.sha256(content).hexdigest(), info.sha256),
        "rows": (len(rows), info.rows),
        "first": (dates[0], str(info.first)),
        "last": (dates[-1], str(info.last)),
        "channels": (channels, list(info.channels)),
    }
    return [f"{key} is {found}, recorded is {stated}" for key, (found, stated) in compared.items() if found != stated]


def main() -> int:
    """Derive every series; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="originals", type=Path, required=True, help="folder of the originals")
    parser.add_argument(
        "--to", dest="out", type=Path, help="folder to write NAME.csv.gz into; nothing is written without it"
    )
    arguments = parser.parse_args()
    faults = 0
    for recipe in RECIPES:
        differences = derive(recipe, arguments.originals, arguments.out)
        faults += bool(differences)
        sys.stdout.write(
            "\n  ".join([f"{recipe.name}: {'differs' if differences else 'as recorded'}", *differences]) + "\n"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
