"""Figures of risk on a tear sheet, beside those of empyrical and of pandas."""

from __future__ import annotations

import json
import re

import empyrical
import numpy as np
import pandas as pd
import pytest

from openfingym.data.bars import Bars
from openfingym.errors import DataError, UsageError
from openfingym.reports.trading.benchmark import Benchmark, benchmark_of, regression
from openfingym.reports.trading.calendar import calendar_returns
from openfingym.reports.trading.risk import drawdown_list, rolling, rolling_window, tail_losses
from openfingym.reports.trading.sections import Trades, link_between, risk_figures
from openfingym.reports.trading.tearsheet import render
from openfingym.reports.trading.trace import Chain
from openfingym.reports.trading.trades import trades_of
from openfingym.trading.actions import Decision
from openfingym.trading.market import MarketRules
from tests.openfingym.reports.trading.test_tearsheet import HEADING, HOSTILE, P, parsed, table, trace
from tests.openfingym.reports.trading.test_trades import played


def series(one):
    """Step returns of one episode, by the time of their bars."""
    equity = pd.Series(one.record[:, 0], index=pd.DatetimeIndex(one.times))
    return equity.pct_change().iloc[1:]


def test_months_and_years_are_those_of_empyrical():
    one = trace(3, steps=500, fills=0.5)
    found = calendar_returns(Chain([one]))
    months = empyrical.aggregate_returns(series(one), "monthly")
    years = empyrical.aggregate_returns(series(one), "yearly")
    assert found.unit == "month"
    shown = {
        (int(year), month): value
        for year, row in zip(found.rows, found.returns, strict=True)
        for month, value in enumerate(row, start=1)
        if not np.isnan(value)
    }
    assert shown == pytest.approx(dict(months.items()))
    assert dict(zip(map(int, found.rows), found.totals, strict=True)) == pytest.approx(dict(years.items()))


def test_days_where_there_are_few_months_and_nothing_within_a_day():
    one = trace(4, steps=300, hours=1, fills=0.5)
    found = calendar_returns(Chain([one]))
    days = series(one).add(1.0).groupby(pd.Grouper(freq="D")).prod() - 1.0
    assert (found.unit, found.rows) == ("day", ("2021-03",))
    assert found.returns[0, :13] == pytest.approx(days.to_numpy())
    assert np.isnan(found.returns[0, 13:]).all()
    short = trace(4, steps=12, hours=1)
    assert calendar_returns(Chain([short])) is None
    assert "All steps are on one day" in render(HEADING, [short])


def test_tail_losses_are_those_of_empyrical():
    returns = trace(5, steps=401, fills=0.5)
    returns = Chain([returns]).returns  # 401 steps: the 5 % and 1 % quantiles are observed returns
    for one in tail_losses(returns):
        assert one.value_at_risk == pytest.approx(-empyrical.value_at_risk(returns, 1.0 - one.level))
        assert one.expected_shortfall == pytest.approx(-empyrical.conditional_value_at_risk(returns, 1.0 - one.level))
    assert [one.level for one in tail_losses(returns)] == [0.95, 0.99]
    assert [one.level for one in tail_losses(returns[:99])] == [0.95]
    assert tail_losses(returns[:19]) == []


def test_alpha_and_beta_are_those_of_empyrical():
    own, other = (Chain([trace(6, steps=300, fills=part)]).returns for part in (0.5, 0.05))
    found = regression(own, Benchmark("other", other), P)
    alpha, beta = empyrical.alpha_beta(own, other, period="daily", annualization=P)
    assert found.beta == pytest.approx(beta)
    # empyrical compounds what we add up.
    assert (1.0 + found.alpha / P) ** P - 1.0 == pytest.approx(alpha)
    assert found.correlation == pytest.approx(np.corrcoef(own, other)[0, 1])
    design = np.column_stack([np.ones(300), other])
    rest = own - design @ np.linalg.lstsq(design, own, rcond=None)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * (rest @ rest) / 298.0)
    assert (found.alpha_error / P, found.beta_error) == pytest.approx(tuple(errors))
    assert regression(own, Benchmark("cash", np.zeros(300)), P) is None


def test_rolling_figures_are_those_of_pandas_and_never_cross_episodes():
    traces = [trace(seed, steps=200, fills=0.5) for seed in (7, 8)]
    chain = Chain(traces)
    window = rolling_window(chain, P)
    assert window == 63
    found = rolling(chain, window, P)
    expected = [series(one).rolling(window) for one in traces]
    sharpe = [(w.mean() / w.std() * P**0.5).dropna() for w in expected]
    assert found.sharpe_ratio == pytest.approx(np.concatenate(sharpe))
    assert found.volatility == pytest.approx(np.concatenate([(w.std() * P**0.5).dropna() for w in expected]))
    assert found.starts == (0, 138)
    assert (found.times == np.concatenate([one.index for one in sharpe])).all()
    assert rolling_window(Chain([trace(7, steps=19)]), P) is None


