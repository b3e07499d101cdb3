"""The bundled vault, and the package's files that it was built from, read with pandas alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import openfingym.vault
from openfingym.vault import Vault

FILES = Path(openfingym.vault.__file__).parent / "files"


@pytest.fixture(scope="session")
def vault() -> Vault:
    return Vault.open("bundled")


@pytest.fixture(scope="session")
def facts() -> pd.DataFrame:
    """Facts of reports as filed, without those of segments."""
    found = pd.read_csv(FILES / "company_facts.csv.xz", parse_dates=["period_start", "period_end", "filed"])
    return found[found.dimensions.isna() & found.form.isin(["10-Q", "10-K"])]


@pytest.fixture(scope="session")
def macro() -> pd.DataFrame:
    return pd.read_csv(FILES / "macro.csv.xz", parse_dates=["reference_date", "vintage_date"])


@pytest.fixture(scope="session")
def calendar() -> pd.DataFrame:
    return pd.read_csv(FILES / "filing_calendar.csv.xz", parse_dates=["filed"], dtype={"items": str})


@pytest.fixture(scope="session")
def statements() -> pd.DataFrame:
    return pd.read_csv(FILES / "fomc_statements.csv.xz", parse_dates=["date"])
