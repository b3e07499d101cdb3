"""Performance of an account, against empyrical, closed forms and properties."""

import math

import empyrical
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym.metrics import performance
from openfingym.metrics.performance import RATIO_LIMIT, RECORD, RecordColumn, drawdowns, step_returns, summary

P = 252.0
FIGURES = ("log_growth", "sharpe_ratio", "sortino_ratio", "max_drawdown", "calmar_ratio", "annual_growth", "volatility")
seeds = st.integers(0, 10_000)


def account(equity, **columns):
    """The record of accounts with this equity, [steps + 1] or [episodes, steps + 1]; other columns by name, zero by
    default."""
    equity = np.atleast_2d(np.asarray(equity, dtype=float))
    record = np.zeros((*equity.shape, len(RECORD)))
    record[:, :, 0] = equity
    for name, values in columns.items():
        record[:, :, RECORD.index(name)] = values
    return record


def random_record(seed, episodes=3, steps=40):
    rng = np.random.default_rng(seed)
    equity = 1e5 * np.cumprod(1.0 + np.pad(0.02 * rng.standard_normal((episodes, steps)), ((0, 0), (1, 0))), axis=1)
    traded, cost, long, short = (
        equity * rng.uniform(0.0, 0.5, (4, *equity.shape)) * np.array([1.0, 1e-3, 1.0, 1.0])[:, None, None]
    )
    closed = rng.integers(0, 4, equity.shape)
    won = np.minimum(closed, rng.integers(0, 4, equity.shape))
    traded[:, 0] = cost[:, 0] = 0.0
    return account(equity, traded=traded, cost=cost, long=long, short=short, closed=closed, won=won)


@given(seeds, st.integers(2, 300))
def test_empyrical_agrees_on_ordinary_returns(seed, steps):
    record = random_record(seed, episodes=1, steps=steps)
    returns = step_returns(record)[0]
    got = summary(record, P)
    assert got.sharpe_ratio == pytest.approx(empyrical.sharpe_ratio(returns, annualization=P), rel=1e-9)
    assert got.volatility == pytest.approx(empyrical.annual_volatility(returns, annualization=P), rel=1e-9)
    assert got.max_drawdown == pytest.approx(-empyrical.max_drawdown(returns), abs=1e-12)
    assert got.annual_growth == pytest.approx(empyrical.annual_return(returns, annualization=P), rel=1e-9)
    if (returns < 0.0).any() and got.max_drawdown > 1e-3 and abs(got.calmar_ratio) < RATIO_LIMIT:
        theirs = empyrical.calmar_ratio(returns, annualization=P)
        # A loss is multiplied by the drawdown, where theirs is divided by it.
        expected = theirs if theirs > 0.0 else theirs * got.max_drawdown**2
        assert got.calmar_ratio == pytest.approx(expected, rel=1e-7)
        assert got.sortino_ratio == pytest.approx(empyrical.sortino_ratio(returns, annualization=P), rel=1e-9)


@given(seeds)
def test_steps_of_all_episodes_are_pooled(seed):
    record = random_record(seed)
    pooled = step_returns(record).ravel()
    assert performance.sharpe_ratio(record, P) == pytest.approx(
        empyrical.sharpe_ratio(pooled, annualization=P), rel=1e-9
    )
    assert performance.sortino_ratio(record, P) == pytest.approx(
        empyrical.sortino_ratio(pooled, annualization=P), rel=1e-9
    )
    assert performance.annual_growth(record, P) == pytest.approx(
        empyrical.annual_return(pooled, annualization=P), rel=1e-9
    )
    alone = summary(record, P).by_episode
    assert performance.max_drawdown(record) == max(one.max_drawdown for one in alone)
    for name in ("pnl", "total_return", "log_growth", "turnover", "cost_paid", "exposure"):
        assert getattr(summary(record, P), name) == pytest.approx(
            np.mean([getattr(one, name) for one in alone]), rel=1e-9
        )


def test_where_empyrical_has_no_number():
    flat = np.full(20, 0.01)
    assert not abs(empyrical.sharpe_ratio(flat)) < 1e6
    assert math.isinf(empyrical.sortino_ratio(flat))
    assert math.isnan(empyrical.calmar_ratio(flat))
    record = account(100.0 * 1.01 ** np.arange(21))
    got = summary(record, P)
    assert (got.sharpe_ratio, got.sortino_ratio, got.calmar_ratio, got.max_drawdown) == (
        0.0,
        RATIO_LIMIT,
        RATIO_LIMIT,
        0.0,
    )


