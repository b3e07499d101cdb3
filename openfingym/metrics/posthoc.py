"""Post-hoc scores: can a classifier tell generated windows from real ones, and does what they teach hold?

These are the fast variants. Their numbers are not comparable with published ones, which come
from recurrent networks; they are cheaper and, measured on known laws, sharper. Unlike the
papers' code, nothing is chosen on the windows that are scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.metrics.arrays import Numbers, number, windows
from openfingym.metrics.record import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

TREES, LEAVES, LEARNING_RATE = 25, 8, 0.2
"""Number and size of the trees: on known laws these are as sharp as 60 trees of 31 leaves, at a fifth of the time."""
FOLDS = 5
"""Number of parts, each of which is held out once."""
REPEATS = 2
"""Number of divisions into folds."""
LARGEST_SET = 2000
"""Most windows of each side that are given to the classifier."""
LARGEST_FEATURES = 256
"""Most cells of a window that are given to the classifier; longer windows are thinned evenly. Summaries come on
top."""
FEWEST_WINDOWS = 20
"""Fewest windows of each side that can be told apart."""
RIDGE = 1.0
"""Penalty on the squared coefficients of the predictive score, on standardised inputs."""


def disc_fast(real: Numbers, fake: Numbers, repeats: int = REPEATS, *, seed: int = 0) -> float:
    """|accuracy - 0.5| of gradient-boosted trees on windows held out, in [0, 0.5].

    Trees see each window and summaries of it (:func:`window_features`). Every window is held out
    once in five folds, and the accuracy is the mean over folds and repeats: real and generated
    windows at the same position share a fold, so windows submitted unchanged score exactly 0.

    Args:
        real: real windows, [n, t, d], n >= 20.
        fake: generated windows, [m, t, d], m >= 20.
        repeats: number of divisions into folds, over which the accuracy is averaged.
        seed: seed of folds and subsampling; fixed by the task.

    Raises:
        DataError: fewer than 20 real windows.
        UsageError: fewer than 20 windows were generated.
    """
    from openfingym.metrics.boosted_trees import log_odds

    ours, theirs, count = told_apart(real, fake)
    generator = np.random.default_rng(seed)
    # One order for both sides, so that windows at the same position share a fold.
    order = generator.permutation(max(len(ours), len(theirs)))
    features = [window_features(values[order[order < len(values)][:count]]) for values in (ours, theirs)]
    # Leaves of 20 windows, scikit-learn's default, are too coarse for sets of some two dozen windows.
    leaf = min(20, max(3, count // 10))
    hits = 0
    for _ in range(repeats):
        fold = generator.permutation(count) % FOLDS
        for held in range(FOLDS):
            inside, outside = fold != held, fold == held
            guess = log_odds(
                np.concatenate([f[inside] for f in features]),
                np.repeat([0.0, 1.0], np.count_nonzero(inside)),
                np.concatenate([f[outside] for f in features]),
                rounds=TREES,
                leaves=LEAVES,
                rate=LEARNING_RATE,
                leaf=leaf,
            )
            hits += int(np.count_nonzero((guess > 0.0) == np.repeat([False, True], np.count_nonzero(outside))))
    return abs(hits / (2 * count * repeats) - 0.5)


def window_features(paths: NDArray[np.float64]) -> NDArray[np.float64]:
    """The features of each window that the classifier sees, float64[n, cells + summaries].

    The cells themselves (evenly thinned above 256), and for each channel: mean, deviation, minimum,
    maximum, mean and deviation of absolute steps, skewness, kurtosis, lag-1 autocorrelation of
    values, of steps and of squared steps, and correlation of steps with the mean of all channels.
    """
    n, t, d = paths.shape
    cells = paths.reshape(n, -1)
    if cells.shape[1] > LARGEST_FEATURES:
        cells = cells[:, np.linspace(0, cells.shape[1] - 1, LARGEST_FEATURES).astype(int)]
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(paths, axis=1) if t > 1 else paths
        size = np.abs(steps)
        centred = paths - paths.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1))
        unit = centred / np.where(deviation > 0.0, deviation, 1.0)[:, None, :]
        market = np.repeat(steps.mean(axis=2, keepdims=True), d, axis=2)
        summaries = [
            paths.mean(axis=1),
            deviation,
            paths.min(axis=1),
            paths.max(axis=1),
            size.mean(axis=1),
            size.std(axis=1),
            (unit**3).mean(axis=1),
            (unit**4).mean(axis=1),
            _lag_one(paths),
            _lag_one(steps),
            _lag_one(steps**2),
            _similarity(steps, market),
        ]
        features = np.concatenate([cells, *summaries], axis=1)
    # Squares of absurd values overflow; to the trees it is enough that they are large.
    finite: NDArray[np.float64] = np.nan_to_num(features, nan=0.0, posinf=1e300, neginf=-1e300)
    return finite


def told_apart(real: Numbers, fake: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Check two sets of windows that a classifier is to tell apart.

    Returns:
        Real and generated windows, and how many of each the classifier is given.

    Raises:
        DataError: there are too few real windows.
        UsageError: there are too few generated ones.
    """
    ours, theirs = windows(real, fake)
    count = min(len(ours), len(theirs), LARGEST_SET)
    if len(ours) < FEWEST_WINDOWS:
        raise DataError(f"the discriminative score needs {FEWEST_WINDOWS} real windows, found {len(ours)}")
    if count < FEWEST_WINDOWS:
        raise UsageError(f"the discriminative score needs {FEWEST_WINDOWS} windows, found {len(theirs)}")
    return ours, theirs, count


