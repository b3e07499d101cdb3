"""In what each metric differs from the code or formula it cites, and in what it does not: frozen values of both.

The cited definitions are written out here in a few lines of NumPy, on inputs drawn from fixed seeds.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import empyrical
import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.metrics import f1_score, mean_absolute_percentage_error, recall_score

from openfingym.metrics.cases import account, drifting_paths
from openfingym.metrics.performance import WEALTH_FLOOR
from openfingym.metrics.portfolios import RESAMPLE_SIZE, RESAMPLES, strategy_profits, strategy_weights
from openfingym.metrics.registry import METRICS

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Cited:
    """A metric beside what it cites."""

    arrays: Arrays
    definition: Callable[[Arrays], Any]
    """The cited one; a number, or several where the source has several."""
    ours: float
    """Frozen."""
    cited: Any
    """Frozen; ``ours`` where nothing differs."""
    options: Mapping[str, object] = field(default_factory=dict)


RNG = np.random.default_rng(2026)
POINT = {"y_true": RNG.standard_normal((6, 3, 2)) * np.array([1.0, 5.0]), "y_pred": RNG.standard_normal((6, 3, 2))}
POINT["y_pred"][:2] = 0.0
ZEROS = {**POINT, "y_true": POINT["y_true"] * (np.arange(6) > 0)[:, None, None]}
PANEL = {
    "y_true": 0.05 * RNG.standard_normal(240),
    "y_pred": np.round(RNG.standard_normal(240)),
    "period": np.repeat(np.arange(12), 20),
}
INTERVAL = {"y_true": RNG.standard_normal(50), "lower": np.full(50, -1.0), "upper": np.full(50, 1.0)}
EMPTY = {**INTERVAL, "lower": np.zeros(50), "upper": np.zeros(50)}
LEVELS = np.array([0.05, 0.5, 0.9])
QUANTILES = {"y_true": RNG.standard_normal(40), "levels": LEVELS, "quantiles": np.tile([-1.5, 0.1, 1.2], (40, 1))}
PATHS = {"real": drifting_paths(RNG, 60, 12), "fake": drifting_paths(RNG, 45, 12) * 1.2}
SHORT = {"real": PATHS["real"][:, :5], "fake": PATHS["fake"][:, :5]}
STARTED = {name: np.concatenate([np.zeros((len(x), 1, 3)), x], axis=1) for name, x in PATHS.items()}
FLAT_WINDOW = {**PATHS, "fake": PATHS["fake"] * (np.arange(45) > 0)[:, None, None]}
MANY = {
    "real": RNG.standard_normal((9000, 1, 1)),
    "fake": RNG.standard_normal((9500, 1, 1)) + np.linspace(0.0, 3.0, 9500)[:, None, None],
}
FUTURES = {"real": 0.02 * RNG.standard_normal((40, 5, 2)), "futures": 0.025 * RNG.standard_normal((40, 8, 5, 2))}
RANKING = {"labels": (RNG.random(60) < 0.2).astype(np.int64), "scores": RNG.random(60)}
TINY = {name: 1e-3 * x for name, x in PATHS.items()}
SMALL = {"real": 0.3 * RNG.standard_normal((5, 4, 1)), "fake": np.cumsum(RNG.standard_normal((5, 4, 1)), axis=1)}
RISING = account(np.full((2, 10), 0.01))
RUINED = {"record": np.where(np.arange(11)[:, None] > 4, 0.0, RISING["record"])}


def ties_by_row(arrays: Arrays) -> np.ndarray:
    """Returns of top minus bottom decile, equal predictions in the order of rows."""
    out = []
    for month in range(12):
        rows = arrays["period"] == month
        y = arrays["y_true"][rows][np.argsort(arrays["y_pred"][rows], kind="stable")]
        out.append(y[-2:].mean() - y[:2].mean())
    return np.array(out)


def macro_f1(arrays: Arrays) -> float:
    y, f = (np.sign(arrays[name]).ravel() for name in ("y_true", "y_pred"))
    return float(f1_score(y, f, labels=[-1, 1], average="macro"))


def by_channel(arrays: Arrays) -> np.ndarray:
    return np.sqrt(((arrays["y_pred"] - arrays["y_true"]) ** 2).mean(axis=(0, 1)))


def zero_t(arrays: Arrays) -> float:
    y, f = arrays["y_true"], arrays["y_pred"]
    d = np.array([(y[arrays["period"] == m] ** 2 - (y - f)[arrays["period"] == m] ** 2).mean() for m in range(12)])
    return float(d.mean() / math.sqrt(((d - d.mean()) ** 2).mean() / 12))


def plain_t(r: np.ndarray) -> float:
    return float(r.mean() / math.sqrt(((r - r.mean()) ** 2).mean() / len(r)))


def drawdown_pct(r: np.ndarray) -> float:
    equity = np.concatenate([[1.0], np.cumprod(1.0 + r)])
    return float(100.0 * (1.0 - equity / np.maximum.accumulate(equity)).max())


def khosravi(arrays: Arrays) -> float:
    y, low, high = arrays["y_true"], arrays["lower"], arrays["upper"]
    covered = ((low <= y) & (y <= high)).mean()
    return float((high - low).mean() / np.ptp(y) * (1.0 + (covered < 0.95) * math.exp(-50.0 * (covered - 0.95))))


def even_crps(arrays: Arrays) -> float:
    error = arrays["y_true"][:, None] - arrays["quantiles"]
    return float(2.0 * np.maximum(LEVELS * error, (LEVELS - 1.0) * error).mean())


def unsorted_tail(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """(VaR, ES) gaps of the code: torch.sort of [n, 1] sorts along its last axis, so nothing moves."""
    var = [x[int(0.05 * len(x))] for x in (arrays["real"], arrays["fake"])]
    es = [x[: int(0.05 * len(x)) + 1].mean(axis=0) for x in (arrays["real"], arrays["fake"])]
    return np.abs(var[1] - var[0]).mean(), np.abs(es[1] - es[0]).mean()


def rounded_tail(level: float) -> Callable[[Arrays], float]:
    def definition(arrays: Arrays) -> float:
        held = strategy_weights(3)
        stats = []
        for name in ("real", "fake"):
            profits = strategy_profits(arrays[name], held)
            var = np.percentile(profits, 100 * level, axis=1)
            tail = profits * (profits <= var[:, None])
            tail[tail == 0.0] = np.nan
            stats.append(np.round(np.stack([var, np.nanmean(tail, axis=1)]), 3))
        return float((np.abs(stats[1] - stats[0]) / np.abs(stats[0])).mean())

    return definition


def unlogged_kupiec(arrays: Arrays) -> float:
    """The code's statistic, which is NaN at no breach; the same draws as ours."""
    held = strategy_weights(3)
    var = np.percentile(strategy_profits(arrays["fake"], held), 5, axis=1)
    breached = strategy_profits(arrays["real"], held) < var[:, None]
    rows = len(arrays["real"])
    draws = np.random.default_rng(0).multinomial(RESAMPLE_SIZE, np.full(rows, 1.0 / rows), size=RESAMPLES)
    s, n = (breached @ draws.T).astype(float), float(RESAMPLE_SIZE)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = -2.0 * ((n - s) * np.log(0.95) + s * np.log(0.05) - (n - s) * np.log(1.0 - s / n) - s * np.log(s / n))
    return float((1.0 - chi2.cdf(ratio, 1) < 0.05).mean())