def test_by_hand():
    record = account(
        [100.0, 110.0, 99.0, 121.0],
        traded=[0.0, 50.0, 0.0, 60.0],
        cost=[0.0, 0.5, 0.1, 0.4],
        long=[0.0, 55.0, 0.0, 0.0],
        short=[0.0, 0.0, 99.0, 0.0],
        closed=[0, 0, 1, 3],
        won=[0, 0, 0, 3],
    )
    got = summary(record, 12.0)
    returns = np.array([0.1, -0.1, 121.0 / 99.0 - 1.0])
    assert step_returns(record)[0] == pytest.approx(returns)
    assert drawdowns(record)[0] == pytest.approx([0.0, 0.0, 0.1, 0.0])
    assert (got.pnl, got.total_return, got.max_drawdown) == (21.0, pytest.approx(0.21), pytest.approx(0.1))
    assert got.log_growth == pytest.approx(math.log(1.21))
    assert got.annual_growth == pytest.approx(1.21**4 - 1.0)
    assert got.calmar_ratio == pytest.approx((1.21**4 - 1.0) / 0.1)
    assert got.sortino_ratio == pytest.approx(returns.mean() / math.sqrt(0.01 / 3) * math.sqrt(12))
    assert got.turnover == pytest.approx(110.0 / 107.5 * 4)
    assert got.hit_rate == 0.75
    assert got.exposure == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert got.cost_paid == pytest.approx(0.01)
    assert (got.episodes, got.steps, got.closed, got.by_episode) == (1, 3, 4, ())


def test_an_account_that_does_nothing():
    got = summary(account(np.full((2, 5), 1000.0)), P)
    for name in ("pnl", "total_return", *FIGURES, "turnover", "hit_rate", "exposure", "cost_paid"):
        assert getattr(got, name) == 0.0
    assert len(got.by_episode) == 2


def test_ruin():
    got = summary(account([[100.0, 50.0, 0.0, 0.0], [100.0, 100.0, 100.0, 100.0]], long=1.0), P)
    assert got.max_drawdown == 1.0
    assert got.total_return == -0.5
    assert got.log_growth == pytest.approx(math.log(0.01) / 2.0)
    assert got.annual_growth == -1.0
    assert got.calmar_ratio == -1.0
    assert got.sharpe_ratio < 0.0
    assert step_returns(account([100.0, 0.0, 0.0])).tolist() == [[-1.0, 0.0]]
    assert got.by_episode[0].exposure == pytest.approx((0.02 + 0.0 + 0.0) / 3)


def test_a_single_step_has_no_deviation():
    got = summary(account([100.0, 101.0]), P)
    assert (got.sharpe_ratio, got.volatility) == (0.0, 0.0)
    assert got.total_return == pytest.approx(0.01)


@given(seeds, st.floats(1e-6, 1e6))
def test_the_currency_does_not_matter(seed, factor):
    record = random_record(seed)
    scaled = record.copy()
    scaled[:, :, : RecordColumn.CLOSED] *= factor
    a, b = summary(record, P), summary(scaled, P)
    assert b.pnl == pytest.approx(factor * a.pnl, rel=1e-6, abs=1e-6 * factor)
    for name in ("total_return", *FIGURES, "turnover", "hit_rate", "exposure", "cost_paid"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-7, abs=1e-9)


@given(seeds, st.floats(1e-5, 5e-3))
def test_a_cost_in_every_step_makes_everything_worse(seed, cost):
    record = random_record(seed)
    dearer = record.copy()
    dearer[:, :, 0] *= (1.0 - cost) ** np.arange(record.shape[1])
    dearer[:, 1:, 2] += cost * record[:, 1:, 0]
    a, b = summary(record, P), summary(dearer, P)
    assert b.pnl < a.pnl
    assert b.total_return < a.total_return
    assert b.log_growth < a.log_growth
    assert b.annual_growth < a.annual_growth
    assert b.max_drawdown >= a.max_drawdown
    assert b.sortino_ratio < a.sortino_ratio
    assert b.cost_paid > a.cost_paid


@given(seeds)
def test_order_of_episodes_does_not_matter(seed):
    record = random_record(seed, episodes=4)
    a, b = summary(record, P), summary(record[::-1], P)
    for name in ("pnl", "total_return", *FIGURES, "turnover", "hit_rate", "exposure", "cost_paid"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-9)
    assert a.by_episode == b.by_episode[::-1]


