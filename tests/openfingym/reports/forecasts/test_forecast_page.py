"""The page of a report on forecasts, and the command that makes it."""

from __future__ import annotations

import html
import json
import re

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.reports.forecasts import forecast_report
from scripts.simulated_season import write_season
from tests.openfingym.reports.browser import opened
from tests.openfingym.reports.forecasts.made import Said, ledger


@pytest.fixture(scope="module")
def season(tmp_path_factory):
    """A ledger's folder, of ten weeks."""
    folder = tmp_path_factory.mktemp("season")
    write_season(folder / "ledger.db", weeks=10, questions=30, seed=3)
    return folder


def test_the_page_loads_nothing_and_says_what_is_simulated(season):
    report = forecast_report(season)
    page = report.html()
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"<(script|link|img|iframe)\b|\b(src|url)\s*[=(]|https?:", page)
    assert page.count("SIMULATED") == len(report.tracks) == 3
    assert page.count('class="reliability"') == 7


def test_a_browser_draws_every_mark_inside_of_its_plot(season, tmp_path):
    document = opened(forecast_report(season).html(), tmp_path / "page.html")
    assert "Reliability" in document
    percents = [float(one) for one in re.findall(r'(?:c[xy]|x[12]|y[12])="(-?[\d.]+)%"', document)]
    assert len(percents) > 100
    assert all(0.0 <= one <= 100.0 for one in percents)


def test_a_page_of_questions_of_no_name_and_of_one_forecast_is_whole(tmp_path):
    page = forecast_report(ledger(tmp_path, [Said("", "q", 0.0, 1.0)])).html()
    assert "too few to rank" in page
    assert "Real questions." in page


def test_the_command_prints_ranks_and_writes_a_page(season, tmp_path):
    where = ["--where", "category=rates", "--where", "category=crypto"]
    command = ["ledger", "report", "--state-folder", str(season), *where]
    found = CliRunner().invoke(cli, [*command, "--html", str(tmp_path / "page.html")], catch_exceptions=False)
    assert found.exit_code == 0
    assert "SIMULATED: probabilities of events" in found.output
    assert "pairs can be told apart" in found.output
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    as_json = CliRunner().invoke(cli, [*command, "--json"], catch_exceptions=False)
    assert json.loads(as_json.output)["where"] == {"category": ["rates", "crypto"]}
