"""CPU cost of each metric beside the plain NumPy or library call it rests on.

Run ``python benchmarks/metrics.py``. Prints medians of CPU milliseconds and the ratio to the peer, measured in turn
in one process. Peers from packages that are not installed are left out and named.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

from openfingym.metrics import (
    autocorrelation,
    classification,
    correlation,
    interval,
    marginal,
    neighbours,
    option,
    portfolios,
    posthoc,
    probabilistic,
    relative,
    signature,
    signature_kernel,
    significance,
    strategy,
    tail,
)

SECONDS = 0.6
Row = tuple[str, Callable[[], object], str, Callable[[], object]]


def cpu_ms(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """Median CPU milliseconds of both, called in turn for about a second."""
    times: tuple[list[float], list[float]] = ([], [])
    ours()
    peer()
    start = time.perf_counter()
    while time.perf_counter() - start < 2 * SECONDS or len(times[0]) < 3:
        for call, into in zip((ours, peer), times, strict=True):
            before = time.process_time_ns()
            call()
            into.append((time.process_time_ns() - before) / 1e6)
    return statistics.median(times[0]), statistics.median(times[1])


def point(rng: np.random.Generator) -> Iterator[Row]:
    """Errors of 400 windows of 10 steps and 17 channels, and of 7,200 rows in 120 months."""
    from sklearn import metrics as sk
    from statsmodels.api import OLS

    y, f = rng.standard_normal((2, 400, 10, 17))
    flat = y.ravel(), f.ravel()
    yield "mape", lambda: relative.mape(y, f), "scikit-learn", lambda: sk.mean_absolute_percentage_error(*flat)
    yield "smape", lambda: relative.smape(y, f), "NumPy", lambda: np.mean(2 * np.abs(f - y) / (np.abs(y) + np.abs(f)))
    yield "r2", lambda: relative.r2(y, f), "scikit-learn", lambda: sk.r2_score(*flat)
    yield "r2_zero", lambda: relative.r2_zero(y, f), "NumPy", lambda: 1 - ((f - y) ** 2).sum() / (y**2).sum()
    yield "directional_accuracy", lambda: relative.directional_accuracy(y, f), "NumPy", lambda: np.mean((np.sign(y) == np.sign(f))[y != 0])
    yield "mafe", lambda: relative.mafe_by_horizon(y, f), "NumPy", lambda: np.abs(f - y).mean(axis=(0, 2))
    x = rng.standard_normal(5000)
    ones = np.ones(5000)
    fit = {"cov_type": "HAC", "cov_kwds": {"maxlags": 9, "use_correction": False}}
    yield "newey_west_t", lambda: significance.newey_west_t(x, 9), "statsmodels", lambda: OLS(x, ones).fit(**fit).tvalues
    r, g, months = rng.standard_normal(7200), rng.standard_normal(7200), np.repeat(np.arange(120), 60)

    def sorted_months() -> float:
        spread = []
        for month in range(120):
            rows = months == month
            order = np.argsort(g[rows])
            spread.append(r[rows][order[-6:]].mean() - r[rows][order[:6]].mean())
        return float(np.mean(spread) / np.std(spread, ddof=1))

    yield "long_short_sharpe", lambda: strategy.long_short_sharpe(r, g, months), "NumPy, a month at a time", sorted_months
    low, high = f - 1, f + 1
    yield "picp", lambda: interval.picp(y, low, high), "NumPy", lambda: np.mean((low <= y) & (y <= high))

    def winkler() -> float:
        return float((high - low + 40 * np.maximum(low - y, 0) + 40 * np.maximum(y - high, 0)).mean())

    yield "interval_score", lambda: interval.interval_score(y, low, high), "NumPy", winkler
    levels = np.linspace(0.1, 0.9, 9)
    q = np.sort(rng.standard_normal((*y.shape, 9)), axis=-1)

    def each_level() -> float:
        return float(np.mean([sk.mean_pinball_loss(flat[0], q[..., i].ravel(), alpha=a) for i, a in enumerate(levels)]))

    yield "pinball", lambda: probabilistic.pinball(y, q, levels), "scikit-learn, level by level", each_level
    s = rng.standard_normal((4000, 100))
    t = y.ravel()[:4000]
    rank = (2.0 * np.arange(1, 101) - 101.0) / 10_000.0

    def sorted_samples() -> float:
        return float(np.abs(s - t[:, None]).mean() - (np.sort(s, axis=-1) @ rank).mean())

    yield "crps_samples", lambda: probabilistic.crps_samples(t, s), "NumPy, the same sum", sorted_samples
    labels, scores = (rng.random(24_000) < 0.05).astype(int), rng.random(24_000)
    yield "auroc", lambda: classification.auroc(labels, scores), "scikit-learn", lambda: sk.roc_auc_score(labels, scores)
    yield (
        "average_precision",
        lambda: classification.average_precision(labels, scores),
        "scikit-learn",
        lambda: sk.average_precision_score(labels, scores),
    )
    yield "f1", lambda: classification.f1(labels, scores), "scikit-learn", lambda: sk.f1_score(labels, scores >= 0.5)
    yield "recall_at_k", lambda: classification.recall_at_k(labels, scores), "NumPy sort", lambda: np.argsort(-scores, kind="stable")


def paths(rng: np.random.Generator) -> Iterator[Row]:
    """Laws of 2,000 windows of 60 steps and 20 channels."""
    real, fake = rng.standard_normal((2, 2000, 60, 20))
    rows = [x.reshape(-1, 20) for x in (real, fake)]

    def histograms() -> float:
        gaps = []
        for t in range(60):
            for d in range(20):
                edges = np.linspace(real[:, t, d].min(), real[:, t, d].max(), 51)
                gaps.append(np.abs(np.histogram(fake[:, t, d], edges)[0] - np.histogram(real[:, t, d], edges)[0]).mean())
        return float(np.mean(gaps))

    yield "marginal", lambda: marginal.marginal(real, fake), "numpy.histogram, cell by cell", histograms

    def lagged() -> list[object]:
        return [[(u[:, : 60 - k] * u[:, k:]).mean(axis=(0, 1)) for k in range(60)] for u in (x - x.mean(axis=(0, 1)) for x in (real, fake))]

    yield "autocorrelation_stationary", lambda: autocorrelation.autocorrelation_stationary(real, fake), "NumPy, lag by lag", lagged
    yield (
        "correlation_l1",
        lambda: correlation.correlation_l1(real, fake),
        "numpy.corrcoef",
        lambda: [np.corrcoef(x, rowvar=False) for x in rows],
    )
    yield (
        "covariance_frobenius",
        lambda: correlation.covariance_frobenius(real, fake),
        "numpy.cov",
        lambda: [np.cov(x, rowvar=False) for x in rows],
    )
    yield (
        "order_statistic_var_gap",
        lambda: tail.order_statistic_var_gap(real, fake),
        "numpy.partition",
        lambda: [np.partition(x, 100, axis=0) for x in (real, fake)],
    )
    weights = portfolios.strategy_weights(20)
    yield (
        "relative_tail_error_05",
        lambda: portfolios.relative_tail_error(real, fake),
        "NumPy",
        lambda: [np.quantile(x.sum(axis=1) @ weights.T, 0.05, axis=0) for x in (real, fake)],
    )
    yield (
        "pred_fast",
        lambda: posthoc.pred_fast(real[:, :20], fake[:, :20]),
        "scikit-learn Ridge",
        lambda: ridge(real[:, :20], fake[:, :20]),
    )


def ridge(real: np.ndarray, fake: np.ndarray) -> float:
    """The regression inside the predictive score."""
    from sklearn.linear_model import Ridge

    mean, deviation = real.mean(axis=(0, 1)), real.std(axis=(0, 1))
    (x, y), (x_real, y_real) = (
        (z[:, :-2].reshape(len(z), -1), z[:, -2:].reshape(len(z), -1)) for z in ((fake - mean) / deviation, (real - mean) / deviation)
    )
    return float(np.abs(Ridge().fit(x, y).predict(x_real) - y_real).mean())


def geometry(rng: np.random.Generator) -> Iterator[Row]:
    """Signatures, kernels, neighbours, and the put."""
    from scipy.spatial.distance import cdist

    near, far = rng.standard_normal((2, 1000, 11, 3))
    yield (
        "onnd",
        lambda: neighbours.onnd(near, far),
        "scipy cdist, step by step",
        lambda: sum(cdist(near[:, t], far[:, t]) for t in range(11)).min(axis=1),
    )
    walk = np.cumsum(rng.standard_normal((1000, 64, 2)), axis=1) / 8

    def step_by_step() -> object:
        """Chen's identity with the tensor exponential written out, level by level."""
        levels = [np.zeros((1000, 3**k)) for k in range(1, 5)]
        x = signature.with_time(walk)
        for i in range(63):
            v = x[:, i + 1] - x[:, i]
            powers = [v]
            for k in range(2, 5):
                powers.append((powers[-1][:, :, None] * v[:, None, :]).reshape(1000, -1) / k)
            fresh = []
            for k in range(1, 5):
                total = levels[k - 1] + powers[k - 1]
                for j in range(1, k):
                    total = total + (levels[j - 1][:, :, None] * powers[k - j - 1][:, None, :]).reshape(1000, -1)
                fresh.append(total)
            levels = fresh
        return levels

    yield "signature, depth 4", lambda: signature.signature(signature.with_time(walk), 4), "NumPy, Chen's identity", step_by_step
    returns = 0.02 * rng.standard_normal((251, 128, 5))

    def polynomial() -> object:
        spot = 100 * np.exp(np.cumsum(returns, axis=2))
        cash = np.maximum(100 - spot[:, :, -1], 0)
        for t in range(3, -1, -1):
            for b in range(251):
                inside = spot[b, :, t] < 100
                held = np.polyval(np.polyfit(spot[b, inside, t], cash[b, inside], 2), spot[b, inside, t])
                cash[b, inside] = np.where(100 - spot[b, inside, t] > held, 100 - spot[b, inside, t], cash[b, inside])
        return cash

    yield "put_prices", lambda: option.put_prices(returns), "numpy.polyfit, block by block", polynomial
    x, y = walk[:64], walk[64:128]
    yield (
        "sig_mmd, 64 paths",
        lambda: signature_kernel.mmd_squared(x, y, 5),
        "numpy.exp of the static kernels",
        lambda: [np.exp(-0.5 * ((a[:, None, :, None] - b[None, :, None]) ** 2).sum(axis=-1)) for a, b in ((x, x), (y, y), (x, y))],
    )
    try:
        import numba  # noqa: F401  (the backend compiles through it; here only whether it is there matters)
    except ImportError:
        print("Numba is not installed: its backend is left out")
    else:
        yield (
            "sig_mmd, numba",
            lambda: signature_kernel.mmd_squared(x, y, 5, backend="numba"),
            "our NumPy backend",
            lambda: signature_kernel.mmd_squared(x, y, 5),
        )


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    print(f"{'metric':28} {'CPU ms':>9} {'peer ms':>9} {'ratio':>7}  peer")
    for group in (point, paths, geometry):
        for name, ours, label, peer in group(rng):
            mine, theirs = cpu_ms(ours, peer)
            print(f"{name:28} {mine:9.3f} {theirs:9.3f} {mine / theirs:7.2f}  {label}", flush=True)


if __name__ == "__main__":
    main()
