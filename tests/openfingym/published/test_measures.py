"""Every measure of a protocol against the formula of its paper or code, written out slowly; and the draws."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, ttest_ind
from statsmodels.tsa.stattools import acf

from openfingym.errors import DataError, UsageError
from openfingym.metrics.portfolios import strategy_weights
from openfingym.published import tail
from openfingym.published.measures import MEASURES
from openfingym.published.protocol import Drawing, protocol_of
from openfingym.published.sample import Sample, SampleWindows, draw
from openfingym.published.scoring import score_windows

RNG = np.random.default_rng(7)


def sample(n=40, m=30, t=12, d=2, lookback=0, k=3, scale=1.2, seed=3):
    real, fake = (np.cumsum(RNG.standard_normal((count, t, d)), axis=1) for count in (n, m))
    futures = RNG.standard_normal((n, k, t - lookback, d)) if lookback else None
    train = np.cumsum(RNG.standard_normal((50, t, d)), axis=1)
    return Sample(real, scale * fake, 0.2, train, lookback, futures, seed)


def increments(n=60, m=50, t=40, d=3, seed=3):
    rows = [0.02 * RNG.standard_normal((count, t, d)) for count in (n, m, 120)]
    return Sample(rows[0], 1.3 * rows[1], 0.2, rows[2], 0, None, seed)


def test_the_histogram_counts_values_nearer_to_a_centre_than_half_a_width():
    given = sample()
    given.real[:, 0, 0] = 1.0  # a constant cell
    given.fake[:5, 3, 1] = given.real[:, 3, 1].max()  # on an edge: in no bin
    bins, total = 10, []
    for t, d in itertools.product(range(1, 12), range(2)):
        x, y = given.real[:, t, d], given.fake[:, t, d]
        delta = (x.max() - x.min()) / bins
        for b in range(bins):
            low = x.min() + b * delta
            of_x = ((x >= low) & ((x < low + delta) | (b == bins - 1))).mean() / delta
            of_y = (np.abs(y - (low + delta / 2)) < delta / 2 - 1e-12).mean() / delta
            total.append(abs(of_y - of_x))
    assert MEASURES["histogram_gap"](given, bins=bins, first=1) == pytest.approx(np.mean(total))
    everything = MEASURES["histogram_gap"](given, bins=bins)
    assert everything > 1000.0  # the constant cell has a width of 1e-5


def put(paths, early=1):
    """The published recursion, path by path; ``early`` dates before the end are worth nothing."""
    growth, n = math.exp(0.01 / 252), len(paths)
    prices = [[100.0 * math.exp(sum(path[:i])) for i in range(len(path) + 1)] for path in paths]
    worth = [[0.0] * (len(path) + 1) for path in paths]
    last = len(paths[0])
    for i in range(n):
        worth[i][last] = max(100.0 - prices[i][last], 0.0)
    for t in range(last - 1 - early, 0, -1):
        inside = [i for i in range(n) if prices[i][t] < 100.0]
        if not inside:
            continue
        fit = np.polyfit([prices[i][t] for i in inside], [worth[i][t + 1] * growth for i in inside], 2)
        for i in range(n):
            if i in inside and 100.0 - prices[i][t] > np.polyval(fit, prices[i][t]):
                worth[i][t:] = [100.0 - prices[i][t]] + [0.0] * (last - t)
            if worth[i][t] == 0.0:
                worth[i][t] = worth[i][t + 1] * growth
    return sum(row[1] for row in worth) / n * growth


def test_the_put_is_priced_with_the_published_recursion():
    given = sample(n=12, t=8, d=2, lookback=3, k=30)
    real, futures = 0.02 * given.real, 0.02 * given.futures
    given = Sample(real, real, 0.2, real, 3, futures, 0)
    gaps = [abs(put(real[:, 3:, d]) - np.mean([put(one[..., d]) for one in futures])) for d in range(2)]
    assert MEASURES["put_gap"](given) == pytest.approx(np.mean(gaps))
    # What is published: the last two increments change nothing.
    shaken = futures.copy()
    shaken[:, :, -2:] *= 10.0
    assert MEASURES["put_gap"](Sample(real, real, 0.2, real, 3, shaken, 0)) == pytest.approx(np.mean(gaps))


def test_conditional_means():
    given = sample(n=12, t=8, lookback=3)
    gaps = [math.dist(given.real[i, 3:].ravel(), given.futures[i].mean(axis=0).ravel()) for i in range(5)]
    assert MEASURES["conditional_mean_gap"](given, contexts=5) == pytest.approx(np.mean(gaps))
    with pytest.raises(UsageError, match="conditional"):
        MEASURES["conditional_mean_gap"](sample(), contexts=5)


def lagged(x, i, j, k, ddof):
    """Mean product at a lag of two standardised channels."""
    a, b = ((x[..., c] - x[..., c].mean()) / x[..., c].std(ddof=ddof) for c in (i, j))
    return (a[:, k:] * b[:, : x.shape[1] - k]).mean()


def test_correlations_at_lags():
    given = sample()
    pairs = [(i, j) for i in range(2) for j in range(i + 1)]

    def gap(i, j, k, ddof):
        return abs(lagged(given.fake, i, j, k, ddof) - lagged(given.real, i, j, k, ddof))

    for lag in (1, 5):
        assert MEASURES["autocorrelation_lag"](given, lag=lag) == pytest.approx(gap(0, 0, lag, 0) + gap(1, 1, lag, 0))
        crossed = sum(gap(i, j, lag, 0) for i, j in pairs)
        assert MEASURES["cross_correlation_lag"](given, lag=lag) == pytest.approx(crossed)
    every = [gap(i, j, k, 1) for i, j in pairs for k in range(5)]
    assert MEASURES["cross_correlation"](given, lags=4) == pytest.approx(np.mean(every), rel=1e-9)


def test_correlations_of_steps():
    given = sample()
    columns = []
    for d in range(2):
        a, b = (np.triu(np.corrcoef(x[:, 1:, d].T)) for x in (given.real, given.fake))
        columns.append(np.sqrt(((a - b) ** 2).sum(axis=0)))
    assert MEASURES["step_autocorrelation"](given, first=1) == pytest.approx(np.mean(columns))


def test_signatures_of_depth_two():
    given = sample()

    def mean_signature(x):
        clock = np.broadcast_to(np.linspace(0.0, 1.0, x.shape[1])[:, None], (*x.shape[:2], 1))
        steps = np.diff(np.concatenate((clock, x), axis=2), axis=1)
        before = np.cumsum(steps, axis=1) - steps
        second = np.einsum("nti,ntj->nij", before + steps / 2, steps)
        return np.concatenate((steps.sum(axis=1).mean(axis=0), second.mean(axis=0).ravel()))

    expected = np.linalg.norm(mean_signature(given.real) - mean_signature(given.fake))
    assert MEASURES["signature_w1"](given, depth=2) == pytest.approx(expected)


def test_nearest_generated_windows():
    given = sample()
    far = [min(np.linalg.norm(x - y, axis=1).mean() for y in given.fake[:20]) for x in given.real[:20]]
    assert MEASURES["nearest_generated"](given, windows=20) == pytest.approx(np.mean(far))


def test_the_signature_kernel_sums_levels_of_an_unscaled_gaussian():
    given = sample(n=4, m=4, t=4, d=1, scale=0.6)

    def path(x):
        rows = np.concatenate((np.zeros((1, 1)), x))
        return np.concatenate((np.linspace(1 / len(rows), 1.0, len(rows))[:, None], rows), axis=1)

    def kernel(x, y, depth=3):
        static = np.exp(-((path(x)[:, None] - path(y)[None]) ** 2).sum(axis=2))
        moved = np.diff(np.diff(static, axis=0), axis=1)
        places = range(len(moved))
        total = 1.0
        for level in range(1, depth + 1):
            for rows in itertools.combinations(places, level):
                for columns in itertools.combinations(places, level):
                    total += math.prod(moved[i, j] for i, j in zip(rows, columns, strict=True))
        return total

    x, y = given.real, given.fake
    among = [sum(kernel(s[i], s[j]) for i in range(4) for j in range(4) if i != j) / 12 for s in (x, y)]
    across = sum(kernel(a, b) for a in x for b in y) / 16
    assert MEASURES["signature_mmd"](given, depth=3, windows=4) == pytest.approx(sum(among) - 2 * across)


def traded(price, z, high, low, sign):
    """Profit of a strategy in one window: from the published marks, +1 to open and -1 to close."""
    total = 0.0
    for mark, side in (((lambda a, b: a < high <= b), 1.0), ((lambda a, b: a > low >= b), -1.0)):
        held = False
        for t in range(1, len(price) - 1):
            crossed = (z[t - 1] < 0 <= z[t]) or (z[t - 1] > 0 >= z[t])
            if mark(z[t - 1], z[t]):
                held = True
            elif crossed:
                held = False
            total += sign * side * 10.0 * held * (price[t + 1] - price[t])
    return total


def moving(price, width):
    return np.array([price[t - width + 1 : t + 1].mean() if t >= width - 1 else price[t] for t in range(len(price))])


def signals(price):
    return price - price[:11].mean(), moving(price, 10) - moving(price, 20)


def slow_profits(windows, train):
    def prices(x, i, d):
        return np.concatenate(([1.0], 1.0 + np.cumsum(x[i, :, d])))

    d = windows.shape[2]
    known = [[signals(prices(train, i, c))[s] for i in range(100) for c in range(d)] for s in (0, 1)]
    limits = [np.percentile(np.concatenate(every), (31, 69)) for every in known]
    rows = []
    for i in range(len(windows)):
        row = [10.0 * (prices(windows, i, c)[-1] - 1.0) for c in range(d)]
        row += [float(weights @ windows[i].sum(axis=0)) for weights in strategy_weights(d)[d:]]
        for s, sign in ((0, -1.0), (1, 1.0)):
            for c in range(d):
                price = prices(windows, i, c)
                row.append(traded(price, signals(price)[s], limits[s][1], limits[s][0], sign))
        rows.append(row)
    return np.array(rows)


def slow_var_es(pnl, level):
    pairs = []
    for column in pnl.T:
        var = np.percentile(column, 100 * level)
        worst = [x for x in column if x <= var and x != 0.0]
        pairs.append((round(var, 3), round(float(np.mean(worst)), 3)))
    return np.array(pairs).T


def test_tail_gans_strategies_and_their_tails():
    given = increments()
    real, fake = (slow_profits(side, given.train) for side in (given.real, given.fake))
    np.testing.assert_allclose(tail.profits(given.real, given.train), real, atol=1e-12)
    assert real.shape[1] == 50 + 3 * 3
    assert (real[:, -3:] != 0.0).any()
    a, b = (slow_var_es(side, 0.1) for side in (real, fake))
    error = MEASURES["tail_error"](given, level=0.1)
    np.testing.assert_allclose(error, 100.0 * (np.abs(a - b) / np.abs(a)).ravel(), atol=1e-9)
    still = Sample(np.zeros_like(given.real), given.fake, 0.2, given.train, 0, None, 0)
    with pytest.raises(DataError, match="real VaR or ES is 0"):
        MEASURES["tail_error"](still, level=0.1)


def test_tail_gans_tests_of_coverage_and_score():
    given = increments()
    options = {"level": 0.1, "draws": 3, "size": 100}  # more than there are: every draw is everything
    real, fake = (slow_profits(side, given.train) for side in (given.real, given.fake))
    seen, model, own = np.round(real, 3), slow_var_es(fake, 0.1), slow_var_es(real, 0.1)
    covered, scored, n = [], [], len(real)
    for column, v in zip(seen.T, model[0], strict=True):
        s = int((column < v).sum())
        if s in (0, n):
            covered.append(False)
            continue
        ratio = 2 * (s * math.log(s / n / 0.1) + (n - s) * math.log((1 - s / n) / 0.9))
        covered.append(chi2.sf(ratio, 1) < 0.05)
    for c in range(seen.shape[1]):
        scores = []
        for v, e in (own[:, c], model[:, c]):
            below = seen[:, c] <= v
            scores.append(
                (below - 0.1) * (-5 * v**2 + 5 * seen[:, c] ** 2)
                + (0.1 * e) / 0.1 * below * (v - seen[:, c])
                + 0.1 * e * (e - v)
                - 0.1 * e**2 / 2
            )
        scored.append(ttest_ind(*scores, equal_var=False).pvalue < 0.05)
    assert MEASURES["coverage_rejection"](given, **options) == pytest.approx(100 * np.mean(covered))
    assert MEASURES["score_rejection"](given, **options) == pytest.approx(100 * np.mean(scored))
    assert 0 < np.mean(covered) < 1


def test_tail_gans_correlations():
    given = increments()
    a, b = (np.corrcoef(x.sum(axis=1).T) for x in (given.real, given.fake))
    assert MEASURES["correlation_of_totals"](given) == pytest.approx(np.abs(np.round(a, 3) - b).sum())
    given.fake[0, :, 0] = 0.5  # without variance: left out

    def path(values):
        return acf(values, nlags=10, fft=False) if np.ptp(values) else np.full(11, np.nan)

    means = [np.nanmean([[path(w[:, d]) for d in range(3)] for w in x], axis=0) for x in (given.real, given.fake)]
    expected = np.abs(np.round(means[0], 3) - means[1]).sum()
    assert MEASURES["path_autocorrelation"](given, lags=10) == pytest.approx(expected)


@pytest.mark.parametrize("how", ["resampled", "permuted", "whole"])
def test_draws_are_of_the_windows_there_are_and_fixed_by_the_seed(how):
    windows = SampleWindows(*(RNG.standard_normal((n, 4, 1)) for n in (50, 40, 30)))
    drawing = Drawing(pool="all", how=how, windows=20)
    pool = windows.pool(drawing)
    one, again, other, seeded = (draw(drawing, windows, pool, r, s) for r, s in ((0, 5), (0, 5), (1, 5), (0, 6)))
    np.testing.assert_array_equal(one.fake, again.fake)
    assert one.seed == again.seed
    for differs in (other, seeded):
        assert differs.seed != one.seed
        assert not np.array_equal(one.fake, differs.fake)
    assert len(one.fake) == 20 == len(np.unique(one.fake, axis=0))
    assert len(one.real) == (90 if how == "whole" else 20)
    assert np.isin(one.real, pool).all()
    assert len(draw(drawing, windows, pool, -1, 5).fake) == 30


def test_a_context_is_drawn_with_its_own_future():
    hidden = np.arange(40.0)[:, None, None] + np.zeros((40, 5, 1))
    futures = np.arange(40.0)[:, None, None, None] + 100.0 * np.arange(6)[:, None, None] + np.zeros((40, 6, 3, 1))
    windows, drawing = SampleWindows(hidden, hidden, futures), Drawing(pool="hidden", how="contexts")
    found = draw(drawing, windows, hidden, 0, 0)
    assert found.lookback == 2
    np.testing.assert_array_equal(found.fake[:, :2], found.real[:, :2])
    np.testing.assert_array_equal(found.fake[:, 2:] % 100.0, found.real[:, 2:])
    assert len(np.unique(found.fake[:, 2:] // 100.0)) == 6
    np.testing.assert_array_equal(draw(drawing, windows, hidden, -1, 0).real, hidden)


def test_values_have_the_mean_and_deviation_of_repeats_and_the_papers_figures():
    rows = [0.02 * RNG.standard_normal((n, 40, 3)) for n in (120, 200, 1500)]
    protocol = protocol_of("tail-gan-generation")
    names = ["tail_error_05", "correlation", "coverage_rejection"]
    found = {v.metric: v for v in score_windows(protocol, "tail-gan-generation", SampleWindows(*rows), only=names)}
    samples = [draw(protocol.drawing, SampleWindows(*rows), rows[1], r, 0) for r in range(16)]
    each = np.array([MEASURES["correlation_of_totals"](one) for one in samples])
    value = found["correlation"]
    assert (value.mean, value.sd) == pytest.approx((each.mean(), each.std()))
    assert (value.repeats, value.real_windows, value.generated_windows) == (16, 200, 1000)
    assert {(one.model, one.mean) for one in value.paper} == {("Tail-GAN", 1.0), ("WGAN", 6.11)}
    assert found["coverage_rejection"].sd is None
    assert found["coverage_rejection"].generated_windows == 1500
    assert list(found) == ["tail_error_05", "coverage_rejection", "correlation"]
    with pytest.raises(UsageError, match=r"no metric 'mse'.*tail_error_01"):
        score_windows(protocol, "tail-gan-generation", SampleWindows(*rows), only=["mse"])
    with pytest.raises(UsageError, match="needs 10 windows a side, found 200 real and 9 generated"):
        score_windows(protocol, "tail-gan-generation", SampleWindows(rows[0], rows[1], rows[2][:9]))
