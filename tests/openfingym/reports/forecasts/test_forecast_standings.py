"""Ranks and comparisons of forecasters, against statsmodels, direct formulas and simulation.

The attack: sixty names that answer every question took the places of all others. 40 are ranked, the first name of every
principal before the second of any.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.fft import dct
from scipy.stats import nct, t

from openfingym.reports.forecasts.columns import ForecasterId
from openfingym.reports.forecasts.difficulty import adjusted, components, drawn, normal_equations
from openfingym.reports.forecasts.estimates import StandardError, ratio, standard_error
from openfingym.reports.forecasts.reading import read_forecasts
from openfingym.reports.forecasts.standings import pairs_of, standings_of
from openfingym.reports.forecasts.sums import blocks_of
from tests.openfingym.reports.forecasts.made import Said, ledger, reported


def equations_of(folder):
    found = read_forecasts(folder)
    attended = np.zeros((len(found.forecasters), len(found.questions.round.names)), dtype=bool)
    attended[found.forecaster, found.questions.round.codes[found.question]] = True
    everybody = np.arange(len(found.forecasters))
    return found, normal_equations(found, everybody, blocks_of(found.questions), attended)


def once(equations):
    return adjusted(drawn(equations, np.ones((1, len(equations.loss)))))[0]


def some_season(agents=5, questions=60, share=0.5, *, rounds):
    """Forecasters who answer some of the questions; half of the weeks are rounds, or none is."""
    generator = np.random.default_rng(7)
    for question in range(questions):
        week, y = question // 6, float(generator.integers(0, 2))
        name = f"r{week}" if rounds and week % 2 else ""
        for agent in range(agents):
            if generator.random() < share:
                yield Said(f"a{agent}", f"q{question}", float(generator.random()), y, round=name, week=week)


@pytest.mark.parametrize("rounds", [False, True])
def test_adjusted_losses_are_those_of_a_regression_with_dummies(tmp_path, rounds):
    api = pytest.importorskip("statsmodels.api")
    said = list(some_season(rounds=rounds))
    found, equations = equations_of(ledger(tmp_path, said))
    losses = {(one.agent, one.question): (one.p - one.y) ** 2 for one in said}
    if rounds:  # what is left out in a round is the naive forecast
        attended = {(one.agent, one.round) for one in said if one.round}
        of_round = {one.question: one.round for one in said if one.round}
        for (agent, name), (question, asked) in itertools.product(attended, of_round.items()):
            if name == asked:
                losses.setdefault((agent, question), 0.25)
    agents, questions = (sorted({key[place] for key in losses}) for place in (0, 1))
    dummies = np.zeros((len(losses), len(agents) + len(questions)))
    for row, (agent, question) in zip(dummies, losses, strict=True):
        row[[agents.index(agent), len(agents) + questions.index(question)]] = 1.0
    effects = api.OLS(np.array(list(losses.values())), dummies[:, 1:]).fit().params  # the first effect is 0
    of_agents = np.array([0.0, *effects[: len(agents) - 1]])
    expected = dict(zip(agents, of_agents + effects[len(agents) - 1 :].mean(), strict=True))
    values = once(equations)
    assert {who.agent: value for who, value in zip(found.forecasters, values, strict=True)} == pytest.approx(expected)


def test_of_forecasters_who_answered_everything_the_adjusted_loss_is_the_mean(tmp_path):
    said = list(some_season(share=1.1, rounds=False))
    found, equations = equations_of(ledger(tmp_path, said))
    expected = [np.mean([(one.p - one.y) ** 2 for one in said if one.agent == who.agent]) for who in found.forecasters]
    assert once(equations) == pytest.approx(expected)


def test_who_shares_no_chain_of_questions_is_not_compared(tmp_path):
    generator = np.random.default_rng(0)
    said = [
        Said(agent, f"q{group}{week}", float(generator.random()), 1.0, week=week)
        for week in range(12)
        for group, agents in enumerate(("ab", "cd"))
        for agent in agents
    ]
    track = reported(tmp_path, said).tracks[0]
    assert sorted(sorted(one.forecaster.agent for one in group) for group in track.groups) == [["a", "b"], ["c", "d"]]
    assert {(pair.a.agent, pair.b.agent) for pair in track.pairs} == {("a", "b"), ("c", "d")}
    assert [one.rank for group in track.groups for one in group] == [1, 1, 1, 1]
    bridge = [Said("b", f"q1{week}", 0.4, 1.0, week=week) for week in range(12)]
    (group,) = reported(tmp_path / "bridged", said + bridge).tracks[0].groups
    assert len(group) == 4


def test_components_follow_chains():
    common = np.diag([1.0, 1, 1, 1, 0])
    common[0, 1] = common[1, 0] = common[1, 2] = common[2, 1] = 1.0
    assert [group.tolist() for group in components(common)] == [[0, 1, 2], [3]]


def of_cosines(a, b, h):
    """The statistic of Lazarus, Lewis, Stock and Watson (2018) at horizon h, from SciPy's cosine transform."""
    d = np.asarray(a) - np.asarray(b)
    frequencies = len(d) - 1 if h == 1 else len(d) // (2 * h)
    return d.mean() / math.sqrt(np.mean(dct(d, type=2, norm="ortho")[1 : frequencies + 1] ** 2) / len(d))