def pred_fast(real: Numbers, fake: Numbers) -> float:
    """Mean absolute error, on real windows, of a ridge regression fitted on generated ones.

    It predicts the last max(1, int(t / 10)) steps of every channel from the steps before. Values
    are standardised by the mean and deviation of each real channel, so the error is a multiple of
    a channel's deviation. Deterministic.

    Args:
        real: real windows, [n, t, d], t >= 2.
        fake: generated windows, [m, t, d].

    Raises:
        DataError: windows have one step, or every real channel is constant.
    """
    ours, theirs = windows(real, fake)
    t = ours.shape[1]
    if t < 2:
        raise DataError("the predictive score needs windows of at least two steps")
    centre, scale = moments(ours)
    cut = t - max(1, t // 10)
    with np.errstate(over="ignore", invalid="ignore"):
        # Inputs and targets of generated and of real windows.
        (x, y), (x_real, y_real) = (
            (z[:, :cut].reshape(len(z), -1), z[:, cut:].reshape(len(z), -1))
            for z in ((theirs - centre) / scale, (ours - centre) / scale)
        )
        x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
        coefficients = _ridge(x - x_mean, y - y_mean)
        return number("the predictive score", np.abs((x_real - x_mean) @ coefficients + y_mean - y_real).mean())


def moments(real: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each channel of real windows, float64[d] each; the deviation of a constant one is 1.

    Raises:
        DataError: every channel is constant.
    """
    deviation = real.std(axis=(0, 1))
    # A smaller deviation is rounding of a constant.
    varies = deviation > 1e-12 * np.abs(real).max(axis=(0, 1))
    if not varies.any():
        raise DataError("the score is undefined: every real channel is constant")
    return real.mean(axis=(0, 1)), np.where(varies, deviation, 1.0)


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients b that minimise |y - x b|^2 + RIDGE |b|^2."""
    # Of the two equal forms, the one with the smaller matrix to solve.
    wide = x.shape[1] > x.shape[0]
    gram = x @ x.T if wide else x.T @ x
    gram[np.diag_indices_from(gram)] += RIDGE
    try:
        solved = np.linalg.solve(gram, y if wide else x.T @ y)
    except np.linalg.LinAlgError:
        raise UsageError(
            "the generated values are too large for a regression; they must be of a plausible size"
        ) from None
    coefficients: NDArray[np.float64] = np.asarray(x.T @ solved if wide else solved, dtype=np.float64)
    return coefficients


def _lag_one(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Autocorrelation at lag 1 of each window and channel, float64[n, d]; 0 for windows of one step."""
    return (
        _similarity(values[:, :-1], values[:, 1:])
        if values.shape[1] > 1
        else np.zeros((values.shape[0], values.shape[2]))
    )


def _similarity(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation over steps of each window and channel, 0 where either is constant."""
    u, v = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    scale = np.sqrt((u * u).sum(axis=1) * (v * v).sum(axis=1))
    similarity: NDArray[np.float64] = np.divide(
        (u * v).sum(axis=1), scale, out=np.zeros_like(scale), where=scale > 1e-300
    )
    return similarity


def _prepare_trees() -> None:
    """Compile the boosted trees, which takes seconds where no process has done it before."""
    from openfingym.metrics.boosted_trees import log_odds

    rows, labels = np.arange(4.0)[:, None], np.array([0.0, 0.0, 1.0, 1.0])
    log_odds(rows, labels, rows, rounds=1, leaves=2, rate=LEARNING_RATE, leaf=1)


METRICS = (
    Metric(
        "disc_fast",
        disc_fast,
        "paths",
        "excess accuracy of boosted trees over chance",
        "none",
        "Yoon et al. 2019, fast variant",
        (0.0, 0.5),
        parameters={"repeats": REPEATS},
        stochastic=True,
        repeats=FOLDS * REPEATS,
        noise=0.03,
        minimum_rows=FEWEST_WINDOWS,
        heavy=True,
        prepare=_prepare_trees,
        differs=(
            "boosted trees in place of a recurrent network, every window held out once: not comparable with published "
            "numbers"
        ),
    ),
    Metric(
        "pred_fast",
        pred_fast,
        "paths",
        "error on real windows of a ridge fitted on generated ones",
        "deviations",
        "Yoon et al. 2019; Esteban et al. 2017, fast variant",
        optimum=None,
        diagnostic=True,
        minimum_rows=2,
        proper=False,
        differs="ridge in place of a recurrent network, on standardised values: not comparable with published numbers",
    ),
)
