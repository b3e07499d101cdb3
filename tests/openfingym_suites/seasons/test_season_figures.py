"""Figures of seasons: recomputed by pandas from the ledger's rows, and intervals against other libraries'."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.api as sm

from openfingym_suites.seasons import is_season, season_report
from openfingym_suites.seasons.clusters import estimate, ratio
from tests.openfingym_suites.seasons.made import SERIES, Asked, drawn_season, season_ledger

ROWS = """
SELECT name, content, market, category, round, state, value, agent, principal, p, correct
FROM questions LEFT JOIN resolutions ON resolutions.question = questions.id AND n = 1
LEFT JOIN forecasts ON forecasts.question = questions.id AND counts = 1
LEFT JOIN forecasters ON forecaster = forecasters.id
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ledger of a tenth of the paper's volumes."""
    return season_ledger(tmp_path_factory.mktemp("season"), drawn_season(0.2, seed=4))


@pytest.fixture(scope="module")
def season(folder):
    return season_report(folder, SERIES).seasons[0]


@pytest.fixture(scope="module")
def raw(folder):
    """One row a scored question and forecaster, missing ones too, as pandas makes it of the ledger's rows."""
    with contextlib.closing(sqlite3.connect(folder / "ledger.db")) as connection:
        rows = pd.read_sql_query(ROWS, connection)
    query = rows["content"].map(lambda text: json.loads(text)["query"]).apply(pd.Series)
    rows = pd.concat([rows, query], axis=1)
    rows = rows[rows["state"] == "scored"]
    questions = rows.drop_duplicates("name").drop(columns=["agent", "principal", "p", "correct"])
    said = rows.dropna(subset=["agent"])[["name", "agent", "p", "correct"]]
    every = questions.merge(said[["agent"]].drop_duplicates(), how="cross")
    table = every.merge(said, how="left", on=["name", "agent"])
    apart = (table["p"] - table["value"]).abs()
    event = table["track"] == "non-recurrent"
    table["event"] = event
    loss = apart**2
    loss[~event] = apart / (table["p"].abs() + table["value"].abs())
    table["loss"] = loss.fillna(1.0)
    table["right"] = table["correct"].fillna(0.0)
    table["relative"] = (apart / table["value"].abs()).fillna(np.inf)
    return table


def rows_by_agent(season):
    return {row.forecaster.agent: row for row in season.rows}


def test_accuracy_brier_and_errors_are_those_of_pandas(season, raw):
    found = rows_by_agent(season)
    assert set(found) == set(raw["agent"])
    for agent, mine in raw.groupby("agent"):
        row = found[agent]
        assert row.accuracy.value == pytest.approx(mine["right"].mean())
        assert row.accuracy_answered == pytest.approx(mine["correct"].mean())
        assert (row.asked, row.answered) == (len(mine), mine["p"].notna().sum())
        assert row.brier.value == pytest.approx(mine.loc[mine["event"], "loss"].mean())
        assert row.bounded_error.value == pytest.approx(mine.loc[~mine["event"], "loss"].mean())
        numbers = mine.loc[~mine["event"], "relative"]
        assert row.median_error == pytest.approx(numbers.quantile(0.5, interpolation="higher"))


def test_skill_is_that_of_pandas(season, raw):
    wide = raw.pivot_table(index="name", columns="agent", values="loss", dropna=False)
    right = raw.pivot_table(index="name", columns="agent", values="right", dropna=False)
    event = raw.drop_duplicates("name").set_index("name")["event"].reindex(wide.index)
    for agent, row in rows_by_agent(season).items():
        for skill in row.skills:
            other = skill.reference.agent
            assert skill.accuracy.value == pytest.approx((right[agent] - right[other]).mean())
            assert skill.events.value == pytest.approx(
                1.0 - wide.loc[event, agent].sum() / wide.loc[event, other].sum()
            )
            ratio_of = wide.loc[~event, agent].sum() / wide.loc[~event, other].sum()
            assert skill.numbers.value == pytest.approx(1.0 - ratio_of)
    assert {skill.reference.agent for row in season.rows for skill in row.skills} == {"naive", "seasonal"}


