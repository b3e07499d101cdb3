"""Derive the files of the bundled vault from the data sets that they are copies of.

    python scripts/derive_vault.py --from DIRECTORY

DIRECTORY holds the data sets, a folder each with its SOURCE.txt: nyfed_vintages, gdp_vintages, sec_companyfacts,
sec_filings, sec_events, fomc_statements. What is left out was found out later than the rest of its row: names and
tickers of today, frames that were chosen with hindsight. Where the time at which a row became known is more than the
end of a day (``known_day`` in ``openfingym/vault/files/vault.toml``), it is computed here.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

FILES = Path(__file__).resolve().parent.parent / "openfingym" / "vault" / "files"
TIME = "%Y-%m-%dT%H:%M:%SZ"
LATER_PUBLIC = ("UPLOAD", "CORRESP", "DRS", "DRS/A", "DRSLTR", "SEC STAFF LETTER")
"""Forms that EDGAR makes public long after it accepts them; when is not in the data."""


def end_of(days: pd.Series, zone: str) -> pd.Series:
    """The end of days where they are, in UTC."""
    following = pd.to_datetime(days) + pd.Timedelta(days=1)
    return following.dt.tz_localize(zone).dt.tz_convert("UTC")


def gdp_known(rows: pd.DataFrame) -> pd.Series:
    """When GDP vintages were known. Where no day is known, the source has the last one of the quarter, which may be
    too early: the first vintage with a day was taken 15 days later. So it is 31 days more.
    """
    days = pd.to_datetime(rows.vintage_date)
    return end_of(days.mask(rows.date_basis == "quarter_end", days + pd.Timedelta(days=31)), "Europe/Zurich")


def filing_known(rows: pd.DataFrame) -> pd.Series:
    """When EDGAR had shown filings: ten minutes after it accepted them, but not before 06:00 on the filing date."""
    accepted = pd.to_datetime(rows.accepted_et.replace("", None), utc=True) + pd.Timedelta(minutes=10)
    opened = pd.to_datetime(rows.filed) + pd.Timedelta(hours=6)
    opened = opened.dt.tz_localize("America/New_York").dt.tz_convert("UTC")
    known = accepted.where(accepted > opened, opened)
    return known.where(accepted.notna(), end_of(rows.filed, "America/New_York"))


def macro(folder: Path) -> pd.DataFrame:
    """Each value of the 80 vintages that is new or changed, with its series."""
    values = _table(folder / "us_macro_vintages.csv.gz")
    series = _table(folder / "series.tsv").rename(columns={"id": "series"})
    joined = values.merge(series[["series", "name", "units", "frequency", "source"]], how="left", on="series")
    return joined[["series", "name", "units", "frequency", "source", "reference_date", "value", "vintage_date"]]


def gdp(folder: Path) -> pd.DataFrame:
    """Every value of every vintage, with its series."""
    values = _table(folder / "gdp_vintages.csv.gz")
    vintages = _table(folder / "vintages.tsv")[["series", "vintage", "date_basis"]]
    series = _table(folder / "series.tsv").rename(columns={"id": "series"})[["series", "name", "units", "source"]]
    joined = values.merge(vintages, how="left", on=["series", "vintage"]).merge(series, how="left", on="series")
    columns = ["series", "name", "units", "source", "reference_date", "value", "vintage", "date_basis"]
    return joined[columns].assign(known_at=gdp_known(joined).dt.strftime(TIME))


def company_facts(folder: Path) -> pd.DataFrame:
    """Facts as filed, in the order of filing."""
    parts = [_table(folder / f"{name}.csv.gz") for name in ("companyfacts", "instance_facts")]
    facts = pd.concat(parts).fillna("").rename(columns={"start": "period_start", "end": "period_end"})
    key = ["cik", "taxonomy", "concept", "unit", "period_start", "period_end", "dimensions", "accession"]
    # A filing's facts may be in both files; the first is the SEC's own list.
    facts = facts.drop(columns="frame").drop_duplicates(key)
    return facts.sort_values(["filed", "accession"], kind="stable")


def filings(folder: Path) -> pd.DataFrame:
    """Filings with their text."""
    index = _table(folder / "index.tsv")
    index["text"] = [gzip.decompress((folder / name).read_bytes()).decode() for name in index.file]
    columns = ["form", "company", "ticker", "cik", "filed", "accepted_et", "period_end", "accession", "items", "text"]
    return _timed(index[columns])


def filing_calendar(folder: Path) -> pd.DataFrame:
    """The filings of 15 companies."""
    rows = _table(folder / "company_filings.csv.gz").drop(columns=["ticker", "company"])
    return _timed(rows[~rows.form.isin(LATER_PUBLIC)].sort_values(["filed", "accepted_et"], kind="stable"))


def filing_feed(folder: Path) -> pd.DataFrame:
    """What EDGAR's list of latest filings showed in two windows."""
    rows = _table(folder / "edgar_feed.csv.gz").drop(columns="window")
    return _timed(rows[~rows.form.isin(LATER_PUBLIC)])


def fomc_statements(folder: Path) -> pd.DataFrame:
    """Statements by day of release."""
    return _table(folder / "fomc_statements.csv.gz").drop(columns="commit")


TABLES: dict[str, tuple[str, Callable[[Path], pd.DataFrame]]] = {
    "macro": ("nyfed_vintages", macro),
    "gdp": ("gdp_vintages", gdp),
    "company_facts": ("sec_companyfacts", company_facts),
    "filings": ("sec_filings", filings),
    "filing_calendar": ("sec_events", filing_calendar),
    "filing_feed": ("sec_events", filing_feed),
    "fomc_statements": ("fomc_statements", fomc_statements),
}


def _timed(filed: pd.DataFrame) -> pd.DataFrame:
    """Filings with the time at which they were known, and that of acceptance in UTC."""
    known_at = filing_known(filed).dt.strftime(TIME)
    accepted = pd.to_datetime(filed.accepted_et.replace("", None), utc=True).dt.strftime(TIME).fillna("")
    return filed.assign(accepted_et=accepted, known_at=known_at).rename(columns={"accepted_et": "accepted_at"})


def _table(path: Path) -> pd.DataFrame:
    """Every cell as the text that it is."""
    return pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", dtype=str, keep_default_na=False)


def main() -> None:
    """Derive all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="root", type=Path, required=True)
    root: Path = parser.parse_args().root
    FILES.mkdir(exist_ok=True)
    for name, (source, derive) in TABLES.items():
        text = derive(root / source).to_csv(index=False, lineterminator="\n")
        (FILES / f"{name}.csv.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        for path in sorted((root / source).glob("*.txt")):
            shutil.copyfile(path, FILES / f"{source}.{path.name}")
            (FILES / f"{source}.{path.name}").chmod(0o644)
        sys.stdout.write(f"{name}: {(FILES / f'{name}.csv.xz').stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
