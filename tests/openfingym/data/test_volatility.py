"""Realised volatility and rolling graphs: against pandas and single windows, and blind to later rows."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.data.processes.draws import stream, uniforms
from openfingym.data.volatility import (
    GRAPH_WINDOW,
    HORIZON,
    LAGS,
    VOLATILITY_WINDOW,
    realised_volatility,
    rolling_graphs,
    rows_apart,
)
from openfingym.errors import DataError
from openfingym.metrics.spillover import spillover


def prices(seed=0, n=300, d=8):
    rng = np.random.default_rng(seed)
    market = rng.standard_t(5, (n, 1))
    return 100 * np.exp(np.cumsum(0.01 * (0.6 * market + 0.8 * rng.standard_t(5, (n, d))), axis=0))


@pytest.fixture(scope="module")
def volatility():
    return realised_volatility(prices())


@pytest.mark.parametrize("window", [1, 5, 21])
def test_realised_volatility_is_that_of_pandas(window):
    p = prices()
    squares = pd.DataFrame(p).apply(np.log).diff() ** 2
    expected = np.sqrt(squares.rolling(window).mean().to_numpy()[window:])
    found = realised_volatility(p, window)
    assert found.shape == (300 - window, 8)
    assert found == pytest.approx(expected, abs=1e-9)
    assert found.tolist() == np.round(found, 10).tolist()


def test_realised_volatility_of_steady_growth():
    p = 100 * 1.01 ** np.arange(30.0)[:, None]
    assert realised_volatility(p) == pytest.approx(np.full((9, 1), np.log(1.01)), abs=1e-10)


def test_realised_volatility_reads_no_later_row():
    p = prices()
    changed = p.copy()
    changed[200:] *= 1.5
    assert realised_volatility(changed)[: 200 - 21].tobytes() == realised_volatility(p)[: 200 - 21].tobytes()
    assert realised_volatility(changed)[200 - 21] != pytest.approx(realised_volatility(p)[200 - 21])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda p: p[:21], "22 rows, found 21"),
        (lambda p: np.where(np.arange(300)[:, None] == 7, 0.0, p), r"prices\[7, 0\] is 0"),
        (lambda p: np.where(np.arange(8) == 3, np.nan, p), r"prices\[0, 3\] is not a finite"),
        (lambda p: np.where((np.arange(8) == 2) & (np.arange(300)[:, None] > 50), 9.0, p), ("channel 2 does not move "
                                                                                            ".* "
                                                                                           "up to row 72")),
        (lambda p: p[:, 0], "float64"),
        (lambda p: p.astype(int), "float64"),
    ],
)  # fmt: skip
def test_bad_prices(fault, message):
    with pytest.raises(DataError, match=message):
        realised_volatility(fault(prices()))


def test_no_window():
    with pytest.raises(DataError, match="window of one"):
        realised_volatility(prices(), 0)


@pytest.mark.parametrize("window", [GRAPH_WINDOW, 30])
def test_graphs_are_those_of_single_windows(volatility, window):
    rows = np.array([window - 1, 100, 150, len(volatility) - 1])
    correlation, spillovers = rolling_graphs(volatility, rows, window)
    for i, row in enumerate(rows):
        behind = volatility[row - window + 1 : row + 1]
        assert correlation[i] == pytest.approx(np.corrcoef(behind.T), abs=2e-10)
        assert spillovers[i] == pytest.approx(spillover(behind, LAGS, HORIZON).table, abs=2e-9)


def test_graphs_of_returns_and_of_two_channels():
    returns = np.diff(np.log(prices(d=2)), axis=0)
    correlation, spillovers = rolling_graphs(returns, np.array([99]), 100)
    assert correlation[0, 0, 1] == pytest.approx(np.corrcoef(returns[:100].T)[0, 1], abs=2e-10)
    assert spillovers[0] == pytest.approx(spillover(returns[:100]).table, abs=2e-10)


def test_what_a_graph_is(volatility):
    correlation, spillovers = rolling_graphs(volatility, np.arange(62, len(volatility)))
    assert (correlation == correlation.transpose(0, 2, 1)).all()
    assert (np.diagonal(correlation, axis1=1, axis2=2) == 1.0).all()
    assert np.abs(correlation).max() <= 1.0
    assert spillovers.sum(axis=2) == pytest.approx(1.0, abs=1e-9)
    assert spillovers.min() >= 0.0


@pytest.mark.parametrize("lookback", [10, 21, 80])
def test_windows_far_enough_apart_share_no_return(lookback):
    """Another last return of a hidden target, all else equal: with a row less between, the next window would show
    it."""
    p = prices(4)
    target = 80
    changed = p.copy()
    changed[VOLATILITY_WINDOW + target :] *= 1.1
    before, after = realised_volatility(p), realised_volatility(changed)
    assert (before[target] != after[target]).all()

    def shown(values, gap):
        start = target + 1 + gap
        graphs = rolling_graphs(values, np.array([start + lookback - 1]))
        return values[start : start + lookback].tobytes(), *(graph.tobytes() for graph in graphs)

    gap = rows_apart(lookback)
    assert shown(before, gap) == shown(after, gap)
    assert shown(before, gap - 1) != shown(after, gap - 1)


@settings(max_examples=25)
@given(
    end=st.integers(GRAPH_WINDOW - 1, 200),
    factor=st.sampled_from([-3.0, 0.0, 1e-3, 1e3, np.inf]),
    seed=st.integers(0, 2**16),
)
def test_a_graph_reads_its_own_rows_only(end, factor, seed):
    """Whatever happens after the end row, or before the window, does not move one byte."""
    values = realised_volatility(prices(1, 230))
    before = rolling_graphs(values, np.array([end]))
    changed = values.copy()
    noise = np.random.default_rng(seed).standard_normal(values.shape)
    outside = np.ones(len(values), dtype=bool)
    outside[end - GRAPH_WINDOW + 1 : end + 1] = False
    changed[outside] = 1.0 if factor == np.inf else (factor * values + noise)[outside]
    after = rolling_graphs(changed, np.array([end]))
    assert [graph.tobytes() for graph in before] == [graph.tobytes() for graph in after]


def test_every_own_row_counts(volatility):
    rows = np.array([150])
    before = rolling_graphs(volatility, rows)
    for row in range(150 - GRAPH_WINDOW + 1, 151):
        changed = volatility.copy()
        changed[row, 0] *= 1.5
        assert all((a != b).any() for a, b in zip(before, rolling_graphs(changed, rows), strict=True))


def test_a_graph_does_not_depend_on_its_company():
    """More than one block, in another order, or alone: the same bytes."""
    values = realised_volatility(prices(2, 800))
    rows = np.arange(62, 62 + 600)
    together = rolling_graphs(values, rows)
    backwards = rolling_graphs(values, rows[::-1])
    for graphs, reverse in zip(together, backwards, strict=True):
        assert graphs.tobytes() == reverse[::-1].copy().tobytes()
    for i in (0, 511, 512, 599):
        for graphs, alone in zip(together, rolling_graphs(values, rows[i : i + 1]), strict=True):
            assert graphs[i].tobytes() == alone[0].tobytes()


def test_the_bytes():
    """Input from raw bits, so that every machine must make these graphs to the last bit."""
    graphs = rolling_graphs(uniforms(stream(5), 200, 8), np.arange(62, 200))
    digest = hashlib.sha256(b"".join(graph.astype("<f8").tobytes() for graph in graphs)).hexdigest()
    assert digest == "3fbd24c9c6de73c1357288a7d3f7942e633648ff6d3693eb3c154c4f686140c0"


@pytest.mark.parametrize(
    ("fault", "rows", "window", "message"),
    [
        (lambda v: v, [61], 63, "end row 61 has no 63 rows behind it; it must be from 62 to 278"),
        (lambda v: v, [100, 279], 63, "end row 279"),
        (lambda v: v, [-1], 63, "end row -1"),
        (lambda v: v, [100], 19, "20 rows or more, found 8 and a window of 19"),
        (lambda v: v[:, :1], [100], 63, "two channels"),
        (lambda v: v, [100.0], 63, "row numbers"),
        (lambda v: v, [[100]], 63, "row numbers"),
        (lambda v: np.where(np.arange(8) == 5, 0.1, v), [100, 200], 63, ("channel 5 is constant in the 63 rows up to "
                                                                        "row 100")),
        (lambda v: np.where((np.arange(8) == 5) & (np.arange(279)[:, None] > 130), 0.1, v), [100, 200], 63,
         "up to row 200"),
        (lambda v: np.concatenate([v[:, :7], v[:, :1] + v[:, 1:2]], axis=1), [100], 63, ("linearly dependent in the "
                                                                                        "window up to row 100")),
        (lambda v: np.concatenate([v[:, :7], np.sin(np.arange(279.0))[:, None]], axis=1), [100], 63, ("7 is predicted "
                                                                                                     "without error")),
        (lambda v: np.where(np.arange(279)[:, None] == 4, np.inf, v), [100], 63, r"values\[4, 0\]"),
    ],
)  # fmt: skip
def test_bad_graphs(volatility, fault, rows, window, message):
    with pytest.raises(DataError, match=message):
        rolling_graphs(fault(volatility), np.array(rows), window)


def test_no_rows_no_graphs(volatility):
    correlation, spillovers = rolling_graphs(volatility, np.array([], dtype=np.int64))
    assert correlation.shape == spillovers.shape == (0, 8, 8)