@pytest.mark.parametrize(
    ("dimension", "column"),
    [("market", "market"), ("quadrant", "category"), ("track", "track"), ("week", "round"), ("horizon", "horizon")],
)
def test_accuracy_of_parts_is_that_of_pandas(season, raw, dimension, column):
    found = {(one.forecaster.agent, one.value): one.accuracy for one in season.slices if one.dimension == dimension}
    expected = raw.groupby(["agent", column])["right"].agg(["mean", "size"])
    assert len(found) == len(expected)
    for (agent, value), row in expected.iterrows():
        one = found[agent, value.rpartition("/")[2]]
        assert one.value == pytest.approx(row["mean"])
        assert one.questions == row["size"]


def test_what_is_asked_about_adds_up(season, raw, folder):
    with contextlib.closing(sqlite3.connect(folder / "ledger.db")) as connection:
        counts = pd.read_sql_query("SELECT category, market, state FROM questions", connection)
    table = counts.groupby(["category", "market"]).size()
    assert {(one.quadrant, one.market): one.questions for one in season.distribution if one.questions} == dict(table)
    assert sum(one.questions for one in season.composition) == len(counts) == season.questions
    assert sum(one.void for one in season.states) == (counts["state"] == "void").sum()
    assert season.void_reasons == {"no truth within 14 days": (counts["state"] == "void").sum()}
    events = raw.drop_duplicates("name").query("event").groupby("category")["value"].mean()
    assert {one.quadrant: one.happened for one in season.composition if one.happened is not None} == pytest.approx(
        dict(events)
    )


def clustered(generator, weeks=12, subjects=40, questions=600):
    """Values in which weeks and subjects move together, and their clusters."""
    week, subject = generator.integers(0, weeks, questions), generator.integers(0, subjects, questions)
    values = generator.normal(0.0, 1.0, weeks)[week] + generator.normal(0.0, 1.0, subjects)[subject]
    return values + generator.normal(0.0, 1.0, questions), week, subject


def test_a_variance_of_two_clusterings_is_that_of_statsmodels():
    # The jackknife and the sandwich are one for clusters of one size, and close for those of almost one.
    for seed in range(5):
        values, week, subject = clustered(np.random.default_rng(seed), questions=4000)
        fitted = sm.OLS(values, np.ones_like(values)).fit(
            cov_type="cluster", cov_kwds={"groups": np.column_stack([week, subject]), "use_correction": True}
        )
        found = ratio(values, np.ones_like(values), week, subject)
        assert found.error == pytest.approx(fitted.bse[0], rel=0.05)


def test_an_interval_of_weeks_alone_is_that_of_scipy_s_bootstrap():
    generator = np.random.default_rng(3)
    week = np.repeat(np.arange(40), 25)
    part = generator.normal(1.0, 1.0, 40)[week] + generator.normal(0.0, 1.0, 1000)
    whole = generator.uniform(0.5, 1.5, 1000)
    sums = (np.bincount(week, part), np.bincount(week, whole))
    drawn = scipy.stats.bootstrap(
        sums,
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=4000,
        rng=generator,
    )
    # Each question is a subject of its own.
    found = estimate(part, whole, week, np.arange(1000))
    assert found.value == pytest.approx(part.sum() / whole.sum())
    width = drawn.confidence_interval.high - drawn.confidence_interval.low
    assert found.high - found.low == pytest.approx(width, rel=0.1)
    lost = estimate(part, whole, week, np.arange(1000), lost=True)
    assert (lost.value, lost.low, lost.high) == pytest.approx((1 - found.value, 1 - found.high, 1 - found.low))


def test_intervals_hold_the_truth_as_often_as_they_say():
    # Ten weeks of very different sizes, as of the paper's season, of which each moves as a whole.
    sizes = np.array([30, 26, 22, 16, 12, 10, 9, 8, 7, 6])
    week, inside = np.repeat(np.arange(10), sizes), 0
    generator = np.random.default_rng(0)
    for _ in range(400):
        subject = generator.integers(0, 40, len(week))
        level = generator.normal(0.0, 0.1, 10)[week] + generator.normal(0.0, 0.1, 40)[subject]
        right = (generator.random(len(week)) < 0.4 + level).astype(float)
        found = estimate(right, np.ones_like(right), week, subject)
        inside += found.low <= 0.4 <= found.high
    assert inside / 400 > 0.92


def test_few_weeks_and_equal_answers_give_no_interval():
    ones, places = np.ones(50), np.arange(50)
    few = estimate(np.arange(50.0), ones, places % 5, places)
    assert (few.value, few.low, few.high, few.weeks) == (24.5, None, None, 5)
    assert estimate(ones, ones, places % 10, places).low is None
    assert estimate(ones, 0.0 * ones, places % 10, places).value is None


