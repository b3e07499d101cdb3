"""Figures of forecasts, against scikit-learn and what is counted by hand."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from openfingym.errors import StoreError, UsageError
from openfingym.reports.forecasts import forecast_report
from openfingym.reports.forecasts.sums import SMALLEST
from scripts.simulated_season import write_season
from tests.openfingym.reports.forecasts.made import Said, ledger, reported


@pytest.fixture(scope="module")
def season(tmp_path_factory):
    """A ledger of eight weeks."""
    file = tmp_path_factory.mktemp("season") / "ledger.db"
    write_season(file, weeks=8, questions=40, seed=3)
    return file


def rows_of(file, agent, form):
    """(answer, truth, loss, naive, market) of an agent's forecasts, read one by one."""
    query = (
        "SELECT answer, value, loss, naive_loss, market_loss FROM forecasts JOIN forecasters ON forecaster ="
        " forecasters.id JOIN questions ON questions.id = forecasts.question JOIN resolutions ON resolutions.question ="
        " questions.id AND n = 1 WHERE agent = ? AND form = ?"
    )
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute(query, (agent, form)).fetchall()


def row_of(report, track, agent):
    tracks = {one.name: one for one in report.tracks}
    return next(row for row in tracks[track].rows if row.forecaster.agent == agent)


def test_figures_of_events_are_those_of_scikit_learn(season):
    report = forecast_report(season)
    for agent in ("deep-research", "half-asked", "bold"):
        found = rows_of(season, agent, "probability")
        p = np.array([json.loads(answer)["probability"] for answer, *_ in found])
        y, _, naive, market = (np.array(column) for column in list(zip(*found, strict=True))[1:])
        row = row_of(report, "events", agent)
        assert row.figures.questions == len(p)
        assert row.figures.loss == pytest.approx(brier_score_loss(y, p))
        assert row.figures.log_score == pytest.approx(log_loss(y, np.clip(p, SMALLEST, 1.0 - SMALLEST)))
        assert row.figures.accuracy == pytest.approx(accuracy_score(y, p > 0.5))
        assert row.skill.value == pytest.approx(1.0 - brier_score_loss(y, p) / naive.mean())
        assert row.market_skill.value == pytest.approx(1.0 - brier_score_loss(y, p) / market.mean())
        happened, forecast = calibration_curve(y, p, n_bins=10)
        bins = [one for one in row.calibration.bins if one is not None]
        assert [one.frequency for one in bins] == pytest.approx(happened)
        assert [one.forecast for one in bins] == pytest.approx(forecast)
        counts = np.array([one.count for one in bins])
        assert row.calibration.ece == pytest.approx(counts @ np.abs(happened - forecast) / counts.sum())


def test_the_weight_beside_the_price_is_that_of_a_regression(season):
    api = pytest.importorskip("statsmodels.api")
    found = rows_of(season, "search", "probability")
    p = np.array([json.loads(answer)["probability"] for answer, *_ in found])
    y, _, _, market = (np.array(column) for column in list(zip(*found, strict=True))[1:])
    m = np.where(y == 1.0, 1.0 - np.sqrt(market), np.sqrt(market))
    fitted = api.OLS(y - m, p - m).fit()
    row = row_of(forecast_report(season), "events", "search")
    assert row.price_weight.value == pytest.approx(fitted.params[0])
    assert row.price_weight.low < row.price_weight.value < row.price_weight.high