def weekly(losses):
    """Forecasts of one question a week whose losses are these, a list for each agent; events that all came."""
    return [
        Said(f"a{agent}", f"q{week}", 1.0 - math.sqrt(loss), 1.0, round=f"r{week:02}", week=week)
        for agent, mine in enumerate(losses)
        for week, loss in enumerate(mine)
    ]


def test_pairs_have_the_statistic_and_the_adjustment_of_the_formulas(tmp_path):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    losses = np.random.default_rng(1).uniform(0.0, 0.4, (4, 20)) + np.array([[0.0], [0.05], [0.2], [0.3]])
    track = reported(tmp_path, weekly(losses)).tracks[0]
    assert track.overlap == 1
    expected = [of_cosines(losses[a], losses[b], 1) for a, b in itertools.combinations(range(4), 2)]
    assert [pair.statistic for pair in track.pairs] == pytest.approx(expected)
    p = [2.0 * t.sf(abs(one), 19) for one in expected]
    assert [pair.p_value for pair in track.pairs] == pytest.approx(p)
    assert [pair.p_holm for pair in track.pairs] == pytest.approx(multitest.multipletests(p, method="holm")[1])
    means = [losses[a].mean() - losses[b].mean() for a, b in itertools.combinations(range(4), 2)]
    assert [pair.difference for pair in track.pairs] == pytest.approx(means)
    assert all(pair.low < pair.difference < pair.high for pair in track.pairs)


def test_questions_that_overlap_are_drawn_and_tested_together():
    losses = np.random.default_rng(2).normal(size=(2, 24))
    names = [ForecasterId(name, "", "") for name in "ab"]
    lost = losses[0] - losses[1]
    zeros = np.zeros((24, 2, 2))
    difference = zeros + np.array([[0.0, 1.0], [-1.0, 0.0]]) * lost[:, None, None]
    from openfingym.reports.forecasts.difficulty import NormalEquations

    equations = NormalEquations(zeros, zeros[0], zeros[0], lost, lost, difference, zeros + 1.0)
    (alone,), (together,) = (pairs_of(names, equations, overlap, 0) for overlap in (1, 4))
    assert alone.statistic == pytest.approx(of_cosines(losses[0], losses[1], 1))
    assert together.statistic == pytest.approx(of_cosines(losses[0], losses[1], 4))


def test_a_difference_that_never_varies_is_told_apart_by_its_sign(tmp_path):
    track = reported(tmp_path, weekly([[0.04] * 10, [0.09] * 10])).tracks[0]
    (pair,) = track.pairs
    assert (pair.verdict, pair.p_value) == ("better", 2.0**-9)
    assert [one.rank for one in track.groups[0]] == [1, 2]


def test_the_same_forecasts_are_a_tie(tmp_path):
    losses = np.random.default_rng(1).uniform(0.0, 0.4, 12).tolist()
    track = reported(tmp_path, weekly([losses, losses])).tracks[0]
    (pair,) = track.pairs
    assert (pair.difference, pair.p_value, pair.verdict) == (pytest.approx(0.0, abs=1e-15), 1.0, "no difference")
    assert [(one.rank, one.tied) for one in track.groups[0]] == [(1, True), (1, True)]