@given(seeds, st.floats(1.0, 10_000.0))
def test_annualisation_is_the_square_root_of_time(seed, periods):
    record = random_record(seed)
    for ratio in (performance.sharpe_ratio, performance.sortino_ratio, performance.volatility):
        assert ratio(record, periods) == pytest.approx(ratio(record, 1.0) * math.sqrt(periods), rel=1e-9)
    assert performance.turnover(record, periods) == pytest.approx(performance.turnover(record, 1.0) * periods, rel=1e-9)


def spoilt(column, value, row=2):
    record = random_record(0)
    record[1, row, column] = value
    return record


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (np.zeros((2, 3)), "3 axes"),
        (np.ones((2, 3, 6)), r"expected \[episodes, steps \+ 1, 7\]"),
        (np.ones((2, 1, 7)), "at least one step"),
        (np.ones((0, 3, 7)), "empty"),
        (spoilt(0, np.nan), r"record\[1, 2, 0\] is not a finite number"),
        (spoilt(0, -1.0), r"record\[1, 2, 0\] is negative"),
        (spoilt(2, -1e-9), r"record\[1, 2, 2\] is negative"),
        (spoilt(0, 0.0), "ruined and yet has equity"),
        (spoilt(0, 0.0, row=0), r"record\[1\] starts without equity"),
        (spoilt(6, 99.0), "more fills that won"),
    ],
)
def test_what_is_no_record(record, words):
    with pytest.raises(UsageError, match=words):
        performance.pnl(record)


@pytest.mark.parametrize("periods", [0.0, -1.0, math.inf, math.nan])
def test_a_year_has_a_number_of_bars(periods):
    with pytest.raises(UsageError, match="periods_per_year"):
        summary(random_record(0), periods)


def test_nothing_is_written_to():
    record = random_record(1)
    before = record.copy()
    record.flags.writeable = False
    summary(record, P)
    assert np.array_equal(record, before, equal_nan=True)


@given(st.floats(0.01, 0.99), st.floats(0.0, 1.0))
def test_no_fair_bet_has_a_growth_above_that_of_cash(chance, left):
    """A bet of expectation 0 leaves ``left`` of the account with a chance, ruin included, and pays for that
    otherwise."""
    paid = (1.0 - chance * left) / (1.0 - chance)
    lost, won = (performance.log_growth(account([100.0, 100.0 * ratio])) for ratio in (left, paid))
    assert chance * lost + (1.0 - chance) * won <= 1e-12


def test_growth_cannot_be_scaled_away_as_a_ratio_can():
    """A market with a drift: a thousandth of the position has the same Sharpe ratio and none of the growth; twice too
    much has less."""
    returns = np.random.default_rng(0).standard_normal((400, 250)) * 0.01 + 0.0005
    best = 0.0005 / 0.01**2
    growth, sharpe = {}, {}
    for size in (0.001, 0.5, 1.0, best, 2.5 * best):
        record = account(1e5 * np.cumprod(1.0 + np.pad(size * returns, ((0, 0), (1, 0))), axis=1))
        growth[size], sharpe[size] = performance.log_growth(record), performance.sharpe_ratio(record, P)
    assert sharpe[0.001] == pytest.approx(sharpe[1.0], rel=1e-9)
    assert max(growth, key=growth.__getitem__) == best
    assert growth[0.001] < 0.01 * growth[1.0]
    assert growth[2.5 * best] < 0.0


@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.floats(0.0, 0.95), st.floats(0.0, 0.95))
def test_calmar_ranks_growth_first_and_then_the_shallower_fall(growth, other, fall, deeper):
    """Whichever sign growth has: a deeper fall never helps, more growth never hurts, and a gain beats a loss."""
    growth, other = sorted((growth, other))
    fall, deeper = sorted((fall, deeper))

    def calmar(end, low):
        # The account falls by ``low`` and ends with ``end``; one that ends below its lowest point falls to the end.
        return performance.calmar_ratio(account([1.0, 1.0 - low, 1.0 + end]), 2.0)

    assert calmar(growth, deeper) <= calmar(growth, fall)
    assert calmar(growth, fall) <= calmar(other, fall)
    assert np.sign(calmar(growth, fall)) == np.sign(growth if abs(growth) > 1e-12 else 0.0)
    if growth < -1e-6 and -growth <= fall < deeper - 1e-6:
        assert calmar(growth, deeper) < calmar(growth, fall)
