"""``openfingym rounds report`` and ``openfingym_suites.read_season`` on a season."""

from __future__ import annotations

import json
import time

import pandas as pd
import pytest
from click.testing import CliRunner

import openfingym_suites
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.rounds.book import Book
from tests.openfingym.rounds.definitions import definition
from tests.openfingym_suites.seasons.made import SERIES, Asked, drawn_season, season_ledger
from tests.openfingym_suites.seasons.test_season_tables import line, records


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """The folder of a series, in a store of its own."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))

    def begin(name=SERIES):
        file = tmp_path / f"{name}.toml"
        text = definition(
            name, timezone="UTC", start="2025-10-27T00:00:00Z", generate="Thursday 00:00", deadline="Sunday 00:00"
        )
        file.write_text(text)
        return Book.begin(file, time.time_ns()).folder

    return begin


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return season_ledger(tmp_path_factory.mktemp("ledger"), drawn_season(0.1, seed=2))


def test_the_command_prints_the_tables_and_writes_a_page_and_json(begun, ledger, tmp_path):
    records(begun(), deep=[line("q", method="Deep Research", model="m")])
    command = ["rounds", "report", SERIES, "--state-folder", str(ledger)]
    shown = CliRunner().invoke(cli, [*command, "--html", str(tmp_path / "page.html")], catch_exceptions=False)
    assert shown.exit_code == 0
    for text in (
        "SIMULATED",
        "Overall accuracy",
        "Non-rec. Corp.",
        "Deep Research:",
        "W44",
        "Errors of",
        "made@0123456789ab",
    ):
        assert text in shown.output
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    made = CliRunner().invoke(cli, [*command, "--json"], catch_exceptions=False)
    document = json.loads(made.output)
    (season,) = document["seasons"]
    assert (document["series"], season["data_kind"]) == (SERIES, "simulated")
    accuracies = [row["accuracy"]["value"] for row in season["rows"]]
    assert f"{100 * accuracies[0]:.1f} [" in shown.output
    assert accuracies == sorted(accuracies, reverse=True)


def test_a_series_without_tracks_has_the_report_on_forecasts(begun, tmp_path):
    begun("season2")
    folder = season_ledger(tmp_path / "ledger", [Asked("q", said={"a": 1.0})])
    shown = CliRunner().invoke(cli, ["rounds", "report", "season2", "--state-folder", str(folder), "--json"])
    assert "tracks" in json.loads(shown.output)


def test_the_table_has_every_question_of_every_forecaster(begun, tmp_path):
    asked = [
        Asked("r", truth=100.0, said={"a": 101.0}, subtype="Revenue"),
        Asked("e", "non-recurrent macro", truth=1.0, said={"a": 0.9, "b": 0.2}),
        Asked("p", truth=None, state="pending", said={"b": 3.0}),
        Asked("late", week=1, truth=None, state="pending"),
    ]
    records(begun(), b=[line("r", "unparsed", method="T", model="m")])
    table = openfingym_suites.read_season(SERIES, state_folder=season_ledger(tmp_path / "ledger", asked))
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 7
    of = table.set_index([table["question"].str.rpartition("/")[2], "agent"])
    assert of.loc[("e", "a"), "loss"] == pytest.approx(0.01)
    assert of.loc[("r", "a"), "loss"] == pytest.approx(1 / 201)
    missing = of.loc[("r", "b")]
    assert (missing["answered"], missing["correct"], missing["loss"], missing["record"]) == (
        False,
        0.0,
        1.0,
        "unparsed",
    )
    assert missing["method"] == "T"
    assert table.groupby("agent")["correct"].mean().to_dict() == {"a": 1.0, "b": 0.0}
    late = table[table["agent"].isna()]
    assert late["week"].tolist() == ["2025-W45"]
    assert table["deadline"].max() == pd.Timestamp("2025-11-09", tz="UTC")


def test_a_series_of_other_questions_is_no_season(begun, ledger):
    begun("other")
    with pytest.raises(UsageError, match="no questions of a season"):
        openfingym_suites.read_season("other", state_folder=ledger)