def densities(bins: int, pooled: bool = False) -> Callable[[Arrays], float]:
    """Real values by histogram; generated ones within half a bin of its middle, strictly, so that those on an edge are
    lost."""

    def definition(arrays: Arrays) -> float:
        gaps = []
        for t, d in itertools.product(range(1 if pooled else 12), range(3)):
            real, fake = (
                arrays[name][:, :, d].ravel() if pooled else arrays[name][:, t, d] for name in ("real", "fake")
            )
            count, edges = np.histogram(real, bins)
            width = edges[1] - edges[0]
            inside = np.abs(fake[:, None] - 0.5 * (edges[1:] + edges[:-1])) < width / 2.0
            gaps.append(np.abs(inside.mean(axis=0) / width - count / len(real) / width).mean())
        return float(np.mean(gaps))

    return definition


def own_real(arrays: Arrays) -> float:
    return densities(50)({"real": arrays["real"], "fake": arrays["real"]})


def acf(x: np.ndarray, lags: int) -> np.ndarray:
    x = x - x.mean(axis=(0, 1))
    with np.errstate(invalid="ignore"):
        products = [
            (x[:, k:] * x[:, : x.shape[1] - k]).sum(axis=(0, 1)) / max(len(x) * (x.shape[1] - k), 0)
            if k < x.shape[1]
            else np.full(3, np.nan)
            for k in range(lags)
        ]
    return np.array(products) / (x**2).mean(axis=(0, 1))