def test_a_series_of_other_questions_is_no_season(folder, tmp_path):
    assert is_season(folder, SERIES)
    assert not is_season(folder, "seaso")
    assert season_report(folder, "other").seasons == ()


def test_missing_answers_are_wrong_and_whole_rounds_give_no_rank(tmp_path):
    asked = []
    for week in range(8):
        for number in range(4):
            said = {"whole": 0.9, "naive": 0.5}
            if number < 2:
                said["half"] = 0.9
            if week < 7:
                said["early"] = 0.9
            key = f"q{week}-{number}"
            asked.append(Asked(key, "non-recurrent macro", week=week, truth=float(number < 3), said=said))
    (season,) = season_report(season_ledger(tmp_path, asked), SERIES).seasons
    rows = rows_by_agent(season)
    assert {agent: row.accuracy.value for agent, row in rows.items()} == {
        "whole": 0.75,
        "early": 0.75,
        "half": 0.5,
        "naive": 0.0,
    }
    assert rows["half"].accuracy_answered == 1.0
    assert rows["half"].missing == {"not answered": 16}
    assert rows["half"].brier.value == pytest.approx((0.01 + 1.0) / 2)
    assert [(one.forecaster.agent, one.rank) for one in season.ranks][-1] == ("early", None)
    assert rows["early"].weeks == 7
    verdicts = {frozenset((pair.a.agent, pair.b.agent)): pair for pair in season.pairs}
    same = verdicts[frozenset(("whole", "early"))]
    assert (same.difference, same.p_value, same.verdict, same.questions) == (0.0, 1.0, "cannot be told apart", 28)
    # One half is no call.
    assert rows["naive"].brier.value == 0.25


def test_the_skill_beside_a_reference_is_on_what_the_reference_answered(tmp_path):
    asked = [
        Asked(f"q{week}-{n}", week=week, truth=100.0, said={"a": 101.0} | ({"seasonal": 110.0} if n else {}))
        for week in range(6)
        for n in range(2)
    ]
    # Whoever calls itself as a reference is none.
    asked += [Asked("other", week=0, truth=100.0, said={"a": 101.0, ("naive", "mallory"): 1e9})]
    (season,) = season_report(season_ledger(tmp_path, asked), SERIES).seasons
    (skill,) = rows_by_agent(season)["a"].skills
    assert skill.reference.agent == "seasonal"
    assert skill.numbers.value == pytest.approx(1.0 - (1 / 201) / (10 / 210))
    assert skill.numbers.questions == 6
    assert skill.accuracy.value == 1.0


def test_ranks_are_shared_by_who_cannot_be_told_from_the_first(season):
    verdicts = {}
    for pair in season.pairs:
        verdicts[pair.a, pair.b] = verdicts[pair.b, pair.a] = pair.verdict
    for before, one in zip(season.ranks, season.ranks[1:], strict=False):
        if one.rank == before.rank:
            leader = next(first for first in season.ranks if first.rank == one.rank)
            assert verdicts[leader.forecaster, one.forecaster] == "cannot be told apart"
    accuracies = [row.accuracy.value for row in season.rows]
    assert accuracies == sorted(accuracies, reverse=True)
    p_values = [pair.p_value for pair in season.pairs]
    adjusted = sm.stats.multipletests(p_values, method="holm")[1]
    assert [pair.p_holm for pair in season.pairs] == pytest.approx(list(adjusted))


def test_real_replayed_and_simulated_questions_share_no_figure(tmp_path):
    asked = [
        Asked("made-up", truth=1.0, said={"a": 1.0}),
        Asked("past", truth=1.0, said={"a": 2.0}, clock=f"replayed/{SERIES}", simulated=False),
        Asked("live", truth=1.0, said={"b": 2.0}, clock="real", simulated=False),
    ]
    report = season_report(season_ledger(tmp_path, asked), SERIES)
    assert [(one.data_kind, one.questions, len(one.rows)) for one in report.seasons] == [
        ("real", 1, 1),
        ("replayed", 1, 1),
        ("simulated", 1, 1),
    ]
    assert [row.accuracy.value for one in report.seasons for row in one.rows] == [0.0, 0.0, 1.0]