def test_ranks_are_shared_until_one_can_be_told_from_the_first(tmp_path):
    noise = np.random.default_rng(5).uniform(-0.02, 0.02, (4, 20))
    losses = np.array([[0.10], [0.101], [0.3], [0.302]]) + noise
    (group,) = reported(tmp_path, weekly(losses)).tracks[0].groups
    assert [(one.rank, one.tied) for one in group] == [(1, True), (1, True), (3, True), (3, True)]


def test_who_forecasts_under_many_names_keeps_nobody_else_from_being_ranked(tmp_path):
    names = [(f"name{place:02}", "crowd", 3) for place in range(60)] + [("one", "a", 2), ("one", "b", 1)]
    said = [
        Said(agent, f"q{week}", 0.5, 1.0, round=f"r{week}", week=week, principal=principal)
        for agent, principal, weeks in names
        for week in range(weeks)
    ]
    (track,) = reported(tmp_path, said).tracks
    ranked = [one.forecaster for group in track.groups for one in group]
    assert {one.principal for one in ranked} == {"crowd", "a", "b"}
    assert (len(ranked), track.unranked) == (40, 22)


@pytest.mark.parametrize("weeks", [1, 5])
def test_too_few_weeks_give_no_interval_no_test_and_no_rank(tmp_path, weeks):
    track = reported(tmp_path, weekly([[0.01] * weeks, [0.8] * weeks])).tracks[0]
    (pair,) = track.pairs
    assert (pair.verdict, pair.blocks, pair.low, pair.p_value, pair.detectable) == ("too few", weeks, None, None, None)
    assert {one.rank for one in track.groups[0]} == {None}
    assert {row.loss.low for row in track.rows} == {None}


def test_the_detectable_effect_is_found_with_a_chance_of_four_fifths():
    freedom, reach = 19.0, t.ppf(0.975, 19.0)
    effect = StandardError(0.5, freedom, reach).detectable
    assert effect == pytest.approx(0.5 * (t.ppf(0.975, freedom) + t.ppf(0.8, freedom)))
    power = nct.sf(reach, freedom, effect / 0.5) + nct.cdf(-reach, freedom, effect / 0.5)
    assert power == pytest.approx(0.8, abs=0.01)  # of the non-central law, which the sum of quantiles approximates


def test_the_block_bootstrap_covers_a_mean_of_dependent_questions():
    generator = np.random.default_rng(11)
    tries, weeks, questions = 400, 26, 20
    covered = narrow = 0
    for number in range(tries):
        losses = 0.2 + generator.normal(0.0, 0.1, (weeks, 1)) + generator.normal(0.0, 0.1, (weeks, questions))
        found = ratio(losses.sum(axis=1), np.full(weeks, float(questions)), 1, number)
        covered += found.low <= 0.2 <= found.high
        half = 1.96 * losses.std() / math.sqrt(losses.size)  # as if questions were independent
        narrow += abs(losses.mean() - 0.2) <= half
    assert 0.91 <= covered / tries <= 0.985
    assert narrow / tries < 0.7


def test_the_error_of_a_ratio_is_that_of_its_blocks():
    generator = np.random.default_rng(3)
    part = generator.normal(1.0, 0.3, 200)
    error = standard_error(part, np.ones(200), 1, 0)
    assert error.size == pytest.approx(part.std(ddof=1) / math.sqrt(200), rel=0.2)
    assert standard_error(part[:5], np.ones(5), 1, 0) is None
    assert standard_error(np.full(20, 2.0), np.full(20, 3.0), 1, 0).size == 0.0


def test_intervals_of_adjusted_losses_hold_them(tmp_path):
    found, equations = equations_of(ledger(tmp_path, some_season(questions=120, rounds=True)))
    standings = standings_of(found.forecasters, equations, [], 1, 0)
    assert all(one.adjusted.low < one.adjusted.value < one.adjusted.high for one in standings)
    assert [one.rank for one in standings] == [1] * 5  # nothing tells them apart