def long_acf(arrays: Arrays) -> float:
    return float(np.sqrt(((acf(arrays["fake"], 64) - acf(arrays["real"], 64)) ** 2).sum(axis=0)).mean())


def step_correlations(arrays: Arrays) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = [
            np.triu(np.corrcoef(arrays["fake"][:, :, d].T) - np.corrcoef(arrays["real"][:, :, d].T)) for d in range(3)
        ]
    return float(np.mean([np.sqrt((g**2).sum(axis=0)) for g in gap]))


def lagged(x: np.ndarray, lags: range, ddof: int) -> np.ndarray:
    """The lower triangle with its diagonal, as torch.tril_indices(n, n) has it."""
    z = (x - x.mean(axis=(0, 1))) / x.std(axis=(0, 1), ddof=ddof)
    left, right = np.tril_indices(x.shape[2])
    return np.array([(z[:, k:, left] * z[:, : x.shape[1] - k, right]).mean(axis=(0, 1)) for k in lags])


def lag_gap(lags: range, ddof: int, combine: Callable[[np.ndarray], float]) -> Callable[[Arrays], float]:
    return lambda arrays: float(
        combine(np.abs(lagged(arrays["fake"], lags, ddof) - lagged(arrays["real"], lags, ddof)))
    )


def rounded_correlation(arrays: Arrays) -> float:
    real, fake = (np.corrcoef(arrays[name].sum(axis=1).T) for name in ("real", "fake"))
    return float(np.abs(np.round(real, 3) - fake).sum())


def rounded_acf(arrays: Arrays) -> float:
    means = []
    for name in ("real", "fake"):
        x = arrays[name] - arrays[name].mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            own = np.array([(x[:, k:] * x[:, : x.shape[1] - k]).sum(axis=1) for k in range(11)]) / (x**2).sum(axis=1)
        means.append(np.nanmean(own, axis=1))
    return float(np.abs(np.round(means[0], 3) - means[1]).sum())


def signature_2(arrays: Arrays) -> float:
    """Levels 1 and 2 of piecewise linear paths with time in front, as sums of increments and of their ordered
    products."""
    means = []
    for name in ("real", "fake"):
        clock = np.broadcast_to(np.linspace(0.0, 1.0, 12)[:, None], (len(arrays[name]), 12, 1))
        dx = np.diff(np.concatenate([clock, arrays[name]], axis=2), axis=1)
        before = np.cumsum(dx, axis=1) - dx
        second = np.einsum("nti,ntj->nij", before + 0.5 * dx, dx)
        means.append(np.concatenate([dx.sum(axis=1).mean(axis=0), second.mean(axis=0).ravel()]))
    return float(np.linalg.norm(means[1] - means[0]))


def signature_kernel(u: np.ndarray, v: np.ndarray, depth: int, rate: float = 0.5) -> np.ndarray:
    static = np.exp(-rate * ((u[:, None] - v[None]) ** 2).sum(axis=-1))
    second = np.diff(np.diff(static, axis=0), axis=1)
    n = len(second)
    return np.array([1.0] + [
        sum(math.prod(second[i, j] for i, j in zip(a, b, strict=True))
            for a in itertools.combinations(range(n), k) for b in itertools.combinations(range(n), k))
        for k in range(1, depth + 1)
    ])  # fmt: skip


