"""Derive the bundled series from the original files, and check them against what is recorded.

    python scripts/derive_datasets.py --from DIRECTORY [--to DIRECTORY]

DIRECTORY holds the originals, in one folder a source::

    ust_curve_daily/treasury_curves_sdist.csv
    ecb_fx_daily/eurofxref-hist.zip
    skfolio/sp500_dataset.csv.gz

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
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from openfingym.data import canonical_csv, dataset_info

UST_FIRST = "2006-02-09"
FX_FIRST = "2009-01-02"
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
# Quoted as US dollars per unit; every other pair is units per US dollar.
DOLLARS_PER_UNIT = ("eur", "gbp", "nzd")
UNITS_PER_DOLLAR = ("jpy", "chf", "cad", "hkd", "sgd", "inr", "mxn", "krw", "zar", "try", "cny", "nok", "sek")

Table = tuple[list[str], list[str], list[list[float]]]
"""(dates, channels, rows)."""


@dataclass(frozen=True)
class Recipe:
    """How one bundled series is made from one original file."""

    name: str
    original: str
    derive: Callable[[str], Table]
    """From the original's text to the table."""


def treasury(text: str) -> Table:
    """Par yields from the day all tenors are quoted; decimal fractions become percent.

    The original's binary noise (0.07830000000000001) goes with the two decimals in which the
    Treasury publishes; a value that is not a multiple of 0.01 percent would be a change of source.
    """
    dates, rows = [], []
    for record in csv.DictReader(io.StringIO(text)):
        date = record["Time Period"][:10]
        if date < UST_FIRST:
            continue
        percent = [100 * Decimal(record[tenor]) for tenor in TENORS]
        rounded = [value.quantize(Decimal("0.01")) for value in percent]
        if any(abs(a - b) > Decimal("1e-9") for a, b in zip(percent, rounded, strict=True)):
            raise SystemExit(f"{date}: a yield is not a multiple of 0.01 percent")
        if not any(rounded):
            raise SystemExit(f"{date}: all yields are zero")
        dates.append(date)
        rows.append([float(value) for value in rounded])
    return dates, list(TENORS.values()), rows


def foreign_exchange(text: str) -> Table:
    """Dollar pairs as crosses of the euro reference rates, to seven significant digits."""
    records = sorted((r for r in csv.DictReader(io.StringIO(text)) if r["Date"] >= FX_FIRST), key=lambda r: r["Date"])
    channels = [f"{code}_usd" for code in DOLLARS_PER_UNIT] + [f"usd_{code}" for code in UNITS_PER_DOLLAR]
    rows = []
    for record in records:
        per_euro = {code: Decimal(record[code.upper()]) for code in (*DOLLARS_PER_UNIT[1:], *UNITS_PER_DOLLAR, "usd")}
        per_euro["eur"] = Decimal(1)
        crosses = [per_euro["usd"] / per_euro[code] for code in DOLLARS_PER_UNIT]
        crosses += [per_euro[code] / per_euro["usd"] for code in UNITS_PER_DOLLAR]
        rows.append([float(f"{cross:.{FX_DIGITS}g}") for cross in crosses])
    return [record["Date"] for record in records], channels, rows


def equities(text: str) -> Table:
    """Adjusted closes as they are, tickers in lower case."""
    reader = csv.reader(io.StringIO(text))
    header = next(reader)
    body = list(reader)
    return [row[0] for row in body], [name.lower() for name in header[1:]], [[float(cell) for cell in row[1:]] for row in body]


RECIPES = (
    Recipe("ust-par-yields", "ust_curve_daily/treasury_curves_sdist.csv", treasury),
    Recipe("ecb-fx", "ecb_fx_daily/eurofxref-hist.zip", foreign_exchange),
    Recipe("us-large-caps", "skfolio/sp500_dataset.csv.gz", equities),
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
        "first": (dates[0], info.first.isoformat()),
        "last": (dates[-1], info.last.isoformat()),
        "channels": (channels, list(info.channels)),
    }
    return [f"{key} is {found}, recorded is {stated}" for key, (found, stated) in compared.items() if found != stated]


def main() -> int:
    """Derive every series; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="originals", type=Path, required=True, help="folder of the originals")
    parser.add_argument("--to", dest="out", type=Path, help="folder to write NAME.csv.gz into; nothing is written without it")
    arguments = parser.parse_args()
    faults = 0
    for recipe in RECIPES:
        differences = derive(recipe, arguments.originals, arguments.out)
        faults += bool(differences)
        sys.stdout.write("\n  ".join([f"{recipe.name}: {'differs' if differences else 'as recorded'}", *differences]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
