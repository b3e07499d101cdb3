"""``openfingym vault``: building, describing and verifying vaults of a user's own."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openfingym.cli import cli
from openfingym.errors import DataError, OpenFinGymError, StoreError, UsageError
from openfingym.vault import Vault

STATEMENT = """
name = "prices"
title = "Prices of mine"
simulated = true

[[sources]]
name = "me"
licence = "none"

[[tables]]
name = "prices"
files = ["prices.csv"]
key = ["asset", "day"]
about = "day"
known_day = "day"
zone = "America/New_York"
ignored = ["remark"]
known_basis = "end of the day, in New York"
[tables.columns]
asset = "VARCHAR"
day = "DATE"
price = "DOUBLE"
"""
PRICES = "asset,day,price,remark\na,2024-07-01,1.5,x\nb,2024-07-02,,y\n"


@pytest.fixture
def statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    (tmp_path / "prices.csv").write_text(PRICES)
    path = tmp_path / "vault.toml"
    path.write_text(STATEMENT)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["vault", *map(str, arguments)], standalone_mode=False)


def said(*arguments: object) -> OpenFinGymError:
    error = run(*arguments).exception
    assert isinstance(error, OpenFinGymError), repr(error)
    return error


def test_a_vault_of_ones_own_is_built_described_and_verified(statement: Path) -> None:
    built = json.loads(run("build", statement, "--json").stdout)
    assert (built["name"], built["rows"], built["simulated"]) == ("prices", 2, True)
    assert (built["first_known"], built["last_known"]) == ("2024-07-02T04:00:00+00:00", "2024-07-03T04:00:00+00:00")
    (described,) = json.loads(run("info", "prices", "--json").stdout)
    assert described == built
    assert "prices@" + built["digest"][:12] in run("info", "prices").stdout
    assert run("verify", f"prices@{built['digest'][:6]}").stdout == (
        f"ok  prices@{built['digest'][:12]}  1 tables, 2 rows\n"
    )
    view = Vault.open("prices").as_of("2024-07-02T20:00:00-04:00")
    assert [(row["asset"], row["price"]) for row in view.rows("prices")] == [("a", 1.5)]
    # Once more, into a folder: equal rows have an equal digest.
    again = json.loads(run("build", statement, "--out", statement.parent / "copy", "--json").stdout)
    assert again["digest"] == built["digest"]


def test_rows_longer_than_the_header_are_refused_and_not_moved(statement: Path) -> None:
    (statement.parent / "prices.csv").write_text("asset,day,price,remark\na,2024-07-01,1.5,x,y\nb,2024-07-02,2,y,z\n")
    # As for users: pandas warns of cells that it leaves out, and warnings are errors in tests alone.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "a row has more cells than the header" in str(said("build", statement))


def test_a_damaged_vault_is_named_with_its_file(statement: Path) -> None:
    folder = statement.parent / "copy"
    run("build", statement, "--out", folder)
    (folder / "prices.parquet").write_bytes(b"")
    found = run("verify", folder)
    assert (found.return_value, found.stdout) == (
        StoreError.exit_code,
        f"damaged  {folder}: prices.parquet: damaged: its digest is not that of the manifest\n",
    )
    ((wrong,),) = [each["wrong"] for each in json.loads(run("verify", folder, "--json").stdout)]
    assert wrong.startswith("prices.parquet")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "prices"\ntitle', 'title', r"vault.toml: Object missing required field `name`"),
        ("simulated = true", "simulated = yes", r"vault.toml: Invalid value"),
        ("about =", "abuot =", r"Object contains unknown field `abuot` - at `\$.tables\[0\]`"),
        ('price = "DOUBLE"', 'price = "MONEY"', "type 'MONEY' is none of"),
        ("America/New_York", "America/Boston", "zone 'America/Boston'"),
    ],
)  # fmt: skip
def test_a_statement_that_is_wrong_is_refused(statement: Path, old: str, new: str, message: str) -> None:
    statement.write_text(STATEMENT.replace(old, new, 1))
    error = said("build", statement)
    assert isinstance(error, UsageError)
    assert re.search(message, str(error))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "prices.csv does not exist"),
        ("", "No columns to parse"),
        (PRICES.replace("day", "date"), "has no column 'day'; it has asset, date, price, remark"),
        (PRICES.replace("1.5", "much"), "Could not convert string 'much'"),
        (PRICES.replace("2024-07-01", "2024-07-32"), "2024-07-32"),
        (PRICES.replace("2024-07-01", ""), "1 of 2 rows have no known_at"),
        ("\0\xff", "prices.csv"),
    ],
)
def test_rows_that_are_wrong_are_refused(statement: Path, content: str | None, message: str) -> None:
    path = statement.parent / "prices.csv"
    path.unlink()
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    error = said("build", statement)
    assert isinstance(error, DataError)
    assert message in str(error)


def test_a_simulated_world_that_is_too_short_is_refused() -> None:
    assert "at least 400 days" in str(said("simulate", "finsearch", "--days", "10"))


def test_no_such_vault(statement: Path) -> None:
    assert isinstance(said("info", "nothing"), UsageError)
    assert isinstance(said("verify", statement.parent), StoreError)
    assert isinstance(said("build", statement.parent / "no.toml"), UsageError)