def exact_mmd(depth: int) -> Callable[[Arrays], float]:
    """A row of zeros first, then time from 1 / L to 1 over the L rows; levels normalised and averaged."""

    def definition(arrays: Arrays) -> float:
        sides = []
        for name in ("real", "fake"):
            x = np.concatenate([np.zeros((5, 1, 1)), arrays[name]], axis=1)
            clock = np.broadcast_to(np.linspace(1.0 / 5, 1.0, 5)[:, None], (5, 5, 1))
            sides.append(np.concatenate([clock, x], axis=2))

        def kernel(u: np.ndarray, v: np.ndarray) -> float:
            own = np.sqrt(signature_kernel(u, u, depth) * signature_kernel(v, v, depth))
            return float(
                np.divide(signature_kernel(u, v, depth), own, out=np.zeros(depth + 1), where=own > 1e-12).mean()
            )

        x, y = sides
        within = [np.mean([kernel(a, b) for a, b in itertools.permutations(side, 2)]) for side in sides]
        return float(sum(within) - 2.0 * np.mean([kernel(a, b) for a in x for b in y]))

    return definition


def first_windows(queries: np.ndarray, others: np.ndarray) -> float:
    ordered = np.sort(others[:8000].ravel())
    place = np.clip(np.searchsorted(ordered, queries[:8000].ravel()), 1, len(ordered) - 1)
    values = queries[:8000].ravel()
    return float(np.minimum(np.abs(values - ordered[place - 1]), np.abs(values - ordered[place])).mean())


def early_put(returns: np.ndarray) -> float:
    """The code's recursion: from the third step before the last on, and money grows on its way back."""
    n, steps = returns.shape
    spot = 100.0 * np.exp(np.concatenate([np.zeros((n, 1)), returns], axis=1).cumsum(axis=1))
    intrinsic, grow = np.maximum(100.0 - spot, 0.0), math.exp(0.01 / 252)
    value = np.zeros_like(intrinsic)
    value[:, -1] = intrinsic[:, -1]
    for t in range(steps - 2, 0, -1):
        good = intrinsic[:, t] > 0.0
        kept = np.polyval(np.polyfit(spot[good, t], value[good, t + 1] * grow, 2), spot[good, t])
        exercise = np.zeros(n, dtype=bool)
        exercise[good] = intrinsic[good, t] > kept
        value[exercise, t] = intrinsic[exercise, t]
        value[exercise, t + 1 :] = 0.0
        wait = value[:, t] == 0.0
        value[wait, t] = value[wait, t + 1] * grow
    return float(value[:, 1].mean() * grow)


def early_put_error(arrays: Arrays) -> float:
    real, futures = arrays["real"], arrays["futures"]
    with warnings.catch_warnings(category=np.exceptions.RankWarning, action="ignore"):
        gaps = [abs(early_put(real[:, :, d]) - np.mean([early_put(own[:, :, d]) for own in futures])) for d in range(2)]
    return float(np.mean(gaps))


def simple(arrays: Arrays) -> np.ndarray:
    equity = arrays["record"][:, :, 0]
    return (equity[:, 1:] / equity[:, :-1] - 1.0).ravel()