def test_drawdowns_are_those_of_a_walk_bar_by_bar():
    traces = [trace(seed, steps=120, fills=0.5) for seed in (9, 10)]
    falls = drawdown_list(Chain(traces))
    walked = []
    for number, one in enumerate(traces, start=1):
        peak, fall, stamps = one.record[0, 0], None, [str(t)[:19] for t in one.times]
        top = 0
        for row, equity in enumerate(one.record[:, 0]):
            if equity >= peak:
                if fall is not None:
                    walked.append((number, *fall, stamps[row], row - top))
                peak, top, fall = equity, row, None
            elif fall is None or 1.0 - equity / peak > fall[0]:
                fall = (1.0 - equity / peak, stamps[top], stamps[row])
        if fall is not None:
            walked.append((number, *fall, None, len(one.record) - 1 - top))
    found = [(f.episode, f.depth, f.start, f.trough, f.end, f.length) for f in falls]
    assert sorted(found, key=str) == sorted(walked, key=str)
    assert falls[0].depth == pytest.approx(-min(empyrical.max_drawdown(series(one)) for one in traces))
    assert [f.depth for f in falls] == sorted((f.depth for f in falls), reverse=True)


@pytest.fixture
def replays():
    """Two episodes of one market, with a split and a dividend of its second symbol in the first one."""
    rows, rng = 80, np.random.default_rng(11)
    close = 50.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((rows, 2)), axis=0))
    split, dividend = np.ones((rows, 2)), np.zeros((rows, 2))
    split[10, 1], dividend[20, 1] = 2.0, 1.5
    close /= np.cumprod(split, axis=0)
    times = np.datetime64("2024-01-01", "ns") + np.arange(rows) * np.timedelta64(1, "D")
    given = {"open": close, "high": close, "low": close, "close": close, "volume": np.full((rows, 2), 1e9)}
    bars = Bars.from_arrays(times, ["aapl", "ibm"], **given, split=split, dividend=dividend)

    def hold(session):
        return Decision(weights=(0.0, 1.0)) if session.rows == 0 else None

    early = bars.between(slice(0, 40))
    return [played(early, MarketRules(lot=0.0), hold), played(bars, MarketRules(lot=0.0), hold, first=40)]


def test_a_symbol_is_what_holding_it_returns(replays):
    held = benchmark_of("ibm", replays).returns
    for one, returns in zip(replays, np.split(held, [39]), strict=True):
        # The account buys at the first close and earns the symbol's return from then on; a dividend is not reinvested.
        account = Chain([one.trace]).returns
        until = 20 if one.tape.first == 0 else len(returns)
        assert account[1:until] == pytest.approx(returns[1:until])
    both = np.stack([benchmark_of(name, replays).returns for name in ("aapl", "ibm")])
    assert benchmark_of("equal-weight", replays).returns == pytest.approx(both.mean(axis=0))


def test_a_file_is_a_benchmark(replays, tmp_path):
    times = np.concatenate([one.trace.times for one in replays])
    days = np.unique(times)
    closes = 100.0 * np.exp(0.01 * np.random.default_rng(12).standard_normal(len(days)).cumsum())
    file = tmp_path / "index.csv"
    pd.DataFrame({"date": days, "open": 1.0, "Close": closes}).drop(index=30).to_csv(file, index=False)
    found = benchmark_of(str(file), replays)
    kept = pd.Series(closes, index=days).drop(days[30]).reindex(days, method="ffill")
    expected = [kept[one.trace.times].pct_change().iloc[1:] for one in replays]
    assert found.returns == pytest.approx(np.concatenate(expected))
    assert found.note.startswith("1 of ")
    for lines, said in (
        ("time,close\n2024-01-01,1\n2024-01-20,1\n", "must cover"),
        ("time,close\n2023-01-01,1\n2024-06-20,1\n", "more frequent"),
        ("time,a,b\n2023-01-01,1,1\n2024-06-20,1,1\n", "'close'"),
    ):
        file.write_text(lines)
        with pytest.raises(UsageError, match=re.escape(said)):
            benchmark_of(str(file), replays)
    file.write_text("time,close\n2023-01-01,-1\n")
    with pytest.raises(DataError, match="line 2"):
        benchmark_of(str(file), replays)
    with pytest.raises(DataError, match="no such file"):
        benchmark_of("none.csv", replays)
    with pytest.raises(UsageError, match="did you mean 'aapl'"):
        benchmark_of("apl", replays)


def test_the_page_shows_them(replays, tmp_path):
    traces = [one.trace for one in replays]
    link = link_between(tmp_path / "a" / "page.html", tmp_path / 'b "<i>&.csv')
    assert link == "../b%20%22%3Ci%3E%26.csv"
    chosen = Benchmark(HOSTILE, benchmark_of("aapl", replays).returns)
    page = render(HEADING, traces, traces, benchmark=chosen, trades=Trades(trades_of(replays), link))
    tree = parsed(page)
    assert [node.get("href") for node in tree.iter("a")] == [link]
    assert table(tree, "Against the benchmark")[""] == [HOSTILE]
    found = regression(Chain(traces).returns, chosen, P)
    assert table(tree, "Against the benchmark")["Beta"][0].startswith(f"{found.beta:.2f}".replace("-", "−"))
    default = table(parsed(render(HEADING, traces, traces)), "Against the benchmark")
    assert default[""] == ["buy-and-hold"]
    assert default["Beta"] == ["1.00 ± 0.00"]
    assert len(table(tree, "Largest drawdowns")) == 1 + min(10, len(drawdown_list(Chain(traces))))
    figures = risk_figures("buy-and-hold", traces, traces, None, P)
    json.dumps(figures, allow_nan=False)
    assert figures["regression"]["beta"] == pytest.approx(1.0)
