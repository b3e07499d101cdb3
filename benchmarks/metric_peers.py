"""Each metric beside the plain NumPy or library call it rests on, on the same arrays.

A peer does the arithmetic and nothing else: it looks at no shape, type or value first. The verifier looks for values
that are not finite once an answer, before any metric runs, so the metrics here get arrays that were searched already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from openfingym.metrics import METRICS
from openfingym.metrics.arrays import checked
from openfingym.metrics.portfolios import strategy_weights

Row = tuple[str, Callable[[], object], str, Callable[[], object]]


def own(name: str, arrays: dict[str, np.ndarray], **options: object) -> Callable[[], object]:
    """The metric itself, as the verifier calls it."""
    metric = METRICS[name]
    given = {key: checked(values) if values.dtype == np.float64 else values for key, values in arrays.items()}
    return lambda: metric.compute(given, 0, options)


def point(rng: np.random.Generator) -> Iterator[Row]:
    """Errors of 400 windows of 10 steps and 17 channels: 68,000 cells."""
    from sklearn import metrics as sk

    y, f = rng.standard_normal((2, 400, 10, 17))
    flat = y.ravel(), f.ravel()
    arrays = {"y_true": y, "y_pred": f, "benchmark": np.array(0.1)}
    up = y.ravel() > 0, f.ravel() > 0
    numpy: dict[str, Callable[[], object]] = {
        "mse": lambda: np.mean((f - y) ** 2),
        "rmse": lambda: np.sqrt(((f - y) ** 2).mean()),
        "mae": lambda: np.abs(f - y).mean(),
        "smape": lambda: np.mean(2 * np.abs(f - y) / (np.abs(y) + np.abs(f))),
        "relative_mae": lambda: np.abs(f - y).sum() / np.abs(y).sum(),
        "relative_mse": lambda: ((f - y) ** 2).sum() / (y**2).sum(),
        "nrmse": lambda: np.sqrt(((f - y) ** 2).mean()) / np.abs(y).mean(),
        "r2_zero": lambda: 1 - ((f - y) ** 2).sum() / (y**2).sum(),
        "r2_oos": lambda: 1 - ((f - y) ** 2).sum() / ((y - 0.1) ** 2).sum(),
        "directional_accuracy": lambda: np.mean((np.sign(y) == np.sign(f))[y != 0]),
        "mafe": lambda: np.abs(f - y).mean(axis=(0, 2)).mean(),
    }
    for name, peer in numpy.items():
        yield name, own(name, arrays), "NumPy", peer
    yield "mape", own("mape", arrays), "scikit-learn", lambda: sk.mean_absolute_percentage_error(*flat)
    yield "r2", own("r2", arrays), "scikit-learn", lambda: sk.r2_score(*flat)
    yield (
        "direction_macro_f1",
        own("direction_macro_f1", arrays),
        "scikit-learn f1_score",
        lambda: sk.f1_score(*up, average="macro"),
    )


def risk(rng: np.random.Generator) -> Iterator[Row]:
    """Returns of 200 windows of 5 steps and 10 channels, as a submission has them, and of 7,200 rows in 120 months."""
    y, f = 0.01 * rng.standard_normal((2, 200, 5, 10))
    arrays = {"y_true": y, "y_pred": f, "last_value": np.zeros((200, 10))}
    both = [np.ascontiguousarray(x.transpose(2, 0, 1)).reshape(10, -1) for x in (y, f)]
    yield (
        "delta_sharpe",
        own("delta_sharpe", arrays, semantics="log_return"),
        "NumPy",
        lambda: [x.reshape(-1, 10).mean(axis=0) / x.reshape(-1, 10).std(axis=0, ddof=1) for x in (y, f)],
    )
    yield (
        "delta_var",
        own("delta_var", arrays, semantics="log_return"),
        "numpy.quantile",
        lambda: [np.quantile(x, 0.05, axis=1) for x in both],
    )

    def shortfall() -> list[list[float]]:
        return [[r[r <= np.quantile(r, 0.05)].mean() for r in x] for x in both]

    yield "delta_es", own("delta_es", arrays, semantics="log_return"), "numpy.quantile, asset by asset", shortfall
    r, g, months = rng.standard_normal(7200), rng.standard_normal(7200), np.repeat(np.arange(120), 60)
    panel = {"y_true": 0.02 * r, "y_pred": g, "period": months}

    def sorted_months() -> np.ndarray:
        spread = []
        for month in range(120):
            rows = months == month
            order = np.argsort(g[rows])
            spread.append(r[rows][order[-6:]].mean() - r[rows][order[:6]].mean())
        return np.array(spread)

    for name in ("long_short_sharpe", "long_short_t", "long_short_drawdown", "long_short_worst_period"):
        yield name, own(name, panel), "NumPy, a month at a time", sorted_months
    from statsmodels.api import OLS

    fit = {"cov_type": "HAC", "cov_kwds": {"maxlags": 4, "use_correction": False}}
    ones = np.ones(120)

    def monthly_hac() -> object:
        gap = r**2 - (r - g) ** 2
        return OLS([gap[months == m].mean() for m in range(120)], ones).fit(**fit).tvalues

    yield "dm_zero", own("dm_zero", panel), "NumPy and statsmodels HAC", monthly_hac


def answers(rng: np.random.Generator) -> Iterator[Row]:
    """Intervals of 68,000 cells, quantiles, samples, and 24,000 labels."""
    from sklearn import metrics as sk

    y, f = rng.standard_normal((2, 400, 10, 17))
    low, high = f - 1, f + 1
    arrays = {"y_true": y, "lower": low, "upper": high}
    spread = {
        "picp": lambda: np.mean((low <= y) & (y <= high)),
        "coverage_gap": lambda: abs(np.mean((low <= y) & (y <= high)) - 0.95),
        "mpiw": lambda: np.mean(high - low),
        "nmpiw": lambda: np.mean(high - low) / (y.max() - y.min()),
        "cwc": lambda: (np.mean((low <= y) & (y <= high)), np.mean(high - low) / (y.max() - y.min())),
        "interval_score": lambda: np.mean(high - low + 40 * np.maximum(low - y, 0) + 40 * np.maximum(y - high, 0)),
    }
    for name, peer in spread.items():
        yield name, own(name, arrays), "NumPy", peer
    levels = np.linspace(0.1, 0.9, 9)
    q = np.sort(rng.standard_normal((*y.shape, 9)), axis=-1)
    cells = y.ravel()

    def each_level() -> float:
        return float(np.mean([sk.mean_pinball_loss(cells, q[..., i].ravel(), alpha=a) for i, a in enumerate(levels)]))

    for name in ("pinball", "crps_quantiles"):
        yield (
            name,
            own(name, {"y_true": y, "quantiles": q, "levels": levels}),
            "scikit-learn, level by level",
            each_level,
        )
    s, t = rng.standard_normal((4000, 100)), cells[:4000]
    rank = (2.0 * np.arange(1, 101) - 101.0) / 10_000.0
    yield (
        "crps_samples",
        own("crps_samples", {"y_true": t, "samples": s}),
        "NumPy, the same sum",
        lambda: np.abs(s - t[:, None]).mean() - (np.sort(s, axis=-1) @ rank).mean(),
    )
    labels, scores = (rng.random(24_000) < 0.05).astype(int), rng.random(24_000)
    ranking = {"labels": labels, "scores": scores}
    sklearn: dict[str, Callable[[], object]] = {
        "auroc": lambda: sk.roc_auc_score(labels, scores),
        "average_precision": lambda: sk.average_precision_score(labels, scores),
        "f1": lambda: sk.f1_score(labels, scores >= 0.5),
        "recall": lambda: sk.recall_score(labels, scores >= 0.5),
        "precision": lambda: sk.precision_score(labels, scores >= 0.5),
    }
    for name, peer in sklearn.items():
        yield name, own(name, ranking), "scikit-learn", peer
    yield "recall_at_k", own("recall_at_k", ranking), "NumPy sort", lambda: np.argsort(-scores, kind="stable")


def laws(rng: np.random.Generator) -> Iterator[Row]:
    """Laws of 2,000 windows of 60 steps and 20 channels."""
    real, fake = rng.standard_normal((2, 2000, 60, 20))
    sides = (real, fake)
    arrays = {"real": real, "fake": fake}
    rows = [x.reshape(-1, 20) for x in sides]

    def histograms() -> float:
        gaps = []
        for t in range(60):
            for d in range(20):
                edges = np.linspace(real[:, t, d].min(), real[:, t, d].max(), 51)
                gaps.append(
                    np.abs(np.histogram(fake[:, t, d], edges)[0] - np.histogram(real[:, t, d], edges)[0]).mean()
                )
        return float(np.mean(gaps))

    for name in ("marginal", "marginal_total_variation"):
        yield name, own(name, arrays), "numpy.histogram, cell by cell", histograms

    def lagged(lags: Iterator[int] | range) -> list[list[np.ndarray]]:
        return [
            [(u[:, : 60 - k] * u[:, k:]).mean(axis=(0, 1)) for k in lags]
            for u in (x - x.mean(axis=(0, 1)) for x in sides)
        ]

    yield (
        "autocorrelation_stationary",
        own("autocorrelation_stationary", arrays),
        "NumPy, lag by lag",
        lambda: lagged(range(60)),
    )
    for lag in (1, 5):
        name = f"autocorrelation_lag_{lag}"
        yield name, own(name, arrays), "NumPy", lambda lag=lag: lagged(range(0, lag + 1, lag))

    def by_path() -> list[list[np.ndarray]]:
        return [
            [(u[:, : 60 - k] * u[:, k:]).sum(axis=1) for k in range(11)]
            for u in (x - x.mean(axis=1, keepdims=True) for x in sides)
        ]

    yield "autocorrelation_tailgan", own("autocorrelation_tailgan", arrays), "NumPy, lag by lag", by_path
    yield (
        "autocorrelation_non_stationary",
        own("autocorrelation_non_stationary", arrays),
        "numpy.corrcoef, channel by channel",
        lambda: [np.corrcoef(x[..., d], rowvar=False) for x in sides for d in range(20)],
    )
    pooled: dict[str, tuple[str, Callable[[], object]]] = {
        "correlation_l1": ("numpy.corrcoef", lambda: [np.corrcoef(x, rowvar=False) for x in rows]),
        "correlation_sigcwgan": ("numpy.corrcoef", lambda: [np.corrcoef(x, rowvar=False) for x in rows]),
        "correlation_tailgan": ("numpy.corrcoef", lambda: [np.corrcoef(x.sum(axis=1), rowvar=False) for x in sides]),
        "covariance_frobenius": ("numpy.cov", lambda: [np.cov(x, rowvar=False) for x in rows]),
        "covariance_paths": ("numpy.cov", lambda: [np.cov(x.reshape(2000, -1), rowvar=False) for x in sides]),
        "pooled_sharpe_gap": ("NumPy", lambda: [x.mean(axis=0) / x.std(axis=0, ddof=1) for x in rows]),
        "pooled_var_gap": ("numpy.quantile", lambda: [np.quantile(x, 0.05, axis=0) for x in rows]),
        "pooled_es_gap": ("numpy.quantile", lambda: [np.quantile(x, 0.05, axis=0) for x in rows]),
        "order_statistic_var_gap": ("numpy.partition", lambda: [np.partition(x, 100, axis=0) for x in sides]),
        "order_statistic_es_gap": ("numpy.partition", lambda: [np.partition(x, 100, axis=0) for x in sides]),
    }
    for name, (label, peer) in pooled.items():
        yield name, own(name, arrays), label, peer

    def cross() -> list[np.ndarray]:
        return [
            np.einsum("ntd,nte->de", u[:, : 60 - k], u[:, k:], optimize=True)
            for u in (x - x.mean(axis=(0, 1)) for x in sides)
            for k in range(5)
        ]

    yield "cross_correlation", own("cross_correlation", arrays), "numpy.einsum, lag by lag", cross

    def one_lag(k: int) -> list[np.ndarray]:
        return [
            u[:, : 60 - k].reshape(-1, 20).T @ u[:, k:].reshape(-1, 20)
            for u in (x - x.mean(axis=(0, 1)) for x in sides)
        ]

    for lag in (0, 5):
        yield (
            f"cross_correlation_lag_{lag}",
            own(f"cross_correlation_lag_{lag}", arrays),
            "NumPy",
            lambda lag=lag: one_lag(lag),
        )
    weights = strategy_weights(20)

    def tails() -> list[np.ndarray]:
        return [np.quantile(x.sum(axis=1) @ weights.T, 0.05, axis=0) for x in sides]

    for level in ("01", "05", "10"):
        yield f"relative_tail_error_{level}", own(f"relative_tail_error_{level}", arrays), "numpy.quantile", tails
    yield (
        "pred_fast",
        own("pred_fast", {k: v[:, :20] for k, v in arrays.items()}),
        "scikit-learn Ridge",
        lambda: ridge(real[:, :20], fake[:, :20]),
    )


def ridge(real: np.ndarray, fake: np.ndarray) -> float:
    """The regression inside the predictive score."""
    from sklearn.linear_model import Ridge

    mean, deviation = real.mean(axis=(0, 1)), real.std(axis=(0, 1))
    (x, y), (x_real, y_real) = (
        (z[:, :-2].reshape(len(z), -1), z[:, -2:].reshape(len(z), -1))
        for z in ((fake - mean) / deviation, (real - mean) / deviation)
    )
    return float(np.abs(Ridge().fit(x, y).predict(x_real) - y_real).mean())


def strategies(rng: np.random.Generator) -> Iterator[Row]:
    """Profits of strategies in 5,000 windows of 100 steps and 5 channels, and copies among 2,000 windows."""
    from scipy.spatial.distance import cdist

    real, fake, more = rng.standard_normal((3, 5000, 100, 5)) / 400
    arrays = {"real": real, "fake": fake}
    weights = strategy_weights(5)

    def resamples() -> np.ndarray:
        return np.random.default_rng(0).multinomial(1000, np.full(5000, 1 / 5000), size=100).T.astype(float)

    def breaches() -> np.ndarray:
        profits, guess = (x.sum(axis=1) @ weights.T for x in (real, fake))
        return (profits < np.quantile(guess, 0.05, axis=0)).T.astype(float) @ resamples()

    yield "kupiec_rejection", own("kupiec_rejection", arrays), "NumPy", breaches

    def step_by_step() -> list[np.ndarray]:
        """The positions of ten strategies, one step of all windows at a time."""
        profits = []
        np.quantile(real, (0.31, 0.69), axis=(0, 1))
        for increments in (real, fake):
            prices = 1 + np.cumsum(increments, axis=1)
            for signal, sign in (
                (prices - prices[:, :11].mean(axis=1, keepdims=True), -1),
                (prices - np.roll(prices, 10, axis=1), 1),
            ):
                held, total = np.zeros((5000, 5)), np.zeros((5000, 5))
                for t in range(1, 99):
                    before, now = signal[:, t - 1], signal[:, t]
                    held = np.where(before * now <= 0, 0, held)
                    held = np.where(
                        (before < 0.01) & (now >= 0.01), sign, np.where((before > -0.01) & (now <= -0.01), -sign, held)
                    )
                    total += held * increments[:, t + 1]
                profits.append(np.quantile(total, 0.05, axis=0))
        return profits

    for level in ("01", "05", "10"):
        yield (
            f"dynamic_tail_error_{level}",
            own(f"dynamic_tail_error_{level}", arrays),
            "NumPy, step by step",
            step_by_step,
        )

    def scored() -> None:
        step_by_step()
        scores, draws = rng.standard_normal((60, 5000)), resamples()
        for _ in range(2):
            scores @ draws, (scores * scores) @ draws

    yield (
        "score_test_rejection",
        own("score_test_rejection", arrays),
        "NumPy: positions, and the resampled sums",
        scored,
    )
    triple = {"train": more, "held_out": real, "fake": fake}

    def quantiles(levels: int) -> list[tuple[np.ndarray, np.ndarray]]:
        profits = [weights[5:] @ x.sum(axis=1).T for x in triple.values()]
        return [(x, np.quantile(x, np.linspace(0.001, 0.05, levels), axis=1)) for x in profits]

    def with_scores() -> list[np.ndarray]:
        """Quantiles, and four times the sum that the score is."""
        return [
            ((x <= v[0][:, None]) - 0.05) * 5.0 * (x**2 - v[0][:, None] ** 2)
            + (x <= v[0][:, None]) * (v[0][:, None] - x)
            for x, v in quantiles(1) + quantiles(1)[:1]
        ]

    yield "generalization_dq", own("generalization_dq", triple), "numpy.quantile", lambda: quantiles(20)
    yield "generalization_ds", own("generalization_ds", triple), "numpy.quantile, and the score in NumPy", with_scores
    copied = {key: values[:1000, :24] for key, values in triple.items()}
    flat = {key: values.reshape(1000, -1) for key, values in copied.items()}

    def nearest() -> list[np.ndarray]:
        return [np.partition(cdist(flat[key], flat["train"]), 5, axis=1)[:, :6] for key in ("fake", "held_out")]

    yield "memorised_excess", own("memorised_excess", copied), "scipy cdist", nearest