DAILY = {"periods_per_year": 252.0}
CITED: Mapping[str, Cited] = {
    "rmse": Cited(POINT, by_channel, 3.4705467, [1.176667483, 4.764959856]),
    "mape": Cited(
        ZEROS, lambda a: mean_absolute_percentage_error(a["y_true"].ravel(), a["y_pred"].ravel()), 3.0463524, 2.538627
    ),
    "r2_oos": Cited(
        {**POINT, "benchmark": np.array(0.5)},
        lambda a: 1.0 - ((a["y_pred"] - a["y_true"]) ** 2).sum() / (a["y_true"] ** 2).sum(),
        -0.2538785734,
        -0.1768865582,
    ),
    "directional_accuracy": Cited(
        POINT, lambda a: (np.sign(a["y_true"]) == np.sign(a["y_pred"])).mean(), 0.5833333333, 0.4166666667
    ),
    "direction_macro_f1": Cited(POINT, macro_f1, 0.5804195804, 0.4949494949),
    "mafe": Cited(
        POINT,
        lambda a: np.abs(a["y_pred"] - a["y_true"]).mean(axis=(0, 2)),
        2.379199832,
        [3.001776712, 2.900848703, 1.234974082],
    ),
    "dm_zero": Cited(PANEL, zero_t, -18.29663148, -12.66727252),
    "long_short_sharpe": Cited(
        PANEL, lambda a: empyrical.sharpe_ratio(ties_by_row(a), annualization=12), 1.565947808, 0.6836997213
    ),
    "long_short_t": Cited(PANEL, lambda a: plain_t(ties_by_row(a)), 2.077188434, 0.7141010691),
    "long_short_drawdown": Cited(PANEL, lambda a: drawdown_pct(ties_by_row(a)), 0.04562529281, 6.031741204),
    "long_short_worst_period": Cited(PANEL, lambda a: -100.0 * ties_by_row(a).min(), 0.03484448163, 6.031741204),
    "coverage_gap": Cited(INTERVAL, lambda a: (np.abs(a["y_true"]) <= 1.0).mean(), 0.27, 0.68),
    "cwc": Cited(EMPTY, khosravi, 4.255865462e18, 0.0),
    "crps_quantiles": Cited(QUANTILES, even_crps, 0.4141511837, 0.3765478869),
    "order_statistic_var_gap": Cited(PATHS, lambda a: unsorted_tail(a)[0], 0.421574022, 1.739374609),
    "order_statistic_es_gap": Cited(PATHS, lambda a: unsorted_tail(a)[1], 0.4956305456, 0.8940053969),
    "relative_tail_error_01": Cited(TINY, rounded_tail(0.01), 0.3167076938, 0.3163089883),
    "relative_tail_error_05": Cited(TINY, rounded_tail(0.05), 0.3653966148, 0.3651347986),
    "relative_tail_error_10": Cited(TINY, rounded_tail(0.10), 0.4686944607, 0.4701565896),
    "kupiec_rejection": Cited({**PATHS, "fake": 3.0 * PATHS["fake"]}, unlogged_kupiec, 0.9203773585, 0.1845283019),
    "marginal": Cited(
        PATHS,
        lambda a: [densities(10)(a), densities(80)(a), densities(50, pooled=True)(a), own_real(a)],
        0.2200696003,
        [0.1023697238, 0.2602466124, 0.06314832537, 0.004896133965],
    ),
    "marginal_total_variation": Cited(PATHS, densities(50), 0.5527777778, 0.2200696003),
    "autocorrelation_stationary": Cited(SHORT, long_acf, 0.3780774031, math.nan),
    "autocorrelation_lag_1": Cited(
        PATHS, lambda a: np.abs(acf(a["fake"], 2) - acf(a["real"], 2)).sum(axis=1)[1], 0.09972157145, 0.09972157145
    ),
    "autocorrelation_lag_5": Cited(
        PATHS, lambda a: np.abs(acf(a["fake"], 6) - acf(a["real"], 6)).sum(axis=1)[5], 0.5766896154, 0.5766896154
    ),
    "autocorrelation_non_stationary": Cited(STARTED, step_correlations, 0.3947014244, math.nan),
    "autocorrelation_tailgan": Cited(FLAT_WINDOW, rounded_acf, 0.9020486189, 0.968310339),
    "correlation_sigcwgan": Cited(PATHS, lag_gap(range(1), 1, np.sum), 0.1924477015, 0.1924477015),
    "correlation_tailgan": Cited(PATHS, rounded_correlation, 0.7596880134, 0.7595577177),
    "cross_correlation": Cited(PATHS, lag_gap(range(5), 1, np.mean), 0.05922568139, 0.05922568139),
    "cross_correlation_lag_0": Cited(PATHS, lag_gap(range(1), 0, np.sum), 0.1914015711, 0.1914015711),
    "cross_correlation_lag_5": Cited(PATHS, lag_gap(range(5, 6), 0, np.sum), 0.7616869995, 0.7616869995),
    "covariance_paths": Cited(
        PATHS,
        lambda a: np.abs(np.cov(a["fake"].reshape(45, -1).T) - np.cov(a["real"].reshape(60, -1).T)).mean(),
        0.2699321218,
        0.2699321218,
    ),
    "sig_w1": Cited(PATHS, signature_2, 2.143584974, 2.143584974),
    "sig_mmd": Cited(SMALL, exact_mmd(4), 0.1192606285, 0.1431127542),
    "onnd": Cited(MANY, lambda a: first_windows(a["real"], a["fake"]), 0.001324705788, 0.001185114573),
    "innd": Cited(MANY, lambda a: first_windows(a["fake"], a["real"]), 0.03313985535, 0.01297271016),
    "american_put_error": Cited(FUTURES, early_put_error, 0.5480931944, 0.8112483925),
    "recall_at_k": Cited(RANKING, lambda a: recall_score(a["labels"], a["scores"] >= 0.5), 0.2727272727, 0.4545454545),
    "log_growth": Cited(
        RUINED, lambda a: np.log(a["record"][:, -1, 0] / a["record"][:, 0, 0]).mean(), -4.605170186, -math.inf
    ),
    "sharpe_ratio": Cited(RISING, lambda a: abs(empyrical.sharpe_ratio(simple(a))) > 1e6, 0.0, 1.0, DAILY),
    "sortino_ratio": Cited(RISING, lambda a: empyrical.sortino_ratio(simple(a)), 1000.0, math.inf, DAILY),
    "calmar_ratio": Cited(RISING, lambda a: empyrical.calmar_ratio(simple(a)), 1000.0, math.nan, DAILY),
}
UNCITED = "defined here"
"""How the note of a metric begins that a paper names without saying what it is: there is nothing to set beside it."""
ELSEWHERE = {
    "filtered_mrr": "test_codes.py has it beside a ranking that is filtered by hand",
    "filtered_hits_at_10": "test_codes.py",
    "item_mrr": "test_codes.py",
    "item_hits_at_10": "test_codes.py",
    "decided_accuracy": "answers/test_published_examples.py has what the paper's judge found",
    "grouped_accuracy": "answers/test_published_examples.py",
    "forecast_brier": "suites/findeepforecast/test_suite.py has it by hand",
    "second_level_f1_voted": "test_codes.py has votes counted by hand",
    "dynamic_tail_error_01": "test_threshold_strategies.py has the strategies written out, step by step",
    "dynamic_tail_error_05": "test_threshold_strategies.py",
    "dynamic_tail_error_10": "test_threshold_strategies.py",
    "score_test_rejection": "test_tail_score.py has the score and where it is proper",
    "disc_fast": "another classifier than the one it cites",
    "pred_fast": "another regression than the one it cites",
    "disc_gru": "hours of training for the cited number",
    "pred_lstm": "hours of training for the cited number",
}


def test_every_difference_is_frozen_or_there_is_a_reason():
    noted = {name for name, metric in METRICS.items() if metric.differs and not metric.differs.startswith(UNCITED)}
    differing = {name for name, cited in CITED.items() if cited.cited != cited.ours}
    assert noted == differing | set(ELSEWHERE)


@pytest.mark.parametrize("name", CITED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_both_numbers(name):
    case = CITED[name]
    with np.errstate(all="ignore"):
        found = case.definition(case.arrays)
    assert METRICS[name].compute(case.arrays, 0, case.options) == pytest.approx(case.ours, rel=1e-8)
    assert np.asarray(found, dtype=float) == pytest.approx(np.asarray(case.cited, dtype=float), rel=1e-8, nan_ok=True)


def test_ruin_has_a_growth():
    assert METRICS["log_growth"].compute(RUINED) == pytest.approx(math.log(WEALTH_FLOOR))