def test_who_repeats_the_price_has_no_weight_beside_it(tmp_path):
    generator = np.random.default_rng(0)
    price = generator.uniform(0.05, 0.95, 200)
    y = (generator.random(200) < price).astype(float)
    said = [
        Said("copy", f"q{n}", float(price[n]), float(y[n]), week=n // 10, market=float(price[n])) for n in range(200)
    ]
    row = row_of(reported(tmp_path, said), "events", "copy")
    assert row.price_weight.value is None
    assert row.market_skill.value == pytest.approx(0.0)


def test_coverage_and_width_of_intervals_are_counted(season):
    found = rows_of(season, "bold", "interval")
    ends = np.array([json.loads(answer)["interval"] for answer, *_ in found])
    y = np.array([truth for _, truth, *_ in found])
    row = row_of(forecast_report(season), "intervals", "bold")
    assert row.interval.coverage == pytest.approx(((ends[:, 0] <= y) & (y <= ends[:, 1])).mean())
    assert row.interval.nominal == pytest.approx(0.9)
    assert row.interval.width == pytest.approx(0.1 / 2.2)  # of the price at submission, as the season draws it


def test_slices_add_up_to_the_whole(season):
    track = forecast_report(season).tracks[0]
    for dimension in ("category", "market", "horizon", "week"):
        mine = [one for one in track.slices if one.dimension == dimension and one.forecaster.agent == "search"]
        assert len(mine) == {"category": 5, "market": 4, "horizon": 3, "week": 8}[dimension]
        whole = row_of(forecast_report(season), "events", "search").figures
        assert sum(one.figures.questions for one in mine) == whole.questions
        assert sum(one.figures.questions * one.figures.loss for one in mine) == pytest.approx(
            whole.questions * whole.loss
        )


def test_only_what_counts_and_is_scored_is_reported(tmp_path):
    said = [
        Said("a", "q1", 0.7, 1.0),
        Said("a", "q1", 0.1, 1.0, counts=0),
        Said("a", "q2", 0.7, 1.0, state="resolved"),
        Said("a", "q3", 0.4, 0.5),
    ]
    report = reported(tmp_path, said)
    row = row_of(report, "events", "a")
    assert (report.forecasts, report.questions) == (2, 2)
    assert row.figures.loss == pytest.approx((0.09 + 0.01) / 2)
    assert (row.figures.judged, row.figures.accuracy) == (1, 1.0)  # half a payout is neither right nor wrong


def test_real_and_simulated_questions_share_no_figure(tmp_path):
    said = [Said("a", "q1", 0.7, 1.0), Said("a", "q2", 0.2, 1.0, simulated=True)]
    found = reported(tmp_path, said).tracks
    assert [(one.data_kind, one.forecasts) for one in found] == [("real", 1), ("simulated", 1)]


def test_forecasts_are_chosen_by_names_and_patterns(season, tmp_path):
    whole = forecast_report(season)
    rates = forecast_report(season, where={"category": "rates", "agent": ["search", "bo?d"]})
    assert {row.forecaster.agent for row in rates.tracks[0].rows} == {"search", "bold"}
    assert {one.value for one in rates.tracks[0].slices if one.dimension == "category"} == {"rates"}
    assert forecast_report(season, where={"round": "weekly-*"}).forecasts == whole.forecasts
    assert forecast_report(season, where={"round": "weekly-00[1]"}).forecasts == 0  # a bracket is a bracket
    found = reported(tmp_path, [Said("a [x]", "q", 0.5, 1.0), Said("a x", "q", 0.5, 1.0)], where={"agent": "a [x]"})
    assert [row.forecaster.agent for row in found.tracks[0].rows] == ["a [x]"]
    with pytest.raises(UsageError, match="cannot be chosen by 'colour'"):
        forecast_report(season, where={"colour": "red"})


def test_a_report_says_the_same_twice_and_holds_no_number_that_json_lacks(season):
    text = forecast_report(season).to_json()
    assert text == forecast_report(season).to_json()
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["tracks"][0]["rows"][0]["forecaster"].keys() == {"agent", "version", "principal"}


@pytest.mark.parametrize("count", [0, 1])
def test_a_ledger_with_hardly_a_forecast_is_reported(tmp_path, count):
    report = reported(tmp_path, [Said("a", "q1", 1.0, 0.0)][:count])
    assert report.forecasts == count
    assert [standing.rank for track in report.tracks for group in track.groups for standing in group] == [None] * count
    json.loads(report.to_json(), parse_constant=pytest.fail)
    assert ("No forecast is scored yet" in report.html()) == (count == 0)


def test_what_is_no_ledger_of_forecasts_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no such ledger"):
        forecast_report(tmp_path)
    sqlite3.connect(tmp_path / "ledger.db").execute("PRAGMA user_version = 5").connection.close()
    with pytest.raises(StoreError, match="format 5, which has no forecasts"):
        forecast_report(tmp_path)
    (tmp_path / "ledger.db").write_bytes(b"<html>" * 1000)
    with pytest.raises(StoreError, match="cannot be read"):
        forecast_report(tmp_path / "ledger.db")


def test_a_ledger_is_read_while_it_is_written_to(tmp_path):
    folder = ledger(tmp_path, [Said("a", "q1", 0.7, 1.0)])
    writer = sqlite3.connect(folder / "ledger.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE forecasts SET loss = 0.5")
    assert forecast_report(folder).tracks[0].rows[0].figures.loss == pytest.approx(0.09)
    writer.close()
